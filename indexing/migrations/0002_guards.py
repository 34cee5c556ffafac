"""The fence column and the triggers that refuse what holds no live lease (indexing/sql/schema/0002_guards.sql)."""

from pathlib import Path

from django.db import migrations

GUARDS = Path(__file__).parent.parent / "sql" / "schema" / "0002_guards.sql"


class Migration(migrations.Migration):
    dependencies = [("indexing", "0001_initial"), ("documents", "0002_guards")]
    operations = [migrations.RunSQL(GUARDS.read_text(encoding="utf-8"), migrations.RunSQL.noop)]
