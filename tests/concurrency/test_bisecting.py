"""A text that the provider refuses, or that makes it fall over, is found and named; all others are embedded on the way."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from documents import publishing
from indexing import embedding
from indexing.models import EmbeddingCache, EmbeddingProvider, IndexTask
from tests.concurrency.leases import long_text, make_due, run_worker, task_of
from tests.db.api import Caller
from tests.factories import World
from tests.provider_stub import Fault, ProviderStub, Reply, cut, status

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

BATCH = 8
TEXTS = 20


@pytest.fixture
def tenant(stub_world: World, settings) -> World:
    settings.KB_EMBEDDING_BATCH_SIZE = BATCH
    return stub_world


def publish(world: World, *poisoned: int) -> IndexTask:
    """A document of `TEXTS` chunks, one a section, of which those numbered (from 1) hold the word “arsenic”."""
    sections = long_text("plain", TEXTS).split("\n\n# ")
    for number in poisoned:
        sections[number - 1] += " Mind the arsenic."
    document = world.upload("\n\n# ".join(sections))
    world.publish(document)
    return task_of(document.pk, 1)


def told(world: World, task: IndexTask, *, language: str = "en") -> str:
    """What an editor reads about it, by the API."""
    answer = Caller(world.editor).call("GET", f"documents/{task.document_id}", accept_language=language)
    sentence: str = answer.json["errorMessage"]
    return sentence


def test_a_refused_text_is_named_and_all_others_are_embedded(tenant: World, provider: ProviderStub) -> None:
    provider.poison["arsenic"] = status(400)
    task = publish(tenant, 13)
    assert run_worker() == "FAILED"
    task.refresh_from_db()
    assert (task.state, task.error_code, task.failures) == ("DEAD", "EMBEDDING_INPUT_REJECTED", 1)
    assert EmbeddingCache.objects.count() == TEXTS - 1
    honest = math.ceil((TEXTS + 1) / BATCH)
    assert provider.requests <= honest + 2 * math.log2(BATCH) + 2
    assert "Text at fault: line 51, under “Section 13”, chunk 13." in told(tenant, task)
    assert "出问题的文本：第 51 行，位于“Section 13”之下，第 13 个片段。" in told(tenant, task, language="zh-hans")
    assert "arsenic" not in f"{task.error_message} {task.error_places} {told(tenant, task)}"


def test_of_many_refused_texts_the_first_are_named_and_all_are_counted(tenant: World, provider: ProviderStub) -> None:
    provider.poison["arsenic"] = status(422)
    task = publish(tenant, 3, 4, 11, 20)
    assert run_worker() == "FAILED"
    assert EmbeddingCache.objects.count() == TEXTS - 4
    sentence = told(tenant, task)
    assert "Texts at fault: 4. The first:" in sentence
    assert [f"chunk {number}" in sentence for number in (3, 4, 11, 20)] == [True, True, True, False]


def test_a_document_of_refused_texts_is_given_up_soon(tenant: World, provider: ProviderStub) -> None:
    provider.poison["arsenic"] = status(400)
    task = publish(tenant, *range(1, TEXTS + 1))
    assert run_worker() == "FAILED"
    assert f"Texts at fault: {embedding.MOST_SOUGHT} or more." in told(tenant, task)
    assert provider.requests <= embedding.MOST_SOUGHT * 6


@pytest.mark.parametrize("fault", [status(500), cut], ids=["500", "broken connection"])
def test_a_text_that_makes_the_server_fall_over_is_named_by_the_second_attempt(
    tenant: World, provider: ProviderStub, fault: Fault
) -> None:
    provider.poison["arsenic"] = fault
    task = publish(tenant, 13)
    assert run_worker() == "FAILED"
    task.refresh_from_db()
    assert (task.state, task.error_code, task.error_places) == ("RETRY_WAIT", "EMBEDDING_BAD_RESPONSE", None)

    make_due(task.pk)
    assert run_worker() == "FAILED"
    task.refresh_from_db()
    assert (task.state, task.error_code, task.failures) == ("RETRY_WAIT", "EMBEDDING_BAD_RESPONSE", 2)
    assert "under “Section 13”, chunk 13." in told(tenant, task)
    assert EmbeddingCache.objects.count() == TEXTS - 1

    provider.reset()
    provider.poison["arsenic"] = fault
    while task.state == "RETRY_WAIT":
        make_due(task.pk)
        run_worker()
        task.refresh_from_db()
    assert (task.state, task.failures) == ("DEAD", 5)
    assert "chunk 13." in told(tenant, task)
    assert {text for batch in provider.batches for text in batch} == {
        "Travel › Section 13\nplain rule number 13 holds. Mind the arsenic."
    }


def test_a_text_that_fells_a_server_slow_to_rise_uses_up_the_budget(tenant: World, provider: ProviderStub) -> None:
    """While it is looked for the server is gone, which is nobody's fault; uncharged, it would be felled again for a day."""
    honest, down = provider.answer, list[int]()

    def answer(question: dict[str, Any]) -> Reply:
        if down:
            down.clear()
            return status(503)(honest(question))
        if any("arsenic" in text for text in question["input"]):
            down.append(1)
            return cut(honest(question))
        return honest(question)

    provider.answer = answer
    task = publish(tenant, 13)
    for _ in range(5):
        run_worker()
        down.clear()
        EmbeddingProvider.objects.exclude(open_until=None).update(open_until=timezone.now() - timedelta(seconds=1))
        task.refresh_from_db()
        if task.state == "RETRY_WAIT":
            make_due(task.pk)
    assert (task.state, task.error_code) == ("DEAD", "EMBEDDING_BAD_RESPONSE")


@pytest.mark.parametrize("code", [400, 422, 413])
def test_a_provider_that_refuses_everything_is_not_blamed_on_a_text(
    tenant: World, provider: ProviderStub, code: int
) -> None:
    provider.poison[""] = status(code)
    task = publish(tenant)
    assert run_worker() == "FAILED"
    task.refresh_from_db()
    assert (task.state, task.error_code, task.failures) == ("RETRY_WAIT", "EMBEDDING_UNAVAILABLE", 0)
    assert task.error_places is None


def test_a_provider_that_falls_over_at_everything_is_not_blamed_on_a_text(
    tenant: World, provider: ProviderStub
) -> None:
    provider.poison[""] = status(500)
    task = publish(tenant)
    run_worker()
    make_due(task.pk)
    run_worker()
    task.refresh_from_db()
    assert (task.state, task.error_code, task.failures) == ("RETRY_WAIT", "EMBEDDING_UNAVAILABLE", 1)
    assert task.error_places is None


def test_a_text_that_fails_once_alone_is_not_blamed(tenant: World, provider: ProviderStub) -> None:
    task = publish(tenant)
    provider.faults = [status(500)]
    run_worker()
    make_due(task.pk)
    provider.faults = [status(500)] * 3  # a batch of seven and the canary, three of them, one
    assert run_worker() == "SUCCEEDED"
    assert EmbeddingCache.objects.count() == TEXTS


def test_batches_that_are_too_large_get_smaller(tenant: World, provider: ProviderStub) -> None:
    provider.most = 3
    publish(tenant)
    assert run_worker() == "SUCCEEDED"
    assert sum(len(batch) > 3 for batch in provider.batches) <= 3, "the provider was asked the same again and again"


def test_a_purge_forgets_the_places(tenant: World, provider: ProviderStub) -> None:
    """Headings are text of the document."""
    provider.poison["arsenic"] = status(400)
    task = publish(tenant, 13)
    run_worker()
    publishing.delete_document(actor=tenant.editor, document_id=task.document_id)
    call_command("sweep")
    task.refresh_from_db()
    assert task.error_places is None
