"""Providers that refuse, throttle, hang or are gone, with real workers: no document is charged, nobody works through the
queue in vain, and it goes on by itself."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import pytest
from django.db import connection, connections, transaction

from documents.models import Document
from indexing import pipelines, queue, tasks
from indexing.models import EmbeddingProvider, IndexTask
from indexing.search import search
from indexing.worker import Result, Worker
from tests.concurrency.leases import found_texts, long_text, make_due, task_of
from tests.factories import World
from tests.processes import child_environment, spawn_worker
from tests.provider_stub import ProviderStub, Reply, drip, slow, status

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def pass_time(column: str) -> None:
    """Let `open_until` or `cooldown_until` be over."""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE embedding_provider SET {column} = clock_timestamp() WHERE {column} IS NOT NULL")
        assert cursor.rowcount == 1, f"nothing is known of {column}"


def wait_too_long(*task_ids: int) -> None:
    """As if the tasks had been ordered more than a day ago, which only the owner can pretend."""
    with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
        cursor.execute("ALTER TABLE index_task DISABLE TRIGGER USER")
        cursor.execute(
            "UPDATE index_task SET waiting_since = clock_timestamp() - interval '25 hours' WHERE id = ANY(%s)",
            [list(task_ids)],
        )
        cursor.execute("ALTER TABLE index_task ENABLE TRIGGER USER")


def all_due() -> None:
    for pk in IndexTask.objects.filter(state="RETRY_WAIT").values_list("pk", flat=True):
        make_due(pk)


def published(world: World, count: int, *, word: str = "old") -> list[Document]:
    documents = [world.upload(f"# Rule {number}\n\n{word} rule {number}.") for number in range(count)]
    for document in documents:
        world.publish(document)
    return documents


def drain(name: str = "w") -> dict[Result, int]:
    return dict(Worker(name=name, lease_seconds=60).run(drain=True))


def states() -> dict[str, int]:
    found: dict[str, int] = {}
    for state in IndexTask.objects.values_list("state", flat=True):
        found[state] = found.get(state, 0) + 1
    return found


def charged() -> int:
    return sum(IndexTask.objects.values_list("failures", flat=True))


def alarms(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What an operator was told loudly, by whom."""
    return [record.name for record in caplog.records if record.levelno >= logging.ERROR]


# A refused key.


def test_a_refused_key_kills_no_queue(
    stub_world: World, provider: ProviderStub, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Fifty tasks wait, one request is made, nothing is charged, one alarm is raised; with the key right all succeed."""
    provider.api_key, settings.KB_EMBEDDING_API_KEY = "right", "wrong"
    for number in range(50):  # one file, which is parsed once
        stub_world.publish(stub_world.upload("# Rule\n\nold rule.", title=f"Rule {number}"))
    for name in ("first", "second"):
        drain(name)
    assert len(provider.headers) == 1
    assert states() == {"PENDING": 49, "RETRY_WAIT": 1}
    assert charged() == 0
    assert alarms(caplog) == ["indexing.provider_gate"]

    pass_time("open_until")
    all_due()
    drain()  # a probe, which fails
    assert len(provider.headers) == 2
    assert IndexTask.objects.filter(attempts__gt=1).count() == 0

    settings.KB_EMBEDDING_API_KEY = "right"
    pass_time("open_until")
    assert drain()[Result.SUCCEEDED] == 50
    assert charged() == 0
    assert len(alarms(caplog)) == 1
    assert len(found_texts(stub_world, "old")) == 50


# A rate limit.

RETRY_AFTER = [
    {"Retry-After": "60"},
    # By the provider's own clock, which is years behind ours.
    {"Date": "Mon, 01 Jan 2024 10:00:00 GMT", "Retry-After": "Mon, 01 Jan 2024 10:01:00 GMT"},
]


@pytest.mark.parametrize("headers", RETRY_AFTER, ids=["seconds", "date"])
def test_a_rate_limit_holds_for_every_worker(
    stub_world: World, provider: ProviderStub, headers: dict[str, str]
) -> None:
    first, _ = published(stub_world, 2)
    provider.faults = [status(429, headers)]
    assert Worker(name="first", lease_seconds=60).run_once().result is Result.FAILED
    task = task_of(first.pk, 1)
    assert (task.state, task.error_code, task.failures) == ("RETRY_WAIT", "EMBEDDING_RATE_LIMITED", 0)
    wait = (task.next_attempt_at - task.updated_at).total_seconds()
    assert 59 <= wait <= 60 + 10 + 1  # as told, and the jitter on top

    assert Worker(name="second", lease_seconds=60).run_once().result is Result.IDLE
    assert provider.requests == 1

    pass_time("cooldown_until")
    all_due()
    assert drain()[Result.SUCCEEDED] == 2
    assert charged() == 0


def test_a_worker_that_is_embedding_already_stops_at_the_next_request(
    stub_world: World, provider: ProviderStub
) -> None:
    """Two workers are at work when one of them is told to pause."""
    documents = [stub_world.upload(long_text(word)) for word in ("old", "other")]
    for document in documents:
        stub_world.publish(document)
    told = threading.Event()

    def hold_the_second(texts: list[str]) -> None:
        if any("other" in text for text in texts):
            assert told.wait(30)

    provider.before_answer = hold_the_second
    provider.fail_on(2, status(429, {"Retry-After": "60"}))
    first = Worker(name="first", lease_seconds=60)
    thread = threading.Thread(target=lambda: (first.run_once(), connections.close_all()))
    slower = Worker(name="second", lease_seconds=60)
    thread.start()
    thread.join(30)
    assert task_of(documents[0].pk, 1).error_code == "EMBEDDING_RATE_LIMITED"
    EmbeddingProvider.objects.update(cooldown_until=None)
    thread = threading.Thread(target=lambda: (slower.run_once(), connections.close_all()))
    thread.start()
    while provider.requests < 3:
        assert thread.is_alive()
        time.sleep(0.01)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE embedding_provider SET cooldown_until = clock_timestamp() + interval '60 s'")
    told.set()
    thread.join(30)
    task = task_of(documents[1].pk, 1)
    assert (task.state, task.error_code, task.failures) == ("RETRY_WAIT", "EMBEDDING_RATE_LIMITED", 0)
    assert provider.requests == 3


# An outage.


def test_an_outage_is_found_out_by_three_and_its_end_by_one(
    stub_world: World, provider: ProviderStub, caplog: pytest.LogCaptureFixture
) -> None:
    published(stub_world, 10)
    provider.faults = [status(503)] * 4
    drain("first")
    assert provider.requests == 3
    drain("second")
    assert provider.requests == 3
    assert (states(), charged()) == ({"PENDING": 7, "RETRY_WAIT": 3}, 0)
    assert len(alarms(caplog)) == 1

    pass_time("open_until")
    drain("third")
    assert provider.requests == 4
    assert provider.batches[3:] == [[]], "a probe carries no document's text"

    pass_time("open_until")
    all_due()
    assert drain("fourth")[Result.SUCCEEDED] == 10
    assert charged() == 0
    assert len(alarms(caplog)) == 1


def test_the_probe_asks_for_a_model_that_is_in_use(stub_world: World, provider: ProviderStub, settings: Any) -> None:
    """Not for one that only the settings describe, or that was retired: an endpoint without it would be out for good."""
    settings.KB_EMBEDDING_MODEL = "not there yet"
    pipelines.ensure_default_pipeline(using="owner")
    published(stub_world, 1)
    provider.faults = [status(401)]
    drain()
    assert states() == {"RETRY_WAIT": 1}
    honest = provider.answer
    provider.answer = lambda question: status(404)(Reply()) if question["model"] != "stub" else honest(question)
    pass_time("open_until")
    all_due()
    assert drain()[Result.SUCCEEDED] == 1


def test_a_provider_that_hangs_is_out_after_three_tasks(
    stub_world: World,
    provider: ProviderStub,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.KB_EMBEDDING_TIMEOUT = 2.0
    # Chance may let the first task come back before the third has its turn, and one task alone opens no breaker.
    monkeypatch.setattr("indexing.backoff.full_jitter", lambda *, policy, **_: policy.cap)
    published(stub_world, 5)
    provider.faults = [slow(30)] * 3
    drain()
    assert provider.requests <= 3  # one may have timed out before it was read
    codes = sorted(IndexTask.objects.exclude(error_code=None).values_list("error_code", "failures"))
    assert codes == [("EMBEDDING_TIMEOUT", 1), ("EMBEDDING_TIMEOUT", 1), ("EMBEDDING_UNAVAILABLE", 0)]
    assert len(alarms(caplog)) == 1


def test_a_worker_wakes_up_for_the_probe(stub_world: World, provider: ProviderStub) -> None:
    """Its next poll would be in an hour, and nobody publishes anything."""
    published(stub_world, 1)
    IndexTask.objects.update(max_failures=5)
    EmbeddingProvider.objects.create(name=provider.url.split("/")[2])
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE embedding_provider SET openings = 1, code = 'EMBEDDING_AUTH', since = clock_timestamp(), "
            "open_until = clock_timestamp() + interval '1 s'"
        )
    done = threading.Event()
    worker = Worker(name="sleeper", lease_seconds=60, poll_seconds=3600)
    thread = threading.Thread(
        target=lambda: (
            worker.run(on_round=lambda round_: done.set() if round_.result is Result.SUCCEEDED else None),
            connections.close_all(),
        )
    )
    thread.start()
    try:
        assert done.wait(30), "it slept on"
    finally:
        worker.stop.set()
        thread.join(30)
    assert not thread.is_alive()


def test_a_worker_does_not_spin_while_all_that_is_due_is_paused(
    stub_world: World, provider: ProviderStub, settings: Any
) -> None:
    provider.api_key, settings.KB_EMBEDDING_API_KEY = "right", "wrong"
    published(stub_world, 2)
    drain()
    all_due()
    worker = Worker(name="w", lease_seconds=60, poll_seconds=20)
    assert worker.run_once().result is Result.IDLE
    assert queue.seconds_until_due(pool="online") is not None
    assert worker._sleep_seconds() > 10


def test_a_lease_that_ran_out_is_taken_over_all_the_same(
    stub_world: World, provider: ProviderStub, settings: Any
) -> None:
    """Else a task of a dead worker would stay RUNNING for as long as the provider is out."""
    from tests.concurrency.leases import claim, expire

    provider.api_key, settings.KB_EMBEDDING_API_KEY = "right", "wrong"
    published(stub_world, 2)
    lost = claim()
    drain()
    expire(lost.task_id)
    drain()
    assert IndexTask.objects.filter(state="RUNNING").count() == 0
    assert len(provider.headers) == 1


# A day of waiting.


def test_a_day_of_waiting_ends_dead_uncharged_and_a_retry_begins_anew(
    stub_world: World, provider: ProviderStub, settings: Any
) -> None:
    provider.api_key, settings.KB_EMBEDDING_API_KEY = "right", "wrong"
    old, young = published(stub_world, 2)
    drain()
    wait_too_long(task_of(old.pk, 1).pk)
    all_due()
    drain()
    task = task_of(old.pk, 1)
    assert (task.state, task.error_code, task.failures) == ("DEAD", "EMBEDDING_AUTH", 0)
    assert task_of(young.pk, 1).state in ("PENDING", "RETRY_WAIT")
    assert len(provider.headers) == 1

    settings.KB_EMBEDDING_API_KEY = "right"
    tasks.retry_task(actor=stub_world.editor, task_id=task.pk)
    drain()
    assert task_of(old.pk, 1).state == "PENDING", "the provider is still paused"
    pass_time("open_until")
    all_due()
    drain()
    assert states() == {"SUCCEEDED": 2}


def test_a_day_of_throttling_ends_dead_uncharged(stub_world: World, provider: ProviderStub) -> None:
    (document,) = published(stub_world, 1)
    wait_too_long(task_of(document.pk, 1).pk)
    provider.faults = [status(429, {"Retry-After": "60"})]
    drain()
    task = task_of(document.pk, 1)
    assert (task.state, task.error_code, task.failures) == ("DEAD", "EMBEDDING_RATE_LIMITED", 0)


# A deadline for the whole request.


@pytest.mark.parametrize("head", [False, True], ids=["body", "head"])
def test_a_byte_a_second_holds_no_worker(stub_world: World, provider: ProviderStub, settings: Any, head: bool) -> None:
    settings.KB_EMBEDDING_TIMEOUT = 1.5
    published(stub_world, 1)
    provider.faults = [drip(1.0, head=head)]
    worker, done = Worker(name="w", lease_seconds=60), threading.Event()
    thread = threading.Thread(target=lambda: (worker.run_once(), done.set(), connections.close_all()), daemon=True)
    thread.start()
    assert done.wait(30), "the whole answer would take longer than an hour"
    thread.join(30)
    assert list(IndexTask.objects.values_list("state", "error_code")) == [("RETRY_WAIT", "EMBEDDING_TIMEOUT")]


# A budget.


@pytest.fixture
def arrivals(provider: ProviderStub) -> list[float]:
    """When each request came, in seconds since the test began."""
    begun = time.monotonic()
    times: list[float] = []
    provider.before_answer = lambda _: times.append(time.monotonic() - begun)
    return times


@pytest.mark.slow
def test_two_processes_share_one_budget(stub_world: World, provider: ProviderStub, arrivals: list[float]) -> None:
    """24 requests at once, then 3.6 a second: what came by any moment is never more, however late the workers begin."""
    for number in range(8):
        stub_world.publish(stub_world.upload(long_text(f"old{number}")))
    env = child_environment(
        KB_EMBEDDING_URL=provider.url,
        KB_EMBEDDING_MODEL="stub",
        KB_EMBEDDING_DIMENSIONS=str(provider.dimensions),
        KB_EMBEDDING_BATCH_SIZE="2",
        KB_CHUNK_TOKENS="60",
        KB_EMBEDDING_REQUESTS_PER_MINUTE="240",
    )
    workers = [spawn_worker("--drain", env=env) for _ in range(2)]
    outputs = [process.communicate(timeout=60) for process in workers]
    assert [process.returncode for process in workers] == [0, 0], outputs
    assert states() == {"SUCCEEDED": 8}
    assert len(arrivals) >= 40
    for count, at in enumerate(sorted(arrivals), start=1):
        assert count <= 24 + 3.6 * at + 1e-6, f"{count} requests within {at:.2f} s"


# The search.


def test_a_search_finds_words_at_once_while_the_provider_is_out(
    stub_world: World, provider: ProviderStub, settings: Any
) -> None:
    published(stub_world, 2)
    drain()
    provider.api_key, settings.KB_EMBEDDING_API_KEY = "right", "wrong"
    published(stub_world, 1, word="new")
    drain()
    asked = len(provider.headers)
    answer = search(user=stub_world.editor, tenant=stub_world.tenant.slug, query="old")
    assert len(provider.headers) == asked
    assert len(answer.hits) == 2
    assert [notice.code for notice in answer.notices] == ["words_only"]
