"""Alerts and promotions beside commands of people: each guard first shown to be needed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.db import IntegrityError

from documents import publishing
from documents.models import AuditEvent, Document, StalenessAlert
from indexing import freshness
from indexing.models import Pipeline
from tests.db.looking import finish, fresh, second_version
from tests.db.test_freshness import HOUR, allow, building, finish_under, switch, time_goes_by
from tests.factories import World
from tests.sessions import Session

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

__all__ = ["building"]  # a fixture


@pytest.fixture
def late(world: World) -> Document:
    document = world.upload()
    second_version(world, document)
    time_goes_by(document, seconds=HOUR + 1)
    return document


def two_checks() -> tuple[Any, Any]:
    """The second begins while the first has not committed yet."""
    with Session() as first, Session() as second:
        first.begin()
        told = first.run(freshness.check)
        waiting = second.start(freshness.check)
        second.wait_until_blocked()
        first.commit()
        return told, waiting.result(timeout=30)


def test_two_checks_at_once_raise_one_alert(
    late: Document, without: Callable[..., AbstractContextManager[None]]
) -> None:
    with without("freshness", "check", "ON CONFLICT (document_id) DO NOTHING"), pytest.raises(IntegrityError):
        two_checks()
    StalenessAlert.objects.all().delete()
    first, second = two_checks()
    assert (len(first.raised), len(second.raised), len(second.too_stale)) == (1, 0, 1)


def test_two_checks_at_once_end_one_alert(late: Document) -> None:
    freshness.check()
    finish()
    first, second = two_checks()
    assert (len(first.ended), len(second.ended)) == (1, 0)
    assert AuditEvent.objects.filter(document_id=late.pk, action="fresh_again").count() == 1


@pytest.fixture
def searchable_elsewhere(world: World, building: Pipeline) -> Document:
    """Waits to come into force, and stands whole in the pipeline that serves by now."""
    document = world.upload()
    allow(world, document, None, staleness="publish_when_ready")
    world.publish(document)
    finish_under(building)
    switch(world, building)
    return document


def promoted_beside_a_withdrawal(world: World, document: Document) -> int:
    with Session() as editor, Session() as switching:
        editor.begin()
        command = {"actor": world.editor, "document_id": document.pk, "revision": None}
        editor.run(lambda: publishing.withdraw_document(**command))
        promoting = switching.start(lambda: publishing.promote_searchable(tenant_id=world.tenant.pk))
        switching.wait_until_blocked()
        editor.commit()
        promoted: int = promoting.result(timeout=30)
        return promoted


def test_what_is_withdrawn_meanwhile_does_not_come_into_force(
    world: World, searchable_elsewhere: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert promoted_beside_a_withdrawal(world, searchable_elsewhere) == 0
    assert fresh(searchable_elsewhere).published_version is None


def test_it_would_without_a_second_look_behind_the_lock(
    world: World, searchable_elsewhere: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = publishing._with_better_news
    first: list[Any] = []

    def looked_once(documents: Any) -> Any:
        if first:
            return first[0]
        first.append(list(look(documents)))
        return look(documents)

    monkeypatch.setattr(publishing, "_with_better_news", looked_once)
    assert promoted_beside_a_withdrawal(world, searchable_elsewhere) == 1
