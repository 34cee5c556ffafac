"""A second real connection whose steps a test can order one by one, without sleeping."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self

from django.db import connection, connections


class Session:
    """A thread with its own database connection. `run` does a step and waits; `start` begins one that may block."""

    def __init__(self) -> None:
        self._steps: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.pid = self.run(lambda: _backend())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._steps.put(None)
        self._thread.join(timeout=20)
        assert not self._thread.is_alive(), "a session still waits for something that the test never let go"

    def run(self, step: Callable[[], Any]) -> Any:
        return self.start(step).result(timeout=30)

    def start(self, step: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        self._steps.put((future, step))
        return future

    def begin(self) -> None:
        self.run(lambda: connection.set_autocommit(False))

    def commit(self) -> None:
        self.run(lambda: (connection.commit(), connection.set_autocommit(True)))

    def rollback(self) -> None:
        self.run(lambda: (connection.rollback(), connection.set_autocommit(True)))

    def wait_until_blocked(self) -> None:
        """Until this session waits for a lock that another one holds."""
        deadline = time.monotonic() + 20
        while True:
            with connection.cursor() as cursor:
                cursor.execute("SELECT cardinality(pg_blocking_pids(%s))", [self.pid])
                if cursor.fetchone()[0]:
                    return
            assert time.monotonic() < deadline, "the session was never blocked"

    def _work(self) -> None:
        while (item := self._steps.get()) is not None:
            future, step = item
            try:
                future.set_result(step())
            except BaseException as error:
                future.set_exception(error)
        connections.close_all()


def _backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid: int = cursor.fetchone()[0]
        return pid
