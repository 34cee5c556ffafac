"""Bulk runs: what is listed, which order each document gets, and which outcome is told."""

from __future__ import annotations

import uuid

import pytest
from django.db import connection, transaction

from documents import publishing
from documents.errors import Conflict, InvalidInput, NotFound
from documents.models import Document
from indexing import queue, recompute
from indexing.lease import Lease
from indexing.models import IndexTask, Pipeline, SearchPointer
from indexing.recompute import Counts, Where
from indexing.recompute_models import RecomputeItem, RecomputeRun
from indexing.states import TaskState
from tests.db.refusals import sqlstate
from tests.db.staging import claim, finished
from tests.factories import World, make_world

pytestmark = pytest.mark.django_db


def claim_bulk(worker: str = "b") -> Lease | None:
    return queue.claim(worker=worker, pool="bulk", lease_seconds=60)


def serving(world: World) -> Pipeline:
    return Pipeline.objects.get(tenants__tenant=world.tenant, tenants__role="SERVING")


def start(world: World, *, rebuild: bool = False, where: Where | None = None) -> RecomputeRun:
    return recompute.start(
        actor_id=world.editor.pk,
        pipeline_id=serving(world).pk,
        tenant_id=world.tenant.pk,
        where=where,
        rebuild=rebuild,
    )


def outcome(run: RecomputeRun, document: Document) -> tuple[str, str]:
    recompute.refresh(run)
    item = RecomputeItem.objects.get(run=run, document_id=document.pk)
    return item.outcome, item.reason


def served(world: World, text: str = "# Travel\n\nThe limit is 200 yuan.") -> Document:
    document = world.upload(text)
    world.publish(document)
    finished(claim())
    return document


def work_off() -> None:
    while (lease := claim_bulk()) is not None:
        finished(lease)


def test_what_is_searchable_at_its_requested_version_needs_no_order(world: World) -> None:
    document = served(world)
    run = start(world)
    item = RecomputeItem.objects.get(run=run)
    assert (item.document_id, item.version_number, item.generation) == (document.pk, 1, 1)
    assert (item.task_id, item.outcome, item.reason) == (None, "applied", "CURRENT")
    assert claim_bulk() is None
    assert recompute.refresh(run) == Counts(applied=1, current=1)
    assert run.listed_at is not None
    assert run.ended_at is not None


def test_a_rebuild_is_a_new_generation_that_readers_get_at_its_finish(world: World) -> None:
    document = served(world)
    run = start(world, rebuild=True)
    lease = claim_bulk()
    assert lease is not None
    assert (lease.document_id, lease.version_number, lease.generation) == (document.pk, 1, 2)
    assert lease.task_type == "RECOMPUTE"
    assert lease.readers_requested
    assert outcome(run, document) == ("pending", "")
    finished(lease, ["one", "two", "three"])
    assert outcome(run, document) == ("applied", "")
    pointer = SearchPointer.objects.get(document=document)
    assert (pointer.version_number, pointer.generation, pointer.chunk_count) == (1, 2, 3)
    assert run.ended_at is not None


def test_a_rerun_changes_nothing(world: World) -> None:
    served(world)
    start(world, rebuild=True)
    work_off()
    tasks = IndexTask.objects.count()
    run = start(world)
    assert recompute.refresh(run) == Counts(applied=1, current=1)
    assert IndexTask.objects.count() == tasks


def test_a_run_that_is_open_is_not_opened_again(world: World) -> None:
    served(world)
    run = start(world, rebuild=True)
    again = start(world, rebuild=True)
    assert again.pk == run.pk
    assert RecomputeItem.objects.filter(run=run).count() == 1
    other = start(world)
    assert other.pk != run.pk
    work_off()
    recompute.refresh(run)
    assert start(world, rebuild=True).pk not in (run.pk, other.pk)


def test_two_runs_at_once_join_one_order(world: World) -> None:
    document = served(world)
    first = start(world, rebuild=True)
    second = start(world, rebuild=True, where=Where(documents=(document.pk,)))
    assert first.pk != second.pk
    work_off()
    assert outcome(first, document) == outcome(second, document) == ("applied", "")
    assert IndexTask.objects.filter(task_type="RECOMPUTE").count() == 1


def test_an_order_that_waits_for_the_same_set_is_joined(world: World) -> None:
    document = world.upload()
    world.publish(document)
    run = start(world)
    assert claim_bulk() is None
    assert outcome(run, document) == ("pending", "")
    finished(claim())
    assert outcome(run, document) == ("applied", "")


def test_a_version_whose_order_failed_gets_one_of_its_own(world: World) -> None:
    document = world.upload()
    world.publish(document)
    lease = claim()
    fail(lease)
    run = start(world)
    bulk = claim_bulk()
    assert bulk is not None
    assert (bulk.version_number, bulk.generation) == (1, 1)
    finished(bulk)
    assert outcome(run, document) == ("applied", "")


def fail(lease: Lease) -> None:
    from indexing.backoff import Verdict
    from indexing.errors import DocumentCorrupt

    queue.fail(lease, error=DocumentCorrupt(), verdict=Verdict(TaskState.DEAD, charge=1))


def test_a_failure_is_told_with_its_code_and_may_still_be_mended(world: World) -> None:
    document = served(world)
    run = start(world, rebuild=True)
    lease = claim_bulk()
    assert lease is not None
    fail(lease)
    assert outcome(run, document) == ("failed", "DOCUMENT_CORRUPT")
    assert run.ended_at is not None
    assert queue.reopen(task_id=lease.task_id)
    again = claim_bulk()
    assert again is not None
    finished(again)
    assert outcome(run, document) == ("applied", "")


def test_a_new_run_opens_a_failed_order_again(world: World) -> None:
    document = served(world)
    first = start(world, rebuild=True)
    lease = claim_bulk()
    assert lease is not None
    fail(lease)
    recompute.refresh(first)
    second = start(world, rebuild=True)
    assert second.pk != first.pk
    again = claim_bulk()
    assert again is not None
    assert again.task_id == lease.task_id
    finished(again)
    assert outcome(second, document) == ("applied", "")


def test_a_version_published_meanwhile_is_not_undone(world: World) -> None:
    document = served(world)
    run = start(world, rebuild=True)
    world.new_version(document, "# Travel\n\nThe limit is 300 yuan.")
    world.publish(document)
    assert claim_bulk() is None
    assert outcome(run, document) == ("skipped_newer", "SUPERSEDED")
    assert run.ended_at is not None


def test_what_was_deleted_meanwhile_is_told_so(world: World) -> None:
    document = served(world)
    run = start(world, rebuild=True)
    publishing.delete_document(actor=world.editor, document_id=document.pk)
    assert outcome(run, document) == ("deleted", "DOCUMENT_DELETED")


def test_what_was_withdrawn_meanwhile_is_told_so(world: World) -> None:
    document = served(world)
    run = start(world, rebuild=True)
    publishing.withdraw_document(actor=world.editor, document_id=document.pk, revision=None)
    assert outcome(run, document) == ("deleted", "DOCUMENT_WITHDRAWN")


def test_what_was_applied_stays_so_after_a_delete(world: World) -> None:
    document = served(world)
    run = start(world, rebuild=True)
    work_off()
    assert outcome(run, document) == ("applied", "")
    publishing.delete_document(actor=world.editor, document_id=document.pk)
    assert outcome(run, document) == ("applied", "")


def test_drafts_withdrawn_and_deleted_documents_and_other_tenants_are_not_listed(world: World) -> None:
    kept = served(world)
    world.upload(title="Draft")
    withdrawn, deleted = served(world), served(world)
    publishing.withdraw_document(actor=world.editor, document_id=withdrawn.pk, revision=None)
    publishing.delete_document(actor=world.editor, document_id=deleted.pk)
    other = make_world()
    served(other)
    run = start(world, rebuild=True)
    assert list(RecomputeItem.objects.filter(run=run).values_list("document_id", flat=True)) == [kept.pk]
    everywhere = recompute.start(actor_id=None, pipeline_id=serving(world).pk, tenant_id=None, where=None, rebuild=True)
    assert RecomputeItem.objects.filter(run=everywhere).count() == 2


def test_shards_share_the_documents_out(world: World) -> None:
    documents = {served(world).pk for _ in range(12)}
    found: list[uuid.UUID] = []
    for number in (1, 2, 3):
        run = start(world, rebuild=True, where=Where(shard=(number, 3)))
        found += RecomputeItem.objects.filter(run=run).values_list("document_id", flat=True)
    assert sorted(found) == sorted(documents)


def test_documents_are_chosen_by_type_id_and_age(world: World) -> None:
    markdown = served(world)
    text = world.upload("plain words", name="b.txt")
    world.publish(text)
    finished(claim())
    SearchPointer.objects.get(document=text)
    now = SearchPointer.objects.get(document=markdown).switched_at

    def listed(where: Where) -> set[uuid.UUID]:
        run = start(world, rebuild=True, where=where)
        return set(RecomputeItem.objects.filter(run=run).values_list("document_id", flat=True))

    assert listed(Where(media_types=("text/plain",))) == {text.pk}
    assert listed(Where(documents=(markdown.pk,))) == {markdown.pk}
    assert listed(Where(documents=(markdown.pk,), media_types=("text/plain",))) == set()
    assert listed(Where(indexed_before=now)) == set()
    later = SearchPointer.objects.get(document=text).switched_at
    assert listed(Where(indexed_before=later)) == {markdown.pk}


def test_where_survives_being_stored() -> None:
    where = Where(documents=(uuid.uuid4(),), media_types=("a/b",), sources=("wiki",), shard=(2, 5))
    assert Where.from_json(where.to_json()) == where
    with pytest.raises(InvalidInput):
        Where(shard=(3, 2))


def test_a_list_that_was_interrupted_goes_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = sorted(served(world).pk for _ in range(5))
    monkeypatch.setattr(recompute, "BATCH", 2)
    order, calls = recompute._order, []

    def dies(run: RecomputeRun, batch, *, up_to) -> bool:  # type: ignore[no-untyped-def]
        calls.append(batch)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return order(run, batch, up_to=up_to)

    monkeypatch.setattr(recompute, "_order", dies)
    with pytest.raises(KeyboardInterrupt), transaction.atomic():
        start(world, rebuild=True)
    run = start(world, rebuild=True)
    monkeypatch.setattr(recompute, "_order", order)
    items = RecomputeItem.objects.filter(run=run).order_by("document_id")
    assert [item.document_id for item in items] == documents
    assert len({item.task_id for item in items}) == 5
    assert run.listed_at is not None
    assert recompute.go_on(run).pk == run.pk
    assert items.count() == 5


def test_a_stopped_run_ends_its_orders_and_lists_no_more(world: World) -> None:
    document = served(world)
    run = start(world, rebuild=True)
    counts = recompute.stop(run)
    assert counts == Counts(failed=1)
    assert outcome(run, document) == ("failed", "CANCELLED_BY_USER")
    assert claim_bulk() is None
    served(world)
    assert recompute.progress(recompute.go_on(run)).total == 1


def test_a_stop_leaves_the_orders_of_editors_alone(world: World) -> None:
    document = world.upload()
    world.publish(document)
    recompute.stop(start(world))
    assert claim().document_id == document.pk


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_runs_of_nothing_are_refused(world: World) -> None:
    with pytest.raises(NotFound):
        recompute.start(actor_id=None, pipeline_id=999, tenant_id=None, where=None, rebuild=False)
    unused = Pipeline.objects.using("owner").create(
        id=77, name="unused", digest="u" * 64, config={"embedder": {"dimensions": 3}}, dimensions=3
    )
    with pytest.raises(Conflict):
        recompute.start(actor_id=None, pipeline_id=unused.pk, tenant_id=None, where=None, rebuild=False)


def test_the_database_keeps_outcomes(world: World) -> None:
    served(world)
    run = start(world)
    for statement in (
        "UPDATE recompute_item SET outcome = 'failed'",
        "UPDATE recompute_item SET outcome = 'pending'",
    ):
        assert sqlstate(statement) == "KB050"
    for statement in (
        "DELETE FROM recompute_item",
        "DELETE FROM recompute_run",
        "UPDATE recompute_item SET version_number = 9",
        "UPDATE recompute_run SET rebuild = true",
    ):
        assert sqlstate(statement) == "42501"
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM recompute_item WHERE run_id = %s", [run.pk])


def test_applied_is_not_told_of_what_was_not(world: World) -> None:
    served(world)
    start(world, rebuild=True)
    world_without = make_world()
    document = world_without.upload()
    world_without.publish(document)
    run = start(world_without)
    assert run.pk
    assert (
        sqlstate(f"UPDATE recompute_item SET outcome = 'applied' WHERE document_id = '{document.pk}'::uuid") == "KB050"
    )


def test_a_brief_look_tells_of_the_first_that_ended(world: World) -> None:
    first, second = sorted((served(world), served(world)), key=lambda document: document.pk)
    run = start(world, rebuild=True)
    lease = claim_bulk()
    assert lease is not None
    assert lease.document_id == first.pk
    finished(lease)
    assert recompute.refresh(run, briefly=True) == Counts(applied=1, pending=1)
    publishing.delete_document(actor=world.editor, document_id=second.pk)
    assert recompute.refresh(run, briefly=True) == Counts(applied=1, deleted=1)
    assert run.ended_at is not None
