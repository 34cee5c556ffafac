"""What the application's role may not change by hand (sql/schema/0003_enforcement.sql)."""

from pathlib import Path

from django.db import migrations, models

SCHEMA = Path(__file__).parent.parent / "sql" / "schema" / "0003_enforcement.sql"


class Migration(migrations.Migration):
    dependencies = [("documents", "0002_guards")]
    operations = [
        migrations.AlterField(
            "storedcontent",
            "state",
            models.CharField(
                choices=[("staged", "Staged"), ("confirmed", "Confirmed"), ("deleting", "Deleting")],
                default="staged",
                max_length=10,
            ),
        ),
        migrations.AddIndex(
            "storedcontent",
            models.Index(condition=models.Q(("state", "deleting")), fields=["id"], name="stored_content_deleting"),
        ),
        migrations.RunSQL(SCHEMA.read_text(encoding="utf-8"), migrations.RunSQL.noop),
    ]
