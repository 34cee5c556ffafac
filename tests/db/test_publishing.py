"""The commands on documents: what each leaves behind, and that a refused one leaves nothing."""

from __future__ import annotations

import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core.files.storage import FileSystemStorage, default_storage
from django.utils import timezone

from documents import content, publishing, tenants, uploading
from documents.errors import (
    Conflict,
    DocumentGone,
    FileTooLarge,
    InvalidInput,
    NotAllowed,
    NotFound,
    NothingPublished,
    StaleRevision,
    StorageFailed,
    UnknownReader,
    UnsupportedMediaType,
    VersionBehind,
)
from documents.models import AuditEvent, Document, DocumentVersion, Publication, ReadRule, StoredContent
from documents.ports import search_index
from documents.readers import Reader, readers_of
from indexing import cache, queue, sink
from indexing.backoff import Verdict
from indexing.errors import AccessRevoked, DocumentDeleted, DocumentWithdrawn, EmbeddingTimeout, Superseded
from indexing.identity import text_digest
from indexing.lease import Lease
from indexing.models import Chunk, EmbeddingCache, IndexTask, ParseCache, Pipeline, SearchPointer
from indexing.search import search
from indexing.states import PipelineRole, TaskState
from tests.db.staging import claim, expire, finished, stage, vector_of
from tests.factories import EVERYONE, World, make_world

pytestmark = pytest.mark.django_db(databases=["default", "owner"])

ALL_POLICIES = [policy.value for policy in Document.Staleness]


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests find by words alone: the fallback that search has for a provider that is down."""
    from indexing.errors import EmbeddingUnavailable

    def unavailable(*_: Any, **__: Any) -> None:
        raise EmbeddingUnavailable

    monkeypatch.setattr("indexing.search.embedder_for", unavailable)


@pytest.fixture
def world() -> World:
    return make_world()


def shown(document: Document) -> tuple[str, int | None]:
    (found,) = search_index().annotate_state(Document.objects.filter(pk=document.pk))
    return found.index_state, found.searchable_version


def task(document: Document, version: int) -> IndexTask:
    return IndexTask.objects.get(document=document, version_number=version)


def fresh(document: Document) -> Document:
    return Document.objects.get(pk=document.pk)


def finish(texts: tuple[str, ...] = ("the limit",)) -> None:
    finished(claim(), texts)


def found(world: World, user: User | None = None, word: str = "limit") -> list[int]:
    hits = search(user=user or world.editor, tenant=world.tenant.slug, query=word).hits
    return sorted(hit.version_number for hit in hits)


def kill(lease: Lease) -> None:
    """The attempt ends for good."""
    queue.fail(lease, error=EmbeddingTimeout(), verdict=Verdict(TaskState.DEAD, 1))


def second_version(world: World, document: Document, *, staleness: str = "serve_previous", **publish: Any) -> None:
    """Version 1 is served, version 2 is asked for."""
    world.publish(document)
    finish()
    publishing.set_staleness(actor=world.editor, document_id=document.pk, revision=None, staleness=staleness)
    world.new_version(document, "second")
    world.publish(document, **publish)


# Publish


def test_publish_writes_everything_at_once(world: World) -> None:
    document = world.upload()
    published = world.publish(document)
    after = fresh(document)
    assert (after.requested_version, after.published_version, after.revision) == (1, 1, 2)
    assert after.published_at is not None
    assert readers_of(document=after, version_number=1) == [Reader("everyone")]
    assert (task(document, 1).pk, "INDEXING") == (published.ticket.task_id, published.ticket.state)
    assert Publication.objects.get().version_number == 1
    event = AuditEvent.objects.first()
    assert event is not None
    assert (event.action, event.version_number, event.revision, event.actor_name) == (
        "publish",
        1,
        2,
        world.editor.get_username(),
    )
    assert event.detail == {"readers": [{"type": "everyone"}]}


def test_publish_is_one_transaction(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault after the order was written takes everything back: no order without its publication, nor the reverse."""
    document = world.upload()

    def fail(**_: Any) -> None:
        assert IndexTask.objects.filter(document=document).exists(), "the fault comes after the order"
        raise RuntimeError

    monkeypatch.setattr("documents.audit.record", fail)
    with pytest.raises(RuntimeError):
        world.publish(document)
    after = fresh(document)
    assert (after.requested_version, after.published_version, after.revision) == (None, None, 1)
    for model in (IndexTask, Publication, ReadRule):
        assert not model.objects.exists()


def test_an_index_that_refuses_refuses_the_publish(world: World) -> None:
    """Nothing is ever published unindexed in silence."""
    document = world.upload()
    world.tenant.pipelines.update(role=PipelineRole.RETIRED)
    with pytest.raises(Conflict):
        world.publish(document)
    assert fresh(document).requested_version is None


def test_publishing_the_same_version_again_returns_the_same_order(world: World) -> None:
    document = world.upload()
    first, again = world.publish(document), world.publish(document)
    assert first.ticket == again.ticket
    assert IndexTask.objects.count() == Publication.objects.count() == 1


@pytest.mark.parametrize("ending", ["dead", "cancelled"])
def test_publishing_the_same_version_again_reopens_what_had_ended(world: World, ending: str) -> None:
    document = world.upload()
    ticket = world.publish(document).ticket
    if ending == "dead":
        kill(claim())
    else:
        assert queue.cancel(task_id=ticket.task_id)
    assert shown(document) == ("FAILED", None)
    again = world.publish(document).ticket
    assert (again.task_id, again.state) == (ticket.task_id, "INDEXING")
    reopened = task(document, 1)
    assert (reopened.state, reopened.failures, reopened.error_code) == ("PENDING", 0, None)
    assert reopened.attempts == (1 if ending == "dead" else 0), "the fencing token is kept"


def test_publishing_what_is_searchable_says_so(world: World) -> None:
    document = world.upload()
    world.publish(document)
    finish()
    assert world.publish(document).ticket.state == "SEARCHABLE"
    assert shown(document) == ("SEARCHABLE", 1)


def test_an_older_version_is_behind(world: World) -> None:
    document = world.upload()
    world.new_version(document, "second")
    world.publish(document, version=2)
    with pytest.raises(VersionBehind) as refused:
        world.publish(document, version=1)
    assert refused.value.facts == {"requestedVersion": 2}


@pytest.mark.parametrize("number", [0, -1, 3, 10**20])
def test_a_version_that_does_not_exist_is_not_published(world: World, number: int) -> None:
    """Nought is a number, not “the latest”."""
    document = world.upload()
    with pytest.raises(NotFound):
        world.publish(document, version=number)
    assert fresh(document).requested_version is None


def test_a_publish_cancels_what_waits_for_older_versions(world: World) -> None:
    document = world.upload()
    world.publish(document)
    world.new_version(document, "second")
    world.publish(document)
    old = task(document, 1)
    assert (old.state, old.error_code) == ("CANCELLED", "SUPERSEDED")
    assert not queue.reopen(task_id=old.pk), "what a newer version replaced is not tried again"
    assert claim().version_number == 2


def test_a_running_older_version_may_still_come_to_be_served(world: World) -> None:
    document = world.upload()
    world.publish(document)
    old = claim()
    world.new_version(document, "second")
    world.publish(document)
    finished(old)
    assert shown(document) == ("INDEXING", 1)
    finish()
    assert shown(document) == ("SEARCHABLE", 2)


def test_a_stale_revision_is_refused_with_the_current_one(world: World) -> None:
    document = world.upload()
    world.new_version(document, "second")
    for command in (
        lambda: publishing.publish_version(actor=world.editor, document_id=document.pk, revision=1),
        lambda: publishing.withdraw_document(actor=world.editor, document_id=document.pk, revision=1),
        lambda: publishing.delete_document(actor=world.editor, document_id=document.pk, revision=1),
        lambda: uploading.restore_version(actor=world.editor, document_id=document.pk, revision=1, version_number=1),
        lambda: publishing.set_readers(actor=world.editor, document_id=document.pk, revision=1, readers=[]),
        lambda: publishing.set_staleness(actor=world.editor, document_id=document.pk, revision=1, staleness="withhold"),
        lambda: uploading.add_version(
            actor=world.editor, document_id=document.pk, revision=1, data=b"text", file_name="a.md"
        ),
    ):
        with pytest.raises(StaleRevision) as refused:
            command()
        assert refused.value.facts == {"currentRevision": 2}
    assert fresh(document).revision == 2
    assert StoredContent.objects.count() == 2, "a refused upload keeps no bytes"


def test_who_may_not_is_told_no_more_than_they_may_know(world: World) -> None:
    document = world.upload()
    reader, stranger = world.member("reader"), make_world().editor
    operator = world.member("operator", role="operator")
    inactive = world.member("inactive", role="editor")
    inactive.is_active = False
    inactive.save()

    def publish(actor: User) -> None:
        publishing.publish_version(actor=actor, document_id=document.pk, revision=None)

    for actor in (reader, stranger, inactive):
        with pytest.raises(NotFound):
            publish(actor)
    with pytest.raises(NotAllowed):
        publish(operator)
    world.publish(document)
    with pytest.raises(NotAllowed):
        publish(reader)
    with pytest.raises(NotFound):
        publishing.publish_version(actor=world.editor, document_id=uuid.uuid4(), revision=None)


# Readers


def test_readers_keep_none_or_nobody(world: World) -> None:
    """None keeps those of the version published before; an empty list is nobody; without any before it is nobody."""
    world.member("ann", groups=("staff",))
    document = world.upload()
    world.publish(document, readers=None)
    assert readers_of(document=document, version_number=1) == []
    given = (Reader("group", "staff"), Reader("user", "ann"))
    world.publish(document, readers=given)
    world.publish(document, readers=None)
    assert readers_of(document=document, version_number=1) == list(given)
    world.new_version(document, "second")
    world.publish(document, readers=None)
    assert readers_of(document=document, version_number=2) == list(given)
    world.new_version(document, "third")
    world.publish(document, readers=())
    assert readers_of(document=document, version_number=3) == []
    assert readers_of(document=document, version_number=2) == list(given), "each version keeps its own"


@pytest.mark.parametrize(
    "reader", [Reader("group", "nobody"), Reader("user", "nobody"), Reader("role", "x"), Reader("user"), Reader("", "")]
)
def test_an_unknown_reader_changes_nothing(world: World, reader: Reader) -> None:
    document = world.upload()
    world.publish(document)
    for command in (
        lambda: world.publish(document, readers=(reader,)),
        lambda: publishing.set_readers(actor=world.editor, document_id=document.pk, revision=None, readers=[reader]),
    ):
        with pytest.raises(UnknownReader):
            command()
    assert fresh(document).revision == 2
    assert readers_of(document=document, version_number=1) == [Reader("everyone")]


def test_a_reader_of_another_tenant_is_unknown(world: World) -> None:
    other = make_world()
    other.member("ann", groups=("staff",))
    document = world.upload()
    for reader in (Reader("user", "ann"), Reader("group", "staff"), Reader("user", other.editor.username)):
        with pytest.raises(UnknownReader):
            world.publish(document, readers=(reader,))


def test_a_reader_named_twice_is_one(world: World) -> None:
    document = world.upload()
    world.publish(document, readers=(Reader("everyone"), Reader("everyone", "x"), Reader("everyone")))
    assert ReadRule.objects.count() == 1


def test_set_readers_replaces_those_of_the_requested_version(world: World) -> None:
    ann = world.member("ann")
    document = world.upload()
    with pytest.raises(NothingPublished):
        publishing.set_readers(actor=world.editor, document_id=document.pk, revision=None, readers=EVERYONE)
    world.publish(document)
    finish()
    assert found(world, ann) == [1]
    publishing.set_readers(actor=world.editor, document_id=document.pk, revision=2, readers=[])
    assert found(world, ann) == []
    assert fresh(document).revision == 3
    publishing.set_readers(actor=world.editor, document_id=document.pk, revision=3, readers=[Reader("user", "ann")])
    assert (found(world, ann), found(world)) == ([1], [])
    assert AuditEvent.objects.first().detail == {"readers": [{"type": "user", "name": "ann"}]}  # type: ignore[union-attr]


def test_access_taken_away_while_indexing_stops_it_and_given_back_goes_on(world: World) -> None:
    document = world.upload()
    world.publish(document)
    lease = claim()
    publishing.set_readers(actor=world.editor, document_id=document.pk, revision=None, readers=[])
    manifest = stage(lease, ["one"])
    with pytest.raises(AccessRevoked):
        sink.finish(lease, manifest)
    queue.fail(lease, error=AccessRevoked(), verdict=Verdict(TaskState.DEAD, 1))
    assert shown(document) == ("FAILED", None)
    publishing.set_readers(actor=world.editor, document_id=document.pk, revision=None, readers=EVERYONE)
    assert shown(document) == ("INDEXING", None)
    finish(("one",))
    assert shown(document) == ("SEARCHABLE", 1)


def test_a_version_meant_for_nobody_is_indexed_all_the_same(world: World) -> None:
    document = world.upload()
    world.publish(document, readers=())
    finish()
    assert shown(document) == ("SEARCHABLE", 1)
    assert found(world) == []


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


# Staleness policies


def test_serve_previous_shows_the_old_version_until_the_new_one_is_ready(world: World) -> None:
    document = world.upload()
    second_version(world, document)
    assert (fresh(document).published_version, shown(document), found(world)) == (2, ("INDEXING", 1), [1])


def test_withhold_shows_nothing_until_the_new_version_is_ready(world: World) -> None:
    document = world.upload()
    second_version(world, document, staleness="withhold")
    assert (shown(document), found(world)) == (("INDEXING", None), [])
    publishing.set_staleness(actor=world.editor, document_id=document.pk, revision=None, staleness="serve_previous")
    assert found(world) == [], "a policy holds from the next publish on"
    finish()
    assert (shown(document), found(world)) == (("SEARCHABLE", 2), [2])


def test_publish_when_ready_moves_published_in_the_finish_alone(world: World) -> None:
    document = world.upload()
    second_version(world, document, staleness="publish_when_ready")
    assert (fresh(document).requested_version, fresh(document).published_version) == (2, 1)
    assert (shown(document), found(world)) == (("INDEXING", 1), [1])
    pending = Publication.objects.get(version_number=2)
    assert pending.published_at is None
    lease = claim()
    manifest = stage(lease, ["the limit"])
    assert fresh(document).published_version == 1
    sink.finish(lease, manifest)
    after = fresh(document)
    assert (after.published_version, shown(document)) == (2, ("SEARCHABLE", 2))
    pending.refresh_from_db()
    assert pending.published_at == after.published_at


def test_publish_when_ready_of_a_first_version(world: World) -> None:
    document = world.upload()
    publishing.set_staleness(actor=world.editor, document_id=document.pk, revision=None, staleness="publish_when_ready")
    world.publish(document)
    assert fresh(document).published_version is None
    finish()
    assert fresh(document).published_version == 1


def test_a_version_that_waited_comes_into_force_although_the_policy_changed_meanwhile(world: World) -> None:
    """Else readers are served a version that the business says is not in force, for ever."""
    document = world.upload()
    second_version(world, document, staleness="publish_when_ready")
    publishing.set_staleness(actor=world.editor, document_id=document.pk, revision=None, staleness="serve_previous")
    finish()
    assert (fresh(document).published_version, shown(document)) == (2, ("SEARCHABLE", 2))


def test_a_finish_that_is_late_promotes_nothing_over_a_newer_version(world: World) -> None:
    document = world.upload()
    publishing.set_staleness(actor=world.editor, document_id=document.pk, revision=None, staleness="publish_when_ready")
    world.publish(document)
    old = claim()
    world.new_version(document, "second")
    world.publish(document)
    finish()
    assert fresh(document).published_version == 2
    manifest = stage(old, ["old"])
    with pytest.raises(Superseded):
        sink.finish(old, manifest)
    assert (fresh(document).published_version, shown(document)) == (2, ("SEARCHABLE", 2))


def test_only_the_serving_pipeline_promotes(world: World) -> None:
    document = world.upload()
    publishing.set_staleness(actor=world.editor, document_id=document.pk, revision=None, staleness="publish_when_ready")
    world.publish(document)
    world.tenant.pipelines.update(role=PipelineRole.BUILDING)
    finish()
    assert fresh(document).published_version is None


def test_an_unknown_policy_is_refused(world: World) -> None:
    document = world.upload()
    with pytest.raises(InvalidInput):
        publishing.set_staleness(actor=world.editor, document_id=document.pk, revision=None, staleness="sometimes")


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


def files() -> set[str]:
    root = Path(django_settings.MEDIA_ROOT)
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def keep_caches(world: World, text: str, document: Document) -> None:
    """What an attempt at this document leaves in the caches."""
    from indexing.blocks import ParsedDocument

    version = document.versions.get(number=1)
    parsed = ParsedDocument(media_type=version.media_type, text=text, blocks=())
    key = {"content_digest": version.content.sha256, "media_type": version.media_type}
    cache.keep_parsed(parsed, tenant_id=world.tenant.pk, **key)
    cache.keep_vectors(tenant_id=world.tenant.pk, fingerprint="f", vectors={text_digest(text): vector_of(text, 384)})


def test_purge_removes_what_is_the_documents_alone(world: World) -> None:
    mine, other = world.upload("same bytes"), world.upload("same bytes")
    alone = world.upload("only here")
    for document, texts in ((mine, ("shared", "private")), (other, ("shared",)), (alone, ("alone",))):
        world.publish(document)
        finish(texts)
        for text in texts:
            keep_caches(world, text, document)
    kept = other.versions.get(number=1).content
    for document in (mine, alone):
        publishing.delete_document(actor=world.editor, document_id=document.pk)
    assert publishing.purge_deleted(dry_run=True) == 2
    assert Chunk.objects.count() == 4, "a dry run only counts"
    assert publishing.purge_deleted() == 2
    assert set(Chunk.objects.values_list("text", flat=True)) == {"shared"}
    assert set(EmbeddingCache.objects.values_list("text_digest", flat=True)) == {text_digest("shared")}
    assert set(ParseCache.objects.values_list("content_digest", flat=True)) == {kept.sha256}
    assert (files(), set(StoredContent.objects.values_list("key", flat=True))) == ({kept.key}, {kept.key})
    assert set(DocumentVersion.objects.values_list("document", flat=True)) == {other.pk}
    assert fresh(mine).title == "(deleted)"
    assert AuditEvent.objects.filter(document_id=mine.pk).count() == 3
    assert publishing.purge_deleted() == 0
    assert (shown(mine), shown(other)) == (("DELETED", None), ("SEARCHABLE", 1))


def test_purge_waits_for_a_running_worker_and_not_for_a_dead_one(world: World) -> None:
    document = world.upload()
    world.publish(document)
    lease = claim()
    stage(lease, ["one"])
    publishing.delete_document(actor=world.editor, document_id=document.pk)
    assert publishing.purge_deleted() == 0
    assert Chunk.objects.count() == 1
    expire(lease.task_id)
    assert publishing.purge_deleted() == 1
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
        patch.setattr("documents.content.drop_abandoned", die)
        with pytest.raises(SystemExit):
            publishing.purge_deleted()
    assert len(files()) == 1
    StoredContent.objects.update(created_at=timezone.now() - timedelta(days=2))
    assert content.sweep_staged() == 1
    assert (files(), StoredContent.objects.count()) == (set(), 0)


# Uploads


@pytest.mark.parametrize(
    ("data", "name", "title", "error"),
    [
        (b"", "a.md", "t", InvalidInput),
        (b"x" * 2000, "a.md", "t", FileTooLarge),
        (b"x", "a.exe", "t", UnsupportedMediaType),
        (b"x", "a", "t", UnsupportedMediaType),
        (b"%PDF-1.7 x", "a.md", "t", UnsupportedMediaType),
        (b"text", "a.pdf", "t", UnsupportedMediaType),
        (b"\x00\x01\x02" * 99, "a.txt", "t", UnsupportedMediaType),
        (b"x", "../", "t", InvalidInput),
        (b"x", "", "t", InvalidInput),
        (b"x", "a.md", " \0\n", InvalidInput),
        (b"x", "a.md", "t" * 301, InvalidInput),
    ],
)
def test_a_refused_upload_keeps_nothing(
    world: World, settings: Any, data: bytes, name: str, title: str, error: type[Exception]
) -> None:
    settings.KB_MAX_UPLOAD_BYTES = 1000
    with pytest.raises(error) as refused:
        uploading.create_document(actor=world.editor, tenant=world.tenant.slug, title=title, data=data, file_name=name)
    assert str(refused.value).endswith("."), "a sentence for a person"
    assert (files(), StoredContent.objects.count(), Document.objects.count()) == (set(), 0, 0)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd.md", "passwd.md"),
        ("C:\\temp\\差旅.md", "差旅.md"),
        ("a\x00b\ud800\u202e.md", "ab.md"),
        ("x" * 300 + ".md", "x" * 252 + ".md"),
        ("e\u0301.md", "é.md"),
    ],
)
def test_names_are_kept_without_what_could_harm(world: World, given: str, kept: str) -> None:
    document = world.upload(name=given)
    assert document.versions.get().file_name == kept
    (path,) = files()
    assert path.startswith(f"tenant-{world.tenant.pk}/"), "storage keys are generated"
    assert "md" not in path


def test_an_upload_to_a_foreign_tenant_is_refused(world: World) -> None:
    other = make_world()
    world.member("reader")
    for actor, slug, error in (
        (other.editor, world.tenant.slug, NotFound),
        (world.editor, "nowhere", NotFound),
        (world.editor, "\0", NotFound),
        (User.objects.get(username="reader"), world.tenant.slug, NotAllowed),
    ):
        with pytest.raises(error):
            uploading.create_document(actor=actor, tenant=slug, title="t", data=b"x", file_name="a.md")
    assert files() == set()


def test_a_storage_that_fails_leaves_no_document(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FileSystemStorage, "save", full)
    with pytest.raises(StorageFailed):
        world.upload()
    assert not Document.objects.exists()
    assert StoredContent.objects.get().state == "staged", "the sweep finds it"


def test_the_sweep_takes_what_was_never_confirmed_after_the_grace(world: World) -> None:
    document = world.upload()
    for _ in range(2):
        uploading.stage_next(actor=world.editor, document_id=document.pk, revision=None, data=b"x", file_name="a.md")
    orphan, young = StoredContent.objects.filter(state="staged").order_by("id")
    StoredContent.objects.exclude(pk=young.pk).update(created_at=timezone.now() - timedelta(days=2))
    assert content.sweep_staged(dry_run=True) == 1
    assert len(files()) == 3
    assert content.sweep_staged() == 1
    assert set(StoredContent.objects.values_list("pk", flat=True)) == {young.pk, document.versions.get().content_id}
    assert orphan.key not in files()
    assert len(files()) == 2


def test_a_file_that_cannot_be_removed_does_not_stop_the_sweep(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    document = world.upload()
    for _ in range(2):
        uploading.stage_next(actor=world.editor, document_id=document.pk, revision=None, data=b"x", file_name="a.md")
    StoredContent.objects.update(created_at=timezone.now() - timedelta(days=2))
    stuck = StoredContent.objects.filter(state="staged").order_by("created_at", "id")[0].key
    remove = FileSystemStorage.delete

    def delete(storage: FileSystemStorage, key: str) -> None:
        if key == stuck:
            raise PermissionError
        remove(storage, key)

    monkeypatch.setattr(FileSystemStorage, "delete", delete)
    assert content.sweep_staged() == 1
    assert list(StoredContent.objects.filter(state="staged").values_list("key", flat=True)) == [stuck]


def test_an_upload_that_was_swept_meanwhile_makes_no_version(world: World) -> None:
    document = world.upload()
    upload = uploading.stage_next(
        actor=world.editor, document_id=document.pk, revision=None, data=b"x", file_name="a.md"
    )
    StoredContent.objects.filter(pk=upload.stored.pk).update(created_at=timezone.now() - timedelta(days=2))
    content.sweep_staged()
    with pytest.raises(StorageFailed):
        uploading.add_from(actor=world.editor, document_id=document.pk, revision=None, upload=upload)
    assert fresh(document).latest_version == 1


def test_bytes_that_changed_in_storage_are_not_indexed(world: World) -> None:
    stored = world.upload().versions.get().content
    Path(default_storage.path(stored.key)).write_bytes(b"other")
    with pytest.raises(StorageFailed):
        content.read(stored)
    default_storage.delete(stored.key)
    with pytest.raises(StorageFailed):
        content.read(stored)


# Tenants and their caches


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_a_tenant_gets_the_pipeline_that_the_settings_describe() -> None:
    """Not the newest one: that may be of a model that was tried once."""
    described = make_world().tenant.pipelines.get().pipeline_id
    other = Pipeline.objects.using("owner").get(pk=described)
    other.pk, other.digest = described + 1, "0" * 64
    other.save(using="owner", force_insert=True)
    assert make_world().tenant.pipelines.get().pipeline_id == described


def test_a_tenant_without_any_pipeline_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pipeline, "objects", Pipeline.objects.none())
    with pytest.raises(Conflict):
        tenants.create_tenant(slug="x", name="X")


def test_caches_are_kept_apart_by_tenant(world: World) -> None:
    """Identical text in another tenant is neither reused nor revealed."""
    other = make_world()
    document = world.upload("same bytes")
    keep_caches(world, "same text", document)
    version = document.versions.get()
    key: dict[str, Any] = {"content_digest": version.content.sha256, "media_type": version.media_type}
    assert cache.find_parsed(tenant_id=world.tenant.pk, **key) is not None
    assert cache.find_parsed(tenant_id=other.tenant.pk, **key) is None
    digests = [text_digest("same text")]
    assert cache.find_vectors(tenant_id=world.tenant.pk, fingerprint="f", digests=digests)
    assert not cache.find_vectors(tenant_id=other.tenant.pk, fingerprint="f", digests=digests)
    assert not cache.find_vectors(tenant_id=world.tenant.pk, fingerprint="g", digests=digests), "nor by another model"


def test_purging_leaves_another_tenants_caches(world: World) -> None:
    other = make_world()
    mine, theirs = world.upload("same bytes"), other.upload("same bytes")
    for place, document in ((world, mine), (other, theirs)):
        place.publish(document)
        finish(("same text",))
        keep_caches(place, "same text", document)
    publishing.delete_document(actor=world.editor, document_id=mine.pk)
    assert publishing.purge_deleted() == 1
    for model in (EmbeddingCache, ParseCache, Chunk):
        assert set(model.objects.values_list("tenant", flat=True)) == {other.tenant.pk}


def test_a_member_has_one_role_and_a_group_is_made_once(world: World) -> None:
    user = world.member("ann", role="reader", groups=("staff",))
    world.member("ann", role="operator", groups=("staff",))
    assert world.membership(user).role == "operator"
    assert world.tenant.reader_groups.count() == 1
