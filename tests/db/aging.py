"""Time that passes for rows: what a test cannot wait for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection, connections

from documents.retention import Rule
from indexing import retention
from indexing.models import Chunk

LOGS = ("task_event", "pointer_log", "provider_event", "audit_event", "index_task")


def days_pass(days: float, *, logs: Sequence[str] = LOGS) -> None:
    """For all that retention looks at; the logs by the owner, since nobody else may change them."""
    with connection.cursor() as cursor:
        for table, column in (
            ("orphan_set", "counted_from"),
            ("citation", "last_at"),
            ("embedding_cache", "used_at"),
            ("parse_cache", "used_at"),
            ("situation_cache", "used_at"),
            ("retention_run", "ended_at"),
        ):
            cursor.execute(f"UPDATE {table} SET {column} = {column} - make_interval(secs => %s)", [days * 86400])
    with connections["owner"].cursor() as cursor:
        for table in logs:
            column = "finished_at" if table == "index_task" else "at"
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            cursor.execute(f"UPDATE {table} SET {column} = {column} - make_interval(secs => %s)", [days * 86400])
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")


def rule(name: str) -> Rule:
    (found,) = (rule for rule in retention.RULES if rule.name == name)
    return found


def swept(name: str, *, batch: int = 1000) -> int:
    """What a rule removes; it has counted exactly that before."""
    counted = rule(name).count()
    removed = rule(name).remove(batch, lambda: False)
    assert removed == counted
    return removed


def sets(**where: Any) -> set[tuple[int, int]]:
    """(version, generation) of the chunk sets that are stored."""
    return set(Chunk.objects.filter(**where).values_list("version_number", "generation"))
