"""A worker that takes several tasks at once: for bulk runs, where documents are many and nobody waits for one of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings

from documents.outages import is_outage
from indexing import queue
from indexing.attempt import Attempt
from indexing.heartbeat import Heartbeat, Heartbeats
from indexing.lease import Lease
from indexing.retrying import Blocked, Retrying, trying
from indexing.shared_embedding import embed_together
from indexing.states import Pool
from indexing.worker import IDLE, Result, Round, Stopping, Worker

logger = logging.getLogger(__name__)


class BulkWorker(Worker):
    """Claims a batch of tasks, prepares each, embeds the texts of all together, and finishes each under its own fence.

    One thread renews all leases. What goes wrong with one task ends that task alone.
    """

    def __init__(self, *, batch: int | None = None, pool: str = Pool.BULK, **options: Any) -> None:
        super().__init__(pool=pool, **options)
        self.batch = batch or settings.KB_BULK_BATCH
        self._held: dict[int, Lease] = {}  # by task: attempts that have not ended

    def rounds(self) -> list[Round]:
        """What became of the tasks of one claim."""
        claimed_at = time.monotonic()
        leases = queue.claim_many(
            worker=self.name,
            pool=self.pool,
            lease_seconds=self.lease_seconds,
            limit=self.batch,
            turns=self._turns,
            paused=self._providers.pause().pipelines,
        )
        if not leases:
            return [IDLE]
        leases.sort(key=lambda lease: lease.task_id)
        beats = {lease.task_id: self._heartbeat(lease, claimed_at=claimed_at) for lease in leases}
        attempts = [self._new_attempt(lease, beats[lease.task_id]) for lease in leases]
        self._held = {lease.task_id: lease for lease in leases}
        self.current = leases[0]  # stands for all of them
        try:
            with Heartbeats(list(beats.values()), lease_seconds=self.lease_seconds):
                return list(self._work_together(attempts, beats))
        finally:
            self.current, self._held = None, {}

    def give_back(self) -> bool:
        """Release every lease of the batch that has not ended."""
        given = [self._give_back(lease) for lease in list(self._held.values())]
        return any(given)

    def _work_together(self, attempts: list[Attempt], beats: dict[int, Heartbeat]) -> Iterator[Round]:
        ready = []
        for attempt in attempts:
            beat = beats[attempt.lease.task_id]
            result = self._alone(attempt, beat, first=True)
            if result is Result.SUCCEEDED:
                ready.append(attempt)
            elif result is not None:
                yield Round(result, attempt.lease.task_id)
        self._embed(ready)
        for attempt in ready:
            beat = beats[attempt.lease.task_id]
            result = self._alone(attempt, beat, first=False)
            if result is not None:
                yield Round(result, attempt.lease.task_id)

    def _alone(self, attempt: Attempt, beat: Heartbeat, *, first: bool) -> Result | None:
        """One task's part before or after the embedding; a defect in it is nobody else's."""
        steps = (attempt.begin, attempt.prepare) if first else (attempt.complete,)
        try:
            result = self._guarded(attempt, beat, *steps, within=_ending(beat))
        except Exception as error:
            if is_outage(error):
                raise
            # The lease is left to expire, which charges the task's budget.
            logger.exception("defect in an attempt of worker %s", self.name)
            return Result.FAILED
        if not first or result is not Result.SUCCEEDED:
            beat.end()
            self._held.pop(attempt.lease.task_id, None)
        return result

    def _embed(self, attempts: list[Attempt]) -> None:
        policy = Retrying(checkpoint=self._stopped, seconds=self.lease_seconds, rng=self._random)
        try:
            with trying(policy):
                embed_together(attempts, checkpoint=self._stopped)
        except (Stopping, Blocked):
            pass  # each attempt finds that out, and gives its lease back

    def _stopped(self) -> None:
        if self.stop.is_set():
            raise Stopping


@contextmanager
def _ending(beat: Heartbeat) -> Iterator[None]:
    """What ends the attempt ends its heartbeat."""
    try:
        yield
    except BaseException:
        beat.end()
        raise
