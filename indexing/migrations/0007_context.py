"""Sentences of a language model that are put before chunks, kept for each document (sql/schema/0007_context.sql)."""

from pathlib import Path

from django.db import migrations, models
from django.db.models.functions import Now

SCHEMA = Path(__file__).parent.parent / "sql" / "schema" / "0007_context.sql"


class Migration(migrations.Migration):
    dependencies = [("indexing", "0006_gaps")]
    operations = [
        migrations.CreateModel(
            name="SituationCache",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("document_id", models.UUIDField()),
                ("tenant_id", models.BigIntegerField()),
                (
                    "fingerprint",
                    models.CharField(help_text="of the model and of what it is asked to do", max_length=64),
                ),
                ("question_digest", models.CharField(max_length=64)),
                ("sentence", models.TextField()),
                ("created_at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "situation_cache",
                "constraints": [
                    models.UniqueConstraint(
                        fields=["document_id", "question_digest", "fingerprint"], name="situation_cache_key"
                    )
                ],
            },
        ),
        migrations.RunSQL(SCHEMA.read_text(encoding="utf-8"), migrations.RunSQL.noop),
    ]
