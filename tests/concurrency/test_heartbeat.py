"""A lease lives as long as its worker does, not longer, and the worker knows when it is over."""

from __future__ import annotations

import os
import threading
import time

import psycopg
import pytest
from django.conf import settings
from django.db import connection, connections

from indexing import queue
from indexing.errors import LeaseLost
from indexing.heartbeat import Heartbeat
from indexing.lease import Lease, LeaseClock
from indexing.models import IndexTask, TaskEvent
from indexing.worker import Result, Round, Worker
from tests.concurrency.leases import SECTIONS, claim, expire, long_text, run_worker, task_of
from tests.factories import World
from tests.processes import wait_until
from tests.provider_stub import ProviderStub

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def lease_until(task_id: int) -> object:
    return IndexTask.objects.values_list("lease_until", flat=True).get(pk=task_id)


def test_a_busy_worker_keeps_its_lease(world: World) -> None:
    world.publish(world.upload())
    lease = claim()
    before = lease_until(lease.task_id)
    with Heartbeat(lease, lease_seconds=0.9, max_run_seconds=60, claimed_at=time.monotonic()) as heartbeat:
        wait_until(lambda: lease_until(lease.task_id) != before, what="a renewal")
        heartbeat.ensure_alive()


def test_a_lost_lease_is_noticed(world: World) -> None:
    world.publish(world.upload())
    lease = claim()
    expire(lease.task_id)
    claim("other")
    with Heartbeat(lease, lease_seconds=0.6, max_run_seconds=60, claimed_at=time.monotonic()) as heartbeat:

        def lost() -> bool:
            try:
                heartbeat.ensure_alive()
            except LeaseLost:
                return True
            return False

        # Long before the local clock would say so after a renewal: the database's answer is what counts.
        wait_until(lost, what="the loss")
    assert IndexTask.objects.get(pk=lease.task_id).attempts == 2


def test_a_beat_that_comes_just_after_the_end_of_its_own_attempt_is_no_refused_write(world: World) -> None:
    """Else an attempt that succeeded would be on record as one that wrote too late."""
    world.publish(world.upload())
    lease = claim()
    heartbeat = Heartbeat(lease, lease_seconds=60, max_run_seconds=60, claimed_at=time.monotonic())
    queue.release(lease)
    heartbeat._beat()
    refusals = TaskEvent.objects.filter(task_id=lease.task_id, kind="refused")
    assert not refusals.exists()
    claim("other")
    heartbeat._beat()
    assert not refusals.exists(), "it had ended before the other one began"

    lost = claim_again(lease.task_id)
    claim_again(lease.task_id)
    Heartbeat(lost, lease_seconds=60, max_run_seconds=60, claimed_at=time.monotonic())._beat()
    assert refusals.get().attempts == lost.attempts


def claim_again(task_id: int) -> Lease:
    expire(task_id)
    return claim("again")


def test_an_attempt_that_hangs_is_no_longer_renewed(world: World) -> None:
    world.publish(world.upload())
    lease = claim()
    before = lease_until(lease.task_id)
    with Heartbeat(lease, lease_seconds=0.3, max_run_seconds=0.0, claimed_at=time.monotonic()) as heartbeat:
        heartbeat._thread.join(timeout=20)
        assert not heartbeat._thread.is_alive()
        assert lease_until(lease.task_id) == before


def test_a_renewal_takes_no_transaction_along(world: World) -> None:
    """The heartbeat commits: the lease that others see is the renewed one, and its connection is closed with it."""
    world.publish(world.upload())
    lease = claim()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        before = cursor.fetchone()[0]
    with Heartbeat(lease, lease_seconds=0.3, max_run_seconds=60, claimed_at=time.monotonic()):
        started = lease_until(lease.task_id)
        wait_until(lambda: lease_until(lease.task_id) != started, what="a renewal")

    def connections_now() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
            count: int = cursor.fetchone()[0]
            return count

    wait_until(lambda: connections_now() <= before, what="the end of the heartbeat's connection")


def test_without_the_database_the_local_clock_ends_the_attempt() -> None:
    now = [100.0]
    clock = LeaseClock(seconds=45, now=lambda: now[0])
    now[0] = 144.9
    assert not clock.is_over
    clock.renewed(sent_at=120.0)
    now[0] = 164.9
    assert not clock.is_over
    now[0] = 165.0
    assert clock.is_over


def terminate_others() -> int:
    """Throw everybody but the test itself out of its database, as the superuser of the embedded server; return how many."""
    if not settings.EMBEDDED_POSTGRES:
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell("LOUD SKIP: terminating backends needs the superuser of the embedded server")
    with psycopg.connect(host=connection.settings_dict["HOST"], user="postgres", dbname="postgres") as superuser:
        ended = superuser.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> ALL(%s)",
            [connection.settings_dict["NAME"], [backend_pid(), backend_pid("owner")]],
        )
        return len(ended.fetchall())


def backend_pid(alias: str = "default") -> int:
    with connections[alias].cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid: int = cursor.fetchone()[0]
        return pid


def test_the_loop_survives_a_killed_backend(stub_world: World, provider: ProviderStub) -> None:
    """The database throws the worker out in the middle of an attempt: the loop lives on and the task is taken again."""
    document = stub_world.upload(long_text("old"))
    stub_world.publish(document)
    worker = Worker(name="thrown-out", lease_seconds=60, poll_seconds=0.1)
    reached, go_on = threading.Event(), threading.Event()
    rounds: list[Result] = []

    def hold(*_: object) -> None:
        provider.before_answer = None
        reached.set()
        assert go_on.wait(timeout=30)

    def stop_after_success(round_: Round) -> None:
        rounds.append(round_.result)
        if round_.result is Result.SUCCEEDED:
            worker.stop.set()

    provider.before_answer = hold
    thread = threading.Thread(target=lambda: (worker.run(on_round=stop_after_success), connections.close_all()))
    thread.start()
    assert reached.wait(timeout=30)
    assert terminate_others() >= 1, "nobody was thrown out: the test proves nothing"
    expire(task_of(document.pk, 1).pk)
    go_on.set()
    thread.join(timeout=60)
    assert not thread.is_alive()
    assert rounds[-1] is Result.SUCCEEDED
    assert task_of(document.pk, 1).attempts == 2


def test_a_worker_told_to_stop_gives_the_lease_back_uncharged(stub_world: World, provider: ProviderStub) -> None:
    document = stub_world.upload(long_text("old"))
    stub_world.publish(document)
    worker = Worker(name="stopping", lease_seconds=60)

    def stop(*_: object) -> None:
        provider.before_answer = None
        worker.stop.set()

    provider.before_answer = stop
    assert worker.run_once().result is Result.LOST_LEASE
    task = task_of(document.pk, 1)
    assert (task.state, task.failures, task.attempts, task.lease_owner) == ("PENDING", 0, 1, None)
    done = provider.texts_sent
    assert done
    provider.reset()
    assert run_worker("next") == "SUCCEEDED"
    assert provider.texts_sent == SECTIONS - done, "the batch that was done when the worker stopped was paid again"


def test_giving_back_from_another_thread_fences_the_attempt(stub_world: World, provider: ProviderStub) -> None:
    """The grace is over: the lease is released under the running attempt, whose later writes are refused."""
    document = stub_world.upload(long_text("old"))
    stub_world.publish(document)
    worker = Worker(name="late", lease_seconds=60)

    def give_back(*_: object) -> None:
        provider.before_answer = None
        worker.give_back()
        connection.close()

    provider.before_answer = give_back
    assert worker.run_once().result is Result.LOST_LEASE
    assert task_of(document.pk, 1).state == "PENDING"
    assert queue.claim(worker="next", pool="online", lease_seconds=60) is not None
