"""`manage.py recompute` as an operator runs it, with either engine."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import time
from typing import Any

import pytest

from documents.models import Document
from indexing import queue, recompute
from indexing.models import IndexTask, Pipeline, SearchPointer
from indexing.recompute_models import RecomputeItem, RecomputeRun
from indexing.states import TaskState
from tests.concurrency.leases import run_worker
from tests.concurrency.test_bulk_worker import forget_vectors
from tests.concurrency.test_crash import provider_environment
from tests.factories import World
from tests.processes import spawn, wait_until
from tests.provider_stub import ProviderStub, status

pytestmark = [pytest.mark.django_db(transaction=True, databases=["default", "owner"]), pytest.mark.slow]

RAY = pytest.param(
    "ray",
    marks=[
        pytest.mark.ray,
        pytest.mark.skipif(
            importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install -r requirements-ray.txt"
        ),
    ],
)
ENGINES = pytest.mark.parametrize("engine", ["local", RAY])


def served(world: World, count: int) -> list[Document]:
    documents = []
    for number in range(count):
        document = world.upload(f"# Rule {number}\n\nwords of rule {number}")
        world.publish(document)
        assert run_worker() == "SUCCEEDED"
        documents.append(document)
    forget_vectors()
    return documents


def pipeline_of(world: World) -> Pipeline:
    return Pipeline.objects.get(tenants__tenant=world.tenant, tenants__role="SERVING")


def command(world: World, provider: ProviderStub, *arguments: str, timeout: float = 110) -> tuple[int, Any, str]:
    started = _spawn(world, provider, *arguments)
    out, err = started.communicate(timeout=timeout)
    return started.returncode, json.loads(out) if out.strip() else None, err


def _spawn(world: World, provider: ProviderStub, *arguments: str) -> subprocess.Popen[str]:
    environment = {**provider_environment(provider), "OMP_NUM_THREADS": "1"}
    if not any(argument in ("--resume", "--stop") for argument in arguments):
        arguments = ("--pipeline", str(pipeline_of(world).pk), *arguments)
    return spawn("recompute", "--format", "json", *arguments, env=environment)


@ENGINES
@pytest.mark.timeout(240)
def test_everything_is_rebuilt_and_told(stub_world: World, provider: ProviderStub, engine: str) -> None:
    documents = served(stub_world, 5)
    provider.reset()
    options = ("--tenant", stub_world.tenant.slug, "--rebuild", "--engine", engine, "--processes", "2")
    code, told, err = command(stub_world, provider, *options, "--batch", "3")
    assert code == 0, err
    assert (told["total"], told["applied"], told["ended"]) == (5, 5, True)
    assert provider.texts_sent == 5
    assert set(SearchPointer.objects.values_list("generation", flat=True)) == {2}
    # Again: everything anew, and nothing is sent.
    provider.reset()
    code, told, err = command(stub_world, provider, *options)
    assert (code, told["applied"], provider.texts_sent) == (0, 5, 0), err
    # And what is searchable needs nothing at all.
    tasks = IndexTask.objects.count()
    code, told, err = command(stub_world, provider, *options[:2], "--engine", engine)
    assert (code, told["applied"], told["current"]) == (0, 5, 5), err
    assert IndexTask.objects.count() == tasks
    assert len(documents) == 5


@ENGINES
@pytest.mark.timeout(240)
def test_a_run_whose_processes_are_killed_goes_on(stub_world: World, provider: ProviderStub, engine: str) -> None:
    served(stub_world, 4)
    provider.reset()
    provider.before_answer = lambda _: time.sleep(0.2)  # long enough to be killed within
    run = recompute.start(
        actor_id=None, pipeline_id=pipeline_of(stub_world).pk, tenant_id=None, where=None, rebuild=True
    )
    options = ("--resume", str(run.pk), "--engine", engine, "--processes", "1", "--batch", "4", "--lease", "2")
    first = _spawn(stub_world, provider, *options)
    try:
        wait_until(lambda: provider.requests > 0, what="a request", seconds=100)
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
    code, told, err = command(stub_world, provider, *options)
    assert code == 0, err
    assert (told["runId"], told["applied"], told["ended"]) == (run.pk, 4, True)
    assert IndexTask.objects.filter(task_type="RECOMPUTE", state=TaskState.SUCCEEDED).count() == 4


@pytest.mark.timeout(120)
def test_failures_are_a_partial_end(stub_world: World, provider: ProviderStub) -> None:
    served(stub_world, 2)
    provider.poison["rule 1"] = status(400)
    code, told, err = command(stub_world, provider, "--rebuild")
    assert code == 3
    assert (told["applied"], told["failed"], told["pending"]) == (1, 1, 0)
    assert "1 documents failed" in err
    provider.poison.clear()
    item = RecomputeItem.objects.get(outcome="failed")
    assert item.task_id is not None
    queue.reopen(task_id=item.task_id)
    code, told, err = command(stub_world, provider, "--resume", str(told["runId"]))
    assert (code, told["applied"], told["failed"]) == (0, 2, 0), err


@pytest.mark.timeout(120)
def test_a_dry_run_does_nothing(stub_world: World, provider: ProviderStub) -> None:
    served(stub_world, 2)
    sent = provider.texts_sent
    code, told, err = command(stub_world, provider, "--rebuild", "--dry-run")
    assert code == 0, err
    assert (told["documents"], told["toCompute"], told["textsToSend"]) == (2, 2, 2)
    assert not RecomputeRun.objects.exists()
    assert provider.texts_sent == sent


@pytest.mark.timeout(120)
def test_a_list_for_workers_elsewhere_can_be_stopped(stub_world: World, provider: ProviderStub) -> None:
    served(stub_world, 2)
    code, told, _ = command(stub_world, provider, "--rebuild", "--engine", "none")
    assert (code, told["pending"]) == (3, 2)
    code, told, err = command(stub_world, provider, "--stop", str(told["runId"]))
    assert (code, told["failed"], told["pending"]) == (0, 2, 0), err


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "arguments",
    [
        ("--where", "colour=red"),
        ("--where", "document=nonsense"),
        ("--where", "media-type="),
        ("--shard", "3/2"),
        ("--shard", "x"),
        ("--processes", "0"),
        ("--tenant", "nobody"),
        ("--address", "auto"),
        ("--resume", "1", "--rebuild"),
        (),
    ],
)
def test_usage(stub_world: World, provider: ProviderStub, arguments: tuple[str, ...]) -> None:
    with_pipeline = ("--pipeline", "1") if arguments and "--resume" not in arguments else ()
    done = spawn("recompute", *with_pipeline, *arguments, env=provider_environment(provider))
    out, err = done.communicate(timeout=60)
    assert (done.returncode, out) == (2, ""), err
