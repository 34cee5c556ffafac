"""What was purged stays purged, whatever a worker still has in its hands, and a purge finds all there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from documents import publishing, purging
from documents.models import Document
from indexing import attempt
from indexing.models import Chunk, EmbeddedText, EmbeddingCache, ParseCache
from indexing.worker import Result
from tests.concurrency.leases import SECTIONS, expire, long_text, run_worker, task_of
from tests.concurrency.test_stage_then_switch import searchable, while_embedding
from tests.db.refusals import taken_away
from tests.factories import World
from tests.provider_stub import ProviderStub, status

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def delete(world: World, document: Document) -> None:
    publishing.delete_document(actor=world.editor, document_id=document.pk)
    assert purging.purge_deleted() == 1


def cut_off_and_purged(world: World, document: Document) -> Callable[[], None]:
    """What happens while a worker of version 1 stands still for longer than its lease."""

    def act() -> None:
        expire(task_of(document.pk, 1).pk)
        delete(world, document)

    return act


def published(world: World) -> Document:
    document = world.upload(long_text("secret"))
    world.publish(document)
    return document


def nothing_is_left() -> bool:
    return not any(model.objects.exists() for model in (ParseCache, EmbeddingCache, EmbeddedText, Chunk))


def test_a_parser_that_was_cut_off_keeps_nothing(stub_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    document = published(stub_world)
    act, parse = cut_off_and_purged(stub_world, document), attempt.parse_in_child

    def parse_slowly(*arguments: Any, **options: Any) -> Any:
        parsed = parse(*arguments, **options)
        act()
        return parsed

    monkeypatch.setattr("indexing.attempt.parse_in_child", parse_slowly)
    assert run_worker() == "LOST_LEASE"
    assert nothing_is_left()


def test_an_embedder_that_was_cut_off_keeps_nothing(stub_world: World, provider: ProviderStub) -> None:
    document = published(stub_world)
    assert while_embedding(stub_world, provider, cut_off_and_purged(stub_world, document)).result is Result.LOST_LEASE
    assert nothing_is_left()


def test_without_the_fence_the_text_comes_back(
    stub_world: World, provider: ProviderStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race that the two tests above are about is there."""
    document = published(stub_world)
    guards = (
        "parse_cache.parse_cache_guard",
        "embedding_cache.embedding_cache_guard",
        "embedded_text.embedded_text_guard",
    )
    with monkeypatch.context() as patch, taken_away(*guards):
        patch.setattr("indexing.queue.fence", lambda *_, **__: None)
        while_embedding(stub_world, provider, cut_off_and_purged(stub_world, document))
    assert EmbeddingCache.objects.exists()


def test_what_was_embedded_and_never_staged_goes_too(stub_world: World, provider: ProviderStub) -> None:
    """A task that died in its third batch has vectors in the cache and no chunk."""
    document = published(stub_world)
    provider.fail_on(3, status(500))
    run_worker()
    assert task_of(document.pk, 1).state == "RETRY_WAIT"
    assert (EmbeddingCache.objects.count(), Chunk.objects.count()) == (3, 0)
    delete(stub_world, document)
    assert nothing_is_left()


def test_vectors_that_another_document_only_found_are_kept_for_it(stub_world: World, provider: ProviderStub) -> None:
    """The second document embedded nothing by itself; both purges together leave nothing."""
    first = searchable(stub_world)
    provider.reset()
    second = stub_world.upload(long_text("old"))
    stub_world.publish(second)
    assert run_worker() == "SUCCEEDED"
    assert provider.texts_sent == 0
    delete(stub_world, first)
    assert EmbeddingCache.objects.count() == SECTIONS
    delete(stub_world, second)
    assert nothing_is_left()
