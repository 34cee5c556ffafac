"""Several tasks of a bulk run at once: texts share requests, leases one thread, and each ends by itself."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from documents import publishing
from documents.models import Document
from indexing import bulk_worker, provider_gate, queue, recompute, sink
from indexing.bulk_worker import BulkWorker
from indexing.heartbeat import Heartbeat, Heartbeats
from indexing.models import EmbeddingCache, IndexTask, Pipeline, SearchPointer, TaskEvent
from indexing.recompute import Counts
from indexing.recompute_models import RecomputeItem, RecomputeRun
from indexing.states import TaskState
from indexing.worker import IDLE, Result
from tests.concurrency.leases import run_worker
from tests.factories import World, make_world
from tests.provider_stub import ProviderStub, status
from tests.sessions import Session

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def documents_of(world: World, *texts: str) -> list[Document]:
    """Published and searchable, each one chunk."""
    made = []
    for text in texts:
        document = world.upload(text)
        world.publish(document)
        assert run_worker() == "SUCCEEDED"
        made.append(document)
    return made


def start(world: World) -> RecomputeRun:
    pipeline = Pipeline.objects.get(tenants__tenant=world.tenant, tenants__role="SERVING")
    return recompute.start(actor_id=None, pipeline_id=pipeline.pk, tenant_id=world.tenant.pk, where=None, rebuild=True)


def forget_vectors() -> None:
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute("DELETE FROM embedding_cache")


def rounds(**options: Any) -> list[Result]:
    return [round_.result for round_ in BulkWorker(name="bulk", lease_seconds=60, **options).rounds()]


def outcomes(run: RecomputeRun) -> dict[Any, tuple[str, str]]:
    recompute.refresh(run)
    return {item.document_id: (item.outcome, item.reason) for item in RecomputeItem.objects.filter(run=run)}


def test_texts_of_several_documents_share_a_request(stub_world: World, provider: ProviderStub, settings: Any) -> None:
    documents = documents_of(stub_world, *(f"# Rule {number}\n\nwords {number}" for number in range(6)))
    forget_vectors()
    settings.KB_EMBEDDING_BATCH_SIZE = 4
    provider.reset()
    run = start(stub_world)
    assert rounds() == [Result.SUCCEEDED] * 6
    assert [len(batch) for batch in provider.batches] == [4, 2]
    assert set(SearchPointer.objects.values_list("generation", flat=True)) == {2}
    assert outcomes(run) == {document.pk: ("applied", "") for document in documents}
    assert rounds() == [IDLE.result]


def test_a_second_rerun_sends_nothing(stub_world: World, provider: ProviderStub) -> None:
    documents_of(stub_world, "# One\n\none", "# Two\n\ntwo")
    provider.reset()
    for _ in range(2):
        run = start(stub_world)
        assert rounds() == [Result.SUCCEEDED] * 2
        assert recompute.refresh(run) == Counts(applied=2)
    assert provider.texts_sent == 0


def test_a_text_that_is_refused_ends_its_document_alone(
    stub_world: World, provider: ProviderStub, settings: Any
) -> None:
    good, bad, better = documents_of(stub_world, "# One\n\none", "# Two\n\npoisonous", "# Three\n\nthree")
    forget_vectors()
    settings.KB_EMBEDDING_BATCH_SIZE = 4
    provider.poison["poisonous"] = status(400)
    run = start(stub_world)
    assert sorted(rounds()) == [Result.FAILED, Result.SUCCEEDED, Result.SUCCEEDED]
    assert outcomes(run) == {
        good.pk: ("applied", ""),
        better.pk: ("applied", ""),
        bad.pk: ("failed", "EMBEDDING_INPUT_REJECTED"),
    }


def test_text_of_a_document_deleted_after_the_claim_is_not_sent(
    stub_world: World, provider: ProviderStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, gone = documents_of(stub_world, "# One\n\nkept", "# Two\n\nsecret")
    forget_vectors()
    provider.reset()
    run = start(stub_world)
    together = bulk_worker.embed_together

    def after_delete(attempts: Any, **options: Any) -> None:
        publishing.delete_document(actor=stub_world.editor, document_id=gone.pk)
        together(attempts, **options)

    monkeypatch.setattr(bulk_worker, "embed_together", after_delete)
    rounds()
    assert not any("secret" in text for batch in provider.batches for text in batch)
    assert outcomes(run) == {kept.pk: ("applied", ""), gone.pk: ("deleted", "DOCUMENT_DELETED")}


def test_equal_texts_of_two_tenants_are_two_texts(stub_world: World, provider: ProviderStub, settings: Any) -> None:
    settings.KB_EMBEDDING_BATCH_SIZE = 8
    other = make_world()
    documents_of(stub_world, "# One\n\nthe same", "# One\n\nthe same")
    documents_of(other, "# One\n\nthe same")
    forget_vectors()
    provider.reset()
    start(stub_world)
    start(other)
    assert rounds() == [Result.SUCCEEDED] * 3
    (batch,) = provider.batches
    assert len(batch) == 2  # once for each tenant, though three documents have it
    assert EmbeddingCache.objects.values("tenant_id").distinct().count() == 2


def test_a_lease_that_is_lost_ends_its_document_alone(stub_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = documents_of(stub_world, "# One\n\none", "# Two\n\ntwo")
    run = start(stub_world)
    lost = RecomputeItem.objects.get(run=run, document_id=first.pk).task_id
    together = bulk_worker.embed_together

    def after_loss(attempts: Any, **options: Any) -> None:
        (lease,) = [attempt.lease for attempt in attempts if attempt.lease.task_id == lost]
        queue.release(lease)
        together(attempts, **options)

    monkeypatch.setattr(bulk_worker, "embed_together", after_loss)
    assert sorted(rounds()) == [Result.LOST_LEASE, Result.SUCCEEDED]
    assert outcomes(run) == {first.pk: ("pending", ""), second.pk: ("applied", "")}
    assert TaskEvent.objects.filter(task_id=lost, kind="refused").exists()


def test_a_defect_in_one_is_nobody_elses(stub_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = documents_of(stub_world, "# One\n\none", "# Two\n\ntwo")
    run = start(stub_world)
    finish = sink.finish

    def broken(lease: Any, manifest: Any) -> None:
        if lease.document_id == first.pk:
            raise ZeroDivisionError
        finish(lease, manifest)

    monkeypatch.setattr(sink, "finish", broken)
    assert sorted(rounds()) == [Result.FAILED, Result.SUCCEEDED]
    assert outcomes(run) == {first.pk: ("pending", ""), second.pk: ("applied", "")}
    task = IndexTask.objects.get(document=first, task_type="RECOMPUTE")
    assert (task.state, task.failures) == (TaskState.RUNNING, 0)  # until its lease is over


def test_a_worker_that_is_stopped_gives_all_leases_back(
    stub_world: World, provider: ProviderStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents_of(stub_world, "# One\n\none", "# Two\n\ntwo")
    forget_vectors()
    provider.reset()
    start(stub_world)
    worker = BulkWorker(name="bulk", lease_seconds=60)
    together = bulk_worker.embed_together

    def told(attempts: Any, **options: Any) -> None:
        worker.stop.set()
        together(attempts, **options)

    monkeypatch.setattr(bulk_worker, "embed_together", told)
    assert [round_.result for round_ in worker.rounds()] == [Result.LOST_LEASE] * 2
    tasks = IndexTask.objects.filter(task_type="RECOMPUTE")
    assert {(task.state, task.failures) for task in tasks} == {(TaskState.PENDING, 0)}
    assert provider.texts_sent == 0


def test_a_provider_that_is_out_charges_nobody(stub_world: World, provider: ProviderStub) -> None:
    documents_of(stub_world, "# One\n\none", "# Two\n\ntwo")
    forget_vectors()
    start(stub_world)
    provider.faults = [status(401)] * 10
    provider.batches.clear()
    assert rounds() == [Result.FAILED] * 2
    tasks = IndexTask.objects.filter(task_type="RECOMPUTE")
    assert {(task.state, task.failures) for task in tasks} == {(TaskState.RETRY_WAIT, 0)}
    assert len(provider.batches) == 1  # the second heard it from the gate


def test_one_thread_renews_all_leases(world: World) -> None:
    for _ in range(3):
        world.publish(world.upload())
    leases = queue.claim_many(worker="w", pool="online", lease_seconds=0.9, limit=3)
    first = {task.pk: task.lease_until for task in IndexTask.objects.all()}
    beats = [Heartbeat(lease, lease_seconds=0.9, max_run_seconds=60, claimed_at=time.monotonic()) for lease in leases]
    before = threading.active_count()
    beats[0].end()
    with Heartbeats(beats, lease_seconds=0.9):
        assert threading.active_count() == before + 1
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            now = {task.pk: task.lease_until for task in IndexTask.objects.all()}
            if all(now[lease.task_id] > first[lease.task_id] for lease in leases[1:]):
                break
        assert now[leases[0].task_id] == first[leases[0].task_id]  # its attempt is over
        for beat in beats[1:]:
            beat.ensure_alive()


def test_a_publish_finds_its_share_of_the_budget(
    stub_world: World, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bulk run may use what nobody else does, down to half of a full budget: the next publish waits for nothing."""
    documents_of(stub_world, *(f"# Rule {number}\n\nwords {number}" for number in range(10)))
    forget_vectors()
    settings.KB_EMBEDDING_BATCH_SIZE = 1
    settings.KB_EMBEDDING_REQUESTS_PER_MINUTE = 100  # ten at once after a rest
    waits: dict[str, list[float]] = {"_spend": [], "_spend_spare": []}

    def watch(name: str) -> None:
        real = getattr(provider_gate, name)

        def spy(provider: str, texts: int) -> float:
            seconds: float = real(provider, texts)
            waits[name].append(seconds)
            return seconds

        monkeypatch.setattr(provider_gate, name, spy)

    watch("_spend")
    watch("_spend_spare")
    start(stub_world)
    worker = BulkWorker(name="bulk", lease_seconds=60)
    with Session() as bulk:
        working = bulk.start(worker.rounds)
        deadline = time.monotonic() + 30
        while not any(waits["_spend_spare"]):
            assert time.monotonic() < deadline, "the bulk run never came to the end of its share"
            time.sleep(0.01)
        stub_world.publish(stub_world.upload("# New\n\nnew words"))
        waits["_spend"].clear()
        assert run_worker("online") == "SUCCEEDED"
        worker.stop.set()
        working.result(timeout=30)
    assert waits["_spend"] == [0.0]
