"""Keeps leases alive from a thread of its own, with a connection of its own, while the attempts are busy elsewhere."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from django.db import Error, connection

from indexing import queue
from indexing.errors import LeaseLost
from indexing.lease import Lease, LeaseClock

logger = logging.getLogger(__name__)


class Heartbeat:
    """A context manager around an attempt: renews every third of the lease, and knows when the lease is lost.

    After `max_run_seconds` it no longer renews: an attempt that takes so long hangs, and somebody else may try.
    """

    def __init__(self, lease: Lease, *, lease_seconds: float, max_run_seconds: float, claimed_at: float) -> None:
        """`claimed_at`: monotonic seconds, read before the claim was sent."""
        self._lease, self._seconds = lease, lease_seconds
        self._give_up_at = claimed_at + max_run_seconds
        self._clock = LeaseClock(seconds=lease_seconds, now=time.monotonic)
        self._clock.renewed(sent_at=claimed_at)
        self._lost, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"heartbeat-{lease.task_id}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()
        self._thread.join()

    def ensure_alive(self) -> None:
        """Raise `LeaseLost` if the database said so, or if by the local clock the lease must be over."""
        if self._lost.is_set() or self._clock.is_over:
            raise LeaseLost("renew")

    def end(self) -> None:
        """The attempt is over: renew no more."""
        self._stop.set()

    def go_on(self) -> bool:
        """Renew once; False if that was the last time."""
        if self._stop.is_set():
            return False
        if time.monotonic() >= self._give_up_at:
            logger.warning("task %s runs for too long and is no longer renewed", self._lease.task_id)
            return False
        self._beat()
        return not self._lost.is_set()

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._seconds / 3) and self.go_on():
                pass
        finally:
            connection.close()

    def _beat(self) -> None:
        sent_at = time.monotonic()
        try:
            outcome = queue.renew(self._lease, lease_seconds=self._seconds)
            # The attempt may have ended itself a moment ago: then this came too late, and nothing was refused.
            has_ended = outcome == "lost" and queue.outcome(self._lease) is not None
        except Error as error:
            # The database cannot be reached: try again next time; `LeaseClock` ends the attempt if it goes on.
            logger.warning("task %s: the lease could not be renewed: %s", self._lease.task_id, str(error).strip())
            connection.close()
            return
        if outcome == "renewed":
            self._clock.renewed(sent_at=sent_at)
        elif outcome == "lost":
            if not has_ended:
                queue.record_refusal(self._lease, action="renew")
            self._lost.set()


class Heartbeats:
    """The same for several leases: one thread and one connection renew all that have not ended."""

    def __init__(self, beats: Sequence[Heartbeat], *, lease_seconds: float) -> None:
        self._beats, self._seconds = list(beats), lease_seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"heartbeat-of-{len(self._beats)}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._seconds / 3):
                self._beats = [beat for beat in self._beats if beat.go_on()]
        finally:
            connection.close()
