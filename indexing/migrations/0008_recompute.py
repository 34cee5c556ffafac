"""Bulk runs and their manifests (sql/schema/0008_recompute.sql): new tables, nothing is rewritten."""

from pathlib import Path

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q
from django.db.models.functions import Now

SCHEMA = Path(__file__).parent.parent / "sql" / "schema" / "0008_recompute.sql"
OUTCOMES = [(outcome, outcome) for outcome in ("pending", "applied", "skipped_newer", "deleted", "failed")]


class Migration(migrations.Migration):
    dependencies = [("indexing", "0007_context"), ("documents", "0003_enforcement")]
    operations = [
        migrations.CreateModel(
            name="RecomputeRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "chosen",
                    models.JSONField(
                        help_text="what narrows the documents down: see indexing.recompute.Where",
                        verbose_name="documents",
                    ),
                ),
                ("rebuild", models.BooleanField(help_text="also what is searchable already", verbose_name="rebuild")),
                (
                    "digest",
                    models.CharField(
                        help_text="of all of the above: the same run is not opened twice at once", max_length=64
                    ),
                ),
                ("actor_id", models.BigIntegerField(null=True)),
                ("actor_name", models.CharField(db_default="", max_length=150, verbose_name="started by")),
                ("started_at", models.DateTimeField(db_default=Now(), verbose_name="started")),
                ("listed_to", models.UUIDField(help_text="the list is made up to this document", null=True)),
                ("listed_at", models.DateTimeField(help_text="when the list was complete", null=True)),
                ("stopped_at", models.DateTimeField(null=True, verbose_name="stopped")),
                (
                    "ended_at",
                    models.DateTimeField(help_text="every document has its outcome", null=True, verbose_name="ended"),
                ),
                (
                    "pipeline",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="indexing.pipeline",
                        verbose_name="pipeline",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="documents.tenant",
                        verbose_name="tenant",
                    ),
                ),
            ],
            options={
                "db_table": "recompute_run",
                "ordering": ["-id"],
                "verbose_name": "bulk run",
                "verbose_name_plural": "bulk runs",
                "default_permissions": ("view",),
                "constraints": [
                    models.UniqueConstraint(
                        condition=Q(ended_at=None, stopped_at=None), fields=["digest"], name="recompute_run_open_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RecomputeItem",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("tenant_id", models.BigIntegerField()),
                ("document_id", models.UUIDField(verbose_name="document")),
                ("version_number", models.IntegerField(verbose_name="version")),
                ("generation", models.IntegerField()),
                (
                    "task_id",
                    models.BigIntegerField(
                        help_text="none: nothing was left to do", null=True, verbose_name="index task"
                    ),
                ),
                (
                    "outcome",
                    models.CharField(choices=OUTCOMES, db_default="pending", max_length=15, verbose_name="outcome"),
                ),
                ("reason", models.CharField(db_default="", max_length=50, verbose_name="reason")),
                ("settled_at", models.DateTimeField(null=True)),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="items",
                        to="indexing.recomputerun",
                    ),
                ),
            ],
            options={
                "db_table": "recompute_item",
                "verbose_name": "document of a bulk run",
                "verbose_name_plural": "documents of bulk runs",
                "default_permissions": ("view",),
                "constraints": [
                    models.UniqueConstraint(fields=["run", "document_id"], name="recompute_item_once")
                ],
                "indexes": [models.Index(fields=["run", "outcome", "id"], name="recompute_item_outcome")],
            },
        ),
        migrations.RunSQL(SCHEMA.read_text(encoding="utf-8"), migrations.RunSQL.noop),
    ]
