"""Every late write that is refused is on record, once, with its token and the reason."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from django.db import connection

from documents import publishing
from indexing import cache, queue, sink, tasks
from indexing.backoff import Verdict
from indexing.errors import LeaseLost, StorageUnavailable
from indexing.heartbeat import Heartbeat
from indexing.lease import Lease
from indexing.models import IndexTask, TaskEvent
from indexing.states import Stage, TaskState
from indexing.worker import Result, Worker
from tests.concurrency.leases import claim, expire, long_text
from tests.concurrency.test_stage_then_switch import while_embedding
from tests.db.staging import finished, stage
from tests.factories import World
from tests.provider_stub import ProviderStub

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

WRITES: dict[str, Callable[[Lease], object]] = {
    "report": lambda lease: queue.report(lease, stage=Stage.PARSE),
    "stage": lambda lease: stage(lease, ["one"]),
    "find_vectors": lambda lease: cache.find_vectors(lease, fingerprint="f", digests=["d"]),
    "keep_vectors": lambda lease: cache.keep_vectors(lease, fingerprint="f", vectors={}),
    "finish": lambda lease: sink.finish(lease, sink.Manifest((), "")),
    "fail": lambda lease: sink.end(
        lease, StorageUnavailable(), decide=lambda *_: Verdict(TaskState.RETRY_WAIT, charge=1)
    ),
    "release": queue.release,
}


def refusals(task_id: int) -> list[tuple[object, ...]]:
    events = TaskEvent.objects.filter(task_id=task_id, kind="refused")
    return list(events.values_list("attempts", "worker", "action", "code", "detail"))


@pytest.fixture
def lease(world: World) -> Lease:
    world.publish(world.upload())
    return claim("first")


@pytest.mark.parametrize("action", WRITES)
def test_each_write_says_which_it_was(lease: Lease, action: str) -> None:
    expire(lease.task_id)
    with pytest.raises(LeaseLost) as lost:
        WRITES[action](lease)
    assert lost.value.action == action


def cancel(world: World, lease: Lease) -> None:
    queue.release(lease)
    tasks.cancel_task(actor=world.editor, task_id=lease.task_id)


def delete(world: World, lease: Lease) -> None:
    publishing.delete_document(actor=world.editor, document_id=lease.document_id)
    expire(lease.task_id)


def take_over(_: World, lease: Lease) -> None:
    expire(lease.task_id)
    finished(claim("second"))


@pytest.mark.parametrize(
    ("lose", "code", "detail"),
    [
        (lambda _, lease: expire(lease.task_id), "LEASE_EXPIRED", "RUNNING"),
        (take_over, "TAKEN_OVER", "2"),
        (lambda _, lease: queue.release(lease), "ENDED", "PENDING"),
        (lambda _, lease: finished(lease), "ENDED", "SUCCEEDED"),
        (cancel, "CANCELLED", "CANCELLED"),
        (delete, "DOCUMENT_DELETED", "RUNNING"),
    ],
)
def test_the_reason_is_what_the_row_says(
    world: World, lease: Lease, lose: Callable[[World, Lease], object], code: str, detail: str
) -> None:
    lose(world, lease)
    with pytest.raises(LeaseLost):
        queue.report(lease, stage=Stage.PARSE)
    for _ in range(3):  # as often as it may be tried: noted once
        queue.record_refusal(lease, action="report")
    assert refusals(lease.task_id) == [(1, "first", "report", code, detail)]


def test_a_worker_records_the_write_that_was_refused(stub_world: World, provider: ProviderStub) -> None:
    task_id = stub_world.publish(stub_world.upload(long_text("old"))).ticket.task_id
    assert while_embedding(stub_world, provider, lambda: expire(task_id)).result is Result.LOST_LEASE
    assert refusals(task_id) == [(1, "slow", "keep_vectors", "LEASE_EXPIRED", "RUNNING")]


def test_the_heartbeat_records_its_own(lease: Lease) -> None:
    take_over(None, lease)  # type: ignore[arg-type]
    with Heartbeat(lease, lease_seconds=0.3, max_run_seconds=60, claimed_at=time.monotonic()) as heartbeat:
        heartbeat._thread.join(timeout=20)
        assert not heartbeat._thread.is_alive()
    assert refusals(lease.task_id) == [(1, "first", "renew", "TAKEN_OVER", "2")]


def test_a_lease_given_back_twice_is_on_record(lease: Lease) -> None:
    worker = Worker(name="first")
    worker.current = lease
    assert worker.give_back()
    assert not worker.give_back()
    assert refusals(lease.task_id) == [(1, "first", "release", "ENDED", "PENDING")]


def test_a_database_that_is_away_ends_no_worker(lease: Lease, caplog: pytest.LogCaptureFixture) -> None:
    """What cannot be noted is in the log; the next connection works again."""
    expire(lease.task_id)
    connection.connection.close()  # unknown to Django, which finds out with its next statement
    queue.record_refusal(lease, action="finish")
    assert "finish was refused, and not noted" in caplog.text
    assert IndexTask.objects.get(pk=lease.task_id).state == "RUNNING"
    queue.record_refusal(lease, action="finish")
    assert len(refusals(lease.task_id)) == 1
