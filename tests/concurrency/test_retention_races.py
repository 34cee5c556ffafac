"""A sweep meets a worker, an editor, an operator or another sweep: nothing that comes to be served or held loses a row."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest

from documents import holds, publishing
from documents.models import Document
from indexing import lifecycle, orphans, queue, sink
from indexing.lease import Lease
from indexing.models import Chunk, Pipeline, SearchPointer, TenantPipeline
from indexing.pipelines import serving_pipeline
from indexing.retention_models import OrphanSet
from indexing.sink import Manifest
from tests.concurrency.conftest import without_triggers
from tests.db.aging import days_pass, sets
from tests.db.looking import kill
from tests.db.refusals import taken_away
from tests.db.staging import claim, finished, stage
from tests.factories import World
from tests.sessions import Session

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def sweep() -> int:
    kinds = (OrphanSet.Kind.REPLACED, OrphanSet.Kind.ABANDONED)
    return sum(orphans.remove(kind, hours=1, batch=1000, stop=lambda: False) for kind in kinds)


def dead_long_ago(world: World) -> Document:
    """Its chunks were staged in vain, and are due."""
    document = world.upload()
    world.publish(document)
    lease = claim()
    stage(lease, ["one", "two"])
    kill(lease)
    days_pass(10)
    return document


def about_to_finish(world: World) -> tuple[Document, Lease, Manifest]:
    """The same, tried again: a worker has found the chunks, and is about to switch them on."""
    document = dead_long_ago(world)
    world.publish(document)
    lease = claim()
    return document, lease, stage(lease, ["one", "two"])


def whole(document: Document) -> bool:
    pointer = SearchPointer.objects.get(document=document)
    return Chunk.objects.filter(document=document).count() == pointer.chunk_count


def test_a_sweep_waits_for_a_finish_and_sees_it(world: World) -> None:
    document, lease, manifest = about_to_finish(world)
    with Session() as worker, Session() as sweeping:
        worker.begin()
        worker.run(lambda: sink.finish(lease, manifest))
        swept = sweeping.start(sweep)
        sweeping.wait_until_blocked()
        worker.commit()
        assert swept.result(timeout=30) == 0
    assert whole(document)
    assert not OrphanSet.objects.exists()


def test_without_its_guards_the_sweep_takes_what_is_being_switched_on(world: World, without: Any) -> None:
    """The race is there: the locks of the tasks, the question after them, and the trigger behind hold it one by one."""
    document, lease, manifest = about_to_finish(world)
    blind = "t.state NOT IN ('SUCCEEDED', 'DEAD', 'CANCELLED')"
    with ExitStack() as stack, Session() as worker:
        stack.enter_context(without("retention", "lock_tasks", "WHERE o.id", "WHERE false AND o.id"))
        stack.enter_context(without("retention", "judge_sets", blind, "false", triggers="chunk.chunk_delete_guard"))
        worker.begin()
        worker.run(lambda: sink.finish(lease, manifest))
        assert sweep() == 2
        worker.commit()
    assert not whole(document)


@pytest.mark.parametrize("guard", ["locks", "question", "trigger"])
def test_each_of_them_alone_is_enough(world: World, without: Any, guard: str) -> None:
    document, lease, manifest = about_to_finish(world)
    blind = "t.state NOT IN ('SUCCEEDED', 'DEAD', 'CANCELLED')"
    with ExitStack() as stack, Session() as worker, Session() as sweeping:
        if guard != "locks":
            stack.enter_context(without("retention", "lock_tasks", "WHERE o.id", "WHERE false AND o.id"))
        if guard != "question":
            stack.enter_context(without("retention", "judge_sets", blind, "false"))
        if guard != "trigger":
            stack.enter_context(without_triggers("chunk.chunk_delete_guard"))
        worker.begin()
        worker.run(lambda: sink.finish(lease, manifest))
        swept = sweeping.start(sweep)
        if guard != "question":
            sweeping.wait_until_blocked()
        worker.commit()
        if guard == "trigger":
            with pytest.raises(Exception, match="readers are served"):
                swept.result(timeout=30)
        else:
            assert swept.result(timeout=30) == 0
    assert whole(document)


def test_who_tries_again_waits_for_the_sweep_and_stages_anew(world: World) -> None:
    document = dead_long_ago(world)
    with Session() as sweeping, Session() as editor:
        sweeping.begin()
        assert sweeping.run(sweep) == 2
        again = editor.start(lambda: publishing.retry_indexing(actor=world.editor, document_id=document.pk))
        editor.wait_until_blocked()
        sweeping.commit()
        again.result(timeout=30)
    finished(claim(), ["one", "two"])
    assert whole(document)


def test_publishes_and_finishes_do_not_wait_for_a_sweep(world: World) -> None:
    document = world.upload()
    world.publish(document)
    finished(claim())
    world.new_version(document, "second")
    world.publish(document)
    finished(claim())
    days_pass(10)
    with Session() as sweeping:
        sweeping.begin()
        assert sweeping.run(sweep) == 2
        world.new_version(document, "third")
        world.publish(document)
        finished(claim())
        sweeping.commit()
    assert sets(document=document) == {(2, 1), (3, 1)}


def test_two_sweeps_share_the_work(world: World) -> None:
    dead_long_ago(world)
    with Session() as first:
        first.begin()
        assert first.run(sweep) == 2
        assert sweep() == 0
        first.commit()
    assert sweep() == 0


@pytest.mark.parametrize("first", ["hold", "sweep"])
def test_a_hold_meets_a_sweep(world: World, first: str) -> None:
    """What is there when the hold is placed stays; a hold that comes too late finds it gone already, not half of it."""
    document = dead_long_ago(world)
    operator = world.member("operator", role="operator")

    def place() -> object:
        return holds.place_hold(actor=operator, document_id=document.pk, reason="A lawsuit")

    with Session() as holding, Session() as sweeping:
        if first == "hold":
            holding.begin()
            holding.run(place)
            assert sweeping.run(sweep) == 0, "passed over"
            holding.commit()
            assert sweep() == 0
            assert sets(document=document) == {(1, 1)}
        else:
            sweeping.begin()
            assert sweeping.run(sweep) == 2
            placed = holding.start(place)
            holding.wait_until_blocked()
            sweeping.commit()
            placed.result(timeout=30)
            assert sets(document=document) == set()


def test_a_hold_that_a_sweep_could_not_see_is_seen_by_the_database(world: World, without: Any) -> None:
    document = dead_long_ago(world)
    operator = world.member("operator", role="operator")
    holds.place_hold(actor=operator, document_id=document.pk, reason="A lawsuit")
    with without("retention", "judge_sets", "document_is_held(o.document_id, o.version_number)", "false"):
        with pytest.raises(Exception, match="under audit hold"):
            sweep()
        with taken_away("chunk.chunk_delete_guard"):
            assert sweep() == 2


def test_a_retired_pipeline_is_not_built_again_while_it_is_cleaned(world: World) -> None:
    """And afterwards the clean-up takes nothing of it."""
    serving = serving_pipeline(world.tenant.pk)
    assert serving is not None
    other = Pipeline.objects.using("owner").create(
        id=901, name="o", digest="o", config={**serving.config, "note": "o"}, dimensions=serving.dimensions
    )
    TenantPipeline.objects.create(tenant=world.tenant, pipeline_id=other.pk, role="BUILDING")
    world.publish(world.upload())
    for lease in (claim(), claim()):
        finished(lease)
    named = {"tenant_id": world.tenant.pk, "pipeline_id": other.pk}
    lifecycle.retire(actor=None, **named)
    with Session() as sweeping, Session() as building:
        sweeping.begin()
        assert sweeping.run(lambda: orphans.remove_retired(**named, batch=1)) == orphans.Counts(1, 1)
        begun = building.start(lambda: lifecycle.begin(actor=None, **named))
        building.wait_until_blocked()
        sweeping.commit()
        assert begun.result(timeout=30)
    assert not orphans.remove_retired(**named, batch=10)
    assert Chunk.objects.filter(pipeline=other).count() == 1
    assert queue.claim(worker="w", pool="online", lease_seconds=60) is None
