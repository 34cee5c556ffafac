"""What may be shown, and what is held back, as views (sql/schema/0010_freshness.sql)."""

from pathlib import Path

from django.db import migrations, models

SCHEMA = Path(__file__).parent.parent / "sql" / "schema" / "0010_freshness.sql"


class Migration(migrations.Migration):
    dependencies = [("indexing", "0009_lifecycle"), ("documents", "0005_freshness")]
    operations = [
        migrations.RunSQL(SCHEMA.read_text(encoding="utf-8"), migrations.RunSQL.noop),
        migrations.CreateModel(
            name="ServedPointer",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("document_id", models.UUIDField()),
                ("pipeline_id", models.PositiveSmallIntegerField()),
                ("version_number", models.PositiveIntegerField()),
            ],
            options={"db_table": "served_pointer", "managed": False},
        ),
        migrations.CreateModel(
            name="WithheldPointer",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("document_id", models.UUIDField()),
                ("pipeline_id", models.PositiveSmallIntegerField()),
                ("version_number", models.PositiveIntegerField()),
            ],
            options={"db_table": "withheld_pointer", "managed": False},
        ),
    ]
