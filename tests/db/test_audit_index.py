"""`audit_index` finds what nobody works on and nobody was told of, and orders it; what editors see already is no finding."""

from __future__ import annotations

import io
import json
from contextlib import nullcontext
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connections

from indexing import audit, queue
from indexing.audit import Kind
from indexing.models import IndexTask, Pipeline, SearchPointer
from indexing.pipelines import ensure_vector_index, vector_index_name
from tests.db.staging import claim, finished, leased, stage
from tests.factories import World

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


@pytest.fixture(autouse=True)
def _nothing_else_is_due() -> None:
    """What tests before left waiting would be claimed first."""
    for task in IndexTask.objects.filter(state__in=["PENDING", "RETRY_WAIT"]):
        queue.cancel(task_id=task.pk)


def run(*arguments: str, code: int = 0) -> dict[str, Any]:
    out = io.StringIO()
    with nullcontext() if code == 0 else pytest.raises(CommandError) as refused:
        call_command("audit_index", "--format", "json", *arguments, stdout=out)
    assert code == 0 or refused.value.returncode == code
    return json.loads(out.getvalue())


def of(world: World, report: dict[str, Any]) -> list[tuple[str, int | None]]:
    mine = [one for one in report["findings"] if one["tenantId"] == world.tenant.pk]
    return [(one["kind"], one["versionNumber"]) for one in mine]


def as_owner(*statements: str) -> None:
    """By hand, past every guard: what no code of ours can do, a restored backup or a hurried DBA can."""
    with connections["owner"].cursor() as cursor:
        for table in ("chunk", "chunk_vector", "index_task", "search_pointer"):
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        try:
            for statement in statements:
                cursor.execute(statement)
        finally:
            for table in ("chunk", "chunk_vector", "index_task", "search_pointer"):
                cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")


def served(world: World) -> SearchPointer:
    finished(leased(world))
    return SearchPointer.objects.get(tenant=world.tenant)


def test_what_is_whole_waits_or_failed_is_no_finding(world: World) -> None:
    served(world)
    world.publish(world.upload("waits"))
    world.publish(world.upload("is cancelled"))
    queue.cancel(task_id=IndexTask.objects.latest("id").pk)
    world.upload("was never published")
    assert of(world, run()) == []


def test_a_lost_order_is_found_and_made_anew(world: World) -> None:
    document = world.upload()
    task_id = world.publish(document).ticket.task_id
    as_owner(f"DELETE FROM index_task WHERE id = {task_id}")
    assert of(world, run(code=3)) == [(Kind.NOT_SERVED, 1)]
    assert of(world, run("--repair")) == [(Kind.NOT_SERVED, 1)]
    assert of(world, run()) == [], "an order is under way"
    finished(claim())
    assert SearchPointer.objects.get(document=document.pk).version_number == 1


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        ("DELETE FROM chunk WHERE document_id = '{0}' AND ordinal = 0", Kind.INCOMPLETE),
        ("DELETE FROM chunk_vector WHERE document_id = '{0}'", Kind.INCOMPLETE),
        ("UPDATE chunk SET text = 'other' WHERE document_id = '{0}' AND ordinal = 0", Kind.ALTERED),
    ],
)
def test_a_damaged_set_is_found_and_built_anew_while_readers_keep_what_there_is(
    world: World, damage: str, kind: Kind
) -> None:
    pointer = served(world)
    as_owner(damage.format(pointer.document_id))
    assert of(world, run(code=3)) == [(kind, 1)]
    assert of(world, run("--repair")) == [(kind, 1)]
    lease = claim()
    assert (lease.document_id, lease.generation) == (pointer.document_id, 2)
    finished(lease)
    pointer.refresh_from_db()
    assert (pointer.version_number, pointer.generation) == (1, 2)
    assert of(world, run()) == []


def test_a_pointer_that_went_with_a_backup_is_found(world: World) -> None:
    pointer = served(world)
    as_owner(f"DELETE FROM search_pointer WHERE id = {pointer.pk}")
    assert of(world, run("--repair")) == [(Kind.NOT_SERVED, 1)]
    finished(claim())
    assert SearchPointer.objects.get(document=pointer.document_id).generation == 2


def test_a_repair_leaves_alone_what_was_published_or_withdrawn_meanwhile(world: World) -> None:
    pointer = served(world)
    as_owner(f"DELETE FROM chunk WHERE document_id = '{pointer.document_id}'")
    (found,) = [one for one in audit.findings() if one.tenant_id == world.tenant.pk]
    world.new_version(pointer.document, "newer")
    newer = world.publish(pointer.document).ticket.task_id
    assert audit.repair(found).task_id is None
    assert IndexTask.objects.filter(document=pointer.document_id).latest("id").pk == newer


def test_chunks_that_no_search_reaches_are_counted(world: World) -> None:
    before = {one["kind"]: one["chunks"] for one in run()["orphans"]}
    lease = leased(world, "staged only")
    stage(lease, ["one", "two", "three"])
    assert {one["kind"]: one["chunks"] for one in run()["orphans"]} == before, "somebody is at work on them"
    as_owner(f"UPDATE index_task SET state = 'DEAD', lease_owner = NULL, lease_until = NULL WHERE id = {lease.task_id}")
    after = {one["kind"]: one["chunks"] for one in run()["orphans"]}
    assert after["abandoned"] == before.get("abandoned", 0) + 3


def test_a_missing_or_half_built_index_is_built(world: World) -> None:
    pipeline = Pipeline.objects.get(pk=served(world).pipeline_id)
    name = vector_index_name(pipeline_id=pipeline.pk, dimensions=pipeline.dimensions)

    def found(code: int) -> list[tuple[int, str]]:
        report = run(code=code)["findings"]
        return [(one["pipelineId"], one["detail"]) for one in report if one["kind"] == Kind.NO_INDEX]

    try:
        with connections["owner"].cursor() as cursor:
            cursor.execute(f"DROP INDEX {name}")
            assert found(3) == [(pipeline.pk, "missing")]
            with pytest.raises(IntegrityError):  # as a crash in the middle leaves it
                cursor.execute(f"CREATE UNIQUE INDEX CONCURRENTLY {name} ON chunk_vector (pipeline_id)")
        assert found(3) == [(pipeline.pk, "half-built")]
        run("--repair")
        assert found(0) == []
    finally:
        ensure_vector_index(pipeline_id=pipeline.pk, dimensions=pipeline.dimensions, using="owner")


def test_the_text_says_what_to_do(world: World) -> None:
    pointer = served(world)
    as_owner(f"DELETE FROM chunk WHERE document_id = '{pointer.document_id}' AND ordinal = 0")
    out = io.StringIO()
    with pytest.raises(CommandError, match="--repair"):
        call_command("audit_index", stdout=out)
    assert (
        f"Document {pointer.document_id} v1 is served with parts missing: 1 chunks and 1 vectors of 2."
        in out.getvalue()
    )
    out = io.StringIO()
    call_command("audit_index", "--repair", stdout=out)
    assert "Ordered as task" in out.getvalue()
