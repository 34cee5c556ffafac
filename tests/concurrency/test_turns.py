"""One tenant's hundred thousand tasks delay another's first by one task of each worker, whatever state they are in."""

from __future__ import annotations

import itertools

import pytest

from indexing import queue
from indexing.lease import Lease
from indexing.models import IndexTask
from indexing.turns import LOOK_AGAIN, Turns
from tests.concurrency.backlogs import fill
from tests.concurrency.leases import expire
from tests.factories import World, make_world
from tests.sessions import Session

pytestmark = [pytest.mark.django_db(transaction=True, databases=["default", "owner"]), pytest.mark.timeout(300)]

WORKERS = 3


class Crew:
    """Workers that claim in turns, each with what it remembers."""

    def __init__(self, *, size: int = WORKERS, remember: bool = True) -> None:
        turns = [Turns() if remember else None for _ in range(size)]
        self._next = itertools.cycle(enumerate(turns))

    def claim(self) -> Lease:
        number, turns = next(self._next)
        lease = queue.claim(worker=f"w{number}", pool="online", lease_seconds=60, turns=turns)
        assert lease is not None
        return lease

    def claims_until(self, task_id: int, *, at_most: int) -> int:
        for count in range(1, at_most + 1):
            if self.claim().task_id == task_id:
                return count
        return at_most + 1


def order(world: World) -> int:
    task_id: int = world.publish(world.upload()).ticket.task_id
    return task_id


@pytest.mark.parametrize(
    "backlog",
    [
        [("pending", 0)],
        [("retry", 0)],
        [("expired", 0)],
        [("pending", 0), ("pending", 10), ("retry", 0), ("retry", -10)],
        [("not due", 0), ("exhausted", 0)],
    ],
    ids=["pending", "retries", "leases", "mixed", "not-due-and-exhausted"],
)
def test_a_new_tenant_is_served_within_a_claim_of_each_worker(world: World, backlog: list[tuple[str, int]]) -> None:
    for kind, priority in backlog:
        fill(world.tenant, kind, priority=priority, count=100_000 // len(backlog))
    crew = Crew()
    for already in range(4):  # whoever's turn it is
        for _ in range(already if backlog[0][0] != "not due" else 0):
            crew.claim()
        # One claim of each worker, and one task of the other tenant that has the same turn; both only where old and new wait.
        mixed = {kind for kind, _ in backlog} >= {"pending", "retry"}
        assert crew.claims_until(order(make_world()), at_most=20) <= WORKERS + 1 + mixed


def test_without_turns_the_retries_of_another_tenant_go_first(world: World) -> None:
    """The hole that the turns close: what is due goes before what is new, for as long as anything is due."""
    fill(world.tenant, "retry", count=1000)
    assert Crew(remember=False).claims_until(order(make_world()), at_most=50) > 50


def test_a_retry_does_not_wait_behind_those_of_another_tenant(world: World) -> None:
    fill(world.tenant, "retry")
    small = make_world()
    fill(small.tenant, "retry", count=1)
    task_id = IndexTask.objects.get(tenant=small.tenant).pk
    IndexTask.objects.filter(pk=task_id).update(next_attempt_at="2020-01-01T00:00:00Z")
    fill(world.tenant, "pending", count=100)
    assert Crew().claims_until(task_id, at_most=50) <= 4 * WORKERS


def test_two_publishers_at_once_cost_a_new_tenant_one_turn_more(world: World) -> None:
    """Neither sees the other's tasks, so two of them share each turn; the next one stands behind both."""
    documents = [world.upload() for _ in range(20)]
    with Session() as one, Session() as two:
        for session in (one, two):
            session.begin()
        for mine, yours in zip(documents[::2], documents[1::2], strict=True):
            one.run(lambda document=mine: world.publish(document))
            two.run(lambda document=yours: world.publish(document))
        one.commit()
        two.commit()
    behind = order(world)
    turns = IndexTask.objects.filter(tenant=world.tenant).order_by("fair", "id").values_list("fair", flat=True)
    assert list(turns) == [*sorted([*range(10)] * 2), 10]
    assert IndexTask.objects.get(pk=behind).fair == 10
    crew = Crew(size=1)
    crew.claim()
    assert crew.claims_until(order(make_world()), at_most=20) <= 1 + 2


def test_ten_thousand_exhausted_tasks_eat_no_claim(world: World) -> None:
    """Every claim that buries some of them still takes a task that can be worked on."""
    fill(world.tenant, "exhausted", count=10_000)
    fill(world.tenant, "pending", count=50)
    crew = Crew(remember=False)
    taken = [crew.claim() for _ in range(50)]
    assert len({lease.task_id for lease in taken}) == 50
    assert all((lease.attempts, lease.failures) == (1, 0) for lease in taken)
    assert IndexTask.objects.filter(state="DEAD", error_code="LEASE_ATTEMPTS_EXHAUSTED").count() == 50 * 20


def test_reopened_tasks_take_a_new_turn(world: World) -> None:
    """With their old turns, the dead tasks of one tenant would all go before another's."""
    first = order(world)
    fill(world.tenant, "pending", count=100)
    queue.cancel(task_id=first)
    for _ in range(3):
        Crew(size=1).claim()
    queue.reopen(task_id=first)
    assert IndexTask.objects.get(pk=first).fair == 100
    assert Crew(size=1).claims_until(order(make_world()), at_most=20) <= 2


def test_two_batches_at_once_share_no_task_and_end_one_by_one(world: World) -> None:
    fill(world.tenant, "pending", count=15)
    fill(world.tenant, "retry", count=3)
    fill(world.tenant, "expired", count=2)
    fill(world.tenant, "exhausted", count=5)
    with Session() as one, Session() as two:
        batches = []
        for session in (one, two):
            session.begin()
            batches.append(session.run(lambda: queue.claim_many(worker="w", pool="online", lease_seconds=60, limit=10)))
        one.commit()
        two.commit()
    mine, yours = ([lease.task_id for lease in batch] for batch in batches)
    assert (len(mine), len(yours), len({*mine, *yours})) == (10, 10, 20)
    assert IndexTask.objects.filter(state="DEAD").count() == 5
    released, expired, kept = batches[0][:3]
    queue.release(released)
    expire(expired.task_id)
    assert queue.renew(kept, lease_seconds=60) == "renewed"
    assert queue.renew(released, lease_seconds=60) == queue.renew(expired, lease_seconds=60) == "lost"
    again = queue.claim_many(worker="w", pool="online", lease_seconds=60, limit=10)
    assert {lease.task_id: lease.attempts - 1 for lease in again} == {
        lease.task_id: lease.attempts for lease in (released, expired)
    }


def test_what_stands_before_the_last_claim_is_found_after_a_while(world: World) -> None:
    """The look past one's own last claim is a hint: a task given back, or moved to the front, waits a second at most."""
    now = 100.0
    turns = Turns(now=lambda: now)

    def claim() -> Lease:
        lease = queue.claim(worker="w", pool="online", lease_seconds=60, turns=turns)
        assert lease is not None
        return lease

    fill(world.tenant, "pending", count=20)
    first = claim()
    claim()
    queue.release(first)
    assert claim().task_id != first.task_id
    now += LOOK_AGAIN
    assert claim().task_id == first.task_id


def test_the_last_task_is_found_wherever_it_stands(world: World) -> None:
    fill(world.tenant, "pending", count=2)
    crew = Crew(size=1)
    first, _second = crew.claim(), crew.claim()
    queue.release(first)
    assert crew.claim().task_id == first.task_id
