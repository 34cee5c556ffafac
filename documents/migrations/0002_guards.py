"""The reader view and the triggers that keep versions immutable (documents/sql/schema/0002_guards.sql)."""

from pathlib import Path

from django.db import migrations

GUARDS = Path(__file__).parent.parent / "sql" / "schema" / "0002_guards.sql"


class Migration(migrations.Migration):
    dependencies = [("documents", "0001_initial")]
    operations = [migrations.RunSQL(GUARDS.read_text(encoding="utf-8"), migrations.RunSQL.noop)]
