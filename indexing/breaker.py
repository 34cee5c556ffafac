"""What is known about an embedding provider's health, and what an answer changes in it. Pure: the database keeps it for all
workers and owns the clock; here every time is a number of seconds from now.

A breaker is closed (requests go), open (none goes), or, once its pause is over, half-open: one probe goes, and its answer
closes the breaker or opens it for longer. Source of the pattern and its words: M. Nygard, “Release It!”, 2007.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from indexing.errors import (
    EmbeddingAuth,
    EmbeddingInputRejected,
    EmbeddingModelChanged,
    EmbeddingRateLimited,
    EmbeddingTimeout,
    EmbeddingUnavailable,
    IndexingError,
)

OUTAGES = 3  # in a row, until the breaker opens
FIRST_PAUSE, LONGEST_PAUSE = 30.0, 900.0  # seconds for which it opens: doubled each time in a row
FIRST_COOLDOWN, LONGEST_COOLDOWN = 5.0, 300.0  # seconds, likewise, if a provider that throttles does not say how long
SHORTEST_COOLDOWN = 1.0  # seconds, whatever it says


@dataclass(frozen=True, slots=True)
class Health:
    """What all workers know together about one provider."""

    outages: int = 0  # in a row
    timed_out: tuple[int, ...] = ()  # tasks whose requests did in a row: one task alone may be at fault itself
    throttles: int = 0  # in a row
    openings: int = 0  # of the breaker, in a row
    open_for: float | None = None  # until a probe may be sent (below zero: since then); None while closed
    cooldown: float = 0.0  # until requests may be sent, as the provider asked; zero or less: now
    code: str | None = None  # why the breaker is open
    detail: str = ""

    @property
    def is_open(self) -> bool:
        return self.open_for is not None


def after(health: Health, error: IndexingError | None, *, task_id: int | None, is_probe: bool) -> Health:
    """`health` after a request that ended with `error`, or well (None).

    `task_id`: None for a search. Its timeouts do not count, since it waits for less time than a worker. While the breaker is
    open, only the probe's answer counts: the others were asked before it opened.
    """
    match error:
        case EmbeddingRateLimited():
            return _throttled(replace(_answered(health, is_probe=is_probe), throttles=health.throttles), error)
        case None:
            return _answered(health, is_probe=is_probe)
        case EmbeddingInputRejected() if is_probe:
            return _answered(health, is_probe=True)  # it reads what it is sent, and has its reasons
    if is_probe:
        return _opened(health, error)
    if health.is_open:
        return health
    match error:
        case EmbeddingAuth() | EmbeddingModelChanged():
            return _opened(health, error)
        case EmbeddingUnavailable():
            return _opened_if_often(replace(health, outages=health.outages + 1), error)
        case EmbeddingTimeout() if task_id is not None and task_id not in health.timed_out:
            return _opened_if_often(replace(health, timed_out=(*health.timed_out, task_id)), error)
    return health


def _answered(health: Health, *, is_probe: bool) -> Health:
    if is_probe:
        # How often it opened in a row is forgotten with the first answer to real work: until then it may open again at once.
        return Health(openings=health.openings, cooldown=health.cooldown)
    if health.is_open:
        return health
    return Health(throttles=health.throttles if health.cooldown > 0 else 0, cooldown=health.cooldown)


def _throttled(health: Health, error: EmbeddingRateLimited) -> Health:
    if error.retry_after is not None:
        return replace(health, cooldown=max(health.cooldown, error.retry_after, SHORTEST_COOLDOWN))
    if health.cooldown > 0:  # asked before the others were told to pause
        return health
    pause = min(FIRST_COOLDOWN * 2.0**health.throttles, LONGEST_COOLDOWN)
    return replace(health, throttles=min(health.throttles + 1, 30), cooldown=pause)


def _opened_if_often(health: Health, error: IndexingError) -> Health:
    return _opened(health, error) if health.outages + len(health.timed_out) >= OUTAGES else health


def _opened(health: Health, error: IndexingError) -> Health:
    pause = min(FIRST_PAUSE * 2.0**health.openings, LONGEST_PAUSE)
    return Health(
        openings=min(health.openings + 1, 30),
        open_for=max(pause, min(error.retry_after or 0.0, LONGEST_PAUSE)),
        cooldown=health.cooldown,
        code=error.code,
        detail=error.detail,
    )


@dataclass(frozen=True, slots=True)
class Budget:
    """A token bucket that lets at most `limit` through in any minute, if `limit` is at least twice `unit`."""

    limit: int  # a minute; 0 for no limit
    unit: int  # most that is taken at once

    @property
    def capacity(self) -> float:
        """Most that may go at once after a rest."""
        return max(self.unit, self.limit / 10) if self.limit else 1.0

    @property
    def per_second(self) -> float:
        """What goes at once and what flows in during a minute are the limit together."""
        return (self.limit - self.capacity) / 60 if self.limit else 1.0

    def cost(self, taken: int) -> int:
        return taken if self.limit else 0

    def kept(self, taken: int) -> float:
        """What somebody who is in no hurry leaves in it when they take so much: half, or what a full one has left then."""
        return min(self.capacity / 2, max(0.0, self.capacity - taken)) if self.limit else 0.0
