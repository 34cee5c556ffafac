"""How long to wait before the next attempt. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass

from indexing.errors import Disposition, IndexingError
from indexing.states import TaskState


@dataclass(frozen=True, slots=True)
class Policy:
    """Seconds: first wait (doubled with each failure), longest wait, and longest uncharged waiting in all."""

    base: float
    cap: float
    longest_wait: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an attempt ends: the state, whether the failure is charged, and the delay in seconds for RETRY_WAIT."""

    state: TaskState
    charge: int
    delay: float = 0.0


def full_jitter(*, failures: int, policy: Policy, rng: random.Random) -> float:
    """A wait drawn evenly from 0 to the capped exponential bound.

    Source: “Exponential Backoff And Jitter”, AWS Architecture Blog, 2015 (“full jitter”).
    """
    bound = min(policy.cap, policy.base * 2.0 ** min(failures, 60))
    return rng.uniform(0.0, bound)


def decide(
    error: IndexingError,
    before: int,
    *,
    failures: int,
    max_failures: int,
    waited: float,
    policy: Policy,
    rng: random.Random,
) -> Verdict:
    """What follows from `error` in an attempt that was claimed with `failures` charged so far.

    `before`: how often the same error ended attempts of this task since it was opened, which `tries` bounds.
    `waited`: seconds since the task was enqueued or reopened; bounds the waiting that is not charged.
    """
    match error.disposition:
        case Disposition.CANCELLED:
            return Verdict(TaskState.CANCELLED, charge=0)
        case Disposition.PERMANENT:
            return Verdict(TaskState.DEAD, charge=1)
        case Disposition.TRANSIENT:
            if failures + 1 >= max_failures or (error.tries is not None and before + 1 >= error.tries):
                return Verdict(TaskState.DEAD, charge=1)
            return Verdict(TaskState.RETRY_WAIT, 1, full_jitter(failures=failures, policy=policy, rng=rng))
        case Disposition.THROTTLED | Disposition.PROVIDER:
            if waited >= policy.longest_wait:
                return Verdict(TaskState.DEAD, charge=0)
            delay = full_jitter(failures=0, policy=policy, rng=rng)
            if error.retry_after is not None:
                # Not all at the same moment: the jitter comes on top of what the provider asked for.
                # A NaN compares as nothing and counts as 0 in this order.
                delay += min(max(0.0, error.retry_after), policy.cap)
            return Verdict(TaskState.RETRY_WAIT, 0, max(delay, 1.0))
