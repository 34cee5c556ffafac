"""What a crash, an edit and another tenant cost: the texts that reach the provider, counted there."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import Counter
from typing import Any

import pytest

from indexing import attempt, pipelines
from indexing.models import Chunk, IndexTask
from tests.benchmarks.bench_edit import LANGUAGES, LAYOUTS, Text, edits, write
from tests.concurrency.leases import SECTIONS, expire, long_text, run_worker, task_of
from tests.concurrency.test_crash import kill_at, provider_environment
from tests.db.api import Caller
from tests.factories import World, make_world
from tests.processes import worker
from tests.provider_stub import ProviderStub

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


@pytest.fixture
def parsings(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry for each parsing process that this process starts."""
    started: list[object] = []
    parse = attempt.parse_in_child

    def counting(*arguments: Any, **options: Any) -> Any:
        started.append(arguments)
        return parse(*arguments, **options)

    monkeypatch.setattr(attempt, "parse_in_child", counting)
    return started


@pytest.mark.slow
def test_a_worker_killed_during_batch_seven_of_ten_costs_that_batch(
    stub_world: World, provider: ProviderStub, parsings: list[object]
) -> None:
    document = stub_world.upload(long_text("old", 19))  # 1 and the canary, then 2 in each of nine batches
    stub_world.publish(document)
    reached, released = threading.Event(), threading.Event()

    def hold_the_seventh(_: list[str]) -> None:
        if provider.requests == 7:
            reached.set()
            released.wait(timeout=60)

    provider.before_answer = hold_the_seventh
    with worker("--once", env=provider_environment(provider)) as process:
        assert reached.wait(timeout=60)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=20)
    released.set()
    assert [len(batch) for batch in provider.batches] == [1, 2, 2, 2, 2, 2, 2]
    kept = {text for batch in provider.batches[:6] for text in batch}

    provider.reset()
    expire(task_of(document.pk, 1).pk)
    assert run_worker("next") == "SUCCEEDED"
    sent = [text for batch in provider.batches for text in batch]
    assert len(sent) == len(set(sent)) == 8, "batches seven to ten"
    assert not kept & set(sent)
    assert not parsings, "the file was parsed again"

    stub_world.publish(stub_world.upload("# Other\n\nbytes"))
    run_worker("next")
    assert len(parsings) == 1, "this test counts parsings"


@pytest.mark.slow
def test_staged_chunks_are_not_staged_again(stub_world: World, provider: ProviderStub) -> None:
    document = stub_world.upload(long_text("old"))
    stub_world.publish(document)
    kill_at("STAGED_HALF", provider)
    left = set(Chunk.objects.values_list("id", flat=True))
    assert 0 < len(left) < SECTIONS

    provider.reset()
    expire(task_of(document.pk, 1).pk)
    assert run_worker("next") == "SUCCEEDED"
    assert provider.texts_sent == 0
    assert Counter(Chunk.objects.values_list("attempts", flat=True)) == {1: len(left), 2: SECTIONS - len(left)}
    assert left < set(Chunk.objects.values_list("id", flat=True))


@pytest.mark.usefixtures("stub_world")
@pytest.mark.parametrize(
    ("language", "layout"),
    [
        ("en", "one long section"),
        ("zh", "one long section of one-sentence paragraphs"),
        ("zh", "sections of some chunks"),
    ],
)
def test_an_edit_costs_what_it_changed(provider: ProviderStub, settings, language: str, layout: str) -> None:
    settings.KB_CHUNK_TOKENS = 320
    settings.KB_EMBEDDING_BATCH_SIZE = 64
    pipelines.ensure_default_pipeline(using="owner")
    world = make_world()
    spoken, rng = LANGUAGES[language], random.Random(7)
    text = write(spoken, LAYOUTS[layout], rng)

    def rendered(text: Text) -> str:
        return "\n\n".join(spoken.after.join(paragraph) for paragraph in text)

    document = world.upload(rendered(text))
    world.publish(document)
    assert run_worker() == "SUCCEEDED"
    count = provider.texts_sent
    assert count > 150
    sent_in_all, changed_in_all, places_in_all = 0, 0, 0
    for _, edited, places, new in edits(text, spoken, rng):
        provider.reset()
        number = world.new_version(document, rendered(edited))
        world.publish(document, version=number)
        assert run_worker() == "SUCCEEDED"
        sent = [text for batch in provider.batches for text in batch]
        changed = [text for text in sent if any(sentence in text for sentence in new)]
        assert len(sent) <= 16, f"{len(sent)} of {count} chunks"
        sent_in_all += len(sent)
        changed_in_all += len(changed)
        places_in_all += places
    assert changed_in_all >= 4
    assert sent_in_all <= 1.2 * changed_in_all + 2 * places_in_all


def test_a_new_title_is_sent_with_every_chunk(stub_world: World, provider: ProviderStub) -> None:
    """It is part of what is embedded."""
    for title in ("Travel", "Journeys"):
        stub_world.publish(stub_world.upload(long_text("old"), title=title))
        assert run_worker() == "SUCCEEDED"
    assert provider.texts_sent == 2 * SECTIONS


def test_what_another_tenant_has_is_sent_again_and_does_not_show(
    stub_world: World, provider: ProviderStub, parsings: list[object]
) -> None:
    def published(world: World) -> tuple[int, dict[str, Any]]:
        before = provider.texts_sent
        caller = Caller(world.editor)
        document = world.upload(long_text("same"))
        world.publish(document)
        assert run_worker() == "SUCCEEDED"
        task = IndexTask.objects.get(document=document.pk)
        told = caller.get(f"index-tasks/{task.pk}").json | caller.get(f"documents/{document.pk}").json
        return provider.texts_sent - before, told

    first, told_first = published(stub_world)
    second, told_second = published(make_world())
    assert (first, second, len(parsings)) == (SECTIONS, SECTIONS, 2)
    own = {key for key, value in told_first.items() if value != told_second[key]}
    assert own <= {"taskId", "documentId", "tenant", "indexTaskId", "createdAt", "startedAt", "finishedAt", "updatedAt"}
