"""SIGKILL at every stage: the next worker ends with the same chunks, pays at most one batch again, and nobody sees half."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from documents.models import DocumentVersion
from indexing import sink
from indexing.lease import Lease
from indexing.models import Chunk, IndexTask, Pipeline
from indexing.parsers import parse
from indexing.providers import embedder_for
from indexing.splitters import split_as_configured
from tests.concurrency.halting_worker import POINTS
from tests.concurrency.leases import SECTIONS, expire, found_texts, long_text, pointer, run_worker, stored_ids, task_of
from tests.environment import ROOT
from tests.factories import World
from tests.processes import child_environment
from tests.provider_stub import ProviderStub

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True, databases=["default", "owner"])]


def provider_environment(provider: ProviderStub) -> dict[str, str]:
    return child_environment(
        KB_EMBEDDING_URL=provider.url,
        KB_EMBEDDING_MODEL="stub",
        KB_EMBEDDING_DIMENSIONS="64",
        KB_EMBEDDING_BATCH_SIZE="2",
        KB_CHUNK_TOKENS="60",
    )


def kill_at(point: str, provider: ProviderStub) -> None:
    """Start a worker process, wait until it says that it is there, and kill it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.concurrency.halting_worker", point],
        cwd=ROOT,
        env=provider_environment(provider),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == f"AT {point}"
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait(timeout=20) == -signal.SIGKILL
    finally:
        process.kill()
        process.communicate(timeout=20)


def expected_ids(task: IndexTask, text: str) -> list[object]:
    """What the chunks of a version must be, made here without the queue and the database."""
    version = DocumentVersion.objects.get(document=task.document_id, number=task.version_number)
    pipeline = Pipeline.objects.get(pk=task.pipeline_id)
    embedder = embedder_for(pipeline.config)
    chunks = split_as_configured(
        pipeline.config["splitter"],
        parse(text.encode(), version.media_type, version.file_name),
        title=version.title,
        count_tokens=embedder.count_tokens,
        most_tokens=embedder.max_tokens,
    )
    lease = Lease(
        task_id=task.pk, worker="", attempts=0, tenant_id=task.tenant_id, document_id=task.document_id,
        version_number=task.version_number, pipeline_id=pipeline.pk, task_type="INDEX", generation=1, failures=0,
        max_failures=5, readers_requested=True, waited=0.0,
    )  # fmt: skip
    return [item.id for item in sink.Manifest.of(chunks, lease=lease, pipeline_digest=pipeline.digest).chunks]


@pytest.mark.parametrize("point", POINTS)
def test_killed_at(point: str, stub_world: World, provider: ProviderStub) -> None:
    document = stub_world.upload(long_text("old"))
    stub_world.publish(document)
    assert run_worker() == "SUCCEEDED"
    number = stub_world.new_version(document, long_text("fresh"))
    stub_world.publish(document, version=number)
    task = task_of(document.pk, 2)
    provider.reset()

    kill_at(point, provider)
    sent_before = provider.texts_sent
    expected = expected_ids(task, long_text("fresh"))
    if point == "COMMITTED":
        assert task_of(document.pk, 2).state == "SUCCEEDED"
        assert run_worker("next") == "IDLE"
    else:
        # Whatever the dead worker left, readers are served version 1, whole.
        assert pointer(document.pk) == 1
        assert len([text for text in found_texts(stub_world, "old") if text.startswith("v1 old")]) == SECTIONS
        provider.reset()
        expire(task.pk)
        assert run_worker("next") == "SUCCEEDED"
        assert sent_before + provider.texts_sent <= SECTIONS + 2, "more than one batch was paid again"
    assert stored_ids(document.pk, 2) == expected
    assert len(expected) == SECTIONS
    assert pointer(document.pk) == 2
    assert len([text for text in found_texts(stub_world, "fresh") if text.startswith("v2 fresh")]) == SECTIONS
    assert task_of(document.pk, 2).failures == (0 if point == "COMMITTED" else 1)
    assert Chunk.objects.filter(document=document.pk, version_number=2).count() == SECTIONS
