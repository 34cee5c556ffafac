"""Audit holds (sql/schema/0006_holds.sql)."""

from pathlib import Path

import django.db.models.deletion
from django.db import migrations, models

SCHEMA = Path(__file__).parent.parent / "sql" / "schema" / "0006_holds.sql"


class Migration(migrations.Migration):
    dependencies = [("documents", "0005_freshness")]
    operations = [
        migrations.CreateModel(
            name="Hold",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "version_number",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Empty: every version, those to come too.",
                        null=True,
                        verbose_name="version",
                    ),
                ),
                ("reason", models.TextField(verbose_name="reason")),
                ("placed_by_id", models.BigIntegerField(null=True)),
                ("placed_by_name", models.CharField(default="", max_length=150, verbose_name="placed by")),
                ("placed_at", models.DateTimeField(auto_now_add=True, verbose_name="placed")),
                ("lifted_by_id", models.BigIntegerField(null=True)),
                ("lifted_by_name", models.CharField(default="", max_length=150, verbose_name="lifted by")),
                ("lifted_at", models.DateTimeField(null=True, verbose_name="lifted")),
                (
                    "document",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="holds",
                        to="documents.document",
                        verbose_name="document",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="documents.tenant",
                        verbose_name="tenant",
                    ),
                ),
            ],
            options={
                "db_table": "document_hold",
                "verbose_name": "audit hold",
                "verbose_name_plural": "audit holds",
                "ordering": ["-id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("lifted_at", None)), fields=["document"], name="document_hold_active"
                    )
                ],
            },
        ),
        migrations.RunSQL(SCHEMA.read_text(encoding="utf-8"), migrations.RunSQL.noop),
    ]
