"""What the application's role may not change by hand (sql/schema/0003_enforcement.sql), and what the log tells more."""

from pathlib import Path

from django.db import migrations, models

SCHEMA = Path(__file__).parent.parent / "sql" / "schema" / "0003_enforcement.sql"
STAGES = [(stage, stage) for stage in ("PARSE", "SPLIT", "EMBED", "INDEX", "VALIDATE")]


class Migration(migrations.Migration):
    dependencies = [("indexing", "0002_guards"), ("documents", "0003_enforcement")]
    operations = [
        migrations.AddField(
            "taskevent",
            "stage",
            models.CharField(max_length=10, choices=STAGES, null=True, help_text="where the ended attempt was"),
        ),
        migrations.AddField(
            "taskevent", "action", models.CharField(max_length=20, null=True, help_text="which write was refused")
        ),
        migrations.AlterField(
            "taskevent",
            "kind",
            models.CharField(max_length=10, default="move", help_text="move, wish, or refused (a late write)"),
        ),
        migrations.RunSQL(SCHEMA.read_text(encoding="utf-8"), migrations.RunSQL.noop),
    ]
