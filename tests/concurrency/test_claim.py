"""Two workers, one task: who gets it, and that nobody writes with a lease that is over."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection, transaction

from indexing import cache, errors, queue, sink
from indexing.backoff import Verdict
from indexing.lease import Lease
from indexing.models import Chunk, IndexTask, TaskEvent
from indexing.sink import Manifest
from indexing.states import Stage, TaskState
from tests.concurrency.leases import claim, expire, one_chunk, pointer, run_worker
from tests.factories import World
from tests.sessions import Session

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

ALL_TASK_TRIGGERS = "index_task.index_task_guard chunk.chunk_insert_guard chunk_vector.chunk_vector_insert_guard"


def claim_in(session: Session) -> Lease | None:
    lease: Lease | None = session.run(lambda: queue.claim(worker="same", pool="online", lease_seconds=60))
    return lease


def both_claims(world: World) -> tuple[Lease | None, Lease | None]:
    """Two workers claim while neither has committed."""
    world.publish(world.upload())
    with Session() as first, Session() as second:
        first.begin()
        mine = claim_in(first)
        waiting = second.start(lambda: queue.claim(worker="same", pool="online", lease_seconds=60))
        if not waiting.done():
            try:
                yours = waiting.result(timeout=2)
                first.commit()
                return mine, yours
            except TimeoutError:
                second.wait_until_blocked()
        first.commit()
        return mine, waiting.result(timeout=20)


def test_two_claims_at_once_one_gets_it(world: World) -> None:
    mine, yours = both_claims(world)
    assert mine is not None
    assert yours is None


def test_without_skip_locked_both_claims_get_it(world: World, without: Callable) -> None:
    """The race exists: with the row locks and the trigger away, the same two steps hand the task out twice."""
    with without("queue", "claim", "FOR NO KEY UPDATE SKIP LOCKED", triggers="index_task.index_task_guard"):
        mine, yours = both_claims(world)
    assert mine is not None
    assert yours is not None
    assert mine.task_id == yours.task_id


def test_the_trigger_alone_refuses_the_second_claim(world: World, without: Callable) -> None:
    with (
        without("queue", "claim", "FOR NO KEY UPDATE SKIP LOCKED"),
        pytest.raises(Exception, match=r"is ended by its own lease|not a legal move"),
    ):
        both_claims(world)


def late_writes_are_refused(old: Lease) -> None:
    """Everything that the holder of a lost lease could still try. Each must say `LeaseLost` and change nothing."""
    chunk = one_chunk()
    manifest = Manifest.of([chunk], lease=old, pipeline_digest="d")
    vectors = {manifest.chunks[0].embedded_digest: "[" + ",".join(["1"] * 384) + "]"}
    attempts: dict[str, Callable[[], object]] = {
        "stage": lambda: sink.stage(old, manifest.chunks, vectors=vectors, dimensions=384),
        "report": lambda: queue.report(old, stage=Stage.EMBED),
        "release": lambda: queue.release(old),
        "finish": lambda: sink.finish(old, manifest),
        "fail": lambda: queue.fail(old, error=errors.EmbeddingTimeout(), verdict=Verdict(TaskState.RETRY_WAIT, 1, 1.0)),
    }
    for name, write in attempts.items():
        try:
            write()
        except errors.LeaseLost:
            continue
        pytest.fail(f"{name} was accepted")
    assert queue.renew(old, lease_seconds=60) == "lost"


def taken_over(world: World) -> tuple[Lease, Lease]:
    """An expired lease and the one that took over, both of a worker of the same name."""
    world.publish(world.upload())
    old = claim("same")
    expire(old.task_id)
    new = claim("same")
    assert (new.task_id, new.attempts, new.failures) == (old.task_id, old.attempts + 1, 1)
    return old, new


def test_the_old_holder_is_refused_even_under_the_same_name(world: World) -> None:
    old, new = taken_over(world)
    late_writes_are_refused(old)
    assert not Chunk.objects.exists()
    task = IndexTask.objects.get(pk=new.task_id)
    assert (task.state, task.attempts, task.failures, task.lease_owner) == ("RUNNING", 2, 1, "same")


@pytest.mark.parametrize("statement", ["fence", "report", "release", "fail"])
def test_with_the_token_removed_the_old_holder_gets_in(world: World, without: Callable, statement: str) -> None:
    """The same test goes red without `attempts` in the statement: the fence is what it tests."""
    old, _ = taken_over(world)
    with (
        without("queue", statement, "AND held.attempts = %(attempts)s", triggers=ALL_TASK_TRIGGERS),
        pytest.raises(pytest.fail.Exception, match="was accepted"),
    ):
        late_writes_are_refused(old)


def test_with_the_token_removed_from_renew_the_old_holder_prolongs_a_foreign_lease(
    world: World, without: Callable
) -> None:
    old, _ = taken_over(world)
    with without("queue", "renew", "AND held.attempts = %(attempts)s"):
        assert queue.renew(old, lease_seconds=60) == "renewed"


def test_an_expired_lease_is_refused_before_anybody_takes_over(world: World) -> None:
    world.publish(world.upload())
    lease = claim()
    expire(lease.task_id)
    late_writes_are_refused(lease)


def wait_out_a_lock(lease: Lease) -> Exception | None:
    """The fence waits for a row lock; the lease runs out meanwhile; the holder rolls back, so the row is unchanged."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE index_task SET fence_xact = pg_current_xact_id(), lease_until = clock_timestamp() + interval '0.4 s' "
            "WHERE id = %s",
            [lease.task_id],
        )

    def fence() -> None:
        with transaction.atomic():
            queue.fence(lease)

    with Session() as holder, Session() as late:
        holder.begin()
        holder.run(lambda: IndexTask.objects.select_for_update(no_key=True).get(pk=lease.task_id))
        waiting = late.start(fence)
        late.wait_until_blocked()
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep_until(lease_until) FROM index_task WHERE id = %s", [lease.task_id])
        holder.rollback()
        error = waiting.exception(timeout=20)
        assert error is None or isinstance(error, Exception)
        return error


def test_a_lease_that_runs_out_while_its_write_waits_is_refused(world: World) -> None:
    world.publish(world.upload())
    assert isinstance(wait_out_a_lock(claim()), errors.LeaseLost)


def test_without_lock_first_a_dead_lease_is_accepted(world: World, without: Callable) -> None:
    """The plain form, check and write in one, tests the time before it waits for the lock and not again after."""
    world.publish(world.upload())
    with without("queue", "fence", "FOR NO KEY UPDATE)", ")", triggers="index_task.index_task_guard"):
        assert wait_out_a_lock(claim()) is None


def test_a_renewal_during_our_own_finish_is_busy_not_lost(world: World) -> None:
    world.publish(world.upload())
    lease = claim()
    with Session() as finishing:
        finishing.begin()
        finishing.run(lambda: queue.fence(lease))
        assert queue.renew(lease, lease_seconds=60) == "busy"
        finishing.rollback()
    assert queue.renew(lease, lease_seconds=60) == "renewed"


def test_a_spent_budget_ends_dead_and_eats_no_claim(world: World, settings) -> None:
    """A task that kills every worker stops at its budget, and the claim that buries it still takes the next one."""
    settings.KB_MAX_FAILURES = 2
    poison = world.publish(world.upload()).ticket.task_id
    for _ in range(2):
        expire(claim().task_id)
    other = world.publish(world.upload()).ticket.task_id
    assert claim().task_id == other
    task = IndexTask.objects.get(pk=poison)
    assert (task.state, task.failures, task.attempts, task.error_code) == ("DEAD", 2, 2, "LEASE_ATTEMPTS_EXHAUSTED")


def test_every_move_and_every_refusal_is_on_record(world: World) -> None:
    task_id = world.publish(world.upload()).ticket.task_id
    old = claim("first")
    expire(task_id)
    assert run_worker("second") == "SUCCEEDED"
    queue.record_refusal(old, action="finish")
    events = TaskEvent.objects.filter(task_id=task_id).values_list(
        "kind", "from_state", "to_state", "attempts", "worker"
    )
    assert list(events) == [
        ("move", None, "PENDING", 0, None),
        ("move", "PENDING", "RUNNING", 1, "first"),
        ("move", "RUNNING", "RUNNING", 2, "second"),
        ("move", "RUNNING", "SUCCEEDED", 2, "second"),
        ("refused", None, None, 1, "first"),
    ]
    assert pointer(IndexTask.objects.get(pk=task_id).document_id) == 1


def test_a_cancelled_attempt_leaves_the_cache_usable(world: World) -> None:
    """Two workers that cache the same texts in opposite order do not wait for each other in a circle."""
    digests = [f"{number:064x}" for number in range(200)]
    vectors = dict.fromkeys(digests, "[1,2]")
    for _ in range(2):
        world.publish(world.upload())
    first, second = claim("first"), claim("second")
    with Session() as one, Session() as two:
        one.begin()
        one.run(lambda: cache.keep_vectors(first, fingerprint="f", vectors=vectors))
        backwards = dict(reversed(vectors.items()))
        waiting = two.start(lambda: cache.keep_vectors(second, fingerprint="f", vectors=backwards))
        two.wait_until_blocked()
        one.commit()
        assert waiting.result(timeout=20) is None
    assert len(cache.find_vectors(second, fingerprint="f", digests=digests)) == 200
