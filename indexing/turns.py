"""Where a worker looks for its next task. Pure.

Two reasons not to look everywhere each time. New tasks and tasks that wait for another try take turns, so that a hundred
thousand retries of one tenant delay another's new task by one task of each worker. And a transaction that stays open keeps
every task claimed since then in the indexes: a look that begins at the front steps over all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

LOOK_AGAIN = 1.0  # seconds after which a worker looks at the front again, and at leases that ran out


@dataclass(frozen=True, slots=True)
class Look:
    """The parameters of one look. What it leaves out is found by a later one."""

    leases: bool = True  # leases that ran out
    retries: bool = True  # waits that are due
    past_tenant: int = 0  # retries of the tenants after this one go first
    past_priority: int = -32768  # new tasks behind this place in the line
    past_fair: int = -1
    past_id: int = 0

    @property
    def parameters(self) -> dict[str, int | bool]:
        return {name: getattr(self, name) for name in self.__slots__}


EVERYWHERE = Look()


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a claimed task stood."""

    part: str  # expired, retry or pending
    tenant_id: int
    priority: int
    fair: int
    task_id: int


class Turns:
    """What one worker remembers from claim to claim. Only hints: forgetting them loses no task and hands none out twice."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._new_first = False
        self._tenant = 0
        self._line = (EVERYWHERE.past_priority, EVERYWHERE.past_fair, EVERYWHERE.past_id)
        self._leases_at = self._front_at = float("-inf")  # when these were looked at

    def look(self) -> Look:
        """Where to look now. If that finds nothing, look `EVERYWHERE` before going to sleep."""
        now, (priority, fair, task_id) = self._now(), self._line
        if now - self._front_at >= LOOK_AGAIN:
            self._front_at = now
            priority, fair, task_id = EVERYWHERE.past_priority, EVERYWHERE.past_fair, EVERYWHERE.past_id
        leases = not self._new_first and now - self._leases_at >= LOOK_AGAIN
        if leases:
            self._leases_at = now
        return Look(leases, not self._new_first, self._tenant, priority, fair, task_id)

    def took(self, places: Iterable[Place]) -> None:
        """Remember what a claim returned."""
        for place in places:
            if place.part == "retry":
                self._tenant = place.tenant_id
            if place.part == "pending":
                self._line = (place.priority, place.fair, place.task_id)
        self._new_first = not self._new_first
