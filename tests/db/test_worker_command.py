"""`manage.py run_index_worker` as real processes, with real signals, against a provider on a real socket."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from documents.models import Document
from documents.ports import search_index
from indexing import pipelines
from indexing.models import IndexTask, PointerLog
from tests.concurrency.leases import expire
from tests.factories import World, make_world
from tests.processes import child_environment, children_of, end, running, spawn_worker, wait_until, worker
from tests.provider_stub import ProviderStub

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True, databases=["default", "owner"])]

SECONDS = 30


@dataclass
class Gate:
    """Holds the provider's answers: `reached` is set by the first request, and none is answered before `open`."""

    reached: threading.Event = field(default_factory=threading.Event)
    open: threading.Event = field(default_factory=threading.Event)

    def __call__(self, texts: list[str]) -> None:
        self.reached.set()
        self.open.wait(SECONDS)


@pytest.fixture
def world(provider: ProviderStub, settings: pytest.FixtureRequest) -> World:
    """A tenant whose pipeline embeds with the stub."""
    settings.KB_EMBEDDING_URL = provider.url
    settings.KB_EMBEDDING_MODEL = "stub"
    settings.KB_EMBEDDING_DIMENSIONS = provider.dimensions
    pipelines.ensure_default_pipeline(using="owner")
    return make_world()


@pytest.fixture
def env(world: World, provider: ProviderStub) -> dict[str, str]:
    return child_environment(
        KB_EMBEDDING_URL=provider.url,
        KB_EMBEDDING_MODEL="stub",
        KB_EMBEDDING_DIMENSIONS=str(provider.dimensions),
        KB_STOP_GRACE_SECONDS="20",
    )


@pytest.fixture
def gate(provider: ProviderStub) -> Iterator[Gate]:
    gate = Gate()
    provider.before_answer = gate
    yield gate
    gate.open.set()


def ended(process: subprocess.Popen[str], *, status: int = 0) -> str:
    """What a process that ends by itself has printed."""
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == status, err
    return out.strip()


def state_of(document: Document) -> str:
    return str(search_index().annotate_state(Document.objects.filter(pk=document.pk)).get().index_state)


def test_once_prints_each_result(world: World, env: dict[str, str]) -> None:
    good = world.publish(world.upload()).document
    bad = world.publish(world.upload("\n \n", title="Blank")).document

    printed = [ended(spawn_worker("--once", env=env)) for _ in range(3)]

    assert printed == ["SUCCEEDED", "FAILED", "IDLE"]
    assert (state_of(good), state_of(bad)) == ("SEARCHABLE", "FAILED")


def test_once_as_json(world: World, env: dict[str, str]) -> None:
    task = world.publish(world.upload()).ticket.task_id
    assert json.loads(ended(spawn_worker("--once", "--format", "json", env=env))) == {
        "result": "SUCCEEDED",
        "taskId": task,
    }
    assert json.loads(ended(spawn_worker("--once", "--format", "json", env=env))) == {"result": "IDLE", "taskId": None}


def test_once_after_losing_its_lease(world: World, env: dict[str, str], gate: Gate) -> None:
    world.publish(world.upload())
    with worker("--once", "--lease", "600", env=env) as process:
        assert gate.reached.wait(SECONDS)
        expire(IndexTask.objects.get().pk)
        gate.open.set()
        assert ended(process) == "LOST_LEASE"


def test_drain_counts(world: World, env: dict[str, str]) -> None:
    for number in range(3):
        world.publish(world.upload(title=f"Travel {number}"))
    world.publish(world.upload("\n \n", title="Blank"))
    assert json.loads(ended(spawn_worker("--drain", "--format", "json", env=env))) == {
        "IDLE": 1,
        "SUCCEEDED": 3,
        "FAILED": 1,
        "LOST_LEASE": 0,
    }
    assert ended(spawn_worker("--drain", env=env)) == "IDLE 1, SUCCEEDED 0, FAILED 0, LOST_LEASE 0"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_an_idle_worker(world: World, env: dict[str, str], number: int) -> None:
    document = world.publish(world.upload()).document
    with worker("--poll", "60", env=env) as process:
        wait_until(lambda: state_of(document) == "SEARCHABLE", what="the document")
        process.send_signal(number)
        assert ended(process).startswith("IDLE ")


def test_a_signal_lets_the_step_end_and_gives_the_lease_back(world: World, env: dict[str, str], gate: Gate) -> None:
    """The request that is under way is answered within the grace: its vectors are kept, and the task is due at once."""
    document = world.publish(world.upload()).document
    with worker("--format", "json", env=env) as process:
        assert gate.reached.wait(SECONDS)
        process.terminate()
        gate.open.set()
        assert json.loads(ended(process))["LOST_LEASE"] == 1
    task = IndexTask.objects.get()
    assert (task.state, task.attempts, task.failures, task.lease_owner) == ("PENDING", 1, 0, None)

    assert ended(spawn_worker("--once", env=env)) == "SUCCEEDED"
    assert state_of(document) == "SEARCHABLE"


def test_a_step_that_outlasts_the_grace(world: World, env: dict[str, str], gate: Gate, provider: ProviderStub) -> None:
    document = world.publish(world.upload()).document
    with worker("--once", env={**env, "KB_STOP_GRACE_SECONDS": "0.2"}) as process:
        assert gate.reached.wait(SECONDS)
        process.terminate()
        assert ended(process) == "LOST_LEASE"
    task = IndexTask.objects.get()
    assert (task.state, task.failures) == ("PENDING", 0)

    provider.before_answer = None
    assert ended(spawn_worker("--once", env=env)) == "SUCCEEDED"
    assert state_of(document) == "SEARCHABLE"


def test_a_second_signal_ends_at_once(world: World, env: dict[str, str], gate: Gate) -> None:
    world.publish(world.upload())
    with worker(env={**env, "KB_STOP_GRACE_SECONDS": "600"}) as process:
        assert gate.reached.wait(SECONDS)
        process.terminate()
        process.send_signal(signal.SIGINT)
        assert "LOST_LEASE 1" in ended(process)
    assert IndexTask.objects.get().state == "PENDING"


def test_another_worker_takes_over_from_a_killed_one(world: World, env: dict[str, str], gate: Gate) -> None:
    document = world.publish(world.upload()).document
    with worker("--once", env=env) as process:
        assert gate.reached.wait(SECONDS)
        process.kill()
        process.wait(SECONDS)
    expire(IndexTask.objects.get().pk)
    gate.open.set()
    assert ended(spawn_worker("--once", env=env)) == "SUCCEEDED"
    task = IndexTask.objects.get()
    assert (state_of(document), task.attempts, task.failures) == ("SEARCHABLE", 2, 1)


def test_processes_share_a_drain(world: World, env: dict[str, str]) -> None:
    for number in range(6):
        world.publish(world.upload(title=f"Travel {number}"))
    counts = json.loads(ended(spawn_worker("--drain", "--processes", "2", "--name", "w", "--format", "json", env=env)))
    assert counts == {"IDLE": 2, "SUCCEEDED": 6, "FAILED": 0, "LOST_LEASE": 0}
    assert PointerLog.objects.count() == 6


def test_processes_are_replaced_and_stopped(world: World, env: dict[str, str], gate: Gate) -> None:
    """One of two processes is killed, another takes its place; SIGTERM to the parent ends them all."""
    gate.open.set()
    with worker("--processes", "2", "--format", "json", env=env) as process:
        wait_until(lambda: len(children_of(process.pid)) == 2, what="two processes")
        before = set(children_of(process.pid))
        os.kill(min(before), signal.SIGKILL)
        wait_until(lambda: len(set(children_of(process.pid)) - before) == 1, what="a third process")
        document = world.publish(world.upload()).document
        wait_until(lambda: state_of(document) == "SEARCHABLE", what="the document")
        left = children_of(process.pid)
        process.terminate()
        assert json.loads(ended(process))["SUCCEEDED"] == 1
    assert not running(left)


def test_processes_end_with_a_killed_parent(world: World, env: dict[str, str], gate: Gate) -> None:
    world.publish(world.upload())
    process = spawn_worker("--processes", "2", env={**env, "KB_STOP_GRACE_SECONDS": "1"})
    try:
        assert gate.reached.wait(SECONDS)
        children = children_of(process.pid)
        process.kill()
        wait_until(lambda: not running(children), what="the end of the children")
    finally:
        end(process)
    assert IndexTask.objects.get().state == "PENDING"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--poll", "0"], "--poll is a number of seconds above 0"),
        (["--poll", "nan"], "--poll is a number of seconds above 0"),
        (["--lease", "-1"], "--lease is a number of seconds above 0"),
        (["--lease", "inf"], "--lease is a number of seconds above 0"),
        (["--lease", "601"], "--lease is a number of seconds above 0 and up to 600"),
        (["--processes", "0"], "--processes is a number from 1 to 64"),
        (["--once", "--processes", "2"], "one process"),
        (["--name", ""], "--name is a line"),
        (["--once", "--drain"], "not allowed with"),
        (["--pool", "Online!"], "--pool"),
    ],
)
def test_arguments_that_make_no_sense(arguments: list[str], said: str) -> None:
    with worker(*arguments) as process:  # certainly gone, also if the arguments should make sense one day
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_database_that_cannot_be_reached(env: dict[str, str]) -> None:
    process = spawn_worker("--once", env={**env, "DATABASE_URL": "postgresql://kb_app@127.0.0.1:1/kb"})
    out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (1, "")
    assert "The database cannot be used" in err
    assert "Traceback" not in err
