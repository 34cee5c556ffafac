"""Which of two writes of a source counts, whatever order they arrive in and however often. Pure: no Django.

A source orders its writes of one document by a clock: the time of its last change there, or a number that only grows. The
strictly newer write wins; what is in force at the end depends on the writes alone, not on how they came.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"
    UNCHANGED = "unchanged"  # the same again, or older news that says the same
    STALE_DISCARDED = "stale_discarded"  # a newer write came before
    CONFLICT = "conflict"  # the same clock with something else: the source must say which counts
    INVALID = "invalid"  # could not be understood or may not be done; the next try may succeed


@dataclass(frozen=True, slots=True)
class State:
    """What is known of one document of a source: the clock of the write that counts, and its digest (None: a deletion)."""

    clock: int
    digest: str | None


@dataclass(frozen=True, slots=True)
class Decision:
    outcome: Outcome
    advances: bool  # whether the write's clock is kept: it is the newest


def decide(known: State | None, write: State) -> Decision:
    """What a write comes to where `known` is in force (None: nothing was ever written, nor deleted)."""
    if known is not None and write.clock < known.clock:
        return Decision(Outcome.STALE_DISCARDED, advances=False)
    if known is not None and write.clock == known.clock:
        same = write.digest == known.digest
        return Decision(Outcome.UNCHANGED if same else Outcome.CONFLICT, advances=False)
    if write.digest is None:
        gone = known is not None and known.digest is None
        return Decision(Outcome.UNCHANGED if gone else Outcome.DELETED, advances=True)
    if known is None or known.digest is None:
        return Decision(Outcome.CREATED, advances=True)
    return Decision(Outcome.UNCHANGED if write.digest == known.digest else Outcome.UPDATED, advances=True)
