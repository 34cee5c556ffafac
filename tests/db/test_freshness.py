"""A document's freshness contract: how long readers go without the version asked for, and what happens then."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import IntegrityError, connections, transaction

from documents import catalog, publishing
from documents.errors import BeingUpdated, InvalidInput, NotFound
from documents.models import AuditEvent, Document, Publication, StalenessAlert
from documents.readers import Reader
from indexing import freshness, lifecycle, passages
from indexing.models import Pipeline, TenantPipeline, TermStatistic
from indexing.search import search
from indexing.states import PipelineRole
from tests.concurrency.conftest import without_triggers
from tests.db.api import Caller, at
from tests.db.looking import finish, found, fresh, kill, second_version, shown
from tests.db.office import Office, words
from tests.db.staging import claim, finished
from tests.factories import World, make_world

pytestmark = [
    pytest.mark.django_db(transaction=True, databases=["default", "owner"]),
    pytest.mark.usefixtures("by_words_alone"),
]

HOUR = 3600
LIST = "admin:documents_document_changelist"


@pytest.fixture
def world() -> World:
    return make_world()


def time_goes_by(document: Document, *, seconds: float) -> None:
    """What was asked for until now was asked for that much earlier."""
    with without_triggers("publication.publication_guard"), connections["owner"].cursor() as cursor:
        cursor.execute(
            "UPDATE publication SET requested_at = requested_at - %(age)s * interval '1 second', "
            "published_at = published_at - %(age)s * interval '1 second' WHERE document_id = %(document)s",
            {"age": seconds, "document": document.pk},
        )


def allow(world: World, document: Document, seconds: int | None, *, then: str = "alert", **policy: str) -> None:
    policy = {"staleness": "serve_previous", **policy}
    command = {"actor": world.editor, "document_id": document.pk, "revision": None}
    publishing.set_staleness(**command, max_seconds=seconds, past_maximum=then, **policy)


def notices(world: World, query: str = "limit", *, user: Any = None) -> list[str]:
    answer = search(user=user or world.editor, tenant=world.tenant.slug, query=query)
    return [notice.message for notice in answer.notices if notice.code == "being_updated"]


def behind(document: Document) -> Any:
    from documents.ports import search_index

    return search_index().annotate_state(Document.objects.filter(pk=document.pk)).get()


# A longest staleness


def test_it_counts_from_the_first_version_that_readers_have_not_got(world: World) -> None:
    """Else a document that is changed every hour would never be stale."""
    document = world.upload()
    second_version(world, document)
    time_goes_by(document, seconds=500)
    world.new_version(document, "third")
    world.publish(document)
    assert behind(document).staleness_seconds == pytest.approx(500, abs=60)
    (hit,) = search(user=world.editor, tenant=world.tenant.slug, query="limit").hits
    assert hit.freshness["secondsBehind"] == pytest.approx(500, abs=60)
    finish()
    assert behind(document).staleness_seconds is None


def test_a_document_has_the_sites_maximum_until_it_has_its_own(world: World, settings: Any) -> None:
    document = world.upload()
    second_version(world, document)
    time_goes_by(document, seconds=100)
    settings.KB_MAX_STALENESS_SECONDS = 50
    assert behind(document).is_too_stale
    settings.KB_MAX_STALENESS_SECONDS = 0
    assert not behind(document).is_too_stale, "0: without an end"
    allow(world, document, 50)
    assert behind(document).is_too_stale
    allow(world, document, HOUR)
    assert not behind(document).is_too_stale


@pytest.mark.parametrize("seconds", [0, -1, 366 * 86400])
def test_a_maximum_has_its_range(world: World, seconds: int) -> None:
    document = world.upload()
    with pytest.raises(InvalidInput):
        allow(world, document, seconds)
    with pytest.raises(InvalidInput):
        allow(world, document, None, then="withhold")
    with pytest.raises(InvalidInput):
        allow(world, document, 60, then="delete")
    with pytest.raises(IntegrityError), connections["default"].cursor() as cursor:
        cursor.execute("UPDATE document SET past_maximum = 'withhold' WHERE id = %s", [document.pk])


# Past it


def test_text_too_stale_is_withheld_by_the_query_itself(world: World) -> None:
    """Without anybody who looks: from the moment on that the document names, by the database's clock."""
    document = world.upload()
    second_version(world, document)
    allow(world, document, HOUR, then="withhold")
    assert (found(world), notices(world)) == ([1], [])
    time_goes_by(document, seconds=HOUR + 1)
    assert (found(world), shown(document)) == ([], ("INDEXING", None))
    assert len(notices(world)) == 1
    finish()
    assert (found(world), notices(world)) == ([2], [])


def test_an_alert_alone_takes_nothing_from_readers(world: World) -> None:
    document = world.upload()
    second_version(world, document)
    allow(world, document, 1)
    time_goes_by(document, seconds=HOUR)
    assert found(world) == [1]
    assert behind(document).is_too_stale


def test_a_publish_does_not_extend_it(world: World) -> None:
    document = world.upload()
    second_version(world, document)
    allow(world, document, HOUR, then="withhold")
    time_goes_by(document, seconds=HOUR + 1)
    world.new_version(document, "third")
    world.publish(document)
    assert found(world) == []


def test_a_longer_maximum_holds_at_once(world: World) -> None:
    document = world.upload()
    second_version(world, document)
    allow(world, document, HOUR, then="withhold")
    time_goes_by(document, seconds=HOUR + 1)
    assert found(world) == []
    allow(world, document, 2 * HOUR, then="withhold")
    assert found(world) == [1]
    allow(world, document, HOUR, then="withhold", staleness="withhold")
    assert found(world) == [], "another policy does not bring it back"


def test_text_in_force_is_never_too_stale_to_be_shown(world: World) -> None:
    """Under `publish_when_ready` the older version holds until the newer one is searchable."""
    document = world.upload()
    second_version(world, document, staleness="publish_when_ready")
    allow(world, document, HOUR, then="withhold", staleness="publish_when_ready")
    time_goes_by(document, seconds=HOUR + 1)
    assert (found(world), notices(world)) == ([1], [])
    assert behind(document).is_too_stale, "its editors are told all the same"


def test_what_is_not_shown_is_not_counted(world: World) -> None:
    """How rare a word is would tell of text that nobody may see."""
    document = world.upload()
    second_version(world, document)
    allow(world, document, HOUR, then="withhold")
    call_command("refresh_term_statistics", stdout=StringIO())
    counted = TermStatistic.objects.filter(tenant=world.tenant.pk, term="limit")
    assert counted.get().chunks == 1
    time_goes_by(document, seconds=HOUR + 1)
    call_command("refresh_term_statistics", stdout=StringIO())
    assert not counted.exists()


# Notices


@pytest.fixture
def held(world: World) -> Document:
    """Version 1 was for ann and ben, version 2 is for ann and cid, and nothing is shown meanwhile."""
    for name in ("ann", "ben", "cid", "dan"):
        world.member(name)
    document = world.upload(title="Prices")
    world.publish(document, readers=(Reader("user", "ann"), Reader("user", "ben")))
    finish()
    allow(world, document, None, staleness="withhold")
    world.new_version(document, "second")
    world.publish(document, readers=(Reader("user", "ann"), Reader("user", "cid")))
    return document


def test_the_notice_stays_as_long_as_the_text_is_held_back(world: World, held: Document) -> None:
    """Whatever the policy is by now: nothing is found, so silence would be a lie."""
    ann = world.member("ann")
    for policy in Document.Staleness:
        allow(world, held, None, staleness=policy)
        assert (found(world, ann), len(notices(world, user=ann))) == ([], 1), policy


def test_who_reads_only_one_of_both_is_told_nothing(world: World, held: Document) -> None:
    for name in ("ben", "cid", "dan"):
        member = world.member(name)
        assert notices(world, user=member) == []
        for version in (1, 2, 3):
            with pytest.raises(NotFound):
                passages.find(user=member, document_id=held.pk, version_number=version, span=(0, 5))
            with pytest.raises(NotFound):
                catalog.original(actor=member, document_id=held.pk, version_number=version)


def test_a_citation_and_a_download_tell_that_it_is_being_updated(world: World, held: Document) -> None:
    ann = world.member("ann")
    for version in (1, 2):
        passage = passages.find(user=ann, document_id=held.pk, version_number=version, span=(0, 5))
        assert passage.is_withheld
        assert (passage.pieces, passage.locator, passage.heading_path) == ((), None, ())
        with pytest.raises(BeingUpdated):
            catalog.original(actor=ann, document_id=held.pk, version_number=version)
    with pytest.raises(NotFound):
        passages.find(user=ann, document_id=held.pk, version_number=3, span=(0, 5))
    with pytest.raises(NotFound):
        catalog.original(actor=ann, document_id=held.pk, version_number=3)
    assert catalog.original(actor=world.editor, document_id=held.pk, version_number=1).number == 1
    finish()
    assert passages.find(user=ann, document_id=held.pk, version_number=2, span=(0, 5)).is_current


def test_a_first_publish_withholds_nothing(world: World) -> None:
    document = world.upload()
    allow(world, document, 1, staleness="withhold")
    world.publish(document)
    time_goes_by(document, seconds=HOUR)
    assert notices(world) == []
    assert freshness.check().raised == ()
    with pytest.raises(NotFound):
        passages.find(user=world.editor, document_id=document.pk, version_number=1, span=(0, 5))


# Alerts


def test_a_staleness_is_told_once_and_so_is_its_end(world: World, caplog: pytest.LogCaptureFixture) -> None:
    document = world.upload()
    second_version(world, document)
    assert freshness.check().raised == ()
    time_goes_by(document, seconds=HOUR + 1)
    with caplog.at_level(logging.WARNING, logger="indexing.freshness"):
        first, second = freshness.check(), freshness.check()
    (raised,) = first.raised
    assert (raised.document_id, raised.version_number, raised.max_seconds) == (document.pk, 2, HOUR)
    assert (second.raised, second.too_stale) == ((), first.too_stale)
    finish()
    (ended,) = freshness.check().ended
    assert ended.ended_by == "searchable"
    assert freshness.check().ended == ()
    assert [record.levelname for record in caplog.records].count("ERROR") == 1
    events = AuditEvent.objects.filter(document_id=document.pk, action__in=["too_stale", "fresh_again"])
    assert [event.action for event in events] == ["fresh_again", "too_stale"]


@pytest.mark.parametrize("how", ["withdrawn", "deleted", "changed"])
def test_a_staleness_ends_by_what_people_do(world: World, how: str) -> None:
    document = world.upload()
    second_version(world, document, staleness="withhold")
    time_goes_by(document, seconds=HOUR + 1)
    assert len(freshness.check().raised) == 1, "withheld is no less late"
    command = {"actor": world.editor, "document_id": document.pk, "revision": None}
    if how == "withdrawn":
        publishing.withdraw_document(**command)
    elif how == "deleted":
        publishing.delete_document(**command)
    else:
        allow(world, document, 2 * HOUR)
    (ended,) = freshness.check().ended
    assert ended.ended_by == how
    assert not StalenessAlert.objects.exists()
    checked = freshness.check()
    assert (checked.raised, checked.ended) == ((), ()), "no flapping"


def test_nobody_waits_for_what_nobody_may_read(world: World) -> None:
    document = world.upload()
    second_version(world, document)
    time_goes_by(document, seconds=HOUR + 1)
    freshness.check()
    command = {"actor": world.editor, "document_id": document.pk, "revision": None}
    publishing.set_readers(**command, readers=[])
    assert [one.ended_by for one in freshness.check().ended] == ["changed"]
    assert (behind(document).behind_seconds, behind(document).is_too_stale) == (None, False)


def test_another_staleness_is_another_alert(world: World) -> None:
    document = world.upload()
    second_version(world, document)
    time_goes_by(document, seconds=HOUR + 1)
    freshness.check()
    finish()
    world.new_version(document, "third")
    world.publish(document)
    time_goes_by(document, seconds=HOUR + 1)
    assert [one.ended_by for one in freshness.check().ended] == ["searchable"]
    assert [one.version_number for one in freshness.check().raised] == [3]


def test_the_command_says_what_is_too_stale(world: World) -> None:
    document = world.upload()
    second_version(world, document)

    def run(*arguments: str) -> tuple[int, Any]:
        out = StringIO()
        try:
            call_command("check_freshness", "--format", "json", *arguments, stdout=out)
        except CommandError as error:
            return error.returncode, json.loads(out.getvalue())
        return 0, json.loads(out.getvalue())

    assert run() == (0, {"tooStale": [], "raised": [], "ended": []})
    time_goes_by(document, seconds=HOUR + 1)
    code, answer = run("--only-new")
    assert (code, answer["raised"]) == (3, [str(document.pk)])
    assert answer["tooStale"][0]["secondsBehind"] == pytest.approx(HOUR, abs=60)
    assert run("--only-new")[0] == 0
    assert run()[0] == 3
    finish()
    assert run() == (
        0,
        {"tooStale": [], "raised": [], "ended": [{"documentId": str(document.pk), "endedBy": "searchable"}]},
    )


def test_the_admin_shows_what_is_too_stale() -> None:
    office = Office()
    document = office.world.upload()
    office.world.publish(document)
    finish()
    office.world.new_version(document, "# Two\n\nText")
    office.world.publish(document)
    assert "Too stale:" not in words(office.page("editor", document))
    assert f"{document.pk}" not in office.get("editor", LIST, freshness="too_stale").content.decode()
    publishing.set_staleness(
        actor=office.world.editor, document_id=document.pk, revision=None, staleness="serve_previous", max_seconds=7200
    )
    time_goes_by(document, seconds=3 * 3600)
    for page in (office.page("editor", document), office.get("editor", LIST, freshness="too_stale")):
        assert "Too stale: readers have been waiting for v2 for 3 hours, and 2 hours is allowed." in words(
            page
        ).replace("\xa0", " ")
    freshness.check()
    assert "the system found that readers were waiting for v2" in words(office.page("editor", document))
    published_again = office.world.new_version(document, "# Three\n\nText")
    office.send("editor", document, "staleness", staleness="withhold")
    office.world.publish(document, version=published_again)
    assert "readers are told that the document is being updated, and v1 is not shown" in words(
        office.page("editor", document)
    )


# In force when it is searchable


def switch(world: World, pipeline: Pipeline) -> None:
    """To a pipeline that is whole, without its gate and vector index."""
    own = TenantPipeline.objects.filter(tenant=world.tenant)
    with without_triggers("tenant_pipeline.tenant_pipeline_guard"), transaction.atomic():
        own.filter(role=PipelineRole.SERVING).update(role=PipelineRole.STANDBY)
        own.filter(pipeline=pipeline).update(role=PipelineRole.SERVING)


@pytest.fixture
def building(world: World) -> Pipeline:
    first = world.tenant.pipelines.get().pipeline
    made = Pipeline.objects.create(
        id=first.pk + 50, name="next", digest="e" * 64, config=first.config, dimensions=first.dimensions
    )
    lifecycle.begin(actor=None, tenant_id=world.tenant.pk, pipeline_id=made.pk)
    return made


def finish_under(pipeline: Pipeline, *, others: Callable[[Any], object] = lambda lease: None) -> None:
    while (lease := claim()).pipeline_id != pipeline.pk:
        others(lease)
    finished(lease, ["the limit"])


def test_a_version_that_another_pipeline_made_searchable_comes_into_force_with_its_switch(
    world: World, building: Pipeline
) -> None:
    document = world.upload()
    allow(world, document, None, staleness="publish_when_ready")
    world.publish(document)
    finish_under(building)
    assert fresh(document).published_version is None, "it does not serve"
    assert publishing.promote_searchable(tenant_id=world.tenant.pk) == 0
    switch(world, building)
    assert publishing.promote_searchable(tenant_id=world.tenant.pk) == 1
    after = fresh(document)
    assert (after.published_version, after.is_behind) == (1, False)
    assert Publication.objects.get(document=document).published_at == after.published_at
    assert publishing.promote_searchable(tenant_id=world.tenant.pk) == 0, "once is enough"


@pytest.mark.parametrize("command", [publishing.withdraw_document, publishing.delete_document])
def test_what_is_gone_does_not_come_into_force(world: World, building: Pipeline, command: Any) -> None:
    document = world.upload()
    allow(world, document, None, staleness="publish_when_ready")
    world.publish(document)
    finish_under(building)
    command(actor=world.editor, document_id=document.pk, revision=None)
    switch(world, building)
    assert publishing.promote_searchable(tenant_id=world.tenant.pk) == 0
    assert fresh(document).published_version is None


def test_many_come_into_force_some_at_a_time(world: World, building: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "PROMOTED_AT_ONCE", 2)
    documents = [world.upload() for _ in range(5)]
    for document in documents:
        allow(world, document, None, staleness="publish_when_ready")
        world.publish(document)
        finish_under(building)
    switch(world, building)
    assert publishing.promote_searchable(tenant_id=world.tenant.pk) == 5
    assert {fresh(document).published_version for document in documents} == {1}


def test_a_failed_index_leaves_the_version_before_in_force(world: World) -> None:
    document = world.upload()
    second_version(world, document, staleness="publish_when_ready")
    kill(claim())
    state = behind(document)
    assert (state.index_state, state.published_version, state.searchable_version) == ("FAILED", 1, 1)
    assert found(world) == [1]


def test_a_version_superseded_while_it_waits_never_comes_into_force(world: World) -> None:
    document = world.upload()
    second_version(world, document, staleness="publish_when_ready")
    world.new_version(document, "third")
    world.publish(document)
    finish()
    assert fresh(document).published_version == 3
    assert Publication.objects.get(document=document, version_number=2).published_at is None


# The API


def test_integrators_choose_it(world: World) -> None:
    document = world.upload()
    editor, reader = Caller(world.editor), Caller(world.member("rita"))
    body = {"policy": "serve_previous", "maxStalenessSeconds": 90, "pastMaximum": "withhold"}
    assert editor.call("PUT", at(document, "freshness"), body).code == "invalid", "without a revision"
    answer = editor.call("PUT", at(document, "freshness"), body, if_match='"1"')
    assert (answer.status, answer.headers["ETag"]) == (200, '"2"')
    chosen = {**body, "secondsBehind": None, "isTooStale": False}
    assert answer.json["freshness"] == editor.get(at(document)).json["freshness"] == chosen
    assert editor.call("PUT", at(document, "freshness"), {**body, "revision": 1}).code == "stale_revision"
    for wrong in ({"policy": "sometimes"}, {**body, "maxStalenessSeconds": None}, {**body, "maxStalenessSeconds": 0}):
        assert editor.call("PUT", at(document, "freshness"), {**wrong, "revision": 2}).status == 400
    world.publish(document)
    assert reader.call("PUT", at(document, "freshness"), {**body, "revision": 3}).status == 403
    assert reader.get(at(document)).json["freshness"] is None, "how it is kept is its editors' to know"
    answer = editor.call("PUT", at(document, "freshness"), {"policy": "withhold", "revision": 3})
    assert (answer.json["freshness"]["maxStalenessSeconds"], answer.json["freshness"]["pastMaximum"]) == (None, "alert")


def test_a_publish_says_whether_it_is_in_force(world: World) -> None:
    document = world.upload()
    second_version(world, document, staleness="publish_when_ready")
    editor = Caller(world.editor)
    revision = fresh(document).revision
    waits = editor.post(at(document, "publish"), {"revision": revision}).json
    assert (waits["inForce"], waits["publishedVersion"], waits["versionNumber"]) == (False, 1, 2)
    finish()
    again = editor.post(at(document, "publish"), {"revision": revision + 1}).json
    assert (again["inForce"], again["publishedVersion"], again["indexState"]) == (True, 2, "SEARCHABLE")


def test_who_is_waiting_is_told_over_the_api(world: World, held: Document) -> None:
    ann, ben = Caller(world.member("ann")), Caller(world.member("ben"))
    answer = ann.get(at(held, "versions/1/content"))
    assert (answer.status, answer.code) == (409, "being_updated")
    assert ann.get(at(held)).json["notices"] == ["“Prices” is not shown until its new version is searchable."]
    assert ben.get(at(held, "versions/1/content")).status == ben.get(at(held)).status == 404
    found = ann.get(f"search?tenant={world.tenant.slug}&q=limit").json
    assert [notice["code"] for notice in found["notices"]] == ["words_only", "being_updated"]
    assert found["hits"] == []
