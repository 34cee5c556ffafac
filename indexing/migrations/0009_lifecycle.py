"""Pipelines' lives in tenants: who moved which to which role, what a gate found, exclusions, sampled queries
(sql/schema/0009_lifecycle.sql). A column with a constant default and new tables: nothing is rewritten."""

from pathlib import Path

from django.db import migrations, models
from django.db.models.functions import Now

SCHEMA = Path(__file__).parent.parent / "sql" / "schema" / "0009_lifecycle.sql"


class Migration(migrations.Migration):
    dependencies = [
        ("indexing", "0008_recompute"),
    ]

    operations = [
        migrations.AddField(
            model_name="tenantpipeline",
            name="changed_at",
            field=models.DateTimeField(db_default=Now()),
        ),
        migrations.AddField(
            model_name="tenantpipeline",
            name="changed_by_id",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="tenantpipeline",
            name="changed_by_name",
            field=models.CharField(db_default="", default="", help_text="who chose this role", max_length=150),
        ),
        migrations.CreateModel(
            name="PipelineEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("tenant_id", models.BigIntegerField()),
                ("pipeline_id", models.PositiveSmallIntegerField()),
                ("from_role", models.CharField(max_length=10, null=True)),
                ("to_role", models.CharField(max_length=10)),
                ("actor_id", models.BigIntegerField(null=True)),
                ("actor_name", models.CharField(default="", max_length=150)),
                ("at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "pipeline_event",
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["tenant_id", "pipeline_id"], name="pipeline_event_of_tenant")],
            },
        ),
        migrations.CreateModel(
            name="PipelineExclusion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("tenant_id", models.BigIntegerField()),
                ("pipeline_id", models.PositiveSmallIntegerField()),
                ("document_id", models.UUIDField()),
                ("reason", models.TextField(verbose_name="reason")),
                ("actor_id", models.BigIntegerField(null=True)),
                ("actor_name", models.CharField(default="", max_length=150)),
                ("at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "pipeline_exclusion",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant_id", "pipeline_id", "document_id"), name="pipeline_exclusion_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PipelineGate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("tenant_id", models.BigIntegerField()),
                ("pipeline_id", models.PositiveSmallIntegerField()),
                (
                    "against_id",
                    models.PositiveSmallIntegerField(help_text="the pipeline that served when it was examined"),
                ),
                ("passed", models.BooleanField()),
                ("report", models.JSONField()),
                ("actor_id", models.BigIntegerField(null=True)),
                ("actor_name", models.CharField(default="", max_length=150)),
                ("at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "pipeline_gate",
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["tenant_id", "pipeline_id"], name="pipeline_gate_of_tenant")],
            },
        ),
        migrations.CreateModel(
            name="ShadowQuery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("tenant_id", models.BigIntegerField()),
                ("user_id", models.BigIntegerField()),
                ("query", models.TextField()),
                ("at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "shadow_query",
                "indexes": [models.Index(fields=["tenant_id"], name="shadow_query_of_tenant")],
            },
        ),
        migrations.RunSQL(SCHEMA.read_text(encoding="utf-8"), migrations.RunSQL.noop),
    ]
