"""A bare COPY of the chunks and vectors that a load made, into tables with the same indexes and nothing else."""

from __future__ import annotations

import time
from typing import Any

import psycopg

TABLES = ("chunk", "chunk_vector")


def bare_copy(superuser: psycopg.Connection[Any], *, tenant_id: int) -> float:
    """Seconds for both tables in one transaction. No trigger and no foreign key; the HNSW index is in place, and empty."""
    rows = {table: _exported(superuser, table, tenant_id) for table in TABLES}
    for table in TABLES:
        superuser.execute(f"DROP TABLE IF EXISTS bare_{table}")
        superuser.execute(
            f"CREATE TABLE bare_{table} (LIKE {table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)"
        )
    began = time.perf_counter()
    with superuser.transaction(), superuser.cursor() as cursor:
        for table in TABLES:
            with cursor.copy(f"COPY bare_{table} FROM STDIN (FORMAT binary)") as copy:
                copy.write(rows[table])
    return time.perf_counter() - began


def _exported(superuser: psycopg.Connection[Any], table: str, tenant_id: int) -> bytes:
    query = f"COPY (SELECT * FROM {table} WHERE tenant_id = {int(tenant_id)} ORDER BY 1) TO STDOUT (FORMAT binary)"
    with superuser.cursor() as cursor, cursor.copy(query) as copy:
        return b"".join(bytes(part) for part in copy)
