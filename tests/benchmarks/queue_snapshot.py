"""What a transaction that stays open does to the queue under load, minute by minute.

Two databases of one server take the same rounds in turns, so that a change of the machine's load meets both: in the first
somebody holds a transaction open, the second is the same without it (`no-snapshot`), or also with it but with rows packed
tight (`fillfactor-100`) or with the server's own autovacuum settings (`autovacuum-default`). A life cycle here is a claim,
three reports, a renewal and a fenced finish.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import psycopg

from tests.benchmarks import queue_load
from tests.benchmarks.queue_crew import Crew, p

AGAINST = {
    "no-snapshot": "SELECT 1",
    "fillfactor-100": "ALTER TABLE index_task SET (fillfactor = 100)",
    "autovacuum-default": "ALTER TABLE index_task RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold)",
}
BACKLOG = 100_000
ROUND = 300  # life cycles of a round
STORAGE = """
SELECT n_tup_upd AS updates, n_tup_hot_upd AS hot, n_dead_tup AS dead, autovacuum_count AS autovacuums,
       pg_relation_size('index_task') / 1048576 AS "tableMiB", pg_indexes_size('index_task') / 1048576 AS "indexesMiB"
  FROM pg_stat_user_tables WHERE relname = 'index_task'
"""


class Side:
    """One of the two databases."""

    def __init__(self, host: str, database: str, setting: str) -> None:
        self._crew = Crew(host, 2, database=database)
        self._superuser: psycopg.Connection[Any] = psycopg.connect(
            host=host, user="postgres", dbname=database, autocommit=True, row_factory=psycopg.rows.dict_row
        )
        self._superuser.execute("ALTER TABLE index_task DISABLE TRIGGER index_task_success_guard")
        self._superuser.execute(setting)
        queue_load.fill_tasks(self._superuser, "PENDING", BACKLOG)
        self._superuser.execute("VACUUM FULL index_task")
        self._superuser.execute("ANALYZE index_task")
        self._began = self._storage()
        self.cycles = 0
        self._times: list[float] = []

    def _storage(self) -> dict[str, Any]:
        self._superuser.execute("SELECT pg_stat_force_next_flush()")
        found: dict[str, Any] | None = self._superuser.execute(STORAGE).fetchone()
        assert found is not None, "the table is there"
        return found

    def round(self) -> None:
        _, took = self._crew.round("busy", workers=2, cycles=ROUND, commit="off")
        self._times += took
        self.cycles += ROUND
        queue_load.fill_tasks(self._superuser, "PENDING", ROUND)

    def report(self) -> dict[str, Any]:
        """Since the last report: claim times; since the beginning: updates in place; now: dead rows and sizes."""
        now, began = self._storage(), self._began
        times, self._times = self._times, []
        updates = now["updates"] - began["updates"]
        return {
            "cycles": self.cycles,
            "claimP50Ms": p(times, 0.5),
            "claimP95Ms": p(times, 0.95),
            "hotShare": round((now["hot"] - began["hot"]) / max(1, updates), 3),
            "deadRows": now["dead"],
            "autovacuums": now["autovacuums"] - began["autovacuums"],
            "tableMiB": now["tableMiB"],
            "indexesMiB": now["indexesMiB"],
        }

    def end(self) -> None:
        self._crew.end()
        self._superuser.close()


def run(options: argparse.Namespace, host: str) -> dict[str, Any]:
    """Rounds in turns: before, for the asked minutes with the transaction open, and after it."""
    queue_load.copy_database(host, "kb_against")
    held, against = Side(host, "kb", "SELECT 1"), Side(host, "kb_against", AGAINST[options.against])
    result: dict[str, Any] = {"against": options.against, "minutes": options.snapshot_minutes}

    def measure(name: str, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            held.round()
            against.round()
        found = {"held": held.report(), options.against: against.report()}
        result[name] = found | {"ratioOfClaims": _ratio(found)}

    measure("warm", 5)
    measure("before", 20)
    minutes = options.snapshot_minutes
    databases = ["kb"] if options.against == "no-snapshot" else ["kb", "kb_against"]
    holders = [psycopg.connect(host=host, user="kb_owner", dbname=database) for database in databases]
    for holder in holders:
        holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        holder.execute("SELECT count(*) FROM (SELECT 1 FROM index_task LIMIT 1) t")
    for begin, end in ((0.0, 0.2), (0.2, 0.5), (0.5, 1.0)):
        measure(f"to minute {minutes * end:g}", (end - begin) * minutes * 60)
    for holder in holders:
        holder.close()
    measure("after", 40)
    held.end()
    against.end()
    return result


def _ratio(found: dict[str, dict[str, Any]]) -> float:
    first, second = (float(side["claimP50Ms"]) for side in found.values())
    return round(first / second, 2)
