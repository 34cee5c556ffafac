"""Loads the named statements of `indexing/sql/*.sql` and runs them on the current Django connection."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection

JSONB = 3802  # type number of `jsonb`, fixed in PostgreSQL's catalogue
FOLDER = Path(__file__).parent / "sql"
# Files whose statements are one plan for every value; the search chooses its plans by the values.
PREPARED = ("queue", "sink")


@cache
def statements(file: str) -> dict[str, str]:
    """The statements of one file by name, comments left in place (they show in pg_stat_activity)."""
    parts = re.split(r"^-- name: (\w+)\n", (FOLDER / f"{file}.sql").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: body.strip().rstrip(";") for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def run_statement(text: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Run a statement and return its rows by column name, `jsonb` values decoded (Django leaves them to its own fields)."""
    with connection.cursor() as cursor:
        cursor.execute(text, parameters)
        return _named_rows(_columns(cursor), cursor)


@cache
def _numbered(text: str) -> tuple[str, tuple[str, ...]]:
    """A statement without its comments and with $1, $2 … for `%(name)s`, and the names in this order."""
    names: list[str] = []

    def number(match: re.Match[str]) -> str:
        if match[1] not in names:
            names.append(match[1])
        return f"${names.index(match[1]) + 1}"

    bare = re.sub(r"^\s*--.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"%\((\w+)\)s", number, bare).replace("%%", "%"), tuple(names)


def _run_prepared(text: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The same, parsed and planned once a connection: Django's own cursors paste the values into the text, and planning the
    claim takes longer than running it. The plans live as long as the connection (`CONN_MAX_AGE`). Raises `KeyError` for a
    parameter that is missing."""
    numbered, names = _numbered(text)
    connection.ensure_connection()
    connection.validate_no_broken_transaction()
    with connection.wrap_database_errors, psycopg.RawCursor(connection.connection) as cursor:
        cursor.execute(numbered, [parameters[name] for name in names], prepare=True)
        if numbered not in _COLUMNS:
            _COLUMNS[numbered] = _columns(cursor)
        return _named_rows(_COLUMNS[numbered], cursor)


# By prepared statement: psycopg makes an object of each column each time.
_COLUMNS: dict[str, list[tuple[str, bool]]] = {}


def _columns(cursor: Any) -> list[tuple[str, bool]]:
    """The names of a result's columns, and whether each is `jsonb`."""
    return [(column.name, column.type_code == JSONB) for column in cursor.description or ()]


def _named_rows(columns: list[tuple[str, bool]], cursor: Any) -> list[dict[str, Any]]:
    if not columns:
        return []
    return [
        {
            name: json.loads(value) if is_json and isinstance(value, str) else value
            for (name, is_json), value in zip(columns, row, strict=True)
        }
        for row in cursor.fetchall()
    ]


def rows(file: str, name: str, **parameters: Any) -> list[dict[str, Any]]:
    """Run a named statement and return its rows."""
    run = _run_prepared if file in PREPARED else run_statement
    return run(statements(file)[name], parameters)


def row(file: str, name: str, **parameters: Any) -> dict[str, Any] | None:
    """Run a named statement and return its first row, or None: what that means stands at the statement."""
    found = rows(file, name, **parameters)
    return found[0] if found else None
