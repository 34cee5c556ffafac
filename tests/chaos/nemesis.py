"""What happens to the crew, its database, its network and its provider. Blows are aimed at whoever holds a lease right now."""

from __future__ import annotations

import heapq
import itertools
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg

from tests.chaos.crew import Crew, Place
from tests.chaos.database import Database
from tests.chaos.plan import Deed, Request

PATIENCE = 2.0  # seconds that a blow waits for somebody to hit
HELD = """SELECT id, attempts, lease_owner, stage FROM index_task
           WHERE state = 'RUNNING' AND lease_until > clock_timestamp() ORDER BY random()"""
STILL = """SELECT clock_timestamp(), lease_until FROM index_task
            WHERE id = %s AND attempts = %s AND lease_owner = %s AND state = 'RUNNING'"""
BACKENDS = """SELECT pid, xact_start IS NOT NULL AND state <> 'idle' FROM pg_stat_activity
               WHERE datname = current_database() AND application_name ~ '^(worker|publisher)-[0-9]+$'
               ORDER BY (state LIKE 'idle in transaction%') DESC, (state = 'active') DESC, random() LIMIT 1"""


@dataclass(frozen=True, slots=True)
class Blow:
    """One that met a lease: the attempt that it ended, and when (the database's clock)."""

    deed: Deed
    task: int
    attempts: int
    at: datetime
    lease_until: datetime


class Controlled:
    """A process that takes commands on its standard input (the proxy, the provider)."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def tell(self, command: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "ok\n", f"{command!r} was not obeyed"


class Nemesis:
    def __init__(
        self, request: Request, *, crew: Crew, database: Database, proxy: Controlled, provider: Controlled
    ) -> None:
        self.done: Counter[Deed] = Counter()
        self.hits: list[Blow] = []  # kills and pauses that met a lease
        self.in_transaction = 0  # backends that were ended in the middle of one
        self.restarts: list[tuple[datetime, datetime]] = []  # from, to: by the machine's clock, as the database's is
        self._request, self._crew, self._database = request, crew, database
        self._proxy, self._provider = proxy, provider
        self._rng = random.Random(f"{request.seed} nemesis")
        self._due = request.deeds()
        self._later: list[tuple[float, int, Callable[[], object]]] = []  # a heap of what ends again by itself
        self._number = itertools.count()
        self._waits_since: float | None = None
        self._eyes: psycopg.Connection[Any] | None = None

    @property
    def idle(self) -> bool:
        """Whether nothing is left to do or to undo."""
        return not self._due and not self._later

    def tick(self, progress: float) -> None:
        """Undo what is over, and do the next deed if it is due; `progress` from 0 to 1."""
        while self._later and self._later[0][0] <= time.monotonic():
            heapq.heappop(self._later)[2]()
        if not self._due or self._due[0][0] > progress:
            return
        deed = self._due[0][1]
        try:
            finished = self._do(deed)
        except psycopg.OperationalError:
            self._forget_eyes()
            return
        if finished:
            self._due.pop(0)
            self.done[deed] += 1
            self._waits_since = None

    def relent(self) -> None:
        """Undo everything at once, and do nothing any more."""
        self._due.clear()
        while self._later:
            heapq.heappop(self._later)[2]()
        self._forget_eyes()

    def _do(self, deed: Deed) -> bool:
        """Do it; False if it has to wait for a better moment."""
        match deed:
            case Deed.KILL | Deed.PAUSE:
                return self._strike(deed)
            case Deed.TERMINATE:
                return self._rng.choice(self._crew.workers()).send(signal.SIGTERM)
            case Deed.BACKEND:
                return self._end_backend()
            case Deed.RESTART:
                return self._restart()
            case Deed.NETWORK:
                return self._disturb_network()
            case Deed.LOCK:
                return self._hold_lock()
            case Deed.SNAPSHOT:
                return self._hold_snapshot()
            case Deed.OTHER_MODEL:
                self._provider.tell(f"other_model {self._rng.uniform(1, 3):.1f}")
        return True

    def _strike(self, deed: Deed) -> bool:
        """SIGKILL or SIGSTOP, at somebody who holds a lease; after `PATIENCE` at anybody."""
        held = self._look(HELD)
        if deed is Deed.PAUSE and self._rng.random() < 0.6:  # in the middle of what an attempt pays for
            held.sort(key=lambda row: row[3] != "EMBED")
        for task, attempts, owner, _ in held:
            place = self._crew.holder(owner)
            if place is not None and self._hit(deed, place):
                if still := self._look(STILL, [task, attempts, owner]):
                    self.hits.append(Blow(deed, task, attempts, *still[0]))
                return True
        if not self._impatient():
            return False
        place = self._rng.choice(self._crew.workers())
        return not place.stopped and self._hit(deed, place)

    def _hit(self, deed: Deed, place: Place) -> bool:
        if deed is Deed.KILL:
            return place.kill()
        if not place.send(signal.SIGSTOP):
            return False
        self._after(self._rng.uniform(1.2, 5.0) * self._request.lease, lambda: place.send(signal.SIGCONT))
        return True

    def _end_backend(self) -> bool:
        found = self._look(BACKENDS)
        if not found or not (found[0][1] or self._impatient()):
            return False
        self.in_transaction += bool(found[0][1])
        return bool(self._look("SELECT pg_terminate_backend(%s)", [found[0][0]]))

    def _restart(self) -> bool:
        began = self._now()
        self._forget_eyes()
        self._database.restart_at_once()
        self.restarts.append((began, self._now()))
        return True

    def _disturb_network(self) -> bool:
        seconds = self._rng.uniform(0.5, 2.0) * self._request.lease
        self._proxy.tell(
            self._rng.choice(
                (
                    "drop",
                    f"halfopen {seconds:.1f}",
                    f"refuse {seconds / 2:.1f}",
                    "cut_after_commit 1",
                    "cut_after_commit 3",
                )
            )
        )
        return True

    def _hold_lock(self) -> bool:
        table = self._rng.choice(("document", "index_task"))
        rows = {
            "document": """SELECT 1 FROM document WHERE id IN (SELECT document_id FROM index_task WHERE state = 'RUNNING')
                            LIMIT 1 FOR UPDATE""",
            "index_task": "SELECT 1 FROM index_task WHERE state = 'RUNNING' LIMIT 1 FOR UPDATE",
        }
        self._hold(rows[table], seconds=self._rng.uniform(0.3, 1.5) * self._request.lease)
        return True

    def _hold_snapshot(self) -> bool:
        self._hold("SELECT count(*) FROM index_task", seconds=10 * self._request.lease)
        return True

    def _hold(self, text: str, *, seconds: float) -> None:
        holder = self._database.connect(name="chaos-nemesis", options="-c lock_timeout=500")
        holder.autocommit = False
        holder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        try:
            holder.execute(text)
        except psycopg.Error:  # locked by another, or changed since: no matter
            holder.close()
            return
        self._after(seconds, holder.close)

    def _after(self, seconds: float, undo: Callable[[], object]) -> None:
        heapq.heappush(self._later, (time.monotonic() + seconds, next(self._number), undo))

    def _impatient(self) -> bool:
        self._waits_since = self._waits_since or time.monotonic()
        return time.monotonic() - self._waits_since > PATIENCE

    def _look(self, text: str, parameters: list[Any] | None = None) -> list[Any]:
        if self._eyes is None:
            self._eyes = self._database.connect(role="postgres", name="chaos-nemesis")
        return self._eyes.execute(text, parameters).fetchall()

    def _forget_eyes(self) -> None:
        if self._eyes is not None:
            self._eyes.close()
            self._eyes = None

    @staticmethod
    def _now() -> datetime:
        return datetime.now(UTC)
