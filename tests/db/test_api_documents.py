"""Every document call: what it answers, what it changes, and who may make it."""

from __future__ import annotations

import base64
import uuid
from dataclasses import dataclass

import pytest
from django.contrib.auth.models import User

from documents.models import AuditEvent, Document
from documents.readers import Reader, readers_of
from tests.db.api import TEXT, Caller, at
from tests.factories import World, make_world

pytestmark = pytest.mark.django_db


@dataclass
class Cast:
    """One tenant with somebody of every kind, and an editor of another tenant."""

    world: World
    editor: Caller
    operator: Caller
    reader: Caller
    outsider: Caller
    stranger: Caller


@pytest.fixture
def cast() -> Cast:
    world, other = make_world(), make_world()
    return Cast(
        world,
        editor=Caller(world.editor),
        operator=Caller(world.member("operator", role="operator")),
        reader=Caller(world.member("reader", groups=("staff",))),
        outsider=Caller(User.objects.create_user("outsider")),
        stranger=Caller(other.editor),
    )


def test_a_new_document(cast: Cast) -> None:
    answer = cast.editor.upload(title="  Travel  policy ", tenant=cast.world.tenant.slug, name="travel.md")
    document = Document.objects.get()
    assert answer.status == 201
    assert answer.json == {"documentId": str(document.pk), "versionNumber": 1, "revision": 1}
    assert answer.headers["Location"] == f"/api/v1/documents/{document.pk}"
    assert document.title == "Travel policy"


def test_who_may_create(cast: Cast) -> None:
    def attempt(caller: Caller) -> tuple[int, str]:
        answer = caller.upload(title="x", tenant=cast.world.tenant.slug)
        return answer.status, answer.code

    assert attempt(cast.reader) == (403, "not_allowed")
    assert attempt(cast.operator) == (403, "not_allowed")
    assert attempt(cast.outsider) == (404, "not_found")
    assert attempt(cast.stranger) == (404, "not_found")
    assert not Document.objects.exists()


def test_the_life_of_a_document(cast: Cast) -> None:
    document = cast.world.upload()
    published = cast.editor.post(at(document, "publish"), {"revision": 1, "readers": [{"type": "everyone"}]})
    task = published.json.pop("indexTaskId")
    assert published.status == 202
    assert published.headers["Location"] == f"/api/v1/index-tasks/{task}"
    assert int(published.headers["Retry-After"]) > 0
    assert published.json == {
        "documentId": str(document.pk),
        "versionNumber": 1,
        "revision": 2,
        "publishedVersion": 1,
        "inForce": True,
        "indexState": "INDEXING",
    }
    added = cast.editor.upload(at(document, "versions"), content="new text", revision=2, title="Travel 2026")
    assert (added.status, added.json["versionNumber"], added.json["revision"]) == (201, 2, 3)
    restored = cast.editor.post(at(document, "restore"), {"revision": 3, "versionNumber": 1})
    assert (restored.status, restored.json["versionNumber"], restored.json["revision"]) == (201, 3, 4)
    readers = cast.editor.put(at(document, "readers"), {"revision": 4, "readers": [{"type": "group", "name": "staff"}]})
    assert (readers.status, readers.json["revision"]) == (200, 5)
    assert readers_of(document=document, version_number=1) == [Reader("group", "staff")]
    withdrawn = cast.editor.post(at(document, "withdraw"), {"revision": 5})
    assert (withdrawn.status, withdrawn.json["indexState"], withdrawn.json["revision"]) == (200, "WITHDRAWN", 6)
    assert withdrawn.json["errorCode"] == "DOCUMENT_WITHDRAWN"
    deleted = cast.editor.delete(at(document), if_match='"6"')
    assert (deleted.status, deleted.content) == (204, b"")
    trail = AuditEvent.objects.order_by("id").values_list("action", flat=True)
    assert list(trail) == ["create", "publish", "add_version", "restore", "set_readers", "withdraw", "delete"]


def test_publish_keeps_the_readers_if_none_are_named_and_clears_them_if_the_list_is_empty(cast: Cast) -> None:
    document = cast.world.upload()
    cast.editor.post(at(document, "publish"), {"revision": 1, "readers": [{"type": "user", "name": "reader"}]})
    cast.editor.upload(at(document, "versions"), revision=2)
    assert cast.editor.post(at(document, "publish"), {"revision": 3}).json["versionNumber"] == 2
    assert readers_of(document=document, version_number=2) == [Reader("user", "reader")]
    assert cast.editor.post(at(document, "publish"), {"revision": 4, "readers": []}).status == 202
    assert readers_of(document=document, version_number=2) == []


def test_the_state_of_a_document(cast: Cast) -> None:
    document = cast.world.upload()
    empty = cast.editor.get(at(document))
    assert empty.json == {
        "documentId": str(document.pk),
        "title": "Travel",
        "revision": 1,
        "requestedVersion": None,
        "publishedVersion": None,
        "searchableVersion": None,
        "indexState": "UNPUBLISHED",
        "stalenessSeconds": None,
        "freshness": {
            "policy": "serve_previous",
            "maxStalenessSeconds": None,
            "pastMaximum": "alert",
            "secondsBehind": None,
            "isTooStale": False,
        },
        "errorCode": None,
        "errorMessage": None,
        "gaps": None,
        "notices": [],
        "readers": None,
    }
    assert empty.headers["ETag"] == '"1"'
    assert empty.headers["Cache-Control"] == "no-store"
    cast.world.publish(document)
    found = cast.reader.get(at(document)).json
    assert (found["requestedVersion"], found["publishedVersion"], found["indexState"]) == (1, 1, "INDEXING")


def test_a_reader_is_not_shown_the_title_of_a_draft(cast: Cast) -> None:
    document = cast.world.upload(title="Travel")
    cast.world.publish(document)
    cast.editor.upload(at(document, "versions"), revision=2, title="Travel is abolished")
    assert cast.reader.get(at(document)).json["title"] == "Travel"
    assert cast.editor.get(at(document)).json["title"] == "Travel is abolished"


def test_who_sees_the_state(cast: Cast) -> None:
    document = cast.world.upload()

    def seen() -> str:
        callers = (cast.editor, cast.operator, cast.reader, cast.outsider, cast.stranger)
        return " ".join(str(caller.get(at(document)).status) for caller in callers)

    assert seen() == "200 200 404 404 404"  # nobody reads a draft
    cast.world.publish(document, readers=())
    assert seen() == "200 200 404 404 404"
    cast.world.publish(document, readers=(Reader("group", "staff"),))
    assert seen() == "200 200 200 404 404"
    cast.editor.delete(at(document))
    assert seen() == "200 200 404 404 404"
    assert cast.operator.get(at(document)).json["indexState"] == "DELETED"


@pytest.mark.parametrize(
    ("method", "rest", "body"),
    [
        ("POST", "publish", {"revision": 2}),
        ("PUT", "readers", {"revision": 2, "readers": []}),
        ("POST", "restore", {"revision": 2, "versionNumber": 1}),
        ("POST", "withdraw", {"revision": 2}),
        ("DELETE", "", None),
        ("POST", "versions", None),
    ],
)
def test_only_editors_change_a_document(cast: Cast, method: str, rest: str, body: object) -> None:
    document = cast.world.upload()
    cast.world.publish(document)
    path = at(document, rest) if rest else at(document)

    def attempt(caller: Caller) -> int:
        if rest == "versions":
            return caller.upload(path, revision=2).status
        return caller.call(method, path, body).status

    assert [attempt(caller) for caller in (cast.operator, cast.reader)] == [403, 403]
    assert [attempt(caller) for caller in (cast.outsider, cast.stranger)] == [404, 404]
    document.refresh_from_db()
    assert (document.revision, document.latest_version) == (2, 1)
    assert attempt(cast.editor) < 300


def test_the_list(cast: Cast) -> None:
    titles = ["one", "two", "three"]
    documents = {title: cast.world.upload(title=title) for title in titles}
    cast.world.publish(documents["two"])
    cast.editor.delete(at(documents["three"]))
    tenant = cast.world.tenant.slug

    def listed(caller: Caller, **query: object) -> list[str]:
        return [item["title"] for item in caller.get("documents", tenant=tenant, **query).json["documents"]]

    assert listed(cast.editor) == ["two", "one"]
    assert listed(cast.operator, state="DELETED") == ["three"]
    assert listed(cast.editor, state="INDEXING") == ["two"]
    assert listed(cast.editor, state="SEARCHABLE") == []
    assert listed(cast.reader) == ["two"]
    assert listed(cast.reader, state="DELETED") == []
    assert cast.outsider.get("documents", tenant=tenant).code == "not_found"
    assert cast.stranger.get("documents", tenant=tenant).code == "not_found"


def test_the_list_is_paged(cast: Cast) -> None:
    for number in range(5):
        cast.world.upload(title=str(number))
    tenant, found, cursor = cast.world.tenant.slug, [], ""
    while True:
        page = cast.editor.get("documents", tenant=tenant, limit=2, cursor=cursor).json
        found += [item["title"] for item in page["documents"]]
        if not (cursor := page["nextCursor"]):
            break
    assert found == ["4", "3", "2", "1", "0"]
    for bad in ("x", "eA==", "é", "MjAyNi0wMS0wMSB4"):
        assert cast.editor.get("documents", tenant=tenant, cursor=bad).code == "invalid"
    # Moments that are none once they are put into UTC.
    for moment in ("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"):
        bad = base64.urlsafe_b64encode(f"{moment} {uuid.uuid4()}".encode()).decode()
        assert cast.editor.get("documents", tenant=tenant, cursor=bad).code == "invalid"


def test_versions(cast: Cast) -> None:
    document = cast.world.upload(name="first.md")
    cast.world.publish(document)
    cast.editor.post(at(document, "restore"), {"revision": 2, "versionNumber": 1})
    versions = cast.operator.get(at(document, "versions")).json["versions"]
    assert [(item["versionNumber"], item["restoredFrom"]) for item in versions] == [(2, 1), (1, None)]
    assert versions[1]["fileName"] == "first.md"
    assert versions[1]["mediaType"] == "text/markdown"
    assert versions[1]["size"] == len(TEXT)
    assert versions[1]["createdBy"] == cast.world.editor.username
    assert cast.reader.get(at(document, "versions")).code == "not_allowed"
    assert cast.stranger.get(at(document, "versions")).code == "not_found"


def test_the_original(cast: Cast) -> None:
    page = "<script>alert(1)</script><p>Text</p>"
    document = cast.world.upload(page, name="差旅 “policy”.html")
    answer = cast.operator.get(at(document, "versions/1/content"))
    assert (answer.status, answer.content) == (200, page.encode())
    assert answer.headers["Content-Type"] == "text/html"
    assert answer.headers["Content-Disposition"].startswith("attachment; filename")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert cast.editor.get(at(document, "versions/2/content")).code == "not_found"


def test_nobody_but_overseers_gets_an_original_that_is_not_served(cast: Cast) -> None:
    document = cast.world.upload()
    cast.world.publish(document)  # being indexed: not served yet
    path = at(document, "versions/1/content")
    assert [caller.get(path).status for caller in (cast.editor, cast.operator)] == [200, 200]
    assert [caller.get(path).status for caller in (cast.reader, cast.outsider, cast.stranger)] == [404, 404, 404]
    cast.editor.delete(at(document))
    assert cast.editor.get(path).code == "not_found"


def test_a_lost_original_is_said_so(cast: Cast, settings) -> None:
    document = cast.world.upload()
    settings.MEDIA_ROOT = settings.MEDIA_ROOT / "elsewhere"
    answer = cast.editor.get(at(document, "versions/1/content"))
    assert (answer.status, answer.code) == (503, "storage_failed")
    assert "elsewhere" not in answer.content.decode()


def test_a_deleted_document_takes_no_command(cast: Cast) -> None:
    document = cast.world.upload()
    cast.world.publish(document)
    cast.editor.delete(at(document))
    answers = [
        cast.editor.post(at(document, "publish"), {"revision": 3}),
        cast.editor.put(at(document, "readers"), {"revision": 3, "readers": []}),
        cast.editor.post(at(document, "withdraw"), {"revision": 3}),
        cast.editor.post(at(document, "restore"), {"revision": 3, "versionNumber": 1}),
        cast.editor.upload(at(document, "versions"), revision=3),
        cast.editor.delete(at(document)),
    ]
    assert {(answer.status, answer.code) for answer in answers} == {(409, "document_deleted")}


def test_a_document_that_does_not_exist(cast: Cast) -> None:
    nowhere = f"documents/{uuid.uuid4()}"
    assert cast.editor.get(nowhere).code == "not_found"
    assert cast.editor.delete(nowhere).code == "not_found"
    assert cast.editor.post(f"{nowhere}/publish", {"revision": 1}).code == "not_found"
    assert cast.editor.get(f"{nowhere}/versions").code == "not_found"
