"""From one embedding model to another and back: every move checked, nothing older shown, nothing forgotten."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import transaction

from documents import publishing
from documents.errors import Conflict, InvalidInput, NotAllowed, NotFound
from documents.models import Document
from indexing import gate, lifecycle, queue, revisions, sink
from indexing.evaluation import Question
from indexing.lifecycle_models import PipelineEvent, PipelineExclusion, PipelineGate, ShadowQuery
from indexing.models import IndexTask, Pipeline, TenantPipeline
from indexing.pipelines import ensure_vector_index, serving_pipeline
from indexing.search import search
from indexing.states import PipelineRole, TaskType
from indexing.worker import Worker
from tests.db.refusals import sqlstate, taken_away
from tests.db.staging import claim, finished, stage, state_of
from tests.factories import World
from tests.provider_stub import ProviderStub

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


@pytest.fixture
def world(stub_world: World) -> World:
    return stub_world


@pytest.fixture
def candidate(world: World, provider: ProviderStub) -> Pipeline:
    """Another model of other dimensions, being built, with its index."""
    provider.dimensions_of["stub-two"] = 32
    made, _ = revisions.create(
        actor=None, base=serving(world), assignments=["embedder.model=stub-two", "embedder.dimensions=32"]
    )
    lifecycle.begin(actor=None, tenant_id=world.tenant.pk, pipeline_id=made.pk)
    ensure_vector_index(pipeline_id=made.pk, dimensions=made.dimensions, using="owner")
    return made


def serving(world: World) -> Pipeline:
    found = serving_pipeline(world.tenant.pk)
    assert found is not None
    return found


def role(world: World, pipeline: Pipeline) -> str:
    return TenantPipeline.objects.get(tenant=world.tenant, pipeline=pipeline).role


def work(world: World) -> None:
    Worker(name="w").run(drain=True)


def fill(world: World, pipeline: Pipeline, document: Document) -> None:
    """What a bulk run orders for a document that was published before."""
    queue.enqueue(
        tenant_id=world.tenant.pk,
        document_id=document.pk,
        version_number=document.requested_version or 0,
        pipeline_id=pipeline.pk,
        actor_id=None,
        has_readers=True,
        task_type=TaskType.RECOMPUTE,
    )


def published(world: World, text: str = "# Travel\n\nThe limit is 200 yuan.") -> Document:
    document = world.upload(text)
    return world.publish(document).document


def next_version(world: World, document: Document, text: str) -> int:
    number = world.new_version(document, text)
    world.publish(document, version=number)
    return number


def examine(world: World, pipeline: Pipeline, **options: Any) -> gate.Report:
    return gate.examine(actor=None, tenant_id=world.tenant.pk, pipeline_id=pipeline.pk, **options)


def serve(world: World, pipeline: Pipeline) -> None:
    lifecycle.serve(actor=None, tenant_id=world.tenant.pk, pipeline_id=pipeline.pk)


def found(world: World, query: str = "limit") -> list[int]:
    """Versions that the search shows."""
    answer = search(user=world.editor, tenant=world.tenant.slug, query=query)
    return sorted({hit.version_number for hit in answer.hits})


# Revisions


def test_a_change_makes_a_new_revision_and_tells_the_difference(world: World) -> None:
    base = serving(world)
    made, changes = revisions.create(actor=None, base=base, assignments=["splitter.tokens=48"])
    assert [(change.path, change.before, change.after) for change in changes] == [("splitter.tokens", 60, 48)]
    assert Pipeline.objects.get(pk=base.pk).config == base.config, "the old one never changes"
    again, _ = revisions.create(actor=None, base=base, assignments=["splitter.tokens=48"])
    assert again == made, "the same configuration is the same pipeline"


@pytest.mark.parametrize(
    "assignment",
    ["splitter.tokens=0", "splitter.strategy=clever", "parser=9", "embedder.dimensions=many", "nonsense", "a.b=1"],
)
def test_what_no_pipeline_can_be_made_of_is_refused(world: World, assignment: str) -> None:
    before = Pipeline.objects.count()
    with pytest.raises(InvalidInput):
        revisions.create(actor=None, base=serving(world), assignments=[assignment])
    assert Pipeline.objects.count() == before


def test_only_administrators_make_pipelines_and_only_operators_move_them(world: World, candidate: Pipeline) -> None:
    with pytest.raises(NotAllowed):
        revisions.create(actor=world.editor, base=serving(world))
    for act in (
        lambda who: lifecycle.begin(actor=who, tenant_id=world.tenant.pk, pipeline_id=candidate.pk),
        lambda who: lifecycle.serve(actor=who, tenant_id=world.tenant.pk, pipeline_id=candidate.pk),
        lambda who: lifecycle.roll_back(actor=who, tenant_id=world.tenant.pk, hide_behind="now"),
        lambda who: lifecycle.retire(actor=who, tenant_id=world.tenant.pk, pipeline_id=candidate.pk),
        lambda who: gate.examine(actor=who, tenant_id=world.tenant.pk, pipeline_id=candidate.pk),
    ):
        with pytest.raises((NotAllowed, Conflict)):
            act(world.editor)
    assert role(world, candidate) == PipelineRole.BUILDING
    operator = world.member("operator", role="operator")
    lifecycle.retire(actor=operator, tenant_id=world.tenant.pk, pipeline_id=candidate.pk)
    last = PipelineEvent.objects.filter(tenant_id=world.tenant.pk)[0]
    assert (last.from_role, last.to_role, last.actor_name) == ("BUILDING", "RETIRED", "operator")


# The way there


def test_new_versions_are_indexed_under_both_and_the_answer_names_the_serving_one(
    world: World, candidate: Pipeline
) -> None:
    ticket = world.publish(world.upload()).ticket
    orders = IndexTask.objects.filter(tenant=world.tenant).order_by("id")
    assert [order.pipeline_id for order in orders] == [serving(world).pk, candidate.pk]
    assert ticket.task_id == orders[0].pk
    assert claim().pipeline_id == serving(world).pk, "what readers wait for comes first"


def test_a_pipeline_serves_once_it_is_complete_and_its_gate_has_passed(world: World, candidate: Pipeline) -> None:
    old = serving(world)
    # Published before anybody thought of the candidate: only the old one has it.
    with transaction.atomic():
        lifecycle.retire(actor=None, tenant_id=world.tenant.pk, pipeline_id=candidate.pk)
    document = published(world)
    lifecycle.begin(actor=None, tenant_id=world.tenant.pk, pipeline_id=candidate.pk)
    work(world)

    report = examine(world, candidate)
    assert [reason.code for reason in report.reasons] == ["behind"]
    assert report.completeness.first[0]["documentId"] == str(document.pk)
    with pytest.raises(Conflict):
        serve(world, candidate)

    fill(world, candidate, document)
    work(world)
    with pytest.raises(Conflict, match="gate"):
        serve(world, candidate)
    assert examine(world, candidate).passed
    serve(world, candidate)

    assert (role(world, candidate), role(world, old)) == (PipelineRole.SERVING, PipelineRole.STANDBY)
    answer = search(user=world.editor, tenant=world.tenant.slug, query="limit")
    assert answer.pipeline == candidate.name
    assert [hit.version_number for hit in answer.hits] == [1]
    moves = PipelineEvent.objects.filter(tenant_id=world.tenant.pk).values_list("pipeline_id", "to_role")
    assert list(moves[:2]) == [(candidate.pk, "SERVING"), (old.pk, "STANDBY")]


def test_without_its_vector_index_no_pipeline_serves(world: World) -> None:
    made, _ = revisions.create(actor=None, base=serving(world), assignments=["embedder.dimensions=16"])
    lifecycle.begin(actor=None, tenant_id=world.tenant.pk, pipeline_id=made.pk)
    assert [reason.code for reason in examine(world, made).reasons] == ["no_index"]
    PipelineGate.objects.create(
        tenant_id=world.tenant.pk, pipeline_id=made.pk, against_id=serving(world).pk, passed=True, report={}
    )
    with pytest.raises(Conflict, match="vector index"):
        serve(world, made)


def test_a_gate_against_another_pipeline_does_not_count(world: World, candidate: Pipeline) -> None:
    assert examine(world, candidate).passed
    other, _ = revisions.create(actor=None, base=serving(world), assignments=["embedder.dimensions=48"])
    ensure_vector_index(pipeline_id=other.pk, dimensions=48, using="owner")
    lifecycle.begin(actor=None, tenant_id=world.tenant.pk, pipeline_id=other.pk)
    assert examine(world, other).passed
    serve(world, other)
    with pytest.raises(Conflict, match="another pipeline"):
        serve(world, candidate)


def test_a_document_that_cannot_be_indexed_there_is_left_out_with_a_reason(world: World, candidate: Pipeline) -> None:
    kept, lost = published(world), published(world, "# Meals\n\nThe limit is 90 yuan.")
    while (lease := queue.claim(worker="w", pool="online", lease_seconds=60)) is not None:
        if lease.document_id == lost.pk and lease.pipeline_id == candidate.pk:
            queue.release(lease)
            queue.cancel(task_id=lease.task_id)
            continue
        finished(lease)
    assert not examine(world, candidate).passed
    with pytest.raises(InvalidInput):
        exclude(world, candidate, reason=" ")
    assert exclude(world, candidate, reason="not readable there", failed_only=True) == 1
    assert exclude(world, candidate, reason="again", failed_only=True) == 0
    excluded = PipelineExclusion.objects.get(tenant_id=world.tenant.pk)
    assert (excluded.document_id, excluded.reason) == (lost.pk, "not readable there: CANCELLED_BY_USER")

    assert examine(world, candidate).passed
    serve(world, candidate)
    shown = search(user=world.editor, tenant=world.tenant.slug, query="one")
    assert {hit.document_id for hit in shown.hits} == {kept.pk}


def exclude(world: World, pipeline: Pipeline, **options: Any) -> int:
    return lifecycle.exclude(actor=None, tenant_id=world.tenant.pk, pipeline_id=pipeline.pk, **options)


# The way back


@pytest.fixture
def switched(world: World, candidate: Pipeline) -> tuple[Document, Pipeline, Pipeline]:
    """A document that both have; the candidate serves, the one before stands by."""
    document, old = published(world), serving(world)
    work(world)
    assert examine(world, candidate).passed
    serve(world, candidate)
    return document, old, candidate


def test_the_one_before_is_kept_up_to_date_and_serves_again_at_once(
    world: World, switched: tuple[Document, Pipeline, Pipeline]
) -> None:
    document, old, new = switched
    next_version(world, document, "# Travel\n\nThe limit is 300 yuan.")
    work(world)
    assert found(world) == [2]
    assert lifecycle.roll_back(actor=None, tenant_id=world.tenant.pk) == old.pk
    assert (role(world, old), role(world, new)) == (PipelineRole.SERVING, PipelineRole.STANDBY)
    assert found(world) == [2]
    assert lifecycle.roll_back(actor=None, tenant_id=world.tenant.pk) == new.pk, "and there again"


def test_nothing_older_is_shown_by_going_back(world: World, switched: tuple[Document, Pipeline, Pipeline]) -> None:
    document, old, _ = switched
    next_version(world, document, "# Travel\n\nThe limit is 300 yuan.")
    first = claim()
    finished(first)  # under the one that serves; the one that stands by has only version 1
    assert first.pipeline_id != old.pk
    with pytest.raises(Conflict, match="1 documents"):
        lifecycle.roll_back(actor=None, tenant_id=world.tenant.pk)
    assert found(world, "one") == [2]

    lifecycle.roll_back(actor=None, tenant_id=world.tenant.pk, hide_behind="the new model answers nonsense")
    assert found(world, "one") == [], "nothing, rather than version 1"
    assert found(world) == []
    work(world)
    assert found(world) == [2], "back as soon as it is indexed there"


def test_an_older_version_that_is_still_being_indexed_there_is_not_shown_after_going_back(
    world: World, switched: tuple[Document, Pipeline, Pipeline]
) -> None:
    """The one that stands by has nothing of the document yet, but a worker that is about to finish version 1."""
    _, old, _ = switched
    late = published(world, "# Meals\n\nThe limit is 90 yuan.")
    leases = {lease.pipeline_id: lease for lease in (claim(), claim())}
    first = leases.pop(old.pk)
    manifest = stage(first, ["meals"])
    finished(leases.popitem()[1], ["meals"])
    next_version(world, late, "# Meals\n\nThe limit is 80 yuan.")
    finished(claim(), ["meals"])
    assert {hit.version_number for hit in hits_of(world, late)} == {2}

    lifecycle.roll_back(actor=None, tenant_id=world.tenant.pk, hide_behind="the new model answers nonsense")
    sink.finish(first, manifest)
    assert not hits_of(world, late)
    work(world)
    assert {hit.version_number for hit in hits_of(world, late)} == {2}


def hits_of(world: World, document: Document) -> list[Any]:
    answer = search(user=world.editor, tenant=world.tenant.slug, query="meals")
    return [hit for hit in answer.hits if hit.document_id == document.pk]


def test_the_database_refuses_to_go_back_to_something_older(
    world: World, switched: tuple[Document, Pipeline, Pipeline]
) -> None:
    """The same by hand, past every service; and it is the guard that refuses."""
    document, old, new = switched
    next_version(world, document, "# Travel\n\nThe limit is 300 yuan.")
    finished(claim())
    swap = (
        f"UPDATE tenant_pipeline SET role = 'STANDBY' WHERE tenant_id = {world.tenant.pk} AND pipeline_id = {new.pk};"
        f"UPDATE tenant_pipeline SET role = 'SERVING' WHERE tenant_id = {world.tenant.pk} AND pipeline_id = {old.pk}"
    )
    assert sqlstate(swap) == "KB071"
    with taken_away("tenant_pipeline.tenant_pipeline_guard"):
        assert sqlstate(swap) is None


@pytest.mark.parametrize(
    ("statement", "refusal"),
    [
        ("UPDATE tenant_pipeline SET role = 'SERVING' WHERE role = 'BUILDING' AND tenant_id = {tenant}", "KB071"),
        ("UPDATE tenant_pipeline SET role = 'RETIRED' WHERE role = 'SERVING' AND tenant_id = {tenant}", "KB070"),
        ("UPDATE tenant_pipeline SET role = 'STANDBY' WHERE role = 'BUILDING' AND tenant_id = {tenant}", "KB070"),
        ("UPDATE tenant_pipeline SET pipeline_id = 1 WHERE role = 'BUILDING' AND tenant_id = {tenant}", "KB070"),
        ("INSERT INTO tenant_pipeline (tenant_id, pipeline_id, role) VALUES ({tenant}, 1, 'STANDBY')", "KB070"),
        (
            "UPDATE tenant_pipeline SET role = 'STANDBY' WHERE role = 'SERVING' AND tenant_id = {tenant};"
            "SET CONSTRAINTS ALL IMMEDIATE",
            "KB072",
        ),
        ("INSERT INTO pipeline_event (tenant_id, pipeline_id, to_role) VALUES ({tenant}, 1, 'SERVING')", "42501"),
        ("UPDATE pipeline SET config = '{{}}'", "42501"),
        ("DELETE FROM pipeline_gate", "42501"),
    ],
)
def test_no_other_move_is_possible_by_hand(world: World, candidate: Pipeline, statement: str, refusal: str) -> None:
    assert sqlstate(statement.format(tenant=world.tenant.pk)) == refusal


def test_a_retired_pipeline_takes_no_more_work_and_can_be_built_again(
    world: World, switched: tuple[Document, Pipeline, Pipeline]
) -> None:
    document, old, new = switched
    next_version(world, document, "# Travel\n\nThe limit is 300 yuan.")
    waiting = IndexTask.objects.get(pipeline=old, version_number=2, tenant=world.tenant)
    running = claim()
    while running.pipeline_id != old.pk:
        finished(running)
        running = claim()
    assert running.task_id == waiting.pk
    queue.release(running)
    with pytest.raises(Conflict):
        lifecycle.retire(actor=None, tenant_id=world.tenant.pk, pipeline_id=new.pk)
    assert lifecycle.retire(actor=None, tenant_id=world.tenant.pk, pipeline_id=old.pk) == 1
    waiting.refresh_from_db()
    assert (waiting.state, waiting.error_code) == ("CANCELLED", "PIPELINE_RETIRED")
    number = next_version(world, document, "# Travel\n\nThe limit is 400 yuan.")
    assert not IndexTask.objects.filter(pipeline=old, version_number=number, tenant=world.tenant).exists()
    with pytest.raises(Conflict):
        lifecycle.roll_back(actor=None, tenant_id=world.tenant.pk)
    assert lifecycle.begin(actor=None, tenant_id=world.tenant.pk, pipeline_id=old.pk)
    assert role(world, old) == PipelineRole.BUILDING


def test_a_running_attempt_for_a_retired_pipeline_ends_cancelled(world: World, candidate: Pipeline) -> None:
    published(world)
    lease = claim()
    while lease.pipeline_id != candidate.pk:
        finished(lease)
        lease = claim()
    queue.release(lease)
    held: list[Any] = []

    def retire_meanwhile() -> None:
        if not held:
            held.append(lifecycle.retire(actor=None, tenant_id=world.tenant.pk, pipeline_id=candidate.pk))

    worker = Worker(name="w")
    real = worker._attempt
    worker._attempt = lambda *args: (retire_meanwhile(), real(*args))[1]  # type: ignore[assignment, method-assign]
    worker.run(drain=True)
    assert state_of(lease) == "CANCELLED"


# What the gate looks at


def test_the_gate_compares_the_answers_to_given_questions(
    world: World, candidate: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = published(world), published(world, "# Meals\n\nDinner costs at most 90 yuan.")
    work(world)
    questions = [Question("limit", frozenset({first.pk})), Question("dinner", frozenset({second.pk}))]
    with pytest.raises(InvalidInput):
        examine(world, candidate, questions=questions)
    report = examine(world, candidate, questions=questions, asked_by=world.editor)
    assert report.passed
    assert report.evaluation is not None
    assert report.evaluation.ndcg == (1.0, 1.0)

    real = gate.documents_found

    def worse(*, pipeline: Pipeline, **options: Any) -> list[uuid.UUID]:
        ranked = real(pipeline=pipeline, **options)
        return [uuid.uuid4(), *ranked] if pipeline.pk == candidate.pk else ranked

    monkeypatch.setattr("indexing.gate.documents_found", worse)
    report = examine(world, candidate, questions=questions, asked_by=world.editor)
    assert [reason.code for reason in report.reasons] == ["worse"]
    assert [item["query"] for item in report.evaluation.worst] == ["limit", "dinner"]  # type: ignore[union-attr]
    with pytest.raises(Conflict):
        serve(world, candidate)


def test_sampled_queries_are_asked_of_both_and_forgotten_with_the_switch(
    world: World, candidate: Pipeline, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(world)
    work(world)
    found(world)
    assert not ShadowQuery.objects.exists(), "nothing is kept unless it is asked for"
    settings.KB_SHADOW_SHARE = 1.0
    found(world)
    found(world, "yuan")
    assert set(ShadowQuery.objects.values_list("query", flat=True)) == {"limit", "yuan"}
    report = examine(world, candidate)
    assert report.shadow == gate.Shadow(queries=2, overlap=1.0, lost=0)

    real = gate.documents_found
    monkeypatch.setattr(
        "indexing.gate.documents_found",
        lambda *, pipeline, **options: [] if pipeline.pk == candidate.pk else real(pipeline=pipeline, **options),
    )
    assert [reason.code for reason in examine(world, candidate).reasons] == ["lost"]
    monkeypatch.undo()
    assert examine(world, candidate).passed
    serve(world, candidate)
    assert not ShadowQuery.objects.exists()
    found(world)
    assert not ShadowQuery.objects.exists(), "nothing is being built"


def test_a_search_that_a_switch_overtakes_is_asked_again(
    world: World, candidate: Pipeline, monkeypatch: pytest.MonkeyPatch, provider: ProviderStub
) -> None:
    """Else a reader could be shown version 1 after another one was shown version 2."""
    document = published(world)
    work(world)
    assert examine(world, candidate).passed
    from indexing import search as searching

    real, done = searching.ranked, []

    def overtaken(pipeline: Pipeline, values: dict[str, Any]) -> list[dict[str, Any]]:
        rows = real(pipeline, values)
        if not done:
            done.append(pipeline)
            serve(world, candidate)
            next_version(world, document, "# Travel\n\nThe limit is 300 yuan.")
            finished(claim(), ["The limit is 300 yuan."])
        return rows

    monkeypatch.setattr("indexing.search.ranked", overtaken)
    answer = search(user=world.editor, tenant=world.tenant.slug, query="limit")
    assert [hit.version_number for hit in answer.hits] == [2]
    assert answer.pipeline == candidate.name


def test_a_version_that_waits_comes_into_force_with_the_switch(world: World, candidate: Pipeline) -> None:
    """Under `publish_when_ready`: the finish under the candidate could not do it, since readers were not served from there."""
    document = published(world)
    work(world)
    publishing.set_staleness(
        actor=world.editor, document_id=document.pk, revision=None, staleness=Document.Staleness.PUBLISH_WHEN_READY
    )
    next_version(world, document, "# Travel\n\nThe limit is 300 yuan.")
    held = claim()
    assert held.pipeline_id == serving(world).pk
    finished(claim())
    document.refresh_from_db()
    assert (document.published_version, found(world)) == (1, [1])

    assert examine(world, candidate).passed
    serve(world, candidate)
    document.refresh_from_db()
    assert (document.published_version, found(world, "one")) == (2, [2])
    finished(held)
    document.refresh_from_db()
    assert document.published_version == 2


def test_there_is_no_way_to_a_pipeline_that_is_not_there(world: World) -> None:
    for act in (lifecycle.begin, lifecycle.serve, lifecycle.retire):
        with pytest.raises(NotFound):
            act(actor=None, tenant_id=world.tenant.pk, pipeline_id=999)
    with pytest.raises(Conflict):
        lifecycle.roll_back(actor=None, tenant_id=world.tenant.pk)


def test_deleted_and_withdrawn_documents_hold_nobody_up(world: World, candidate: Pipeline) -> None:
    lifecycle.retire(actor=None, tenant_id=world.tenant.pk, pipeline_id=candidate.pk)
    gone, hidden = published(world), published(world)
    work(world)
    lifecycle.begin(actor=None, tenant_id=world.tenant.pk, pipeline_id=candidate.pk)
    assert lifecycle.count_behind(tenant_id=world.tenant.pk, pipeline_id=candidate.pk) == (2, 0)
    publishing.delete_document(actor=world.editor, document_id=gone.pk)
    publishing.withdraw_document(actor=world.editor, document_id=hidden.pk, revision=None)
    assert lifecycle.count_behind(tenant_id=world.tenant.pk, pipeline_id=candidate.pk) == (0, 0)
