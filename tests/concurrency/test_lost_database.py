"""A worker whose database refuses, cuts it off or goes away: the attempt goes on as long as its lease, and is told right."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import OperationalError, connection, connections, transaction

from indexing import attempt, cache, provider_gate, queue, sink
from indexing.errors import DocumentCorrupt, EmbeddingBadResponse, ParseCrashed
from indexing.models import TaskEvent
from indexing.worker import Result, Round, Worker
from tests.concurrency.leases import (
    SECTIONS,
    before_finish,
    expire,
    found_texts,
    long_text,
    make_due,
    run_worker,
    task_of,
)
from tests.concurrency.test_crash import provider_environment
from tests.concurrency.test_heartbeat import terminate_others
from tests.concurrency.test_stage_then_switch import Gate
from tests.concurrency.test_wakeup import is_listening
from tests.db.test_embedded import restart_immediately
from tests.factories import World
from tests.processes import wait_until, worker
from tests.provider_stub import ProviderStub
from tests.sessions import Session

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def published(world: World, word: str = "old") -> Any:
    document = world.upload(long_text(word))
    world.publish(document)
    return document


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[int]:
    """A list that grows by one with each call of a function."""
    calls: list[int] = []
    function = getattr(module, name)

    def call(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        return function(*arguments, **options)

    monkeypatch.setattr(module, name, call)
    return calls


# A lock that somebody else holds


@contextmanager
def working_beside_a_locked_document(document_id: object, subject: Worker) -> Iterator[Callable[[], Round]]:
    """A worker that waits 20 ms for a lock at most, while this connection holds the document's. Yields what waits for its
    round; the lock is let go when the block ends, or before by `transaction.set_rollback`."""

    def impatient() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '20ms'")

    with Session() as session:
        session.run(impatient)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM document WHERE id = %s FOR NO KEY UPDATE", [document_id])
            round_ = session.start(subject.run_once)
            yield lambda: round_.result(timeout=30)
        round_.result(timeout=30)


@pytest.mark.parametrize("step", ["finish", "end"])
def test_a_lock_held_beyond_three_tries_costs_no_attempt(
    stub_world: World, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    document = published(stub_world)
    if step == "end":
        monkeypatch.setattr("indexing.attempt.parse_in_child", _raising(DocumentCorrupt))
    tries = counted(monkeypatch, sink, step)
    with working_beside_a_locked_document(document.pk, Worker(name="patient", lease_seconds=60)):
        wait_until(lambda: len(tries) > 4, what="the fifth try")
    task = task_of(document.pk, 1)
    assert (task.attempts, task.failures, task.state) == (
        (1, 0, "SUCCEEDED") if step == "finish" else (1, 1, "DEAD")  # refused for good, which is its own failure
    )


def test_a_lock_held_for_a_whole_lease_gives_the_task_back_uncharged(stub_world: World) -> None:
    document = published(stub_world)
    with working_beside_a_locked_document(document.pk, Worker(name="patient", lease_seconds=1.5)) as result:
        assert result().result is Result.LOST_LEASE
    task = task_of(document.pk, 1)
    assert (task.state, task.attempts, task.failures) == ("PENDING", 1, 0)
    assert run_worker("next") == "SUCCEEDED"


def test_what_the_database_can_never_take_is_a_defect_that_uses_up_the_budget(
    stub_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given back uncharged, such a task would be taken first again and again, and keep a worker busy for good."""
    document = published(stub_world)
    monkeypatch.setattr("indexing.lexical.tsvector", lambda *_: "a" * 3000)
    with pytest.raises(OperationalError, match="too long"):
        Worker(name="unlucky", lease_seconds=2).run_once()
    task = task_of(document.pk, 1)
    assert (task.state, task.attempts) == ("RUNNING", 1)
    expire(task.pk)
    assert queue.claim(worker="next", pool="online", lease_seconds=60) is not None
    assert task_of(document.pk, 1).failures == 1


def test_a_worker_told_to_stop_waits_for_no_lock(stub_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    document = published(stub_world)
    subject = Worker(name="stopping", lease_seconds=60)
    tries = counted(monkeypatch, sink, "finish")
    with working_beside_a_locked_document(document.pk, subject) as result:
        wait_until(lambda: len(tries) > 1, what="a second try")
        subject.stop.set()
        assert result().result is Result.LOST_LEASE
    task = task_of(document.pk, 1)
    assert (task.state, task.attempts, task.failures) == ("PENDING", 1, 0)


# A connection that is cut


def cut_off() -> None:
    """End this thread's backend from another connection, and wait until it is gone."""
    raw = connection.connection
    assert raw is not None
    parameters = connection.get_connection_params()
    for name in ("cursor_factory", "context", "prepare_threshold"):
        parameters.pop(name, None)
    with psycopg.connect(**parameters) as other:
        ended = other.execute("SELECT pg_terminate_backend(%s, 20000)", [raw.info.backend_pid]).fetchone()
    assert ended == (True,)


def cut_once(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, *, after: bool = False, at: str | None = None
) -> list[int]:
    """Cut the caller off before (or after) its first call of a function, with `at` the first that names it."""
    function, done = getattr(module, name), list[int]()

    def call(*arguments: Any, **options: Any) -> Any:
        hit = not done and (at is None or at in arguments or at in options.values())
        if hit:
            done.append(1)
        if hit and not after:
            cut_off()
        answer = function(*arguments, **options)
        if hit and after:
            cut_off()
        return answer

    monkeypatch.setattr(module, name, call)
    return done


CUTS = [
    *[(sink, name) for name in ("facts", "already_staged", "stage", "finish")],
    *[(cache, name) for name in ("find_parsed", "keep_parsed", "find_vectors", "keep_vectors")],
    *[(provider_gate, name) for name in ("send", "_spend", "_enter")],
    (queue, "fence"),
    (attempt, "parse_in_child"),
    (attempt.content, "read"),
]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("module", "name"), CUTS, ids=[name for _, name in CUTS])
def test_an_attempt_survives_a_cut(
    stub_world: World, provider: ProviderStub, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, after: bool
) -> None:
    """Before a step, within its transaction and after it: the step is done again on a new connection, nothing is paid
    twice, nothing charged."""
    document = published(stub_world)
    done = cut_once(monkeypatch, module, name, after=after)
    assert run_worker() == "SUCCEEDED"
    assert done, "nothing was cut: the test proves nothing"
    connection.close()
    task = task_of(document.pk, 1)
    assert (task.attempts, task.failures, provider.texts_sent) == (1, 0, SECTIONS)
    assert len(found_texts(stub_world, "old")) == SECTIONS


@pytest.mark.parametrize("stage", ["PARSE", "SPLIT", "EMBED", "INDEX", "VALIDATE"])
def test_an_attempt_survives_a_cut_at_every_stage(
    stub_world: World, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    document = published(stub_world)
    assert run_cut(monkeypatch, queue, "report", at=stage) == "SUCCEEDED"
    task = task_of(document.pk, 1)
    assert (task.attempts, task.failures) == (1, 0)


def run_cut(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, **options: Any) -> str:
    done = cut_once(monkeypatch, module, name, **options)
    result = run_worker()
    assert done, "nothing was cut: the test proves nothing"
    return result


def cut_at_the_commit_of(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, *, at: str | None = None
) -> list[int]:
    """The next COMMIT after a call is carried out, and its answer never comes."""
    function, commit = getattr(module, name), psycopg.Connection.commit
    armed, done = list[int](), list[int]()

    def call(*arguments: Any, **options: Any) -> Any:
        answer = function(*arguments, **options)
        if not done and (at is None or at in arguments):
            armed.append(threading.get_ident())
        return answer

    def commit_and_hear_nothing(raw: psycopg.Connection[Any]) -> None:
        commit(raw)
        if armed == [threading.get_ident()]:
            armed.clear()
            done.append(1)
            cut_off()
            raw.execute("SELECT 1")  # fails as the answer to the COMMIT would

    monkeypatch.setattr(module, name, call)
    monkeypatch.setattr(psycopg.Connection, "commit", commit_and_hear_nothing)
    return done


def ends_of(task_id: int) -> list[str]:
    events = TaskEvent.objects.filter(task_id=task_id, kind="move", from_state="RUNNING").order_by("id")
    return list(events.values_list("to_state", flat=True))


def refusals_of(task_id: int) -> int:
    return TaskEvent.objects.filter(task_id=task_id, kind="refused").count()


def test_a_finish_whose_answer_was_cut_off_is_learnt(stub_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    document = published(stub_world)
    done = cut_at_the_commit_of(monkeypatch, sink, "row", at="switch")
    assert run_worker() == "SUCCEEDED"
    assert done
    task = task_of(document.pk, 1)
    assert (task.state, task.attempts, task.failures) == ("SUCCEEDED", 1, 0)
    assert (ends_of(task.pk), refusals_of(task.pk)) == (["SUCCEEDED"], 0)


def test_a_failure_whose_answer_was_cut_off_is_charged_once(stub_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    document = published(stub_world)
    monkeypatch.setattr("indexing.attempt.parse_in_child", _raising(DocumentCorrupt))
    done = cut_at_the_commit_of(monkeypatch, queue, "fail")
    assert run_worker() == "FAILED"
    assert done
    task = task_of(document.pk, 1)
    assert (task.state, task.failures, ends_of(task.pk), refusals_of(task.pk)) == ("DEAD", 1, ["DEAD"], 0)


def test_a_lease_that_ran_out_is_not_taken_for_an_end(stub_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker was cut off, and it was somebody else who ended its attempt: that is a lost lease."""
    document = published(stub_world)
    task_id = task_of(document.pk, 1).pk

    def run_out() -> None:
        monkeypatch.undo()
        expire(task_id)
        assert run_worker("other") == "SUCCEEDED"
        cut_off()

    before_finish(monkeypatch, run_out)
    assert run_worker() == "LOST_LEASE"
    assert (ends_of(task_id), refusals_of(task_id)) == (["RUNNING", "SUCCEEDED"], 1)


# Small budgets


def test_a_small_budget_counts_only_its_own_kind(stub_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease that ran out and a provider that answered nonsense are no crashes of the parser."""
    document = published(stub_world)
    task_id = task_of(document.pk, 1).pk

    def next_attempt(*, crash: bool) -> tuple[str, int, str | None]:
        with monkeypatch.context() as patch:
            if crash:
                patch.setattr("indexing.attempt.parse_in_child", _raising(ParseCrashed))
            run_worker()
        task = task_of(document.pk, 1)
        if task.state == "RETRY_WAIT":
            make_due(task_id)
        return task.state, task.failures, task.error_code

    lease = queue.claim(worker="gone", pool="online", lease_seconds=60)
    assert lease is not None
    expire(task_id)
    assert next_attempt(crash=True) == ("RETRY_WAIT", 2, "PARSE_CRASHED")
    with monkeypatch.context() as patch:
        patch.setattr("indexing.attempt.embed", _raising(EmbeddingBadResponse))
        patch.setattr("indexing.cache.keep_parsed", lambda *_, **__: None)  # so that the next one parses again
        assert next_attempt(crash=False) == ("RETRY_WAIT", 3, "EMBEDDING_BAD_RESPONSE")
    assert next_attempt(crash=True) == ("DEAD", 4, "PARSE_CRASHED")
    queue.reopen(task_id=task_id)
    assert next_attempt(crash=True) == ("RETRY_WAIT", 1, "PARSE_CRASHED"), "reopened: a budget of its own again"


def _raising(kind: type[Exception]) -> Callable[..., Any]:
    def call(*_: Any, **__: Any) -> Any:
        raise kind

    return call


# The whole server


def test_the_worker_listens_again(stub_world: World) -> None:
    subject = Worker(name="sleeper", lease_seconds=60, poll_seconds=3600)
    done = threading.Event()

    def seen(round_: Round) -> None:
        if round_.result is Result.SUCCEEDED:
            done.set()

    thread = threading.Thread(target=lambda: (subject.run(on_round=seen), connections.close_all()))
    thread.start()
    try:
        wait_until(is_listening, what="listening")
        assert terminate_others() >= 1
        wait_until(is_listening, what="listening again")
        document = published(stub_world)
        assert done.wait(timeout=20), "nobody woke the worker"
        assert task_of(document.pk, 1).attempts == 1
    finally:
        subject.stop.set()
        thread.join(timeout=20)
    assert not thread.is_alive()


@pytest.mark.slow
def test_a_server_stopped_at_once_and_started_again(stub_world: World, provider: ProviderStub) -> None:
    """In the middle of an attempt of a worker process: it goes on by itself, in the same attempt."""
    if not settings.EMBEDDED_POSTGRES:
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell("LOUD SKIP: a server is stopped only where it is the tests' own")
    document = published(stub_world)
    gate = Gate(provider)
    with worker("--poll", "0.2", "--lease", "60", env=provider_environment(provider)) as process:
        wait_until(lambda: gate.reached.is_set() or process.poll() is not None, seconds=60, what="the first request")
        assert process.poll() is None, process.communicate()[1]
        connections.close_all()
        restart_immediately(settings.DATA_DIR)
        gate.open.set()
        wait_until(lambda: task_of(document.pk, 1).state == "SUCCEEDED", seconds=60, what="success")
        next_one = published(stub_world, "next")
        wait_until(lambda: task_of(next_one.pk, 1).state == "SUCCEEDED", seconds=60, what="the next success")
        process.terminate()
        _, told = process.communicate(timeout=30)
    assert (task_of(document.pk, 1).attempts, provider.texts_sent) == (1, 2 * SECTIONS)
    assert "Traceback" not in told
