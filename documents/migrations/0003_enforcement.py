"""What the application's role may not change by hand (sql/schema/0003_enforcement.sql)."""

from pathlib import Path

from django.db import migrations

SCHEMA = Path(__file__).parent.parent / "sql" / "schema" / "0003_enforcement.sql"


class Migration(migrations.Migration):
    dependencies = [("documents", "0002_guards")]
    operations = [migrations.RunSQL(SCHEMA.read_text(encoding="utf-8"), migrations.RunSQL.noop)]
