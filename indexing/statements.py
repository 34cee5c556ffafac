"""Loads the named statements of `indexing/sql/*.sql` and runs them on the current Django connection."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from django.db import connection

FOLDER = Path(__file__).parent / "sql"


@cache
def statements(file: str) -> dict[str, str]:
    """The statements of one file by name, comments left in place (they show in pg_stat_activity)."""
    parts = re.split(r"^-- name: (\w+)\n", (FOLDER / f"{file}.sql").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: body.strip().rstrip(";") for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def rows(file: str, name: str, **parameters: Any) -> list[dict[str, Any]]:
    """Run a statement and return its rows by column name."""
    with connection.cursor() as cursor:
        cursor.execute(statements(file)[name], parameters)
        columns = [column.name for column in cursor.description or ()]
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()] if columns else []


def row(file: str, name: str, **parameters: Any) -> dict[str, Any] | None:
    """Run a statement and return its first row, or None: what that means stands at the statement."""
    found = rows(file, name, **parameters)
    return found[0] if found else None
