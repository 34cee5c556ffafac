"""What a publish leaves behind, under every policy, and that a refused one leaves nothing."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User

from documents import catalog, publishing, uploading
from documents.errors import (
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    StaleRevision,
    VersionBehind,
)
from documents.models import AuditEvent, Publication, ReadRule, StoredContent
from documents.readers import Reader, readers_of
from indexing import port, queue, sink
from indexing.errors import Superseded
from indexing.models import IndexTask
from tests.db.looking import finish, found, fresh, kill, second_version, shown, task
from tests.db.staging import claim, finished, stage
from tests.factories import World, make_world

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.usefixtures("by_words_alone")]


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


def test_an_index_that_refuses_refuses_the_publish(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is ever published unindexed in silence."""
    document = world.upload()
    monkeypatch.setattr(port, "pipelines_to_fill", lambda tenant_id: [])
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


def test_a_version_that_waited_comes_into_force_by_another_policy(world: World) -> None:
    """Published again after the policy was changed, it is in force at once, and the history says since when."""
    document = world.upload()
    second_version(world, document, staleness="publish_when_ready")
    publishing.set_staleness(actor=world.editor, document_id=document.pk, revision=None, staleness="serve_previous")
    world.publish(document, version=2)
    asked = Publication.objects.get(version_number=2)
    assert (fresh(document).published_version, asked.published_at) == (2, fresh(document).published_at)
    finish()
    asked.refresh_from_db()
    assert asked.published_at == fresh(document).published_at


def test_readers_are_shown_the_title_in_force(world: World) -> None:
    """Not that of a version that waits until it is searchable."""
    reader = world.member("rita")
    document = world.upload(title="Travel")
    second_version(world, document, staleness="publish_when_ready")
    uploading.add_version(
        actor=world.editor, document_id=document.pk, revision=None, data=b"third", file_name="a.md", title="New"
    )
    world.publish(document, version=3)

    def title() -> str:
        return catalog.document_with_state(actor=reader, document_id=document.pk).shown_title  # type: ignore[attr-defined, no-any-return]

    assert title() == "Travel"
    finish()
    assert title() == "New"


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


def test_an_unknown_policy_is_refused(world: World) -> None:
    document = world.upload()
    with pytest.raises(InvalidInput):
        publishing.set_staleness(actor=world.editor, document_id=document.pk, revision=None, staleness="sometimes")
