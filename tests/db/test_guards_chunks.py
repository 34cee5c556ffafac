"""Nobody writes, changes or removes what readers are served without a live lease, whatever they type in psql."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection, connections, transaction

from documents import publishing
from documents.models import Document
from indexing import queue, sink
from indexing.errors import VerificationFailed
from indexing.lease import Lease
from indexing.models import Chunk, ChunkVector, IndexTask, SearchPointer
from tests.concurrency.leases import expire
from tests.db.refusals import DENIED, FENCE, INSERT_CHUNK, INSERT_POINTER, INSERT_VECTOR, inline, sqlstate
from tests.db.staging import claim, finished, leased, stage, state_of
from tests.factories import World
from tests.sessions import Session

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


# Chunks and pointers


@pytest.mark.parametrize(("statement", "code"), [(INSERT_CHUNK, "KB020"), (INSERT_POINTER, "KB030")])
def test_nothing_is_written_without_the_mark_of_a_live_lease(world: World, statement: str, code: str) -> None:
    """A live lease is not enough: the writing transaction must have locked and checked it."""
    lease = leased(world)
    stage(lease, ["one"])
    assert sqlstate(statement, [lease.task_id]) == code
    assert sqlstate(inline(FENCE + statement, lease.task_id)) is None, "the test's own statement must be sound"


def test_vectors_are_written_only_with_their_chunk_under_its_lease(world: World) -> None:
    lease = leased(world)
    stage(lease, ["one"])
    with connection.cursor() as cursor:
        cursor.execute(inline(FENCE + INSERT_CHUNK, lease.task_id))
    only_new = INSERT_VECTOR + " AND ordinal = 99"
    assert sqlstate(only_new, [lease.task_id]) == "KB020"
    assert sqlstate(inline(FENCE + only_new, lease.task_id)) is None
    wrong_set = only_new.replace(
        "version_number, generation, pipeline_id, 384", "version_number, generation + 1, pipeline_id, 384"
    )
    assert wrong_set != only_new
    assert sqlstate(inline(FENCE + wrong_set, lease.task_id)) == "KB020"


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("attempts", "attempts + 1"),
        ("version_number", "version_number + 1"),
        ("generation", "generation + 1"),
        ("document_id", "gen_random_uuid()"),
        ("tenant_id", "tenant_id + 1"),
    ],
)
def test_a_lease_writes_for_its_own_task_only(world: World, column: str, value: str) -> None:
    """A fenced worker with a fault cannot write into another document, version, generation or tenant."""
    lease = leased(world)
    head, _, tail = INSERT_CHUNK.partition("SELECT")
    forged = (
        head
        + "SELECT"
        + (
            tail.replace(f" {column}", f" {value}", 1)
            if column != "attempts"
            else tail.replace("attempts\n", f"{value}\n")
        )
    )
    assert forged != INSERT_CHUNK
    assert sqlstate(inline(FENCE + forged, lease.task_id)) == "KB020"


def test_chunks_and_vectors_never_change(world: World) -> None:
    finished(leased(world))
    for statement in ("UPDATE chunk SET text = 'y'", "UPDATE chunk_vector SET generation = 2"):
        assert sqlstate(statement) == DENIED, "the application's role"
        assert sqlstate(statement, using="owner") == "KB021", "a mistake in a migration"


def test_upserts_do_not_get_round_the_guard(world: World) -> None:
    lease = leased(world)
    finished(lease)
    upsert = INSERT_POINTER + " ON CONFLICT (document_id, pipeline_id) DO UPDATE SET version_number = 7"
    assert sqlstate(upsert, [lease.task_id]) == "KB030"
    merge = """MERGE INTO chunk c USING (SELECT id FROM chunk LIMIT 1) s ON s.id = c.id
                WHEN MATCHED THEN DELETE"""
    assert sqlstate(merge) == "KB022"


# Forging the mark


def test_the_mark_cannot_be_set_without_a_running_lease(world: World) -> None:
    task_id = world.publish(world.upload()).ticket.task_id
    assert sqlstate(FENCE.rstrip("; "), [task_id]) == "KB013"


def test_the_mark_cannot_be_set_on_an_expired_lease(world: World) -> None:
    lease = leased(world)
    expire(lease.task_id)
    assert sqlstate(FENCE.rstrip("; "), [lease.task_id]) == "KB013"


def test_the_mark_cannot_name_another_transaction(world: World) -> None:
    """A mark laid out for later would let an unfenced transaction write."""
    lease = leased(world)
    for value in ("'1'::xid8", "(pg_current_xact_id()::text::bigint + 1)::text::xid8"):
        assert sqlstate(f"UPDATE index_task SET fence_xact = {value} WHERE id = %s", [lease.task_id]) == "KB013"


def test_the_mark_of_an_earlier_transaction_is_worth_nothing(world: World) -> None:
    lease = leased(world)
    with transaction.atomic():
        queue.fence(lease)
    assert sqlstate(INSERT_CHUNK, [lease.task_id]) == "KB020"
    assert sqlstate("UPDATE index_task SET state = 'PENDING', lease_owner = NULL, lease_until = NULL") == "KB015"


def test_a_task_is_not_born_with_a_mark(world: World) -> None:
    world.publish(world.upload())
    columns = "tenant_id, document_id, version_number, pipeline_id, task_type, max_failures"
    other = ", pool, priority, fair, progress_done, progress_total, readers_requested, cancel_requested"
    other += ", lease_owner, lease_until"
    copy = (
        f"INSERT INTO index_task ({columns}, generation, state, attempts, failures, fence_xact{other}) "
        f"SELECT {columns}, 2, %s, %s, 0, %s::xid8, 'online', 0, 0, 0, 0, true, false, %s, %s::timestamptz FROM index_task"
    )
    assert sqlstate(copy, ["PENDING", 0, None, None, None]) is None
    assert sqlstate(copy, ["RUNNING", 0, None, "w", "2999-01-01"]) == "KB010"
    assert sqlstate(copy, ["PENDING", 3, None, None, None]) == "KB010"
    assert sqlstate(copy, ["PENDING", 0, "1", None, None]) == "KB010"


def test_a_temporary_table_does_not_stand_in_for_the_queue(world: World) -> None:
    """Without a fixed search_path the guards read `pg_temp.index_task`, where anything can be written."""
    lease = leased(world)
    decoy = inline(
        "CREATE TEMP TABLE index_task AS SELECT * FROM public.index_task; "
        "UPDATE index_task SET fence_xact = pg_current_xact_id() WHERE id = %s; ",
        lease.task_id,
    )
    assert sqlstate(decoy + inline(INSERT_CHUNK, lease.task_id)) == "KB020"
    assert sqlstate(decoy + inline(INSERT_POINTER, lease.task_id)) == "KB030"


def test_a_temporary_table_does_not_stand_in_for_a_deleted_document(world: World) -> None:
    finished(leased(world))
    decoy = "CREATE TEMP TABLE document AS SELECT * FROM public.document; UPDATE document SET deleted_at = now(); "
    for statement, code in (
        ("DELETE FROM chunk", "KB022"),
        ("DELETE FROM search_pointer", "KB032"),
        ("DELETE FROM read_rule; DELETE FROM document_version", "KB001"),
    ):
        assert sqlstate(decoy + statement) == code


# Pointers


def two_versions(world: World) -> tuple[Document, Lease]:
    """A document served at version 2, and a live lease on a rebuild of version 1."""
    document = world.upload()
    world.publish(document)
    finished(claim())
    world.new_version(document, "# Travel\n\nThe limit is 300 yuan.")
    world.publish(document)
    finished(claim())
    first = IndexTask.objects.get(document=document, version_number=1)
    queue.enqueue(
        tenant_id=world.tenant.pk,
        document_id=document.pk,
        version_number=1,
        pipeline_id=first.pipeline_id,
        actor_id=None,
        has_readers=True,
        generation=2,
    )
    return document, claim()


def test_a_pointer_never_goes_back_even_under_a_live_lease(world: World) -> None:
    document, lease = two_versions(world)
    back = (
        "UPDATE search_pointer p SET version_number = t.version_number, generation = t.generation, task_id = t.id, "
        "attempts = t.attempts FROM index_task t WHERE t.id = %s"
    )
    assert sqlstate(inline(FENCE + back, lease.task_id)) == "KB031"
    assert sqlstate(back, [lease.task_id]) == "KB030"
    assert SearchPointer.objects.get(document=document).version_number == 2


def test_the_pointer_of_a_living_document_stays(world: World) -> None:
    finished(leased(world))
    assert sqlstate("DELETE FROM search_pointer") == "KB032"
    document = Document.objects.get()
    publishing.delete_document(actor=world.editor, document_id=document.pk)
    assert sqlstate("DELETE FROM search_pointer") is None


# Removing chunks


def test_what_readers_are_served_cannot_be_removed(world: World) -> None:
    finished(leased(world))
    assert sqlstate("DELETE FROM chunk") == "KB022"
    assert sqlstate("DELETE FROM chunk WHERE ordinal = 1") == "KB022"
    assert sqlstate("DELETE FROM chunk_vector") == "KB022"


def test_staged_and_superseded_chunks_may_be_swept(world: World) -> None:
    _, lease = two_versions(world)
    stage(lease, ["staged"])
    assert sqlstate("DELETE FROM chunk WHERE version_number = 1") is None
    assert sqlstate("DELETE FROM chunk_vector WHERE version_number = 1") == "KB022", "a vector never goes alone"
    assert sqlstate("DELETE FROM chunk WHERE version_number = 2") == "KB022"


def sweep() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM chunk")


def test_a_sweep_that_meets_a_finish_waits_and_is_refused(world: World) -> None:
    """The finish has counted the rows; the sweep removed them unseen: readers would be served a set with holes."""
    lease = leased(world)
    manifest = stage(lease, ["one", "two"])
    with Session() as finishing, Session() as sweeping:
        finishing.begin()
        finishing.run(lambda: sink.finish(lease, manifest))
        swept = sweeping.start(sweep)
        sweeping.wait_until_blocked()
        finishing.commit()
        error = swept.exception(timeout=20)
    assert getattr(error.__cause__, "sqlstate", None) == "KB022"
    assert Chunk.objects.count() == 2


def test_a_finish_that_meets_a_sweep_waits_and_counts_what_is_left(world: World) -> None:
    lease = leased(world)
    manifest = stage(lease, ["one", "two"])
    with Session() as finishing, Session() as sweeping:
        sweeping.begin()
        sweeping.run(sweep)
        ended = finishing.start(lambda: sink.finish(lease, manifest))
        finishing.wait_until_blocked()
        sweeping.commit()
        assert isinstance(ended.exception(timeout=20), VerificationFailed)
    assert not SearchPointer.objects.exists()
    assert state_of(lease) == "RUNNING"


def test_a_sweep_meets_the_finish_of_another_task_of_the_same_set(world: World) -> None:
    """INDEX and RECOMPUTE of one version make the same chunks: the rows name one task and the other one serves them."""
    lease = leased(world)
    stage(lease, ["one", "two"])
    queue.enqueue(
        tenant_id=lease.tenant_id,
        document_id=lease.document_id,
        version_number=1,
        pipeline_id=lease.pipeline_id,
        actor_id=None,
        has_readers=True,
        task_type="RECOMPUTE",
    )
    other = claim()
    manifest = stage(other, ["one", "two"])
    assert set(Chunk.objects.values_list("task_id", flat=True)) == {lease.task_id}
    with Session() as finishing, Session() as sweeping:
        finishing.begin()
        finishing.run(lambda: sink.finish(other, manifest))
        swept = sweeping.start(sweep)
        sweeping.wait_until_blocked()
        finishing.commit()
        assert swept.exception(timeout=20) is not None
    assert Chunk.objects.count() == ChunkVector.objects.count() == 2


def test_a_vector_fits_its_pipeline_and_can_be_found(world: World) -> None:
    """A zero vector is stored by pgvector but never returned by a cosine index."""
    lease = leased(world)
    with connection.cursor() as cursor:
        cursor.execute(inline(FENCE + INSERT_CHUNK, lease.task_id))
    zero = INSERT_VECTOR.replace("array_fill(1,", "array_fill(0,")
    short = INSERT_VECTOR.replace("ARRAY[384]", "ARRAY[3]")
    other = INSERT_VECTOR.replace("384,", "3,").replace("ARRAY[384]", "ARRAY[3]")
    assert sqlstate(inline(FENCE + zero, lease.task_id)) == "23514"
    assert sqlstate(inline(FENCE + short, lease.task_id)) == "23514"
    assert sqlstate(inline(FENCE + other, lease.task_id)) in ("22000", "23503"), (
        "by the vector index or the foreign key"
    )


@pytest.fixture
def owner_without(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Switch a trigger off for the rest of the test."""

    def switch_off(table: str, trigger: str) -> None:
        with connections["owner"].cursor() as cursor:
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER {trigger}")

        def on() -> None:
            with connections["owner"].cursor() as cursor:
                cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER {trigger}")

        request.addfinalizer(on)

    return switch_off


@pytest.mark.parametrize(
    ("table", "trigger", "statement"),
    [
        ("chunk", "chunk_insert_guard", INSERT_CHUNK),
        ("search_pointer", "search_pointer_guard", INSERT_POINTER),
        ("index_task", "index_task_guard", "UPDATE index_task SET lease_owner = 'thief' WHERE id = %s"),
        ("chunk", "chunk_delete_guard", "DELETE FROM chunk WHERE task_id = %s"),
    ],
)
def test_without_its_trigger_the_statement_passes(
    world: World, owner_without: Callable[[str, str], None], table: str, trigger: str, statement: str
) -> None:
    """The refusals above are the triggers', not an accident of the statements."""
    lease = leased(world)
    if "DELETE" in statement:
        finished(lease)
    assert sqlstate(statement, [lease.task_id]) is not None
    owner_without(table, trigger)
    assert sqlstate(statement, [lease.task_id]) is None
