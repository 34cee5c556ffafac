"""Statements tried as the application's role, and what each is refused with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import Error, connections, transaction

DENIED = "42501"
FOREIGN_KEY = "23503"


def sqlstate(statement: str, parameters: Any = (), *, using: str = "default") -> str | None:
    """What a statement is refused with, in a transaction of its own; None if it is allowed (and then it is undone)."""
    with transaction.atomic(using=using):
        try:
            with transaction.atomic(using=using), connections[using].cursor() as cursor:
                cursor.execute(statement, parameters)
        except Error as error:
            return getattr(error.__cause__, "sqlstate", None) or repr(error)
        finally:
            transaction.set_rollback(True, using=using)
    return None


INSERT_CHUNK = """
    INSERT INTO chunk (chunk_id, tenant_id, document_id, version_number, pipeline_id, generation, ordinal, text, heading_path,
                       locator, tokens, embedded_digest, terms, task_id, attempts)
    SELECT gen_random_uuid(), tenant_id, document_id, version_number, pipeline_id, generation, 99, 'x', '[]', '{}', 1, '', '',
           id, attempts
      FROM index_task WHERE id = %s"""
INSERT_VECTOR = """
    INSERT INTO chunk_vector (chunk_id, tenant_id, document_id, version_number, generation, pipeline_id, dimensions, embedding)
    SELECT id, tenant_id, document_id, version_number, generation, pipeline_id, 384, array_fill(1, ARRAY[384])::vector
      FROM chunk WHERE task_id = %s"""
INSERT_POINTER = """
    INSERT INTO search_pointer (tenant_id, document_id, pipeline_id, version_number, generation, chunk_count, manifest_digest,
                                task_id, attempts)
    SELECT tenant_id, document_id, pipeline_id, version_number, generation, 1, '', id, attempts FROM index_task WHERE id = %s"""
FENCE = "UPDATE index_task SET fence_xact = pg_current_xact_id() WHERE id = %s; "


def inline(statement: str, task_id: int) -> str:
    """Several statements in one go take no parameters."""
    return statement.replace("%s", str(task_id))


@contextmanager
def taken_away(*guards: str) -> Iterator[None]:
    """Switch triggers off (`table.trigger`), as only the owner can, to show that it is they who refuse."""
    for guard in guards:
        _switch("DISABLE", guard)
    try:
        yield
    finally:
        for guard in guards:
            _switch("ENABLE", guard)


def _switch(verb: str, guard: str) -> None:
    table, _, trigger = guard.partition(".")
    with connections["owner"].cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} {verb} TRIGGER {trigger}")
