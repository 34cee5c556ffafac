"""What happens between the steps of a bulk run. Each race is shown to exist first, with its guard taken away."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.db import Error

from documents import publishing
from documents.models import Document
from indexing import recompute
from indexing.models import Pipeline, SearchPointer
from indexing.recompute_models import RecomputeItem, RecomputeRun
from tests.concurrency.leases import before_finish
from tests.concurrency.test_bulk_worker import outcomes, rounds
from tests.db.staging import claim, finished
from tests.factories import World
from tests.sessions import Session

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

Without = Callable[..., AbstractContextManager[None]]
LOCKED = "ORDER BY id FOR NO KEY UPDATE"


def served(world: World) -> Document:
    document = world.upload()
    world.publish(document)
    finished(claim())
    return document


def start(world: World) -> RecomputeRun:
    pipeline = Pipeline.objects.get(tenants__tenant=world.tenant, tenants__role="SERVING")
    return recompute.start(actor_id=None, pipeline_id=pipeline.pk, tenant_id=world.tenant.pk, rebuild=True)


def listed(document: Document) -> int:
    return RecomputeItem.objects.values_list("version_number", flat=True).get(document_id=document.pk)


def publishing_under_way(world: World, session: Session) -> Document:
    """Version 2 is asked for in a transaction that has not ended."""
    document = served(world)
    world.new_version(document, "# Travel\n\nThe limit is 300 yuan.")
    session.begin()
    session.run(lambda: world.publish(document))
    return document


def test_a_list_waits_for_a_publish_and_names_its_version(world: World) -> None:
    with Session() as editor, Session() as operator:
        document = publishing_under_way(world, editor)
        starting = operator.start(lambda: start(world))
        operator.wait_until_blocked()
        editor.commit()
        starting.result(timeout=30)
    assert listed(document) == 2


def test_without_the_lock_it_names_the_one_before(world: World, without: Without) -> None:
    with without("recompute", "lock_documents", LOCKED, "ORDER BY id"), Session() as editor:
        document = publishing_under_way(world, editor)
        start(world)
        editor.commit()
    assert listed(document) == 1


def removed_after_the_page(world: World, monkeypatch: pytest.MonkeyPatch) -> Document:
    """A document that is deleted and purged when its page was read and its order is about to be made."""
    document = served(world)
    pages = recompute.pages

    def delayed(**options: Any) -> Any:
        for page in pages(**options):
            publishing.delete_document(actor=world.editor, document_id=document.pk)
            assert purge() == 1
            yield page

    monkeypatch.setattr(recompute, "pages", delayed)
    return document


def purge() -> int:
    from documents.purging import purge_deleted

    return purge_deleted()


def test_what_was_purged_in_between_is_not_listed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    removed_after_the_page(world, monkeypatch)
    run = start(world)
    assert recompute.refresh(run).total == 0


def test_without_a_second_look_it_would_be_ordered(
    world: World, monkeypatch: pytest.MonkeyPatch, without: Without
) -> None:
    removed_after_the_page(world, monkeypatch)
    with without("recompute", "order", "AND d.deleted_at IS NULL AND d.withdrawn_at IS NULL"):  # noqa: SIM117
        with pytest.raises(Error, match="a task is for a version"):
            start(world)


def two_listers(world: World, second: Session) -> Any:
    """Two processes make the list of one run; the first has not committed its batch."""
    served(world)
    with Session() as first:
        run = first.run(lambda: _opened(world))
        first.begin()
        first.run(lambda: recompute.go_on(run))
        going_on = second.start(lambda: recompute.go_on(RecomputeRun.objects.get(pk=run.pk)))
        second.wait_until_blocked()
        first.commit()
        return going_on.result(timeout=30)


def _opened(world: World) -> RecomputeRun:
    pipeline = Pipeline.objects.get(tenants__tenant=world.tenant, tenants__role="SERVING")
    return recompute._open(
        actor_id=None, pipeline_id=pipeline.pk, tenant_id=world.tenant.pk, where=recompute.Where(), rebuild=True
    )


def test_two_processes_make_one_list(world: World) -> None:
    with Session() as second:
        run = two_listers(world, second)
    assert run.listed_at is not None
    assert RecomputeItem.objects.count() == 1


def test_a_newer_version_that_finishes_first_is_not_undone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    document = overtaken(world, monkeypatch)
    run = start(world)
    rounds()
    assert outcomes(run) == {document.pk: ("skipped_newer", "SUPERSEDED")}
    assert SearchPointer.objects.get(document=document).version_number == 2


def test_without_the_epoch_rule_it_would_be(world: World, monkeypatch: pytest.MonkeyPatch, without: Without) -> None:
    document = overtaken(world, monkeypatch)
    start(world)
    guard = " WHERE (search_pointer.version_number, search_pointer.generation) < (excluded.version_number, excluded.generation)"
    with without("sink", "switch", guard, triggers="search_pointer.search_pointer_guard"):
        rounds()
    assert SearchPointer.objects.get(document=document).version_number == 1


def overtaken(world: World, monkeypatch: pytest.MonkeyPatch) -> Document:
    """A document of which version 2 is published and finished when the bulk run is about to finish version 1."""
    document = served(world)
    done: list[int] = []

    def publish() -> None:
        if not done:
            done.append(1)
            world.new_version(document, "# Travel\n\nThe limit is 300 yuan.")
            world.publish(document)
            finished(claim("online"))

    before_finish(monkeypatch, publish)
    return document
