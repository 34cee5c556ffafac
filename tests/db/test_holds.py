"""Audit holds: placed and lifted by operators, told in the trail, stronger than every purge."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from documents import content, holds, publishing, purging
from documents.errors import Conflict, DocumentsError, InvalidInput, NotAllowed, NotFound
from documents.hold_models import Hold
from documents.models import AuditEvent, Document, DocumentVersion
from tests.db.refusals import sqlstate, taken_away
from tests.factories import World, make_world
from tests.sessions import Session

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


@pytest.fixture
def operator(world: World) -> User:
    return world.member(f"{world.tenant.slug}-operator", role="operator")


def deleted(world: World) -> Document:
    document = world.upload("held bytes")
    publishing.delete_document(actor=world.editor, document_id=document.pk)
    return document


def test_a_deleted_document_stays_invisible_and_its_bytes_stay_until_the_hold_is_lifted(
    world: World, operator: User
) -> None:
    document = deleted(world)
    version = document.versions.get()
    hold = holds.place_hold(actor=operator, document_id=document.pk, reason="A lawsuit")
    assert (purging.waiting().count(), purging.purge_deleted()) == (0, 0)
    assert content.read(version.content) == b"held bytes"
    assert not Document.objects.readable_by(world.editor).filter(pk=document.pk).exists()
    holds.lift_hold(actor=operator, hold_id=hold.pk)
    assert purging.purge_deleted() == 1
    assert not DocumentVersion.objects.filter(document=document).exists()
    with pytest.raises(Conflict):
        holds.place_hold(actor=operator, document_id=document.pk, reason="Too late")


def test_a_hold_on_one_version_of_several_and_a_second_one(world: World, operator: User) -> None:
    """The last one that is lifted lets go."""
    document = world.upload()
    world.new_version(document, "second")
    first = holds.place_hold(actor=operator, document_id=document.pk, version_number=1, reason="One")
    second = holds.place_hold(actor=operator, document_id=document.pk, reason="Two")
    publishing.delete_document(actor=world.editor, document_id=document.pk)
    for hold in (first, second):
        assert purging.purge_deleted() == 0
        holds.lift_hold(actor=operator, hold_id=hold.pk)
    assert purging.purge_deleted() == 1


def test_both_are_in_the_trail_with_the_reason(world: World, operator: User) -> None:
    document = world.upload()
    hold = holds.place_hold(actor=operator, document_id=document.pk, version_number=1, reason="  A\nlawsuit ")
    holds.lift_hold(actor=operator, hold_id=hold.pk)
    told = AuditEvent.objects.filter(document_id=document.pk, action__endswith="hold").order_by("id")
    assert [(event.action, event.actor_name, event.version_number, event.detail.get("reason")) for event in told] == [
        ("place_hold", operator.username, 1, "A lawsuit"),
        ("lift_hold", operator.username, 1, None),
    ]
    hold = Hold.objects.get(pk=hold.pk)
    assert (hold.lifted_by_name, hold.lifted_at is not None) == (operator.username, True)


def test_only_operators_of_the_tenant_hold(world: World, operator: User) -> None:
    document = world.upload()
    stranger, reader = make_world().member("other-operator", role="operator"), world.member("reader")
    refused: list[tuple[User, type[DocumentsError]]] = [
        (world.editor, NotAllowed),
        (stranger, NotFound),
        (reader, NotFound),
    ]
    hold = holds.place_hold(actor=operator, document_id=document.pk, reason="A lawsuit")
    for actor, error in refused:
        with pytest.raises(error):
            holds.place_hold(actor=actor, document_id=document.pk, reason="A lawsuit")
        with pytest.raises(error):
            holds.lift_hold(actor=actor, hold_id=hold.pk)
    assert list(holds.holds_of(actor=world.editor, document_id=document.pk)) == [hold]
    root = User.objects.create_superuser("root")
    holds.lift_hold(actor=root, hold_id=hold.pk)
    with pytest.raises(Conflict):
        holds.lift_hold(actor=root, hold_id=hold.pk)
    with pytest.raises(NotFound):
        holds.place_hold(actor=operator, document_id=document.pk, version_number=2, reason="There is none")


@pytest.mark.parametrize("reason", ["", " \n", "x" * 1001, "\x00"])
def test_a_hold_needs_a_reason(world: World, operator: User, reason: str) -> None:
    with pytest.raises(InvalidInput):
        holds.place_hold(actor=operator, document_id=world.upload().pk, reason=reason)


def test_a_hold_that_meets_a_purge_waits_and_is_told(world: World, operator: User) -> None:
    document = deleted(world)
    with Session() as purge, Session() as hold:
        purge.begin()
        purge.run(lambda: Document.objects.select_for_update(no_key=True).get(pk=document.pk))
        placing = hold.start(
            lambda: holds.place_hold(actor=operator, document_id=document.pk, reason="In the last moment")
        )
        hold.wait_until_blocked()
        purge.commit()
        placing.result(timeout=30)
    assert purging.purge_deleted() == 0


def test_a_purge_that_forgot_holds_is_refused_by_the_database(world: World, operator: User) -> None:
    document = deleted(world)
    holds.place_hold(actor=operator, document_id=document.pk, reason="A lawsuit")
    statement = f"DELETE FROM document_version WHERE document_id = '{document.pk}'"
    assert sqlstate(statement) == "KB060"
    with taken_away("document_version.document_version_held"):
        assert sqlstate(statement) is None
