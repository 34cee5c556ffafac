"""What every engine is asked, and the numbers they share."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from typing import Protocol

MOST_FAILURES = 5  # unasked ends of one worker's process after which it is given up
LAST_WORDS = 5.0  # seconds to give leases back once the grace is over


@dataclass(frozen=True, slots=True)
class Crew:
    """How many workers, and how each works."""

    workers: int
    batch: int  # tasks that one takes at once
    lease_seconds: float
    poll_seconds: float
    name: str


class EngineFailed(Exception):
    """A worker's process kept ending unasked; the log says why."""


class Engine(Protocol):
    def drain(self, crew: Crew, *, stop: threading.Event) -> Counter[str]:
        """Work on the pool `bulk` until nothing is due or `stop` is set; counts of `indexing.worker.Result` by name.

        Runs in the main thread; nothing that it started runs on return. Raises `EngineFailed`.
        """
        ...
