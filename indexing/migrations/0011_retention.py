"""What leaves by itself, and what stays (sql/schema/0011_retention.sql). Columns with a default that is one moment, new tables,
indexes built while the site runs: nothing is rewritten."""

from pathlib import Path

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models.functions import Now

SCHEMA = Path(__file__).parent.parent / "sql" / "schema" / "0011_retention.sql"
USED_AT = {
    "embeddingcache": "embedding_cache_used",
    "parsecache": "parse_cache_used",
    "situationcache": "situation_cache_used",
}


class Migration(migrations.Migration):
    atomic = False  # an index of a big table is built while the site runs
    dependencies = [("indexing", "0010_freshness"), ("documents", "0006_holds")]
    operations = [
        migrations.CreateModel(
            name="OrphanSet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("tenant_id", models.BigIntegerField()),
                ("document_id", models.UUIDField()),
                ("pipeline_id", models.PositiveSmallIntegerField()),
                ("version_number", models.PositiveIntegerField()),
                ("generation", models.PositiveIntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[("replaced", "Replaced"), ("abandoned", "Abandoned"), ("retired", "Retired")],
                        max_length=10,
                    ),
                ),
                (
                    "counted_from",
                    models.DateTimeField(
                        db_default=Now(),
                        help_text="its time runs from here; later than it was left if it was found to be kept",
                    ),
                ),
            ],
            options={
                "db_table": "orphan_set",
                "constraints": [
                    models.UniqueConstraint(
                        fields=["document_id", "pipeline_id", "version_number", "generation"], name="orphan_set_once"
                    )
                ],
                "indexes": [
                    models.Index(fields=["kind", "counted_from"], name="orphan_set_due"),
                    models.Index(fields=["tenant_id", "pipeline_id"], name="orphan_set_of_pipeline"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Citation",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "document_id", "version_number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("document_id", models.UUIDField()),
                ("version_number", models.PositiveIntegerField()),
                ("tenant_id", models.BigIntegerField()),
                ("first_at", models.DateTimeField(db_default=Now())),
                ("last_at", models.DateTimeField(db_default=Now())),
            ],
            options={"db_table": "citation"},
        ),
        migrations.CreateModel(
            name="RetentionRun",
            fields=[
                ("rule", models.CharField(max_length=50, primary_key=True, serialize=False)),
                ("ended_at", models.DateTimeField(db_default=Now())),
            ],
            options={"db_table": "retention_run"},
        ),
        *(
            migrations.AddField(model, "used_at", models.DateTimeField(db_default=Now(), help_text=help_text))
            for model, help_text in (
                ("embeddingcache", "until when a stored chunk is known to have had its text"),
                ("parsecache", "until when a version in force is known to have had its bytes"),
                ("situationcache", "noted once a day at most"),
            )
        ),
        *(AddIndexConcurrently(model, models.Index(fields=["used_at"], name=name)) for model, name in USED_AT.items()),
        migrations.RunSQL(SCHEMA.read_text(encoding="utf-8"), migrations.RunSQL.noop),
    ]
