"""Who is named as a reader of a version, and what changes when."""

from __future__ import annotations

import pytest

from documents import publishing
from documents.errors import (
    NothingPublished,
    ReadersRequired,
    UnknownReader,
)
from documents.models import AuditEvent, ReadRule
from documents.readers import Reader, readers_of
from indexing import queue, sink
from indexing.backoff import Verdict
from indexing.errors import AccessRevoked
from indexing.states import TaskState
from tests.db.looking import finish, found, fresh, shown
from tests.db.staging import claim, stage
from tests.factories import EVERYONE, World, make_world

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.usefixtures("by_words_alone")]


def test_readers_keep_none_or_nobody(world: World) -> None:
    """None keeps those of the version published before; an empty list is nobody; without any before it must be said."""
    world.member("ann", groups=("staff",))
    document = world.upload()
    with pytest.raises(ReadersRequired):
        world.publish(document, readers=None)
    document.refresh_from_db()
    assert (document.revision, document.requested_version) == (1, None)
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
