"""A worker's time-limited right to one task. Pure."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

LONGEST_LEASE = 600  # seconds; the guard of index_task refuses more


@dataclass(frozen=True, slots=True)
class Lease:
    """What a claim returns. `attempts` is the fencing token: every write names it and is refused once it is old."""

    task_id: int
    worker: str
    attempts: int
    tenant_id: int
    document_id: uuid.UUID
    version_number: int
    pipeline_id: int
    task_type: str
    generation: int
    failures: int
    max_failures: int
    readers_requested: bool
    waited: float  # seconds since enqueue or reopening

    @property
    def token(self) -> dict[str, object]:
        """The parameters that fence a statement."""
        return {"task": self.task_id, "worker": self.worker, "attempts": self.attempts}

    @property
    def chunk_set(self) -> dict[str, object]:
        """The parameters that name the set of chunks this task makes."""
        return {
            "tenant": self.tenant_id,
            "document": self.document_id,
            "version": self.version_number,
            "pipeline": self.pipeline_id,
            "generation": self.generation,
        }


class LeaseClock:
    """Knows, while the database cannot be reached, that the lease must be over: by the local monotonic clock, counted from
    before the claim or renewal was sent, so it never ends later than the database says."""

    def __init__(self, *, seconds: float, now: Callable[[], float]) -> None:
        self._seconds, self._now = seconds, now
        self._renewed_at = now()

    def renewed(self, *, sent_at: float) -> None:
        self._renewed_at = max(self._renewed_at, sent_at)

    @property
    def is_over(self) -> bool:
        return self._now() - self._renewed_at >= self._seconds
