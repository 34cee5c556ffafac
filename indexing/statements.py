"""Loads the named statements of `indexing/sql/*.sql` and runs them on the current Django connection."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from django.db import OperationalError, connection

JSONB = 3802  # type number of `jsonb`, fixed in PostgreSQL's catalogue
FOLDER = Path(__file__).parent / "sql"
RETRYABLE = ("40001", "40P01", "55P03")  # serialization failure, deadlock, lock timeout

Answer = TypeVar("Answer")


@cache
def statements(file: str) -> dict[str, str]:
    """The statements of one file by name, comments left in place (they show in pg_stat_activity)."""
    parts = re.split(r"^-- name: (\w+)\n", (FOLDER / f"{file}.sql").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: body.strip().rstrip(";") for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def run_statement(text: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Run a statement and return its rows by column name, `jsonb` values decoded (Django leaves them to its own fields)."""
    with connection.cursor() as cursor:
        cursor.execute(text, parameters)
        columns = [(column.name, column.type_code == JSONB) for column in cursor.description or ()]
        if not columns:
            return []
        return [
            {
                name: json.loads(value) if is_json and value is not None else value
                for (name, is_json), value in zip(columns, row, strict=True)
            }
            for row in cursor.fetchall()
        ]


def rows(file: str, name: str, **parameters: Any) -> list[dict[str, Any]]:
    """Run a named statement and return its rows."""
    return run_statement(statements(file)[name], parameters)


def row(file: str, name: str, **parameters: Any) -> dict[str, Any] | None:
    """Run a named statement and return its first row, or None: what that means stands at the statement."""
    found = rows(file, name, **parameters)
    return found[0] if found else None


def retrying(action: Callable[[], Answer], *, tries: int = 3) -> Answer:
    """Run a short transaction, and run it again if the database ended it to resolve a deadlock; never the slow work."""
    for left in reversed(range(tries)):
        try:
            return action()
        except OperationalError as error:
            if not left or getattr(error.__cause__, "sqlstate", None) not in RETRYABLE:
                raise
    raise AssertionError("the last try returns or raises")


def ensure_no_transaction() -> None:
    """A lock held across a parser or a provider would stop everybody else for minutes."""
    if connection.in_atomic_block:
        raise RuntimeError("slow work was begun inside a transaction")
