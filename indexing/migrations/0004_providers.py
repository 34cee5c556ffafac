"""What all workers know together about an embedding provider (sql/schema/0004_providers.sql)."""

from pathlib import Path

from django.db import migrations

SCHEMA = Path(__file__).parent.parent / "sql" / "schema" / "0004_providers.sql"


class Migration(migrations.Migration):
    dependencies = [("indexing", "0003_enforcement")]
    operations = [migrations.RunSQL(SCHEMA.read_text(encoding="utf-8"), migrations.RunSQL.noop)]
