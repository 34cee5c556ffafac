"""Pools of tenants, and turns among them (sql/schema/0005_pools.sql)."""

from pathlib import Path

from django.db import migrations

SCHEMA = Path(__file__).parent.parent / "sql" / "schema" / "0005_pools.sql"


class Migration(migrations.Migration):
    dependencies = [("indexing", "0004_providers")]
    operations = [migrations.RunSQL(SCHEMA.read_text(encoding="utf-8"), migrations.RunSQL.noop)]
