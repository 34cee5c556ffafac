"""A provider that answers with another model under the same name and dimensions is found out by a text of ours."""

from __future__ import annotations

import logging
from collections import defaultdict
from datetime import timedelta

import numpy as np
import pytest
from django.db import DatabaseError, connections, transaction
from django.utils import timezone

from indexing import canary
from indexing.embedders.texts import CANARY
from indexing.models import EmbeddingCache, EmbeddingCanary, EmbeddingProvider, IndexTask
from tests.concurrency.leases import long_text, make_due, run_worker, task_of
from tests.factories import World
from tests.provider_stub import ProviderStub

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def publish(world: World, word: str, sections: int = 3) -> IndexTask:
    document = world.upload(long_text(word, sections))
    world.publish(document)
    return task_of(document.pk, 1)


def cached(world: World) -> int:
    return EmbeddingCache.objects.filter(tenant=world.tenant).count()


def end_pause() -> None:
    """Of the breaker, as time would."""
    EmbeddingProvider.objects.update(open_until=timezone.now() - timedelta(seconds=1))


@pytest.fixture
def every_request(settings) -> None:
    settings.KB_EMBEDDING_CANARY_SECONDS = 0


@pytest.mark.usefixtures("every_request")
def test_a_swapped_model_is_the_providers_fault_and_nothing_of_it_is_kept(
    stub_world: World, provider: ProviderStub
) -> None:
    publish(stub_world, "old")
    assert run_worker() == "SUCCEEDED"
    provider.swapped = True
    task = publish(stub_world, "fresh")
    assert run_worker() == "FAILED"
    task.refresh_from_db()
    assert (task.state, task.error_code, task.failures) == ("RETRY_WAIT", "EMBEDDING_MODEL_CHANGED", 0)
    assert cached(stub_world) == 3
    assert EmbeddingProvider.objects.get().open_until is not None, "the breaker is open: nothing more is sent"

    make_due(task.pk)
    provider.reset()
    provider.swapped = True
    end_pause()
    assert run_worker() == "IDLE"
    assert (provider.texts_sent, provider.canaries) == (0, 1), "the probe tells the models apart, too"

    provider.swapped = False
    end_pause()
    assert run_worker() == "SUCCEEDED"
    assert EmbeddingCanary.objects.count() == 1


def test_what_was_cached_unproven_is_forgotten_and_whose_it_was_is_told(
    stub_world: World, provider: ProviderStub, settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.KB_EMBEDDING_CANARY_SECONDS = 3600
    publish(stub_world, "proven", 1)
    assert run_worker() == "SUCCEEDED"
    provider.swapped = True
    unproven = publish(stub_world, "unproven", 4)
    assert run_worker() == "SUCCEEDED", "the window: the next check finds out"
    assert (provider.canaries, cached(stub_world)) == (1, 5)

    settings.KB_EMBEDDING_CANARY_SECONDS = 0
    task = publish(stub_world, "found out", 1)
    with caplog.at_level(logging.ERROR, logger="indexing.canary"):
        assert run_worker() == "FAILED"
    task.refresh_from_db()
    assert task.error_code == "EMBEDDING_MODEL_CHANGED"
    assert f"[{unproven.pk}]" in caplog.text
    assert cached(stub_world) == 1


def test_one_good_answer_vouches_for_a_while(stub_world: World, provider: ProviderStub) -> None:
    publish(stub_world, "old", 7)
    assert run_worker() == "SUCCEEDED"
    assert ([len(batch) for batch in provider.batches], provider.canaries) == ([1, 2, 2, 2], 1)


def test_nothing_is_remembered_of_a_model_in_the_process_itself(world: World) -> None:
    """No check ever comes to empty the list: it would grow for as long as the worker lives."""
    publish(world, "local")
    assert run_worker() == "SUCCEEDED"
    assert not any(watch.unproven for watch in canary._watches.values())


@pytest.mark.usefixtures("every_request")
@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_canary_counts_in_the_batch(stub_world: World, provider: ProviderStub, settings, size: int) -> None:
    settings.KB_EMBEDDING_BATCH_SIZE = provider.most = size
    publish(stub_world, "old", 7)
    assert run_worker() == "SUCCEEDED"
    assert provider.texts_sent == 7, "nothing was refused as too large"
    assert provider.canaries >= 2


@pytest.mark.usefixtures("every_request")
def test_a_process_that_is_new_compares_with_what_another_one_stored(
    stub_world: World, provider: ProviderStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(stub_world, "old")
    run_worker()
    monkeypatch.setattr(canary, "_watches", defaultdict(canary._Watch))
    provider.swapped = True
    task = publish(stub_world, "fresh")
    assert run_worker() == "FAILED"
    task.refresh_from_db()
    assert task.error_code == "EMBEDDING_MODEL_CHANGED"


def test_the_same_model_in_other_numbers_is_known() -> None:
    rng = np.random.default_rng(1)
    vector = rng.standard_normal(384).astype(np.float32)
    assert canary._is_known("f", vector)
    coarse = (vector.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)  # cut to bfloat16
    assert canary._is_known("f", coarse)
    assert canary._is_known("f", 3 * vector)
    near = vector + 0.1 * rng.standard_normal(384).astype(np.float32)  # a cosine of .995
    assert not canary._is_known("f", near)
    assert not canary._is_known("f", rng.standard_normal(384).astype(np.float32))


@pytest.mark.parametrize("alias", ["default", "owner"])
@pytest.mark.parametrize("change", ["UPDATE embedding_canary SET embedding = '[2]'", "DELETE FROM embedding_canary"])
def test_the_first_vector_stands(alias: str, change: str) -> None:
    EmbeddingCanary.objects.create(fingerprint="f", embedding=[1])
    with pytest.raises(DatabaseError), transaction.atomic(using=alias), connections[alias].cursor() as cursor:
        cursor.execute(change)
    assert list(EmbeddingCanary.objects.get().embedding) == [1]


def test_the_canary_is_what_is_stored_for() -> None:
    """Another text would make every model look swapped."""
    assert CANARY == "The library opens at nine o’clock, except on public holidays. 图书馆九点开门，法定节假日除外。"
