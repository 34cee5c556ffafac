"""Workers as processes of this machine. New processes, not forks: no database connection survives a fork."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import Counter

from django.conf import settings

from indexing.engines.base import LAST_WORDS, MOST_FAILURES, Crew, EngineFailed
from indexing.states import Pool
from indexing.supervisor import LOOK, Child, Supervisor


class LocalEngine:
    def __init__(self, arguments: list[str] | None = None) -> None:
        """`arguments`: the command of a worker, if not this site's own."""
        self._arguments = arguments or [sys.executable, str(settings.BASE_DIR / "manage.py"), "run_index_worker"]

    def drain(self, crew: Crew, *, stop: threading.Event) -> Counter[str]:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        threads = os.environ.get("OMP_NUM_THREADS") or str(max(1, cores // crew.workers))
        supervisor = Supervisor(
            [
                Child(
                    name,
                    self._command(name, crew),
                    environment={"OMP_NUM_THREADS": threads},
                    keep_output=True,
                    may_end=True,
                )
                for name in (f"{crew.name}-{number}" for number in range(1, crew.workers + 1))
            ],
            most_failures=MOST_FAILURES,
        )
        try:
            while not stop.is_set() and supervisor.tend():
                stop.wait(LOOK)
        finally:
            supervisor.stop(grace=settings.KB_STOP_GRACE_SECONDS + 2 * LAST_WORDS)
        if not stop.is_set() and any(child.failures >= MOST_FAILURES for child in supervisor.children):
            raise EngineFailed
        counts: Counter[str] = Counter()
        for child in supervisor.children:
            for line in child.output.splitlines():
                counts.update(json.loads(line))
        return counts

    def _command(self, name: str, crew: Crew) -> list[str]:
        return [
            *self._arguments,
            *("--drain", "--format", "json", "--pool", str(Pool.BULK), "--batch", str(crew.batch), "--name", name),
            *("--lease", str(crew.lease_seconds), "--poll", str(crew.poll_seconds)),
        ]
