"""What bench_pipeline measures on: copies of a prepared database, worker processes, and documents that are set free at once.

Documents wait in a pool that no worker takes. To release them moves them to the workers' pool in one transaction.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connections

from indexing import pools
from kbsite import embedded_postgres
from tests.benchmarks.pipeline_reader import Reader
from tests.benchmarks.pipeline_texts import Made, make
from tests.environment import ROOT
from tests.factories import World, make_world
from tests.processes import child_environment

PARKED, ONLINE = "parked", "online"
WARM = 8  # tasks for each worker before the clock starts
LONGEST = 300.0  # seconds until a load must be over

PREPARED = "kb"
DONE = "SELECT count(*) FROM index_task WHERE tenant_id = %s AND state = 'SUCCEEDED'"
ENDED_BADLY = "SELECT count(*) FROM index_task WHERE tenant_id = %s AND state IN ('DEAD', 'CANCELLED')"
LAST = "SELECT extract(epoch FROM max(finished_at))::float8 FROM index_task WHERE tenant_id = %s"
LISTENING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%%'"
# A document's own word stands in nearly every chunk of it: a search for it finds these.
WHOLE = """
SELECT document_id, version_number, count(*) FROM chunk WHERE tenant_id = %s AND text ~ '\\mkb[0-9]{5}' GROUP BY 1, 2"""
# Chunks of each document's newest version whose text no chunk of the version before has.
CHANGED = """
SELECT count(*) FROM chunk c
  JOIN (SELECT document_id, max(version_number) AS newest FROM chunk WHERE tenant_id = %s GROUP BY 1) d
    ON d.document_id = c.document_id AND c.version_number = d.newest
 WHERE NOT EXISTS (SELECT 1 FROM chunk o WHERE o.document_id = c.document_id AND o.version_number = d.newest - 1
                      AND o.text = c.text)"""


class Scene:
    def __init__(self, made: Sequence[Made], *, workers: int) -> None:
        self.made, self._workers = made, workers
        self._numbers = itertools.count(1)
        self._documents: dict[int, uuid.UUID] = {}
        self.superuser: psycopg.Connection[Any]

    def __enter__(self) -> Self:
        call_command("migrate", verbosity=0)
        self._host = embedded_postgres.ensure_running(Path(settings.DATA_DIR))
        self._server = psycopg.connect(host=self._host, user="postgres", dbname="postgres", autocommit=True)
        self._world, self._warm = make_world("bench"), make_world("warm")
        self.tenant_id = self._world.tenant.pk
        for world in (self._world, self._warm):
            pools.give_own_pool(tenant_id=world.tenant.pk, pool=PARKED)
        for made in self.made:
            self._documents[made.number] = self._publish(self._world, made)
        for number in range(WARM * self._workers):
            self._publish(self._warm, make(100_000 + number, characters=1_500, seed=0))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        connections.close_all()
        self._server.close()

    @staticmethod
    def _publish(world: World, made: Made) -> uuid.UUID:
        document = world.upload(made.text, title=f"Handbook {made.number}", name=f"{made.number}.md")
        world.publish(document)
        return document.pk

    @contextmanager
    def copied(self) -> Iterator[None]:
        """Within the block this process and the workers use a new copy of the prepared database."""
        name = f"round_{next(self._numbers)}"
        connections.close_all()
        self._server.execute(f"CREATE DATABASE {name} TEMPLATE {PREPARED} OWNER kb_owner")
        self._switch(name)
        try:
            with psycopg.connect(host=self._host, user="postgres", dbname=name, autocommit=True) as self.superuser:
                yield
        finally:
            self._switch(PREPARED)
            self._server.execute(f"DROP DATABASE {name} WITH (FORCE)")

    @staticmethod
    def _switch(name: str) -> None:
        connections.close_all()
        for alias in connections:
            connections[alias].settings_dict["NAME"] = name

    @contextmanager
    def workers(self, count: int, *, lease: float | None = None) -> Iterator[list[subprocess.Popen[bytes]]]:
        """Worker processes that have done some tasks and wait for more."""
        command = [sys.executable, str(ROOT / "manage.py"), "run_index_worker"]
        command += ["--lease", str(lease)] if lease else []
        environment = child_environment(KB_LOG_LEVEL="ERROR")
        before = self.count(LISTENING, ())
        crew = [
            subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            for _ in range(count)
        ]
        try:
            if not self.count(DONE, (self._warm.tenant.pk,)):
                self._wait(lambda: self.count(LISTENING, ()) >= before + count, "the workers' start")
                pools.give_own_pool(tenant_id=self._warm.tenant.pk, pool=ONLINE)
                warm = WARM * self._workers
                self._wait(lambda: self.count(DONE, (self._warm.tenant.pk,)) == warm, "the warming up")
            yield crew
        finally:
            for process in crew:
                process.terminate()
            for process in crew:
                process.wait()

    def reader(self) -> Reader:
        markers = {made.marker: self._documents[made.number] for made in self.made}
        return Reader(user=self._world.editor, tenant=self._world.tenant.slug, markers=markers)

    def release(self) -> None:
        """Let the workers see what waits."""
        pools.give_own_pool(tenant_id=self.tenant_id, pool=ONLINE)

    def load(self) -> float:
        """Release, and wait for all of it; seconds from the release until the last document was searchable."""
        wanted = self.count("SELECT count(*) FROM index_task WHERE tenant_id = %s")
        began = time.time()
        self.release()
        self.wait_for(wanted)
        finished = self.superuser.execute(LAST, (self.tenant_id,)).fetchone()
        assert finished is not None
        seconds: float = finished[0] - began
        return seconds

    def again(self, made: Sequence[Made]) -> float:
        """A new version of each document, released together; seconds until all are searchable."""
        pools.give_own_pool(tenant_id=self.tenant_id, pool=PARKED)
        for new in made:
            document = self._document(self._documents[new.number])
            self._world.new_version(document, new.text, name=f"{new.number}.md")
            self._world.publish(document)
        return self.load()

    @staticmethod
    def _document(pk: uuid.UUID) -> Any:
        from documents.models import Document

        return Document.objects.get(pk=pk)

    def wait_for(self, count: int) -> None:
        """Until so many of the documents' tasks have succeeded. Raises `RuntimeError` when one fails, or after `LONGEST`."""
        self._wait(lambda: self.count(DONE) >= count, "the load", pause=0.05)

    def whole(self) -> dict[tuple[uuid.UUID, int], int]:
        """How many chunks each version has."""
        found = self.superuser.execute(WHOLE, (self.tenant_id,)).fetchall()
        return {(document, version): count for document, version, count in found}

    def changed(self) -> int:
        """Chunks of the documents' newest versions that the versions before did not have."""
        return self.count(CHANGED)

    def count(self, query: str, parameters: tuple[Any, ...] | None = None) -> int:
        found = self.superuser.execute(query, (self.tenant_id,) if parameters is None else parameters).fetchone()
        assert found is not None
        return int(found[0])

    def _wait(self, condition: Any, what: str, *, pause: float = 0.05) -> None:
        deadline = time.monotonic() + LONGEST
        while not condition():
            if self.count(ENDED_BADLY) or time.monotonic() > deadline:
                raise RuntimeError(f"{what} did not come to its end")
            time.sleep(pause)
