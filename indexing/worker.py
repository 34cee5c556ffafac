"""The loop of a worker: claim, work, end the attempt, sleep until there is more."""

from __future__ import annotations

import logging
import os
import random
import socket
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

import psycopg
from django.conf import settings
from django.db import Error, close_old_connections, connection

from documents.outages import is_outage
from indexing import queue, sink
from indexing.attempt import Attempt
from indexing.backoff import Policy, decide
from indexing.errors import Disposition, IndexingError, LeaseLost
from indexing.heartbeat import Heartbeat
from indexing.lease import Lease
from indexing.provider_watch import ProviderWatch
from indexing.retrying import Blocked, Retrying, retrying, trying
from indexing.states import Pool, TaskState
from indexing.turns import Turns

logger = logging.getLogger(__name__)


class Result(StrEnum):
    """What one round of the loop came to."""

    IDLE = "IDLE"  # nothing was due
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"  # the attempt ended otherwise; the task says how
    LOST_LEASE = "LOST_LEASE"  # the lease was over, or given back because the worker was told to stop


RESULTS = {TaskState.SUCCEEDED: Result.SUCCEEDED, TaskState.PENDING: Result.LOST_LEASE}  # FAILED for the others


@dataclass(frozen=True, slots=True)
class Round:
    result: Result
    task_id: int | None = None


IDLE = Round(Result.IDLE)


class Stopping(Exception):
    """The worker was told to stop: give the lease back."""


class Worker:
    """Runs tasks of one pool, one at a time. `stop` is set from a signal handler or another thread."""

    def __init__(
        self,
        *,
        name: str | None = None,
        pool: str = Pool.ONLINE,
        lease_seconds: float | None = None,
        poll_seconds: float | None = None,
    ) -> None:
        # Unique, so that an operator can tell who holds what; it is no token.
        self.name = name or f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}"
        self.pool = pool
        self.lease_seconds = lease_seconds or settings.KB_LEASE_SECONDS
        self.poll_seconds = poll_seconds or settings.KB_POLL_SECONDS
        self.stop = threading.Event()
        self.current: Lease | None = None
        self.counts: Counter[Result] = Counter()  # of the rounds of `run` so far
        self._turns = Turns()
        self._providers = ProviderWatch()
        self._random = random.Random()  # noqa: S311 (spreads retries, guards nothing)

    def run_once(self) -> Round:
        """Claim and work on one task; tasks that nobody wants any more are cancelled on the way and do not count."""
        while not self.stop.is_set():
            paused = self._providers.pause().pipelines
            claimed_at = time.monotonic()
            lease = queue.claim(
                worker=self.name, pool=self.pool, lease_seconds=self.lease_seconds, turns=self._turns, paused=paused
            )
            if lease is None:
                break
            self.current = lease
            try:
                result = self._work(lease, claimed_at=claimed_at)
            finally:
                self.current = None
            if result is not None:
                return Round(result, lease.task_id)
        return IDLE

    def rounds(self) -> list[Round]:
        """What one turn of the loop came to."""
        return [self.run_once()]

    def run(self, *, drain: bool = False, on_round: Callable[[Round], None] = lambda _: None) -> Counter[Result]:
        """Work until told to stop, or with `drain` until nothing is due; return the counts.

        A lost database connection ends no loop, but it ends a drain: whoever started that can start it again.
        """
        wakeup = Wakeup()
        try:
            while not self.stop.is_set():
                try:
                    close_old_connections()
                    rounds = self.rounds()
                except Exception as error:
                    if is_outage(error):
                        if drain:
                            raise
                        logger.warning("the database cannot be used; trying again: %s", str(error).strip())
                        connection.close()
                        self.stop.wait(min(self.poll_seconds, 5.0))
                        continue
                    # A defect. The lease is left to expire, which charges the task's budget; the loop lives on.
                    logger.exception("defect in an attempt of worker %s", self.name)
                    self.counts[Result.FAILED] += 1
                    self.stop.wait(1.0)
                    continue
                if rounds == [IDLE] and self.stop.is_set():
                    break  # not idle, only stopped
                for round_ in rounds:
                    self.counts[round_.result] += 1
                    on_round(round_)
                if rounds == [IDLE]:
                    if drain:
                        break
                    wakeup.wait(self._sleep_seconds(), self.stop)
        finally:
            wakeup.close()
        return self.counts

    def give_back(self) -> bool:
        """Release the lease of the attempt that runs right now, from another thread: its later writes are refused.
        False if there was none to release."""
        lease = self.current
        return lease is not None and self._give_back(lease)

    def _give_back(self, lease: Lease) -> bool:
        try:
            queue.release(lease)
        except LeaseLost as lost:
            logger.info("task %s had ended already", lease.task_id)
            queue.record_refusal(lease, action=lost.action)
            return False
        logger.info("task %s: given back", lease.task_id)
        return True

    def _work(self, lease: Lease, *, claimed_at: float) -> Result | None:
        """One attempt to its recorded end; None if the task was cancelled before any work."""
        heartbeat = self._heartbeat(lease, claimed_at=claimed_at)
        attempt = self._new_attempt(lease, heartbeat)
        result = self._guarded(attempt, heartbeat, attempt.begin, attempt.run, within=heartbeat)
        if result is Result.SUCCEEDED:
            logger.info("task %s: succeeded", lease.task_id)
        return result

    def _heartbeat(self, lease: Lease, *, claimed_at: float) -> Heartbeat:
        logger.info("task %s: attempt %s of worker %s", lease.task_id, lease.attempts, self.name)
        return Heartbeat(
            lease,
            lease_seconds=self.lease_seconds,
            max_run_seconds=settings.KB_MAX_RUN_SECONDS,
            claimed_at=claimed_at,
        )

    def _new_attempt(self, lease: Lease, heartbeat: Heartbeat) -> Attempt:
        return Attempt(lease, checkpoint=partial(self._checkpoint, heartbeat))

    def _checkpoint(self, heartbeat: Heartbeat) -> None:
        if self.stop.is_set():
            raise Stopping
        heartbeat.ensure_alive()

    def _guarded(
        self,
        attempt: Attempt,
        heartbeat: Heartbeat,
        *steps: Callable[[], None],
        within: AbstractContextManager[object],
    ) -> Result | None:
        """Take steps of an attempt, `within` what keeps its lease alive, and record its end if they do not all succeed.

        SUCCEEDED says that they did. None: it was cancelled before any work, or is wanted again after all.
        """
        lease = attempt.lease
        working = Retrying(
            checkpoint=partial(self._checkpoint, heartbeat), seconds=self.lease_seconds, rng=self._random
        )
        releasing = Retrying(checkpoint=heartbeat.ensure_alive, seconds=self.lease_seconds, rng=self._random)
        try:
            with within:
                try:
                    with trying(working):
                        return self._attempt(attempt, steps)
                except (Stopping, Blocked):
                    releasing(lambda: queue.release(lease))
                    logger.info("task %s: given back", lease.task_id)
                    return Result.LOST_LEASE
        except LeaseLost as lost:
            if (working.was_cut or releasing.was_cut) and (outcome := queue.outcome(lease)) is not None:
                logger.info("task %s: attempt %s had ended as %s", lease.task_id, lease.attempts, outcome)
                return RESULTS.get(outcome, Result.FAILED)
            logger.warning("task %s: attempt %s lost its lease and wrote nothing", lease.task_id, lease.attempts)
            queue.record_refusal(lease, action=lost.action)
            return Result.LOST_LEASE

    def _attempt(self, attempt: Attempt, steps: Sequence[Callable[[], None]]) -> Result | None:
        try:
            for step in steps:
                step()
        except IndexingError as error:
            state = self._end(attempt.lease, error)
            # Cancelled before any work, or wanted again after all: no round for whoever counts, the loop goes on.
            is_none = state is TaskState.PENDING or (state is TaskState.CANCELLED and not attempt.has_begun)
            return None if is_none else Result.FAILED
        return Result.SUCCEEDED

    def _end(self, lease: Lease, error: IndexingError) -> TaskState:
        policy = Policy(
            base=settings.KB_BACKOFF_BASE_SECONDS,
            cap=settings.KB_BACKOFF_CAP_SECONDS,
            longest_wait=settings.KB_MAX_WAIT_SECONDS,
        )
        judge = partial(
            decide,
            failures=lease.failures,
            max_failures=lease.max_failures,
            waited=lease.waited,
            policy=policy,
            rng=self._random,
        )
        if error.disposition in (Disposition.PROVIDER, Disposition.THROTTLED):
            self._providers.look_again()
        verdict = retrying(lambda: sink.end(lease, error, decide=judge))
        logger.warning("task %s: %s, now %s: %s", lease.task_id, error.code, verdict.state, error)
        return verdict.state

    def _sleep_seconds(self) -> float:
        """Until the next poll, or sooner if something becomes due by the clock before."""
        try:
            pause = self._providers.pause()
            due = queue.seconds_until_due(pool=self.pool, paused=pause.pipelines)
        except Error:
            return self.poll_seconds
        sooner = [seconds for seconds in (due, pause.seconds) if seconds is not None]
        return max(0.05, min([self.poll_seconds, *sooner]))


class Wakeup:
    """Sleeps until somebody enqueues (NOTIFY), the time is over, or the worker is to stop. Without a connection to listen
    on it only sleeps: polling is the truth."""

    SLICE = 0.5  # seconds after which `stop` is looked at

    def __init__(self) -> None:
        self._listener: psycopg.Connection[tuple[object, ...]] | None = None

    def wait(self, seconds: float, stop: threading.Event) -> None:
        deadline = time.monotonic() + seconds
        while not stop.is_set() and (left := deadline - time.monotonic()) > 0:
            if self._heard(min(left, self.SLICE), stop):
                return

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def _heard(self, seconds: float, stop: threading.Event) -> bool:
        try:
            if self._listener is None:
                parameters = connection.get_connection_params()
                for name in ("cursor_factory", "context", "prepare_threshold"):
                    parameters.pop(name, None)
                self._listener = psycopg.connect(**parameters, autocommit=True)
                self._listener.execute(f"LISTEN {queue.CHANNEL}")
                return True  # something may have been enqueued before we listened
            return any(True for _ in self._listener.notifies(timeout=seconds, stop_after=1))
        except psycopg.Error:
            self.close()
            stop.wait(seconds)
            return False
