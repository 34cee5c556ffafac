"""When a lease must be over, known without the database."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexing.lease import Lease, LeaseClock


class Now:
    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def __call__(self) -> float:
        return self.value


def test_it_counts_from_before_the_claim_was_sent() -> None:
    """The database's lease began later than that, so it never ends sooner."""
    now = Now(100.0)
    clock = LeaseClock(seconds=45, now=now)
    now.value = 144.99
    assert not clock.is_over
    now.value = 145.0
    assert clock.is_over


def test_a_renewal_counts_from_when_it_was_sent_not_from_when_it_was_answered() -> None:
    now = Now(0.0)
    clock = LeaseClock(seconds=45, now=now)
    now.value = 40.0  # answered now, sent at 15
    clock.renewed(sent_at=15.0)
    now.value = 59.9
    assert not clock.is_over
    now.value = 60.0
    assert clock.is_over


def test_answers_out_of_order_take_nothing_away() -> None:
    now = Now(30.0)
    clock = LeaseClock(seconds=45, now=now)
    clock.renewed(sent_at=15.0)
    now.value = 74.9
    assert not clock.is_over


@given(st.lists(st.tuples(st.floats(0, 40), st.floats(0, 5)), max_size=20), st.floats(0, 200))
def test_it_never_says_alive_when_the_database_says_over(renewals: list[tuple[float, float]], looked_at: float) -> None:
    """The database's lease begins when it gets the statement: after it was sent, before it was answered."""
    now = Now(0.0)
    clock = LeaseClock(seconds=45, now=now)
    database_end = 0.0 + 45
    for pause, travel in renewals:
        sent_at = now.value + pause
        database_end = sent_at + travel / 2 + 45
        now.value = sent_at + travel
        clock.renewed(sent_at=sent_at)
    now.value += looked_at
    if now.value >= database_end:
        assert clock.is_over


def test_what_a_lease_hands_to_statements() -> None:
    lease = Lease(
        task_id=1,
        worker="w",
        attempts=2,
        tenant_id=3,
        document_id=uuid.UUID(int=4),
        version_number=5,
        pipeline_id=6,
        task_type="INDEX",
        generation=7,
        failures=0,
        max_failures=5,
        readers_requested=True,
        waited=0.0,
    )
    assert lease.token == {"task": 1, "worker": "w", "attempts": 2}
    assert lease.chunk_set == {"tenant": 3, "document": uuid.UUID(int=4), "version": 5, "pipeline": 6, "generation": 7}
    with pytest.raises(AttributeError):
        lease.attempts = 3  # type: ignore[misc]
