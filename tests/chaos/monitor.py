"""Looks at everything again and again, and adds up in the end."""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg

from tests.chaos import invariants, judge, ledger, provider
from tests.chaos.crew import Crew
from tests.chaos.database import Database
from tests.chaos.ledger import Entry
from tests.chaos.nemesis import Blow
from tests.chaos.oracle import section

GRACE = (
    10.0  # seconds after the end of a lease in which somebody must have taken over, blows to everybody else included
)
NAME = "chaos-monitor"  # of its connections
MOST = 50  # violations that are told
LOGGED = re.compile(r"\d{4}-\d\d-\d\d ")  # how a line of a log begins

REFUSED = "SELECT count(*) FROM task_event WHERE kind = 'refused'"
LATE = """
SELECT (SELECT count(*) FROM task_event
         WHERE from_state = 'RUNNING' AND to_state = 'CANCELLED' AND code = 'DOCUMENT_DELETED')
     + (SELECT count(*) FROM task_event e JOIN index_task t ON t.id = e.task_id
         WHERE e.kind = 'refused' AND EXISTS (SELECT 1 FROM chaos.moment m
                WHERE m.document_id = t.document_id AND m.kind = 'deleted' AND m.at < e.at))"""
NEXT_MOVE = """
SELECT at FROM task_event
 WHERE task_id = %s AND kind = 'move' AND at > %s AND (attempts > %s OR to_state <> 'RUNNING') ORDER BY id LIMIT 1"""
PAID = """
SELECT text_digest, sum(times)::int
  FROM (SELECT tenant_id, text_digest, 1 AS times FROM embedding_cache
        UNION ALL SELECT tenant_id, text_digest, 1 FROM chaos.forgotten_vector) known
 GROUP BY text_digest"""


class Eyes:
    """A connection to look through, made again when the database was away. For one thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: psycopg.Connection[Any] | None = None

    def open(self) -> psycopg.Connection[Any]:
        """Raises `psycopg.OperationalError` while the database is away."""
        if self._connection is None or self._connection.closed:
            self._connection = self._database.connect(role="postgres", name=NAME)
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def ask(self, text: str, parameters: Sequence[Any] = ()) -> list[Any] | None:
        """Rows, or None while the database is away."""
        try:
            return self.open().execute(text, parameters).fetchall()
        except psycopg.OperationalError:
            self.close()
            return None

    def count(self, text: str) -> int:
        found = self.ask(text)
        assert found is not None, "the database is away after everything has ended"
        return int(found[0][0])


class Monitor:
    """Asks every invariant again and again in a thread of its own. A database that is away is looked at later."""

    def __init__(self, database: Database, *, folder: Path, crew: Crew) -> None:
        self.checks = 0
        self.violations: dict[str, None] = {}  # a set in order
        self.longest_check = 0.0  # seconds
        self._eyes, self._folder, self._crew = Eyes(database), folder, crew
        self._loaded: set[tuple[str, float]] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="monitor", daemon=True)
        self._failure: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._eyes.close()
        if self._failure is not None and error is None:
            raise self._failure

    def _go_on(self) -> None:
        """Every second, but not for more than a fourth of the time."""
        pause = 1.0
        while not self._stop.wait(pause):
            began = time.monotonic()
            try:
                self.check(self._crew.excused())
            except Exception as failure:
                self._failure = failure
                return
            took = time.monotonic() - began
            self.longest_check = max(self.longest_check, took)
            pause = max(1.0, 3 * took)

    def check(self, excused: Sequence[str] = (), *, at_the_end: bool = False) -> bool:
        """Every invariant, now; False if the database was away."""
        try:
            connection = self._eyes.open()
            self._load_ledgers(connection)
            found = invariants.check(
                connection,
                grace_seconds=GRACE,
                excused=["chaos-nemesis", NAME, *excused],
                at_the_end=at_the_end,
            )
        except psycopg.OperationalError:
            self._eyes.close()
            return False
        self.checks += 1
        for violation in found:
            self.tell(f"{violation.invariant}: {violation.what}")
        return True

    def tell(self, violation: str) -> None:
        if len(self.violations) < MOST:
            self.violations[violation] = None

    def entries(self) -> list[Entry]:
        return ledger.read(sorted(self._folder.glob("*.ledger")))

    def _load_ledgers(self, connection: psycopg.Connection[Any]) -> None:
        new = [entry for entry in self.entries() if (entry.actor, entry.began) not in self._loaded and entry.ended]
        ledger.load(connection, new)
        self._loaded.update((entry.actor, entry.began) for entry in new)

    def judge_searches(self) -> int:
        """Whether searchers were shown something wrong; return how many searches there were."""
        entries = self.entries()
        markers = {
            (entry.document, entry.version): frozenset(section(number).marker for number in entry.sections)
            for entry in entries
            if entry.action == "publish" and entry.version is not None
        }
        searches = judge.read(sorted(self._folder.glob("*.searches")))
        for wrong in judge.wrong_results(searches, entries, markers=markers):
            self.tell(f"searchers_saw_nothing_wrong: {wrong}")
        return len(searches)

    def look_for_defects(self) -> None:
        """What a process logged that nobody expected."""
        for path in sorted(self._folder.glob("*.log")):
            for defect in defects(path.read_text(encoding="utf-8", errors="replace").splitlines()):
                self.tell(f"no_defect: {path.stem}: {defect}")


def recoveries(
    eyes: Eyes, blows: Iterable[Blow], restarts: Sequence[tuple[Any, Any]]
) -> tuple[list[float], list[float]]:
    """Seconds from a blow, and from the end of the lease, until somebody took the task up again. Those during which the
    database was away are left out."""
    from_blow, from_lease = [], []
    for blow in blows:
        found = eyes.ask(NEXT_MOVE, [blow.task, blow.at, blow.attempts])
        if not found or any(began < found[0][0] and ended > blow.at for began, ended in restarts):
            continue
        from_blow.append((found[0][0] - blow.at).total_seconds())
        from_lease.append((found[0][0] - blow.lease_until).total_seconds())
    return from_blow, from_lease


def texts_wasted(eyes: Eyes, journal: Path) -> int:
    """Texts that the provider was asked for, and answered, more often than there are tenants that have them."""
    sent = Counter(text for asked in provider.read_journal(journal) if asked.answered for text in asked.texts)
    known = {digest for (digest,) in eyes.ask("SELECT embedded_digest FROM chaos.expected_vector") or ()}
    paid = dict(eyes.ask(PAID) or ())
    return sum(max(0, times - paid.get(text, 1)) for text, times in sent.items() if text in known)


def defects(lines: Sequence[str]) -> list[str]:
    """The error that each logged defect ended with."""
    found = []
    for number, line in enumerate(lines):
        if "defect in" in line:
            trace = itertools.takewhile(lambda text: not LOGGED.match(text), lines[number + 1 :])
            errors = [text for text in trace if text and not text[0].isspace()]
            found.append(errors[-1] if errors else line)
    return found
