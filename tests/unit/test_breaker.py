"""What each answer of a provider changes in what is known about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from indexing.breaker import (
    FIRST_COOLDOWN,
    FIRST_PAUSE,
    LONGEST_COOLDOWN,
    LONGEST_PAUSE,
    OUTAGES,
    Budget,
    Health,
    after,
)
from indexing.errors import (
    EmbeddingAuth,
    EmbeddingBadResponse,
    EmbeddingDimensionMismatch,
    EmbeddingInputRejected,
    EmbeddingModelChanged,
    EmbeddingRateLimited,
    EmbeddingTimeout,
    EmbeddingUnavailable,
    IndexingError,
)

OPEN = Health(openings=1, open_for=10.0, code="EMBEDDING_UNAVAILABLE", detail="It answered HTTP 503.")


def seen(health: Health, *errors: IndexingError | None) -> Health:
    """After the answers to as many different tasks."""
    for task_id, error in enumerate(errors):
        health = after(health, error, task_id=task_id, is_probe=False)
    return health


def probed(health: Health, error: IndexingError | None) -> Health:
    return after(health, error, task_id=None, is_probe=True)


@pytest.mark.parametrize("error", [EmbeddingAuth, EmbeddingModelChanged])
def test_a_refused_key_or_another_model_opens_at_once_and_says_why(error: type[IndexingError]) -> None:
    health = seen(Health(), error("It answered HTTP 401."))
    assert (health.open_for, health.code, health.detail) == (FIRST_PAUSE, error.code, "It answered HTTP 401.")


@pytest.mark.parametrize("error", [EmbeddingUnavailable, EmbeddingTimeout])
def test_a_few_outages_in_a_row_open(error: type[IndexingError]) -> None:
    assert not seen(Health(), *[error()] * (OUTAGES - 1)).is_open
    health = seen(Health(), *[error()] * OUTAGES)
    assert health.is_open
    assert health.code == error.code
    assert not seen(Health(), *[error()] * (OUTAGES - 1), None, *[error()] * (OUTAGES - 1)).is_open


def test_outages_of_both_kinds_are_one_row() -> None:
    assert seen(Health(), EmbeddingTimeout(), EmbeddingUnavailable(), EmbeddingTimeout()).is_open


def test_timeouts_of_one_task_are_its_own_doing() -> None:
    health = Health()
    for _ in range(10):
        health = after(health, EmbeddingTimeout(), task_id=7, is_probe=False)
    assert not health.is_open
    assert health.timed_out == (7,)


def test_timeouts_of_searches_do_not_count() -> None:
    """They wait for less time than a worker does."""
    assert after(Health(), EmbeddingTimeout(), task_id=None, is_probe=False) == Health()


@pytest.mark.parametrize(
    "error",
    [EmbeddingInputRejected(), EmbeddingBadResponse(), EmbeddingDimensionMismatch()],
)
def test_what_may_lie_in_a_document_or_pipeline_says_nothing_of_the_provider(error: IndexingError) -> None:
    health = Health(outages=1)
    assert seen(health, error) is health


@pytest.mark.parametrize("error", [None, EmbeddingAuth(), EmbeddingUnavailable(), EmbeddingTimeout()])
def test_late_answers_change_nothing_while_it_is_open(error: IndexingError | None) -> None:
    assert seen(OPEN, error) == OPEN


@pytest.mark.parametrize("error", [None, EmbeddingInputRejected()])
def test_the_probe_closes(error: IndexingError | None) -> None:
    health = probed(OPEN, error)
    assert not health.is_open
    assert health.code is None


def test_a_throttled_probe_closes_and_cools_down() -> None:
    health = probed(OPEN, EmbeddingRateLimited(retry_after=20))
    assert (health.open_for, health.cooldown) == (None, 20)


@pytest.mark.parametrize(
    "error",
    [EmbeddingAuth(), EmbeddingUnavailable(), EmbeddingTimeout(), EmbeddingBadResponse(), EmbeddingModelChanged()],
)
def test_a_failed_probe_opens_for_twice_as_long_up_to_a_bound(error: IndexingError) -> None:
    health, pauses = seen(Health(), EmbeddingAuth()), []
    for _ in range(40):
        health = probed(replace(health, open_for=0.0), error)
        pauses.append(health.open_for)
    assert pauses[:4] == [60, 120, 240, 480]
    assert set(pauses[4:]) == {LONGEST_PAUSE}
    assert health.code == error.code


def test_a_flapping_provider_is_paused_longer_each_time() -> None:
    """A probe that passes is not yet real work that passes."""
    health = probed(seen(Health(), EmbeddingAuth()), None)
    again = seen(health, EmbeddingAuth())
    assert again.open_for == 2 * FIRST_PAUSE
    assert seen(health, None, EmbeddingAuth()).open_for == FIRST_PAUSE


def test_an_outage_that_says_how_long_it_lasts_is_believed_up_to_a_bound() -> None:
    three = [EmbeddingUnavailable(retry_after=seconds) for seconds in (0, 0, 100)]
    assert seen(Health(), *three).open_for == 100
    assert seen(Health(), *[EmbeddingUnavailable(retry_after=1e9)] * 3).open_for == LONGEST_PAUSE


def test_a_cooldown_lasts_as_the_provider_says() -> None:
    assert seen(Health(), EmbeddingRateLimited(retry_after=42)).cooldown == 42
    assert seen(Health(cooldown=50), EmbeddingRateLimited(retry_after=42)).cooldown == 50
    assert seen(Health(), EmbeddingRateLimited(retry_after=0)).cooldown > 0


def test_a_cooldown_of_unsaid_length_grows() -> None:
    health, pauses = Health(), []
    for _ in range(40):
        health = seen(replace(health, cooldown=0.0), EmbeddingRateLimited())
        pauses.append(health.cooldown)
    assert pauses[:3] == [FIRST_COOLDOWN, 2 * FIRST_COOLDOWN, 4 * FIRST_COOLDOWN]
    assert pauses[-1] == LONGEST_COOLDOWN
    assert seen(replace(health, cooldown=0.0), None, EmbeddingRateLimited()).cooldown == FIRST_COOLDOWN


def test_requests_under_way_when_it_began_do_not_lengthen_a_cooldown() -> None:
    assert seen(Health(), *[EmbeddingRateLimited()] * 10).cooldown == FIRST_COOLDOWN


def test_a_late_success_ends_no_cooldown() -> None:
    health = seen(Health(), EmbeddingRateLimited(retry_after=42), None)
    assert health.cooldown == 42


@pytest.mark.parametrize(("limit", "unit"), [(2, 1), (60, 1), (1000, 1), (64, 32), (3000, 32)])
def test_a_budget_lets_no_more_than_its_limit_through_in_any_minute(limit: int, unit: int) -> None:
    budget = Budget(limit, unit)
    assert budget.capacity >= unit, "else nothing ever goes"
    assert budget.per_second > 0
    assert budget.capacity + 60 * budget.per_second == pytest.approx(limit)


def test_no_budget_costs_nothing() -> None:
    assert Budget(0, 1).cost(5) == 0
    assert Budget(10, 1).cost(5) == 5
