"""How attempts end, and how long a task waits then."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexing import errors
from indexing.backoff import Policy, Verdict, decide, full_jitter
from indexing.errors import Disposition, IndexingError
from indexing.states import TaskState

POLICY = Policy(base=10.0, cap=900.0, longest_wait=86_400.0)


class Edge(random.Random):
    """Draws the end of every range: the least or the most."""

    def __init__(self, most: bool) -> None:
        super().__init__()
        self._most = most

    def uniform(self, a: float, b: float) -> float:
        return b if self._most else a


def all_errors(base: type[IndexingError] = IndexingError) -> Iterator[type[IndexingError]]:
    for child in base.__subclasses__():
        yield child
        yield from all_errors(child)


def verdict(
    error: IndexingError,
    *,
    before: int = 0,
    failures: int = 0,
    max_failures: int = 5,
    waited: float = 0.0,
    rng: random.Random | None = None,
) -> Verdict:
    return decide(
        error,
        before,
        failures=failures,
        max_failures=max_failures,
        waited=waited,
        policy=POLICY,
        rng=rng or Edge(most=True),
    )


@pytest.mark.parametrize(
    ("failures", "bound"), [(0, 10), (1, 20), (2, 40), (3, 80), (6, 640), (7, 900), (60, 900), (10**6, 900)]
)
def test_the_bound_doubles_up_to_the_cap(failures: int, bound: float) -> None:
    """The n-th failure waits at most base · 2^(n−1): `failures` are those charged before it."""
    assert full_jitter(failures=failures, policy=POLICY, rng=Edge(most=True)) == bound
    assert full_jitter(failures=failures, policy=POLICY, rng=Edge(most=False)) == 0


@given(
    st.integers(0, 10**9),
    st.floats(0.001, 1e6),
    st.floats(0.001, 1e6),
    st.randoms(use_true_random=False),
)
def test_a_wait_is_never_below_nought_nor_over_the_cap(
    failures: int, base: float, cap: float, rng: random.Random
) -> None:
    policy = Policy(base=base, cap=cap, longest_wait=1.0)
    assert 0 <= full_jitter(failures=failures, policy=policy, rng=rng) <= cap


def test_the_jitter_is_full() -> None:
    """Tasks that failed together do not come back together, and not all late either."""
    rng = random.Random(7)
    waits = sorted(full_jitter(failures=3, policy=POLICY, rng=rng) for _ in range(2000))
    assert len(set(waits)) > 1990
    for part in range(1, 4):
        assert waits[500 * part] == pytest.approx(20 * part, abs=4)


@pytest.mark.parametrize("error", [kind for kind in all_errors() if kind.disposition is Disposition.PERMANENT])
def test_permanent_errors_end_at_once(error: type[IndexingError]) -> None:
    assert verdict(error()) == Verdict(TaskState.DEAD, charge=1)


@pytest.mark.parametrize("error", [kind for kind in all_errors() if kind.disposition is Disposition.CANCELLED])
def test_cancellations_cost_nothing(error: type[IndexingError]) -> None:
    assert verdict(error(), failures=4) == Verdict(TaskState.CANCELLED, charge=0)


TRANSIENT = [kind for kind in all_errors() if kind.disposition is Disposition.TRANSIENT]


@pytest.mark.parametrize("error", [kind for kind in TRANSIENT if kind.tries])
def test_what_fails_twice_at_the_same_file_is_not_tried_on_and_on(error: type[IndexingError]) -> None:
    """Other failures count for the whole budget, not for this one."""
    assert [verdict(error(), before=before) for before in (0, 1, 2)] == [
        Verdict(TaskState.RETRY_WAIT, 1, 10),
        Verdict(TaskState.DEAD, 1),
        Verdict(TaskState.DEAD, 1),
    ]
    assert verdict(error(), failures=3) == Verdict(TaskState.RETRY_WAIT, 1, 80)
    assert verdict(error(), failures=4) == Verdict(TaskState.DEAD, 1)
    assert verdict(error(), max_failures=1) == Verdict(TaskState.DEAD, 1)
    assert error in (errors.ParseCrashed, errors.ParseTimeout, errors.VerificationFailed)


@pytest.mark.parametrize("error", [kind for kind in TRANSIENT if not kind.tries])
def test_transient_errors_are_charged_and_end_with_the_budget(error: type[IndexingError]) -> None:
    assert [verdict(error(), failures=failures) for failures in range(5)] == [
        Verdict(TaskState.RETRY_WAIT, 1, 10),
        Verdict(TaskState.RETRY_WAIT, 1, 20),
        Verdict(TaskState.RETRY_WAIT, 1, 40),
        Verdict(TaskState.RETRY_WAIT, 1, 80),
        Verdict(TaskState.DEAD, 1),
    ]


UNCHARGED = [kind for kind in all_errors() if kind.disposition in (Disposition.THROTTLED, Disposition.PROVIDER)]


@pytest.mark.parametrize("error", UNCHARGED)
@given(
    failures=st.integers(0, 4),
    waited=st.floats(0, 86_399),
    retry_after=st.one_of(st.none(), st.floats(-1e9, 1e9)),
    rng=st.randoms(use_true_random=False),
)
def test_a_broken_or_busy_provider_is_never_the_documents_fault(
    error: type[IndexingError], failures: int, waited: float, retry_after: float | None, rng: random.Random
) -> None:
    found = verdict(error(retry_after=retry_after), failures=failures, waited=waited, rng=rng)
    assert (found.state, found.charge) == (TaskState.RETRY_WAIT, 0)
    assert 1 <= found.delay <= POLICY.cap + POLICY.base
    if retry_after is not None:
        assert found.delay >= min(retry_after, POLICY.cap), "not before the provider allows it"


@pytest.mark.parametrize("error", UNCHARGED)
def test_waiting_that_is_not_charged_ends_after_a_day(error: type[IndexingError]) -> None:
    assert verdict(error(), waited=86_399.9).state is TaskState.RETRY_WAIT
    assert verdict(error(), waited=86_400.0) == Verdict(TaskState.DEAD, charge=0)


@pytest.mark.parametrize("retry_after", [math.inf, math.nan, -math.inf])
def test_a_wait_that_is_no_number_becomes_one(retry_after: float) -> None:
    """The database refuses it, and the task would hang in RUNNING until its lease ends."""
    delay = verdict(errors.EmbeddingRateLimited(retry_after=retry_after)).delay
    assert 1 <= delay <= POLICY.cap + POLICY.base


def test_tasks_that_are_throttled_together_do_not_come_back_together() -> None:
    rng = random.Random(7)
    delays = {verdict(errors.EmbeddingRateLimited(retry_after=30), rng=rng).delay for _ in range(50)}
    assert len(delays) == 50
    assert min(delays) >= 30


def test_a_budget_that_is_overdrawn_ends_the_task() -> None:
    """After the setting was lowered, say."""
    assert verdict(errors.EmbeddingTimeout(), failures=7, max_failures=3).state is TaskState.DEAD
