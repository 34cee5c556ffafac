"""A pipeline's move waits for publishes and finishes under way, and they for it: each guard first shown to be needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from documents.errors import Conflict
from documents.models import Document
from indexing import gate, lifecycle, queue, recompute, revisions, sink
from indexing.models import IndexTask, Pipeline, SearchPointer
from indexing.pipelines import ensure_vector_index
from indexing.states import PipelineRole
from tests.concurrency.conftest import without_triggers
from tests.db.staging import claim, finished, stage
from tests.db.test_lifecycle import examine, fill, found, next_version, published, role, serve, serving, work
from tests.factories import World
from tests.provider_stub import ProviderStub
from tests.sessions import Session

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

GUARD = "tenant_pipeline.tenant_pipeline_guard"


@pytest.fixture
def world(stub_world: World) -> World:
    return stub_world


@pytest.fixture
def candidate(world: World, provider: ProviderStub) -> Pipeline:
    """Made, with its index, and not begun."""
    provider.dimensions_of["stub-two"] = 32
    made, _ = revisions.create(
        actor=None, base=serving(world), assignments=["embedder.model=stub-two", "embedder.dimensions=32"]
    )
    ensure_vector_index(pipeline_id=made.pk, dimensions=made.dimensions, using="owner")
    return made


@contextmanager
def unlocked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Without the tenant's lock in the service and in the database's guard."""
    with monkeypatch.context() as patch, without_triggers(GUARD):
        patch.setattr("indexing.lifecycle.hold_tenant_alone", lambda _: None)
        yield


def begin_and_fill(world: World, pipeline: Pipeline) -> None:
    lifecycle.begin(actor=None, tenant_id=world.tenant.pk, pipeline_id=pipeline.pk)
    recompute.start(actor_id=None, pipeline_id=pipeline.pk, tenant_id=world.tenant.pk)


def orders_of(document: Document, pipeline: Pipeline) -> int:
    return IndexTask.objects.filter(document=document, pipeline=pipeline).count()


@pytest.mark.parametrize("guarded", [True, False])
def test_a_publish_under_way_is_filled_in(
    world: World, candidate: Pipeline, monkeypatch: pytest.MonkeyPatch, guarded: bool
) -> None:
    """Begun while a publish has not committed: it wrote no order for the new pipeline, and the list of the bulk run could
    not see it."""
    document = world.upload()
    with Session() as publisher, Session() as operator:
        publisher.begin()
        publisher.run(lambda: world.publish(document))
        if guarded:
            beginning = operator.start(lambda: begin_and_fill(world, candidate))
            operator.wait_until_blocked()
            publisher.commit()
            beginning.result(timeout=30)
        else:
            with unlocked(monkeypatch):
                operator.run(lambda: begin_and_fill(world, candidate))
                publisher.commit()
    assert orders_of(document, candidate) == (1 if guarded else 0)


def finishing(world: World, document: Document) -> Any:
    """A step that finishes version 2 under the pipeline that serves."""
    lease = claim()
    assert (lease.document_id, lease.version_number, lease.pipeline_id) == (document.pk, 2, serving(world).pk)
    manifest = stage(lease, ["two"])
    return lambda: sink.finish(lease, manifest)


@pytest.mark.parametrize("guarded", [True, False])
def test_a_finish_under_way_is_seen_by_the_switch(
    world: World, candidate: Pipeline, monkeypatch: pytest.MonkeyPatch, guarded: bool
) -> None:
    """Version 2 comes to readers while somebody switches to a pipeline that has version 1."""
    document = published(world)
    work(world)
    lifecycle.begin(actor=None, tenant_id=world.tenant.pk, pipeline_id=candidate.pk)
    fill(world, candidate, document)
    work(world)
    assert examine(world, candidate).passed
    next_version(world, document, "# Travel\n\nThe limit is 300 yuan.")
    finish = finishing(world, document)
    with Session() as worker, Session() as operator:
        worker.begin()
        worker.run(finish)
        if guarded:
            serving_it = operator.start(lambda: serve(world, candidate))
            operator.wait_until_blocked()
            worker.commit()
            with pytest.raises(Conflict):
                serving_it.result(timeout=30)
            assert found(world, "two") == [2]
        else:
            with unlocked(monkeypatch):
                operator.run(lambda: serve(world, candidate))
                worker.commit()
            assert SearchPointer.objects.get(document=document, pipeline__tenants__role="STANDBY").version_number == 2
            assert found(world, "two") == [1], "readers of version 2 are back at version 1"


def test_publishes_wait_for_a_switch_and_then_fill_both(world: World, candidate: Pipeline) -> None:
    """Else an order could name a pipeline as serving that does no longer, and the answer a task that nobody waits for."""
    lifecycle.begin(actor=None, tenant_id=world.tenant.pk, pipeline_id=candidate.pk)
    document = world.upload()
    assert gate.examine(actor=None, tenant_id=world.tenant.pk, pipeline_id=candidate.pk).passed
    with Session() as operator, Session() as publisher:
        operator.begin()
        operator.run(lambda: serve(world, candidate))
        publishing = publisher.start(lambda: world.publish(document))
        publisher.wait_until_blocked()
        operator.commit()
        ticket = publishing.result(timeout=30).ticket
    assert IndexTask.objects.get(pk=ticket.task_id).pipeline_id == candidate.pk
    assert IndexTask.objects.filter(document=document).count() == 2


def test_a_retirement_is_seen_by_the_finish_that_it_overtakes(world: World, candidate: Pipeline) -> None:
    """A worker that finishes for a pipeline that was retired meanwhile moves no pointer."""
    lifecycle.begin(actor=None, tenant_id=world.tenant.pk, pipeline_id=candidate.pk)
    published(world)
    finished(claim())
    lease = claim()
    assert lease.pipeline_id == candidate.pk
    manifest = stage(lease, ["one"])
    with Session() as operator, Session() as worker:
        operator.begin()
        operator.run(lambda: lifecycle.retire(actor=None, tenant_id=world.tenant.pk, pipeline_id=candidate.pk))
        ending = worker.start(lambda: sink.finish(lease, manifest))
        worker.wait_until_blocked()
        operator.commit()
        with pytest.raises(Exception, match="pipeline"):
            ending.result(timeout=30)
    assert role(world, candidate) == PipelineRole.RETIRED
    assert not SearchPointer.objects.filter(pipeline=candidate).exists()


def test_two_switches_at_once_leave_one_that_serves(world: World, candidate: Pipeline) -> None:
    other, _ = revisions.create(actor=None, base=serving(world), assignments=["splitter.tokens=48"])
    ensure_vector_index(pipeline_id=other.pk, dimensions=other.dimensions, using="owner")
    for pipeline in (candidate, other):
        lifecycle.begin(actor=None, tenant_id=world.tenant.pk, pipeline_id=pipeline.pk)
        assert examine(world, pipeline).passed
    with Session() as one, Session() as two:
        one.begin()
        one.run(lambda: serve(world, candidate))
        second = two.start(lambda: serve(world, other))
        two.wait_until_blocked()
        one.commit()
        second.result(timeout=30)  # complete against the new one, too: there is no document
    assert serving(world) == other
    assert queue.claim(worker="w", pool="online", lease_seconds=60) is None
