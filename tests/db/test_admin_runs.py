"""Bulk runs in the admin: how far each is, and what became of each document."""

from __future__ import annotations

from typing import Any

import pytest

from documents import publishing
from indexing import recompute
from tests.db.office import Office, words
from tests.db.staging import claim, finished
from tests.db.test_recompute import claim_bulk, serving

pytestmark = pytest.mark.django_db

RUNS = "admin:indexing_recomputerun_changelist"
ITEMS = "admin:indexing_recomputeitem_changelist"


@pytest.fixture
def office() -> Office:
    return Office()


def raced(office: Office, *, tenant: bool = True) -> Any:
    """A run with a document that was overtaken by a newer version, a deleted one, an applied one and one that waits."""
    world = office.world
    made = {}
    for title in ("Overtaken", "Gone", "Applied", "Waiting"):
        made[title] = world.upload(title=title)
        world.publish(made[title])
        finished(claim())
    run = recompute.start(
        actor_id=office.people["operator"].pk,
        pipeline_id=serving(world).pk,
        tenant_id=world.tenant.pk if tenant else None,
        rebuild=True,
    )
    world.new_version(made["Overtaken"], "# New\n\nwords")
    world.publish(made["Overtaken"])
    publishing.delete_document(actor=world.editor, document_id=made["Gone"].pk)
    while (lease := claim_bulk()) is not None:
        if lease.document_id == made["Applied"].pk:
            finished(lease)
            break
    return run


def test_a_run_tells_how_far_it_is(office: Office) -> None:
    run = raced(office)
    shown = words(office.get("operator", RUNS))
    for expected in (
        str(run.pk),
        "Running",
        "olga",
        "Applied: 1",
        "Skipped: newer version: 1",
        "Deleted or withdrawn: 1",
    ):
        assert expected in shown
    assert "3 of 4 documents" in shown or "2 of 4 documents" in shown or "1 of 4" in shown


def test_what_was_overtaken_is_listed(office: Office) -> None:
    run = raced(office)
    recompute.refresh(run)
    shown = words(office.get("operator", ITEMS, run=run.pk, outcome="skipped_newer"))
    assert "Overtaken v1" in shown
    assert "Skipped: newer version" in shown
    assert "Applied v1" not in shown
    assert "Gone" not in shown
    assert "Applied v1" in words(office.get("operator", ITEMS, run=run.pk, outcome="applied"))


@pytest.mark.parametrize("who", ["outsider", "reader"])
def test_it_is_shown_to_overseers_alone(office: Office, who: str) -> None:
    raced(office)
    assert office.get(who, RUNS).status_code in (302, 403)
    assert office.get(who, ITEMS).status_code in (302, 403)


def test_another_tenant_and_runs_of_all_tenants_are_not_shown(office: Office) -> None:
    run = raced(office, tenant=False)
    recompute.refresh(run)
    assert "0 bulk runs" in words(office.get("operator", RUNS))
    assert "olga" in words(office.get("superuser", RUNS))
    assert "Overtaken" not in words(office.get("other_editor", ITEMS, run=run.pk))
    assert "Overtaken v1" in words(office.get("editor", ITEMS, run=run.pk))


@pytest.mark.parametrize("number", ["0", "x", "9" * 30, ""])
def test_odd_numbers_do_no_harm(office: Office, number: str) -> None:
    assert office.get("operator", ITEMS, run=number).status_code == 200
