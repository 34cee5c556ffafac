"""Workers as Ray actors, on this machine or a cluster. Ray is optional: requirements-ray.txt.

An actor is a process of its own with connections of its own: it gets the settings' environment and never a connection. One
that dies is made again; what it held runs out of its lease and is taken over by another, as with any worker.
"""

from __future__ import annotations

import importlib
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from indexing.engines.base import LAST_WORDS, MOST_FAILURES, Crew, EngineFailed

logger = logging.getLogger(__name__)

LOOK = 0.2  # seconds between two looks at the actors
PASSED = ("KB_", "DATABASE_", "DJANGO_SETTINGS_MODULE", "OMP_NUM_THREADS", "CHAOS_")
"""What an actor gets of the environment, by prefix. It reaches a cluster's nodes, so nothing else is passed."""


class Actor:
    """What runs in an actor's process. Two threads: one works, the other is told to stop."""

    def __init__(self, crew: Crew, name: str) -> None:
        import django

        django.setup()
        from indexing.bulk_worker import BulkWorker

        self._worker = BulkWorker(
            name=name, batch=crew.batch, lease_seconds=crew.lease_seconds, poll_seconds=crew.poll_seconds
        )

    def drain(self) -> dict[str, int]:
        from django.db import connections

        try:
            return {result.value: count for result, count in self._worker.run(drain=True).items()}
        finally:
            connections.close_all()

    def stop(self) -> None:
        self._worker.stop.set()


class RayEngine:
    def __init__(self, *, address: str | None = None, actor: type[Actor] = Actor) -> None:
        """`address`: of a cluster that runs; None starts one on this machine, for as long as `drain` runs.

        Raises `ImportError` without Ray.
        """
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would tell its makers of every cluster
        self._ray: Any = importlib.import_module("ray")
        self._address, self._actor = address, actor

    def drain(self, crew: Crew, *, stop: threading.Event) -> Counter[str]:
        environment = _environment(os.environ)
        own = {} if self._address else {"num_cpus": crew.workers, "include_dashboard": False}
        self._ray.init(
            address=self._address or "local",
            logging_level=logging.WARNING,
            runtime_env={"env_vars": environment},
            **own,
        )
        try:
            return _Drain(self._ray, self._actor, crew, stop).run()
        finally:
            self._ray.shutdown()


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    passed = {name: value for name, value in environment.items() if name.startswith(PASSED)}
    return {"DJANGO_SETTINGS_MODULE": "kbsite.settings", **passed, "PYTHONPATH": str(settings.BASE_DIR)}


class _Drain:
    """One drain: its actors, by what each is about to answer."""

    def __init__(self, ray: Any, actor: type[Actor], crew: Crew, stop: threading.Event) -> None:
        self._ray, self._crew, self._stop = ray, crew, stop
        # num_cpus: an actor waits for its provider most of the time, and a cluster is not held up by bookings.
        self._class = ray.remote(num_cpus=1, max_concurrency=2, max_restarts=0)(actor)
        self._running: dict[Any, tuple[int, Any]] = {}
        self._failures: Counter[int] = Counter()
        self._made: Counter[int] = Counter()
        self.counts: Counter[str] = Counter()

    def run(self) -> Counter[str]:
        for number in range(1, self._crew.workers + 1):
            self._begin(number)
        while self._running and not self._stop.is_set():
            self._collect(LOOK)
        if self._running:
            self._end()
        elif any(count >= MOST_FAILURES for count in self._failures.values()):
            raise EngineFailed
        return self.counts

    def _begin(self, number: int) -> None:
        self._made[number] += 1
        actor = self._class.remote(self._crew, f"{self._crew.name}-{number}.{self._made[number]}")
        self._running[actor.drain.remote()] = (number, actor)

    def _collect(self, seconds: float) -> None:
        ended, _ = self._ray.wait(list(self._running), timeout=seconds)
        for answer in ended:
            number, _actor = self._running.pop(answer)
            try:
                self.counts.update(self._ray.get(answer))
            except self._ray.exceptions.RayError as error:
                self._failures[number] += 1
                logger.warning("worker %s of %s ended: %s", number, self._crew.name, str(error).splitlines()[0])
                if self._failures[number] < MOST_FAILURES and not self._stop.is_set():
                    self._begin(number)

    def _end(self) -> None:
        """Ask every actor to give its leases back; what has not ended then is killed."""
        for _, actor in self._running.values():
            actor.stop.remote()
        deadline = time.monotonic() + settings.KB_STOP_GRACE_SECONDS + LAST_WORDS
        while self._running and time.monotonic() < deadline:
            self._collect(LOOK)
        for _, actor in self._running.values():
            self._ray.kill(actor)
