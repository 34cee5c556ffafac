"""Between a claim and the finish anything may happen; readers see one complete version, never an older one."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.db import connection, transaction

from documents import publishing, purging
from documents.errors import StaleRevision
from documents.models import Document
from indexing import errors, queue, sink
from indexing.models import Chunk, IndexTask
from indexing.sink import Manifest
from indexing.states import TaskType
from indexing.worker import Result, Round, Worker
from tests.concurrency.leases import (
    SECTIONS,
    before_finish,
    claim,
    expire,
    found_texts,
    long_text,
    make_due,
    pointer,
    run_worker,
    stored_ids,
    task_of,
)
from tests.db.refusals import taken_away
from tests.db.staging import chunks_of, finished
from tests.factories import World
from tests.provider_stub import ProviderStub, status
from tests.sessions import Session

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


class Gate:
    """Holds the provider's first answer until the test lets it go."""

    def __init__(self, provider: ProviderStub) -> None:
        self.reached, self.open = threading.Event(), threading.Event()
        self._provider = provider
        provider.before_answer = self._hold

    def _hold(self, *_: object) -> None:
        self._provider.before_answer = None
        self.reached.set()
        assert self.open.wait(timeout=30)


def searchable(world: World, word: str = "old") -> Document:
    """A document whose version 1 readers find."""
    document = world.upload(long_text(word))
    world.publish(document)
    assert run_worker() == "SUCCEEDED"
    assert len(found_texts(world, word)) == SECTIONS
    return document


def publish_next(world: World, document: Document, word: str) -> int:
    number = world.new_version(document, long_text(word))
    world.publish(document, version=number)
    return number


def test_provider_fails_in_the_third_of_five_batches(stub_world: World, provider: ProviderStub) -> None:
    """No chunk of the new version shows, the old one is still found; the next attempt sends batches three to five only."""
    document = searchable(stub_world)
    publish_next(stub_world, document, "fresh")
    provider.reset()
    provider.fail_on(3, status(500))
    assert run_worker() == "FAILED"
    assert [len(batch) for batch in provider.batches] == [2, 2, 2]
    task = task_of(document.pk, 2)
    assert (task.state, task.error_code, task.failures) == ("RETRY_WAIT", "EMBEDDING_BAD_RESPONSE", 1)
    assert len(found_texts(stub_world, "fresh")) == SECTIONS
    assert all(text.startswith("v1 old") for text in found_texts(stub_world, "fresh"))

    provider.reset()
    make_due(task.pk)
    assert run_worker() == "SUCCEEDED"
    assert [len(batch) for batch in provider.batches] == [2, 2, 2]
    assert provider.texts_sent == SECTIONS - 4
    assert all(text.startswith("v2") for text in found_texts(stub_world, "fresh"))
    assert len(stored_ids(document.pk, 2)) == SECTIONS


def test_staged_rows_of_a_lost_attempt_never_show_and_are_kept(
    stub_world: World, provider: ProviderStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = searchable(stub_world)
    publish_next(stub_world, document, "fresh")
    task_id = task_of(document.pk, 2).pk

    def lose() -> None:
        expire(task_id)

    with monkeypatch.context() as patch:
        before_finish(patch, lose)
        assert run_worker("first") == "LOST_LEASE"
    staged = stored_ids(document.pk, 2)
    assert len(staged) == SECTIONS
    assert all(text.startswith("v1") for text in found_texts(stub_world, "fresh"))
    assert pointer(document.pk) == 1

    provider.reset()
    before = list(Chunk.objects.filter(version_number=2).order_by("id").values_list("id", "attempts"))
    assert run_worker("second") == "SUCCEEDED"
    assert provider.texts_sent == 0
    assert list(Chunk.objects.filter(version_number=2).order_by("id").values_list("id", "attempts")) == before
    assert stored_ids(document.pk, 2) == staged


def while_embedding(world: World, provider: ProviderStub, act: Callable[[], object]) -> Round:
    """Run one round of a worker and `act` while it waits for the provider."""
    gate = Gate(provider)
    with Session() as working:
        round_ = working.start(lambda: Worker(name="slow", lease_seconds=60).run_once())
        assert gate.reached.wait(timeout=30)
        try:
            act()
        finally:
            gate.open.set()
        finished: Round = round_.result(timeout=60)
        return finished


def test_delete_while_the_worker_is_between_embedding_and_finish(stub_world: World, provider: ProviderStub) -> None:
    document = searchable(stub_world)
    publish_next(stub_world, document, "fresh")

    def delete() -> None:
        publishing.delete_document(actor=stub_world.editor, document_id=document.pk)
        assert found_texts(stub_world, "old") == []

    assert while_embedding(stub_world, provider, delete).result is Result.FAILED
    task = task_of(document.pk, 2)
    assert (task.state, task.error_code) == ("CANCELLED", "DOCUMENT_DELETED")
    assert found_texts(stub_world, "fresh") == found_texts(stub_world, "old") == []
    assert purging.purge_deleted() == 1
    assert not Chunk.objects.filter(document=document.pk).exists()
    assert pointer(document.pk) is None


def test_delete_waits_for_a_finish_and_wins_after_it(stub_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The finish holds the document; the delete that waits for it makes the new version invisible at once."""
    document = stub_world.upload(long_text("fresh"))
    stub_world.publish(document)
    deleting: list[object] = []
    real = sink.verify

    with Session() as editor:

        def verify_slowly(*arguments: object) -> None:
            real(*arguments)  # type: ignore[arg-type]
            deleting.append(
                editor.start(lambda: publishing.delete_document(actor=stub_world.editor, document_id=document.pk))
            )
            editor.wait_until_blocked()

        monkeypatch.setattr("indexing.sink.verify", verify_slowly)
        assert run_worker() == "SUCCEEDED"
        deleting[0].result(timeout=20)  # type: ignore[attr-defined]
    assert found_texts(stub_world, "fresh") == []


def test_withdraw_while_the_worker_embeds(stub_world: World, provider: ProviderStub) -> None:
    document = searchable(stub_world)
    publish_next(stub_world, document, "fresh")
    while_embedding(
        stub_world,
        provider,
        lambda: publishing.withdraw_document(actor=stub_world.editor, document_id=document.pk, revision=None),
    )
    assert task_of(document.pk, 2).error_code == "DOCUMENT_WITHDRAWN"
    assert found_texts(stub_world, "old") == []


def late_first_version(world: World, provider: ProviderStub) -> tuple[Document, Round]:
    """Version 1 is being embedded when version 2 is published and becomes searchable; then version 1 goes on."""
    document = world.upload(long_text("old"))
    world.publish(document)

    def overtake() -> None:
        publish_next(world, document, "fresh")
        assert run_worker("fast") == "SUCCEEDED"

    return document, while_embedding(world, provider, overtake)


def test_a_late_first_version_does_not_move_the_pointer_back(stub_world: World, provider: ProviderStub) -> None:
    document, late = late_first_version(stub_world, provider)
    assert late.result is Result.FAILED
    assert pointer(document.pk) == 2
    assert (task_of(document.pk, 1).state, task_of(document.pk, 1).error_code) == ("CANCELLED", "SUPERSEDED")
    assert all(text.startswith("v2") for text in found_texts(stub_world, "old"))


def test_without_the_epoch_rule_the_pointer_goes_back(
    stub_world: World, provider: ProviderStub, without: Callable
) -> None:
    """The regression is real: without the comparison and its trigger, the late worker brings the old text back."""
    rule = "WHERE (search_pointer.version_number, search_pointer.generation) < (excluded.version_number, excluded.generation)"
    with without("sink", "switch", rule, triggers="search_pointer.search_pointer_guard"):
        document, late = late_first_version(stub_world, provider)
    assert late.result is Result.SUCCEEDED
    assert pointer(document.pk) == 1


def test_an_older_waiting_task_is_cancelled_not_run(stub_world: World, provider: ProviderStub) -> None:
    document = stub_world.upload(long_text("old"))
    stub_world.publish(document)
    publish_next(stub_world, document, "fresh")
    assert (task_of(document.pk, 1).state, task_of(document.pk, 1).error_code) == ("CANCELLED", "SUPERSEDED")
    assert run_worker() == "SUCCEEDED"
    assert run_worker() == "IDLE"
    assert not any("old rule" in text for batch in provider.batches for text in batch)


def test_a_superseded_attempt_whose_worker_died_is_not_begun_again(stub_world: World, provider: ProviderStub) -> None:
    document = stub_world.upload(long_text("old"))
    stub_world.publish(document)
    dead_worker = claim("dead")
    publish_next(stub_world, document, "fresh")
    expire(dead_worker.task_id)
    assert run_worker() == "SUCCEEDED"
    assert not any("old rule" in text for batch in provider.batches for text in batch)
    assert task_of(document.pk, 1).error_code == "SUPERSEDED"


def test_a_person_cancels_a_running_task_before_its_next_batch(stub_world: World, provider: ProviderStub) -> None:
    from indexing import queue

    document = stub_world.upload(long_text("old"))
    task_id = stub_world.publish(document).ticket.task_id
    while_embedding(stub_world, provider, lambda: queue.cancel(task_id=task_id))
    assert len(provider.batches) == 1
    task = task_of(document.pk, 1)
    assert (task.state, task.error_code) == ("CANCELLED", "CANCELLED_BY_USER")
    stub_world.publish(document)
    assert task_of(document.pk, 1).state == "PENDING"
    assert run_worker() == "SUCCEEDED"


def test_access_revoked_while_indexing_ends_dead_and_goes_on_with_new_readers(
    stub_world: World, provider: ProviderStub
) -> None:
    from documents.readers import Reader

    document = stub_world.upload(long_text("old"))
    stub_world.publish(document)

    def revoke() -> None:
        publishing.set_readers(actor=stub_world.editor, document_id=document.pk, revision=None, readers=[])

    while_embedding(stub_world, provider, revoke)
    assert (task_of(document.pk, 1).state, task_of(document.pk, 1).error_code) == ("DEAD", "ACCESS_REVOKED")
    sent = provider.texts_sent
    assert sent < SECTIONS, "texts that nobody may read were sent on"
    publishing.set_readers(
        actor=stub_world.editor, document_id=document.pk, revision=None, readers=[Reader("everyone")]
    )
    provider.reset()
    assert run_worker() == "SUCCEEDED"
    assert provider.texts_sent == SECTIONS - sent, "what was embedded before is kept"


def test_no_transaction_is_open_while_the_provider_works(stub_world: World, provider: ProviderStub) -> None:
    """A lock or an old snapshot held for minutes would stop vacuum and everybody else."""
    stub_world.publish(stub_world.upload(long_text("old")))
    seen: list[list[tuple[str, str]]] = []

    def look() -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT state, query FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND backend_type = 'client backend' AND xact_start IS NOT NULL AND state LIKE 'idle in%'"
            )
            seen.append(cursor.fetchall())

    while_embedding(stub_world, provider, look)
    assert seen == [[]]


def test_slow_work_inside_a_transaction_is_refused(stub_world: World) -> None:
    stub_world.publish(stub_world.upload(long_text("old")))
    with transaction.atomic(), pytest.raises(RuntimeError, match="inside a transaction"):
        Worker(name="w").run_once()


def test_two_editors_publish_at_once_one_is_told(stub_world: World) -> None:
    document = stub_world.upload(long_text("old"))
    revision = document.revision

    def publish() -> str:
        try:
            publishing.publish_version(actor=stub_world.editor, document_id=document.pk, revision=revision, readers=[])
        except StaleRevision as error:
            return f"stale, now {error.facts['currentRevision']}"
        return "published"

    with Session() as first, Session() as second:
        first.begin()
        one = first.run(publish)
        other = second.start(publish)
        second.wait_until_blocked()
        first.commit()
        assert (one, other.result(timeout=20)) == ("published", f"stale, now {revision + 1}")
    assert IndexTask.objects.count() == 1


def test_a_publish_that_fails_leaves_nothing(stub_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Publication and order are one transaction: without the order there is no publication."""
    document = stub_world.upload(long_text("old"))

    def crash(**_: object) -> None:
        raise RuntimeError("crash after the order was written")

    monkeypatch.setattr("documents.publishing.audit.record", crash)
    with pytest.raises(RuntimeError):
        stub_world.publish(document)
    document.refresh_from_db()
    assert (document.published_version, document.requested_version) == (None, None)
    assert not IndexTask.objects.exists()


def test_the_second_order_for_one_set_leaves_what_readers_are_served_alone(stub_world: World) -> None:
    """A bulk run and an editor ordered the same. A worker of another release would make other chunks of it: it must neither
    take out what stands there nor fail as a defect, again and again."""
    document = stub_world.upload()
    stub_world.publish(document)
    late = claim()
    queue.enqueue(
        tenant_id=late.tenant_id,
        document_id=document.pk,
        version_number=1,
        pipeline_id=late.pipeline_id,
        actor_id=None,
        has_readers=True,
        task_type=TaskType.RECOMPUTE,
    )
    finished(claim(), ["one", "two"])
    before = stored_ids(document.pk, 1)
    other = Manifest.of(chunks_of(["three"]), lease=late, pipeline_digest="of this pipeline")
    with pytest.raises(errors.Superseded):
        sink.already_staged(late, other)
    assert stored_ids(document.pk, 1) == before
    with taken_away("search_pointer.search_pointer_guard"), connection.cursor() as cursor:
        cursor.execute("UPDATE search_pointer SET generation = generation + 1 WHERE document_id = %s", [document.pk])
    assert sink.already_staged(late, other) == set(), "without the pointer they would have been taken out"
    assert not stored_ids(document.pk, 1)
