"""Publishing wakes a sleeping worker; without the wake-up it finds the task by polling."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, connections

from indexing.worker import Result, Round, Worker
from tests.concurrency.leases import long_text, task_of
from tests.factories import World
from tests.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def is_listening() -> bool:
    """A worker sleeps on its LISTEN (the application sees its own role's statements)."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN index_task' AND datname = current_database()"
        )
        count: int = cursor.fetchone()[0]
        return count == 1


def test_a_publish_wakes_a_worker_that_would_sleep_for_an_hour(stub_world: World) -> None:
    worker = Worker(name="sleeper", lease_seconds=60, poll_seconds=3600)
    idle, done = threading.Semaphore(0), threading.Event()

    def seen(round_: Round) -> None:
        if round_.result is Result.IDLE:
            idle.release()
        if round_.result is Result.SUCCEEDED:
            done.set()

    thread = threading.Thread(target=lambda: (worker.run(on_round=seen), connections.close_all()))
    thread.start()
    try:
        # The second idle round follows the begin of listening; from then on only a NOTIFY or an hour ends its sleep.
        assert idle.acquire(timeout=20)
        assert idle.acquire(timeout=20)
        wait_until(is_listening, what="listening")
        document = stub_world.upload(long_text("old"))
        stub_world.publish(document)
        assert done.wait(timeout=20), "nobody woke the worker"
        assert task_of(document.pk, 1).state == "SUCCEEDED"
    finally:
        worker.stop.set()
        thread.join(timeout=20)
    assert not thread.is_alive()


def test_polling_finds_what_no_notice_told_of(stub_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexing.queue.wake_workers", lambda: None)
    worker = Worker(name="poller", lease_seconds=60, poll_seconds=0.1)
    idle = threading.Semaphore(0)

    def seen(round_: Round) -> None:
        idle.release()
        if round_.result is Result.SUCCEEDED:
            worker.stop.set()

    thread = threading.Thread(target=lambda: (worker.run(on_round=seen), connections.close_all()))
    thread.start()
    assert idle.acquire(timeout=20)
    document = stub_world.upload(long_text("old"))
    stub_world.publish(document)
    thread.join(timeout=30)
    assert not thread.is_alive()
    assert task_of(document.pk, 1).state == "SUCCEEDED"
