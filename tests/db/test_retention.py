"""Each rule removes exactly what it says, and nothing that is served, held, cited, staged under a live lease, or too young."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection, connections
from django.utils import timezone

from documents import holds, publishing, purging
from documents.hold_models import Hold
from documents.models import Document
from indexing import orphans, passages, queue
from indexing.models import (
    Chunk,
    ChunkVector,
    IndexTask,
    Pipeline,
    PointerLog,
    SearchPointer,
    TaskEvent,
    TenantPipeline,
)
from indexing.orphans import Counts, remove_retired
from indexing.pipelines import serving_pipeline
from indexing.recompute_models import RecomputeItem, RecomputeRun
from indexing.retention_models import Citation, OrphanSet
from indexing.statements import FOLDER
from indexing.states import TaskType
from tests.db.aging import days_pass, sets, swept
from tests.db.looking import found, kill
from tests.db.refusals import DENIED, sqlstate, taken_away
from tests.db.staging import claim, finished, stage
from tests.factories import World

pytestmark = [
    pytest.mark.django_db(transaction=True, databases=["default", "owner"]),
    pytest.mark.usefixtures("by_words_alone"),
]

WINDOW, STAGED = 4, 8  # days after which replaced and staged chunks leave, by default


@pytest.fixture
def operator(world: World) -> User:
    return world.member(f"{world.tenant.slug}-operator", role="operator")


def ago(days: float) -> datetime:
    return timezone.now() - timedelta(days=days)


def served_twice(world: World) -> Document:
    """Version 1 was served and is replaced, version 2 is served."""
    document = world.upload()
    world.publish(document)
    finished(claim(), ["the old limit", "old"])
    world.new_version(document, "second")
    world.publish(document)
    finished(claim(), ["the new limit", "new"])
    return document


class TestReplaced:
    def test_they_leave_after_the_window_and_what_is_served_stays(self, world: World) -> None:
        document = served_twice(world)
        assert swept("replacedChunks") == 0, "within the window"
        days_pass(WINDOW)
        assert swept("replacedChunks", batch=1) == 2
        assert sets(document=document) == {(2, 1)}
        assert ChunkVector.objects.filter(document_id=document.pk).count() == 2
        assert not OrphanSet.objects.exists()
        assert found(world) == [2]
        assert document.versions.count() == 2, "versions are the truth and stay"

    def test_an_older_generation_too(self, world: World) -> None:
        document = world.upload()
        world.publish(document)
        first = claim()
        finished(first)
        queue.enqueue(
            tenant_id=world.tenant.pk,
            document_id=document.pk,
            version_number=1,
            pipeline_id=first.pipeline_id,
            actor_id=None,
            has_readers=True,
            task_type=TaskType.REINDEX,
            generation=2,
        )
        finished(claim())
        days_pass(WINDOW)
        assert swept("replacedChunks") == 2
        assert sets(document=document) == {(1, 2)}

    def test_zero_hours_are_for_ever(self, world: World, settings) -> None:
        settings.KB_KEEP_REPLACED_HOURS = 0
        served_twice(world)
        days_pass(4000)
        assert swept("replacedChunks") == 0

    def test_it_stops_between_two_transactions_and_goes_on_later(self, world: World) -> None:
        served_twice(world)
        days_pass(WINDOW)
        asked = iter([False, True])
        kind = OrphanSet.Kind.REPLACED
        assert orphans.remove(kind, hours=72, batch=1, stop=lambda: next(asked)) == 1
        assert swept("replacedChunks") == 1

    def test_a_batch_bounds_each_transaction(self, world: World) -> None:
        """100,000 chunks in transactions of a thousand: counted, not timed."""
        document = served_twice(world)
        with connections["owner"].cursor() as cursor:
            cursor.execute("ALTER TABLE chunk DISABLE TRIGGER USER")
            cursor.execute(
                "INSERT INTO chunk (chunk_id, tenant_id, document_id, version_number, pipeline_id, generation, ordinal, text, "
                "heading_path, locator, tokens, embedded_digest, terms, task_id, attempts) "
                "SELECT gen_random_uuid(), tenant_id, document_id, 1, pipeline_id, 1, n, 'x', '[]', '[]', 1, '', '', task_id, "
                "1 "
                "FROM chunk, generate_series(10, 100_007) n WHERE document_id = %s AND version_number = 1 AND ordinal = 0",
                [document.pk],
            )
            cursor.execute("ALTER TABLE chunk ENABLE TRIGGER USER")
        days_pass(WINDOW)
        removed: list[int] = []
        with connection.execute_wrapper(_counting("AS removed FROM removed", removed)):
            assert orphans.remove(OrphanSet.Kind.REPLACED, hours=72, batch=1000, stop=lambda: False) == 100_000
        assert (len(removed), max(removed)) == (100, 1000)


def _counting(part: str, counts: list[int]):
    def wrapper(execute, sql, params, many, context):
        result = execute(sql, params, many, context)
        if part in sql:
            rows = context["cursor"].fetchall()
            counts.append(rows[0][0])
            context["cursor"].scroll(0, mode="absolute")
        return result

    return wrapper


class TestCited:
    def cite(self, world: World, document: Document, version: int) -> None:
        passages.find(user=world.editor, document_id=document.pk, version_number=version, span=(0, 3))

    def test_what_was_cited_stays_longer(self, world: World) -> None:
        document = served_twice(world)
        self.cite(world, document, 1)  # of an old version: whoever holds its link still uses it
        days_pass(WINDOW)
        assert swept("replacedChunks") == 0
        days_pass(366)
        assert swept("replacedChunks") == 2

    def test_each_use_counts_anew_and_is_written_once_a_day(self, world: World) -> None:
        document = world.upload()
        world.publish(document)
        finished(claim())
        self.cite(world, document, 1)
        first = Citation.objects.get()
        self.cite(world, document, 1)
        assert Citation.objects.get().last_at == first.last_at
        days_pass(2)
        self.cite(world, document, 1)
        assert Citation.objects.get().last_at > first.last_at
        assert Citation.objects.get().first_at == first.first_at

    def test_nobody_makes_rows_for_versions_that_there_are_not(self, world: World) -> None:
        document = world.upload()
        world.publish(document)
        finished(claim())
        self.cite(world, document, 0)
        assert not Citation.objects.exists()

    def test_it_goes_with_its_document(self, world: World) -> None:
        document = served_twice(world)
        self.cite(world, document, 2)
        publishing.delete_document(actor=world.editor, document_id=document.pk)
        assert purging.purge_deleted() == 1
        assert not Citation.objects.exists()
        assert not OrphanSet.objects.exists()


class TestHeld:
    @pytest.mark.parametrize("version", [1, None])
    def test_nothing_held_leaves_until_it_is_lifted(self, world: World, operator: User, version: int | None) -> None:
        document = served_twice(world)
        hold = holds.place_hold(actor=operator, document_id=document.pk, version_number=version, reason="A lawsuit")
        days_pass(WINDOW)
        assert swept("replacedChunks") == 0
        assert sets(document=document) == {(1, 1), (2, 1)}
        holds.lift_hold(actor=operator, hold_id=hold.pk)
        days_pass(1)  # what is kept is looked at once a day
        assert swept("replacedChunks") == 2

    def test_another_version_is_not_held(self, world: World, operator: User) -> None:
        document = served_twice(world)
        holds.place_hold(actor=operator, document_id=document.pk, version_number=2, reason="A lawsuit")
        days_pass(WINDOW)
        assert swept("replacedChunks") == 2

    def test_the_database_refuses_it_to_everybody(self, world: World, operator: User) -> None:
        document = served_twice(world)
        holds.place_hold(actor=operator, document_id=document.pk, version_number=1, reason="A lawsuit")
        statement = f"DELETE FROM chunk WHERE document_id = '{document.pk}' AND version_number = 1"
        assert sqlstate(statement) == "KB060"
        with taken_away("chunk.chunk_delete_guard"):
            assert sqlstate(statement) is None

    def test_a_worker_still_replaces_what_it_staged(self, world: World, operator: User) -> None:
        """A hold keeps what was there; it stops no indexing."""
        from indexing import sink

        document = world.upload()
        world.publish(document)
        lease = claim()
        stage(lease, ["one", "two"])
        holds.place_hold(actor=operator, document_id=document.pk, reason="A lawsuit")
        assert sink.already_staged(lease, sink.Manifest((), "")) == set()
        finished(lease, ["three"])
        assert sets(document=document) == {(1, 1)}

    def test_of_a_deleted_document_everything_stays(self, world: World, operator: User) -> None:
        document = served_twice(world)
        holds.place_hold(actor=operator, document_id=document.pk, version_number=1, reason="A lawsuit")
        publishing.delete_document(actor=world.editor, document_id=document.pk)
        days_pass(WINDOW)
        assert (swept("replacedChunks"), purging.purge_deleted()) == (0, 0)
        assert sets(document=document) == {(1, 1), (2, 1)}
        assert found(world) == []
        Hold.objects.update(lifted_at="2026-01-01T00:00:00Z")
        assert purging.purge_deleted() == 1
        assert not Chunk.objects.exists()


class TestStaged:
    def dead(self, world: World) -> Document:
        document = world.upload()
        world.publish(document)
        lease = claim()
        stage(lease, ["one", "two"])
        kill(lease)
        return document

    def test_they_leave_some_time_after_their_task_ended(self, world: World) -> None:
        document = self.dead(world)
        assert swept("stagedChunks") == 0
        days_pass(STAGED)
        assert (swept("replacedChunks"), swept("stagedChunks")) == (0, 2)
        assert sets(document=document) == set()

    def test_those_of_a_cancelled_task_too(self, world: World) -> None:
        document = self.dead(world)
        world.new_version(document, "second")
        world.publish(document)
        days_pass(STAGED)
        assert swept("stagedChunks") == 2

    def test_what_is_tried_again_stays_and_is_entered_anew_if_that_fails(self, world: World) -> None:
        document = self.dead(world)
        days_pass(STAGED)
        world.publish(document)
        assert swept("stagedChunks") == 0, "it waits for a worker"
        lease = claim()
        assert swept("stagedChunks") == 0, "a worker is at it"
        kill(lease)
        assert swept("stagedChunks") == 0, "its time begins anew"
        days_pass(STAGED)
        assert swept("stagedChunks") == 2

    def test_what_came_to_be_served_after_all_stays(self, world: World) -> None:
        document = self.dead(world)
        world.publish(document)
        finished(claim(), ["one", "two"])
        days_pass(STAGED)
        assert swept("stagedChunks") == 0
        assert sets(document=document) == {(1, 1)}
        assert found(world, word="two") == [1]


def test_what_was_left_behind_before_the_migration_is_entered_by_it(world: World) -> None:
    """The statements of the migration, over data that is there."""
    served_twice(world)
    TestStaged().dead(world)
    entered = set(OrphanSet.objects.values_list("document_id", "version_number", "generation", "kind"))
    assert {kind for *_, kind in entered} == {"replaced", "abandoned"}
    OrphanSet.objects.all().delete()
    text = (FOLDER / "schema" / "0011_retention.sql").read_text(encoding="utf-8")
    begin, end = (
        text.index("INSERT INTO orphan_set (tenant_id", text.index("-- What was left behind")),
        text.index("-- As in 0002, and: nothing"),
    )
    with connections["owner"].cursor() as cursor:
        cursor.execute(text[begin:end])
    assert set(OrphanSet.objects.values_list("document_id", "version_number", "generation", "kind")) == entered


class TestRetired:
    @pytest.fixture
    def retired(self, world: World) -> tuple[Document, Pipeline]:
        """A document that is served, indexed under another pipeline too, in two versions; that one is retired then."""
        serving = serving_pipeline(world.tenant.pk)
        assert serving is not None
        other = Pipeline.objects.using("owner").create(
            id=900,
            name="other",
            digest="other",
            config={**serving.config, "note": "other"},
            dimensions=serving.dimensions,
        )
        TenantPipeline.objects.create(tenant=world.tenant, pipeline_id=other.pk, role="BUILDING")
        document = world.upload()
        for _ in range(2):
            world.publish(document)
            for lease in (claim(), claim()):
                finished(lease, ["the limit", "two"])
            world.new_version(document, "next")
        TenantPipeline.objects.filter(pipeline_id=other.pk).update(role="RETIRED")
        return document, other

    def test_its_pointers_and_all_its_chunks_leave_at_once(
        self, world: World, retired: tuple[Document, Pipeline]
    ) -> None:
        document, other = retired
        assert swept("retiredPipelines", batch=1) == 4
        assert not Chunk.objects.filter(pipeline=other).exists()
        assert not SearchPointer.objects.filter(pipeline=other).exists()
        assert not OrphanSet.objects.filter(pipeline_id=other.pk).exists()
        assert sets(document=document) == {(1, 1), (2, 1)}, "of the one that serves"
        assert found(world) == [2]

    def test_step_by_step(self, world: World, retired: tuple[Document, Pipeline]) -> None:
        _, other = retired
        named = {"tenant_id": world.tenant.pk, "pipeline_id": other.pk, "batch": 3}
        assert remove_retired(**named) == Counts(pointers=1, chunks=3)
        assert remove_retired(**named) == Counts(pointers=0, chunks=1)
        assert not remove_retired(**named)

    def test_nothing_of_one_that_is_not_retired(self, world: World, retired: tuple[Document, Pipeline]) -> None:
        _, other = retired
        TenantPipeline.objects.filter(pipeline_id=other.pk).update(role="BUILDING")
        assert not remove_retired(tenant_id=world.tenant.pk, pipeline_id=other.pk, batch=10)
        serving = serving_pipeline(world.tenant.pk)
        assert serving is not None
        assert not remove_retired(tenant_id=world.tenant.pk, pipeline_id=serving.pk, batch=10)
        statement = f"DELETE FROM search_pointer WHERE pipeline_id = {other.pk}"
        assert sqlstate(statement) == "KB032"
        with taken_away("search_pointer.search_pointer_guard"):
            assert sqlstate(statement) is None

    def test_what_is_held_stays(self, world: World, operator: User, retired: tuple[Document, Pipeline]) -> None:
        document, other = retired
        holds.place_hold(actor=operator, document_id=document.pk, version_number=2, reason="A lawsuit")
        assert swept("retiredPipelines") == 2
        assert sets(document=document, pipeline=other) == {(2, 1)}
        assert sqlstate(f"DELETE FROM search_pointer WHERE pipeline_id = {other.pk}") == "KB060"


class TestTasksAndLogs:
    def test_tasks_of_older_versions_leave_with_their_chunks_gone(self, world: World) -> None:
        document = served_twice(world)
        days_pass(200)
        assert swept("indexTasks") == 0, "its chunks are stored"
        assert swept("replacedChunks") == 2
        assert swept("indexTasks", batch=1) == 1
        assert list(IndexTask.objects.values_list("version_number", flat=True)) == [2]
        assert found(world) == [2]
        assert publishing.publish_version(actor=world.editor, document_id=document.pk, revision=None).ticket.state == (
            "SEARCHABLE"
        )

    def test_the_order_of_the_version_asked_for_stays_however_it_ended(self, world: World) -> None:
        document = world.upload()
        world.publish(document)
        kill(claim())
        days_pass(2000)
        assert swept("indexTasks") == 0
        publishing.retry_indexing(actor=world.editor, document_id=document.pk)

    def test_all_of_a_purged_document_leave(self, world: World) -> None:
        document = served_twice(world)
        publishing.delete_document(actor=world.editor, document_id=document.pk)
        purging.purge_deleted()
        days_pass(200)
        assert swept("indexTasks") == 2

    def test_events_and_moves_leave_after_a_year(self, world: World) -> None:
        served_twice(world)
        waiting = world.publish(world.upload()).ticket.task_id
        moves = PointerLog.objects.count()
        assert (swept("taskEvents"), swept("pointerMoves")) == (0, 0)
        days_pass(366)
        assert swept("pointerMoves", batch=1) == moves
        assert swept("taskEvents", batch=2) > 0
        assert set(TaskEvent.objects.values_list("task_id", flat=True)) == {waiting}, "it may still be asked for"

    def test_manifests_of_ended_bulk_runs_leave_with_their_run(self, world: World) -> None:
        document = served_twice(world)
        pipeline = serving_pipeline(world.tenant.pk)
        assert pipeline is not None
        ended, open_run = (
            RecomputeRun.objects.create(
                pipeline=pipeline, chosen={}, rebuild=False, digest=digest, started_at=ago(500), ended_at=end
            )
            for digest, end in (("a", ago(400)), ("b", None))
        )
        for run in (ended, open_run):
            RecomputeItem.objects.create(
                run=run, tenant_id=world.tenant.pk, document_id=document.pk, version_number=2, generation=1
            )
        assert swept("bulkRuns", batch=1) == 1
        assert list(RecomputeRun.objects.all()) == [open_run]

    def test_outages_of_providers_leave_after_a_year(self) -> None:
        with connections["owner"].cursor() as cursor:
            cursor.execute(
                "INSERT INTO provider_event (provider, kind, code, detail, actor_name) VALUES ('p', 'opened', '', '', '')"
            )
        assert swept("providerEvents") == 0
        days_pass(366)
        assert swept("providerEvents") == 1

    def test_the_trail_stays_unless_somebody_says_otherwise(self, world: World, settings) -> None:
        world.upload()
        days_pass(5000)
        assert swept("auditEvents") == 0
        settings.KB_KEEP_AUDIT_DAYS = 4000
        assert swept("auditEvents") == 1
        world.upload()
        settings.KB_KEEP_AUDIT_DAYS = 1
        days_pass(364)
        assert swept("auditEvents") == 0, "never under a year"
        days_pass(2)
        assert swept("auditEvents") == 1

    def test_of_what_is_held_nothing_leaves(self, world: World, operator: User, settings) -> None:
        document = served_twice(world)
        holds.place_hold(actor=operator, document_id=document.pk, reason="A lawsuit")
        settings.KB_KEEP_AUDIT_DAYS = 400
        days_pass(5000)
        for name in ("replacedChunks", "indexTasks", "taskEvents", "pointerMoves", "auditEvents"):
            assert swept(name) == 0, name

    @pytest.mark.parametrize("table", ["task_event", "pointer_log", "audit_event", "provider_event", "index_task"])
    def test_the_application_removes_none_by_itself(self, table: str) -> None:
        """Not with the mark either that the owner's functions set."""
        assert sqlstate(f"SET LOCAL kb.retention = '{table}'; DELETE FROM {table}") == DENIED

    def test_the_functions_take_nothing_young_whatever_is_asked(self, world: World) -> None:
        served_twice(world)
        with connection.cursor() as cursor:
            for name in ("index_tasks", "task_events", "pointer_moves", "provider_events", "audit_events"):
                cursor.execute(f"SELECT removed FROM forget_{name}(now() + interval '1 year', 0, 1000)")
                assert cursor.fetchone() == (0,), name
