"""What was withdrawn or deleted does not come back, and what is left of it goes."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage

from documents import content, publishing, purging, uploading
from documents.errors import (
    Conflict,
    DocumentGone,
    Incomplete,
    NotFound,
    NothingPublished,
)
from documents.models import AuditEvent, Document, DocumentVersion, Publication, StoredContent
from indexing import queue, sink
from indexing.errors import DocumentDeleted, DocumentWithdrawn
from indexing.identity import text_digest
from indexing.models import Chunk, EmbeddedText, EmbeddingCache, IndexTask, ParseCache, SearchPointer
from tests.concurrency.leases import expire
from tests.db.looking import files, finish, found, fresh, keep_caches, kill, shown, task, two_days_ago
from tests.db.staging import claim, finished, stage
from tests.factories import World

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.usefixtures("by_words_alone")]

ALL_POLICIES = [policy.value for policy in Document.Staleness]


# Restore and withdraw


def test_restore_makes_a_new_version_of_old_bytes(world: World) -> None:
    document = world.upload("first text")
    world.new_version(document, "second text")
    world.publish(document)
    finish()
    version = uploading.restore_version(actor=world.editor, document_id=document.pk, revision=None, version_number=1)
    assert (version.number, version.restored_from, version.content_id) == (
        3,
        1,
        document.versions.get(number=1).content_id,
    )
    assert content.read(version.content) == b"first text"
    assert fresh(document).requested_version == 2, "publishing it is a decision of its own"
    world.publish(document)
    finish()
    assert shown(document) == ("SEARCHABLE", 3)
    for number in (0, 9):
        with pytest.raises(NotFound):
            uploading.restore_version(actor=world.editor, document_id=document.pk, revision=None, version_number=number)


@pytest.mark.parametrize("staleness", ALL_POLICIES)
def test_what_was_withdrawn_never_comes_back_by_itself(world: World, staleness: str) -> None:
    """Neither by the next publish while its text is not searchable yet, nor by one that fails."""
    document = world.upload()
    world.publish(document)
    finish()
    publishing.set_staleness(actor=world.editor, document_id=document.pk, revision=None, staleness=staleness)
    publishing.withdraw_document(actor=world.editor, document_id=document.pk, revision=None)
    assert (shown(document), found(world)) == (("WITHDRAWN", None), [])
    world.new_version(document, "second")
    world.publish(document)
    assert (shown(document), found(world)) == (("INDEXING", None), [])
    kill(claim())
    assert (shown(document), found(world)) == (("FAILED", None), [])
    publishing.retry_indexing(actor=world.editor, document_id=document.pk)
    finish()
    assert (shown(document), found(world)) == (("SEARCHABLE", 2), [2])
    assert fresh(document).published_version == 2


def test_the_same_version_published_again_after_a_withdrawal_shows_at_once(world: World) -> None:
    document = world.upload()
    world.publish(document)
    finish()
    publishing.withdraw_document(actor=world.editor, document_id=document.pk, revision=None)
    assert world.publish(document).ticket.state == "SEARCHABLE"
    assert (shown(document), found(world)) == (("SEARCHABLE", 1), [1])
    assert Publication.objects.count() == 2


def test_withdrawing_stops_what_waits_and_what_runs(world: World) -> None:
    waiting, running = world.upload(), world.upload()
    world.publish(running)
    lease = claim()
    world.publish(waiting)
    for document in (waiting, running):
        publishing.withdraw_document(actor=world.editor, document_id=document.pk, revision=None)
    assert task(waiting, 1).error_code == "DOCUMENT_WITHDRAWN"
    manifest = stage(lease, ["one"])
    with pytest.raises(DocumentWithdrawn):
        sink.finish(lease, manifest)
    assert not SearchPointer.objects.exists()
    assert not queue.reopen(task_id=task(waiting, 1).pk)
    with pytest.raises(Conflict):
        publishing.retry_indexing(actor=world.editor, document_id=waiting.pk)


def test_withdrawing_twice_is_once(world: World) -> None:
    document = world.upload()
    with pytest.raises(NothingPublished):
        publishing.withdraw_document(actor=world.editor, document_id=document.pk, revision=None)
    world.publish(document)
    for _ in range(2):
        publishing.withdraw_document(actor=world.editor, document_id=document.pk, revision=None)
    assert fresh(document).revision == 3
    assert AuditEvent.objects.filter(action="withdraw").count() == 1


# Delete and purge


def test_deleting_hides_at_once_and_for_good(world: World) -> None:
    document = world.upload()
    world.publish(document)
    finish()
    world.new_version(document, "second")
    world.publish(document)
    publishing.delete_document(actor=world.editor, document_id=document.pk)
    assert (shown(document), found(world)) == (("DELETED", None), [])
    assert task(document, 2).error_code == "DOCUMENT_DELETED"
    for command in (
        lambda: world.publish(document),
        lambda: world.new_version(document, "third"),
        lambda: publishing.delete_document(actor=world.editor, document_id=document.pk),
        lambda: publishing.withdraw_document(actor=world.editor, document_id=document.pk, revision=None),
        lambda: publishing.set_readers(actor=world.editor, document_id=document.pk, revision=None, readers=[]),
        lambda: publishing.retry_indexing(actor=world.editor, document_id=document.pk),
        lambda: uploading.restore_version(actor=world.editor, document_id=document.pk, revision=None, version_number=1),
    ):
        with pytest.raises(DocumentGone):
            command()
    assert AuditEvent.objects.filter(action="delete").count() == 1
    for kept in IndexTask.objects.filter(document=document):
        assert not queue.reopen(task_id=kept.pk)


def test_a_superseded_order_of_a_deleted_document_stays_closed(world: World) -> None:
    """Its code is SUPERSEDED, not DOCUMENT_DELETED."""
    document = world.upload()
    world.publish(document)
    world.new_version(document, "second")
    world.publish(document)
    publishing.delete_document(actor=world.editor, document_id=document.pk)
    assert not queue.reopen(task_id=task(document, 1).pk)


def test_a_finish_after_a_delete_brings_nothing_back(world: World) -> None:
    document = world.upload()
    world.publish(document)
    lease = claim()
    manifest = stage(lease, ["the limit"])
    publishing.delete_document(actor=world.editor, document_id=document.pk)
    with pytest.raises(DocumentDeleted):
        sink.finish(lease, manifest)
    assert not SearchPointer.objects.exists()


def test_purge_removes_what_is_the_documents_alone(world: World) -> None:
    mine, other = world.upload("same bytes"), world.upload("same bytes")
    alone = world.upload("only here")
    for document, texts in ((mine, ("shared", "private")), (other, ("shared",)), (alone, ("alone",))):
        world.publish(document)
        lease = claim()
        keep_caches(lease, *texts)
        finished(lease, texts)
    kept = other.versions.get(number=1).content
    for document in (mine, alone):
        publishing.delete_document(actor=world.editor, document_id=document.pk)
    assert purging.waiting().count() == 2
    assert Chunk.objects.count() == 4, "a dry run only counts"
    assert purging.purge_deleted() == 2
    assert set(Chunk.objects.values_list("text", flat=True)) == {"shared"}
    assert set(EmbeddingCache.objects.values_list("text_digest", flat=True)) == {text_digest("shared")}
    assert set(ParseCache.objects.values_list("content_digest", flat=True)) == {kept.sha256}
    assert (files(), set(StoredContent.objects.values_list("key", flat=True))) == ({kept.key}, {kept.key})
    assert set(DocumentVersion.objects.values_list("document", flat=True)) == {other.pk}
    assert fresh(mine).title == "(deleted)"
    assert AuditEvent.objects.filter(document_id=mine.pk).count() == 3
    assert purging.purge_deleted() == 0
    assert (shown(mine), shown(other)) == (("DELETED", None), ("SEARCHABLE", 1))
    publishing.delete_document(actor=world.editor, document_id=other.pk)
    assert purging.purge_deleted() == 1
    for model in (EmbeddingCache, EmbeddedText, ParseCache, Chunk):
        assert not model.objects.exists(), "what two documents shared goes with the second"


def test_one_sweep_removes_all_there_is(world: World) -> None:
    """More than one batch, with a document among them that a worker still holds."""
    running = world.upload()
    world.publish(running)
    claim()
    deleted = [running, *(world.upload() for _ in range(5))]
    for document in deleted:
        publishing.delete_document(actor=world.editor, document_id=document.pk)
    assert purging.purge_deleted(batch=2) == 5
    assert Document.objects.get(purged_at=None).pk == running.pk


def test_one_sweep_removes_all_abandoned_uploads(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that the storage refuses does not hide the rest; a storage that refuses all ends the sweep."""
    with two_days_ago():
        for _ in range(5):
            content.stage(tenant=world.tenant, content=b"text", file_name="a.md")
    stuck = StoredContent.objects.earliest("pk").key
    delete = FileSystemStorage.delete

    def refuse(storage: FileSystemStorage, name: str) -> None:
        if name == stuck:
            raise OSError
        delete(storage, name)

    monkeypatch.setattr(FileSystemStorage, "delete", refuse)
    with pytest.raises(Incomplete) as told:
        content.sweep(batch=2)
    assert told.value.facts == {"removed": 4}
    assert files() == {stuck}
    monkeypatch.setattr(FileSystemStorage, "delete", delete)
    assert content.sweep(batch=1) == 1


def test_purge_waits_for_a_running_worker_and_not_for_a_dead_one(world: World) -> None:
    document = world.upload()
    world.publish(document)
    lease = claim()
    stage(lease, ["one"])
    publishing.delete_document(actor=world.editor, document_id=document.pk)
    assert purging.purge_deleted() == 0
    assert Chunk.objects.count() == 1
    expire(lease.task_id)
    assert purging.purge_deleted() == 1
    assert not Chunk.objects.exists()
    assert (task(document, 1).state, task(document, 1).error_code) == ("DEAD", "DOCUMENT_DELETED")


def test_a_crash_between_purge_and_files_leaves_them_to_the_sweep(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes of a deleted document must not outlive it because a process died at the wrong moment."""
    document = world.upload()
    publishing.delete_document(actor=world.editor, document_id=document.pk)

    def die(*_: Any) -> int:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr("documents.content.remove_abandoned", die)
        with pytest.raises(SystemExit):
            purging.purge_deleted()
    assert len(files()) == 1
    assert content.sweep() == 1
    assert (files(), StoredContent.objects.count()) == (set(), 0)
