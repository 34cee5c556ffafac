"""The two sides of bench_queue: the product's queue, and a plain script that does two commits on a bare table."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

import psycopg

TENANTS = 50

BARE = """
CREATE TABLE bench_bare (id bigserial PRIMARY KEY, priority smallint NOT NULL, payload text, state text NOT NULL,
                         worker text, changed_at timestamptz);
CREATE INDEX bench_bare_pending ON bench_bare (priority, id) WHERE state = 'PENDING';
ALTER TABLE bench_bare OWNER TO kb_app;
"""
FILL_BARE = """
INSERT INTO bench_bare (priority, payload, state)
SELECT 0, gen_random_uuid()::text, %(state)s FROM generate_series(1, %(count)s)
"""
FILL = """
INSERT INTO index_task (tenant_id, document_id, version_number, pipeline_id, task_type, generation, pool, priority, fair,
                        state, attempts, failures, max_failures, readers_requested, cancel_requested, progress_done,
                        progress_total, finished_at)
SELECT 1 + n %% 50, gen_random_uuid(), 1, 1, 'INDEX', 1, 'bench', 0,
       n / 50 + coalesce((SELECT max(fair) FROM index_task WHERE state = 'PENDING' AND pool = 'bench'), 0),
       %(state)s::text, 0, 0, 5, false, false, 0, 0, CASE WHEN %(state)s::text = 'SUCCEEDED' THEN clock_timestamp() END
  FROM generate_series(1, %(count)s) n
"""
PLAIN_CLAIM = (
    "SELECT id, payload FROM bench_bare WHERE state = 'PENDING' ORDER BY priority, id FOR UPDATE SKIP LOCKED LIMIT 1"
)
PLAIN_TAKE = "UPDATE bench_bare SET state = 'RUNNING', worker = %s, changed_at = now() WHERE id = %s"
PLAIN_DONE = "UPDATE bench_bare SET state = 'DONE', changed_at = now() WHERE id = %s"


def fill(superuser: psycopg.Connection[Any], state: str, count: int) -> None:
    """Tasks of 50 tenants, and as many rows of the bare table; triggers off, so that millions take a minute."""
    fill_tasks(superuser, state, count)
    superuser.execute(FILL_BARE, {"state": "DONE" if state == "SUCCEEDED" else state, "count": count})


def fill_tasks(superuser: psycopg.Connection[Any], state: str, count: int) -> None:
    superuser.execute("SET session_replication_role = replica")
    superuser.execute(FILL, {"state": state, "count": count})
    superuser.execute("SET session_replication_role = origin")


def copy_database(host: str, name: str) -> None:
    """A copy of `kb` beside it. Nobody else may be connected to it."""
    from django.db import connections

    connections.close_all()
    with psycopg.connect(host=host, user="postgres", dbname="postgres", autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} TEMPLATE kb OWNER kb_owner")


class Plain:
    """Two commits a task: SELECT … SKIP LOCKED and UPDATE, then UPDATE. psycopg prepares after five executions."""

    def __init__(self, host: str, database: str) -> None:
        self._connection = psycopg.connect(host=host, user="kb_app", dbname=database)

    def set_commit(self, value: str) -> None:
        self._connection.execute(f"SET synchronous_commit = {value}")
        self._connection.commit()

    def cycles(self, count: int, times: list[float]) -> int:
        for done in range(count):
            began = time.perf_counter()
            task = self._connection.execute(PLAIN_CLAIM).fetchone()
            if task is None:
                self._connection.commit()
                return done
            self._connection.execute(PLAIN_TAKE, [str(os.getpid()), task[0]])
            self._connection.commit()
            times.append(time.perf_counter() - began)
            self._connection.execute(PLAIN_DONE, [task[0]])
            self._connection.commit()
        return count


class Product:
    """`queue.claim` and the queue's fenced finish, as a worker calls them, through the application's role."""

    def __init__(self, limit: int, *, work: Callable[[Any], None] = lambda lease: None) -> None:
        from indexing.turns import Turns

        self._limit, self._turns, self._work = limit, Turns(), work

    def set_commit(self, value: str) -> None:
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute(f"SET synchronous_commit = {value}")

    def cycles(self, count: int, times: list[float]) -> int:
        from django.db import transaction

        from indexing import queue

        done = 0
        while done < count:
            began = time.perf_counter()
            leases = queue.claim_many(
                worker=f"bench-{os.getpid()}", pool="bench", lease_seconds=60, limit=self._limit, turns=self._turns
            )
            times.append(time.perf_counter() - began)
            if not leases:
                return done
            for lease in leases:
                self._work(lease)
                with transaction.atomic():
                    queue.fence(lease)
                    queue.succeed(lease, chunks=1)
            done += len(leases)
        return done


def renewing(lease: Any) -> None:
    """What a worker says between its claim and its finish."""
    from indexing import queue
    from indexing.states import Stage

    for stage in (Stage.PARSE, Stage.EMBED, Stage.INDEX):
        queue.report(lease, stage=stage)
    queue.renew(lease, lease_seconds=60)


def serve(pipe: Connection, host: str, database: str) -> None:
    """The body of a process: does rounds of (side, cycles, synchronous_commit, start) until it is told to stop."""
    import django
    from django.conf import settings
    from django.db import connection

    django.setup()
    settings.DEBUG = False  # else Django notes every statement
    connection.settings_dict["NAME"] = database
    sides: dict[str, Any] = {
        "plain": Plain(host, database),
        "one": Product(1),
        "ten": Product(10),
        "busy": Product(1, work=renewing),
    }
    for side, count, commit, start in orders(pipe):
        chosen, times = sides[side], list[float]()
        chosen.set_commit(commit)
        time.sleep(max(0.0, start - time.monotonic()))
        began = time.monotonic()
        done = chosen.cycles(count, times)
        pipe.send((began, time.monotonic(), done, times))


def orders(pipe: Connection) -> Iterator[tuple[str, int, str, float]]:
    while (order := pipe.recv()) is not None:
        yield order
