"""What a run came to: figures, violations, and whether it was hard enough to say anything."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.plan import Deed, Request

LEAST_HITS = 0.5  # share of the kills that must have met a lease
LEAST_REFUSED = 0.25  # refused late writes for each pause


@dataclass(frozen=True, slots=True)
class Outcome:
    """Figures of a run, as they were counted. Seconds are seconds."""

    request: Request
    tasks: int
    done: Counter[Deed]
    kills_in_lease: int
    pauses_in_lease: int
    in_transaction: int
    provider_faults: int
    stale_commits_refused: int
    late_after_delete: int
    searches: int
    checks: int
    recoveries: Sequence[float]
    claim_delays: Sequence[float]
    texts_wasted: int
    seconds: float
    violations: Sequence[str]
    longest_check: float = 0.0
    states: dict[str, int] = field(default_factory=dict)

    @property
    def shortcomings(self) -> list[str]:
        """Why the run says nothing, if it does not."""
        wanted = self.request.counts()
        kills, pauses = wanted[Deed.KILL], wanted[Deed.PAUSE]
        least = {
            "tasks": (self.tasks, self.request.tasks),
            "kills": (self.done[Deed.KILL], max(kills, 1)),  # without blows there is nothing to withstand
            "kills of a worker with a lease": (self.kills_in_lease, math.ceil(kills * LEAST_HITS)),
            "pauses beyond a lease": (self.pauses_in_lease, math.ceil(pauses * LEAST_HITS)),
            "ended backends": (self.done[Deed.BACKEND], wanted[Deed.BACKEND]),
            "restarts of the database": (self.done[Deed.RESTART], wanted[Deed.RESTART]),
            "late writes refused": (self.stale_commits_refused, math.ceil(pauses * LEAST_REFUSED)),
            "attempts that came too late for a deleted document": (self.late_after_delete, math.ceil(self.tasks / 500)),
            "provider faults": (self.provider_faults, math.ceil(self.tasks * self.request.fault_rate * 0.1)),
            "searches": (self.searches, math.ceil(self.tasks / 10)),
            "checks of the invariants": (self.checks, 3),
        }
        return [f"{name}: {had} of at least {needed}" for name, (had, needed) in least.items() if had < needed]

    def as_json(self) -> dict[str, Any]:
        return {
            "tasks": self.tasks,
            "kills": self.done[Deed.KILL],
            "pauses": self.done[Deed.PAUSE],
            "backendKills": self.done[Deed.BACKEND],
            "databaseRestarts": self.done[Deed.RESTART],
            "providerFaults": self.provider_faults,
            "staleCommitsRefused": self.stale_commits_refused,
            "lateAfterDelete": self.late_after_delete,
            "violations": list(self.violations),
            "void": bool(self.shortcomings),
            "recoveryP99Seconds": quantile(self.recoveries, 0.99),
            "leaseSeconds": self.request.lease,
            "textsWastedPerKill": round(self.texts_wasted / max(1, self.done[Deed.KILL]), 2),
            "why": self.shortcomings,
            "seed": self.request.seed,
            "mutant": self.request.mutant,
            "seconds": round(self.seconds, 1),
            "killsInLease": self.kills_in_lease,
            "pausesInLease": self.pauses_in_lease,
            "backendKillsInTransaction": self.in_transaction,
            "terminations": self.done[Deed.TERMINATE],
            "networkFaults": self.done[Deed.NETWORK],
            "locksHeld": self.done[Deed.LOCK],
            "snapshotsHeld": self.done[Deed.SNAPSHOT],
            "claimDelayP99Seconds": quantile(self.claim_delays, 0.99),
            "pollSeconds": self.request.poll,
            "batchSize": self.request.batch,
            "textsWasted": self.texts_wasted,
            "searches": self.searches,
            "invariantChecks": self.checks,
            "longestCheckSeconds": round(self.longest_check, 2),
            "states": self.states,
        }

    def as_text(self) -> str:
        """For a person who has not read the code."""
        figures = self.as_json()
        lines = [
            f"{figures['tasks']} publishes in {figures['seconds']} s, while this happened to those who indexed them:",
            f"  {figures['kills']} workers killed ({figures['killsInLease']} in the middle of a task)",
            f"  {figures['pauses']} workers stopped for longer than their lease of {figures['leaseSeconds']:g} s, then woken",
            f"  {figures['backendKills']} database connections ended, {figures['databaseRestarts']} crashes of the database, "
            f"{figures['networkFaults']} faults of the network",
            f"  {figures['providerFaults']} wrong or missing answers of the embedding provider",
            f"Late writes that were refused: {figures['staleCommitsRefused']}; attempts that came after their document's "
            f"deletion: {figures['lateAfterDelete']}",
            f"A task was taken up again within {figures['recoveryP99Seconds']} s of a blow (99 %); texts paid for twice per "
            f"kill: {figures['textsWastedPerKill']}",
            f"{figures['searches']} searches and {figures['invariantChecks']} rounds of invariants looked for a mistake.",
        ]
        if self.violations:
            lines += ["", f"{len(self.violations)} violations:", *(f"  {violation}" for violation in self.violations)]
        else:
            lines += ["No violation."]
        if self.shortcomings:
            lines += [
                "",
                "But the run is void: it was not hard enough.",
                *(f"  {reason}" for reason in self.shortcomings),
            ]
        return "\n".join(lines)

    @property
    def passed(self) -> bool:
        return not self.violations and not self.shortcomings


def quantile(values: Iterable[float], share: float) -> float | None:
    """The smallest value that at least `share` of the values do not exceed; None of no values."""
    ordered = sorted(values)
    return round(ordered[math.ceil(share * len(ordered)) - 1], 2) if ordered else None
