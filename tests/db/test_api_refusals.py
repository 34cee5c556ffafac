"""Bad input: a clear sentence, the right status, and nothing lost or changed."""

from __future__ import annotations

import json

import pytest
from django.conf import settings as django_settings
from django.db import OperationalError
from django.test import Client, RequestFactory

from documents import catalog
from documents.models import Document, StoredContent
from kbsite import faults
from tests.db.api import ROOT, TEXT, Answer, Caller, at
from tests.factories import World, make_world

pytestmark = pytest.mark.django_db

PUBLISH = {"revision": 1, "readers": [{"type": "everyone"}]}


@pytest.fixture
def document(world: World) -> Document:
    return world.upload()


def new(editor: Caller, world: World, **options: object) -> Answer:
    return editor.upload(**{"title": "Travel", "tenant": world.tenant.slug, **options})


# Files


@pytest.mark.parametrize(
    ("name", "content", "status", "code", "said"),
    [
        ("a.md", b"", 400, "invalid", "empty"),
        ("a.exe", b"MZ", 415, "unsupported_document", ".exe"),
        ("a", b"text", 415, "unsupported_document", "without an extension"),
        ("a.pdf", b"no pdf", 415, "unsupported_document", "another type"),
        ("a.md", bytes(range(32)) * 9, 415, "unsupported_document", "not text"),
        ("a.txt", b"%PDF-1.7", 415, "unsupported_document", "another type"),
    ],
)
def test_files_that_are_not_taken(editor, world, name: str, content: bytes, status: int, code: str, said: str) -> None:
    answer = new(editor, world, name=name, content=content)
    assert (answer.status, answer.code) == (status, code)
    assert said in answer.json["detail"]
    assert not StoredContent.objects.exists()


def test_a_file_over_the_limit(editor, world, settings) -> None:
    settings.KB_MAX_UPLOAD_BYTES = 100
    answer = new(editor, world, content="x" * 101)
    assert (answer.status, answer.code) == (413, "file_too_large")
    assert not Document.objects.exists()


def test_a_request_far_over_the_limit_is_refused_unread(editor, world, settings) -> None:
    settings.KB_MAX_UPLOAD_BYTES = 100
    response = Client().generic(
        "POST",
        ROOT + "documents",
        b"never looked at",
        content_type="multipart/form-data; boundary=x",
        headers=editor.headers,
        CONTENT_LENGTH=str(10**15),
    )
    assert (response.status_code, response.json()["code"]) == (413, "file_too_large")


@pytest.mark.parametrize("name", ["../../etc/a.md", "..\\..\\a.md", "/a.md", "C:\\a.md"])
def test_a_path_in_a_name_is_taken_off(editor, world, name: str) -> None:
    assert new(editor, world, name=name).status == 201
    assert Document.objects.get().versions.get().file_name == "a.md"


def test_a_name_of_300_characters_is_shortened(editor, world) -> None:
    assert new(editor, world, name="长" * 300 + ".md").status == 201
    kept = Document.objects.get().versions.get().file_name
    assert (len(kept), kept[-4:]) == (255, "长.md")


def test_a_new_version_is_checked_the_same_way(editor, document) -> None:
    assert editor.upload(at(document, "versions"), content=b"", revision=1).code == "invalid"
    assert editor.upload(at(document, "versions"), name="a.exe", revision=1).code == "unsupported_document"
    assert editor.upload(at(document, "versions"), revision=2).code == "stale_revision"
    assert editor.upload(at(document, "versions"), revision=1, title=" ").code == "invalid"
    assert StoredContent.objects.count() == 1


# Fields


@pytest.mark.parametrize("title", ["", "   ", "x" * 301, "nul\0"])
def test_titles_that_are_not_taken(editor, world, title: str) -> None:
    answer = new(editor, world, title=title)
    assert (answer.status, answer.code) == (400, "invalid")
    assert not StoredContent.objects.exists()


def test_missing_fields_are_named(editor) -> None:
    answer = editor.upload()
    assert answer.code == "invalid"
    assert set(answer.json["fields"]) == {"title", "tenant"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"revision": "seven"}, "revision"),
        ({"revision": -1}, "revision"),
        ({"revision": 0}, "revision"),
        ({"revision": 10**30}, "revision"),
        ({"revision": 1.5}, "revision"),
        ({"revision": None}, "revision"),
        ({"revision": [1]}, "revision"),
        ({"revision": 1, "versionNumber": 2**31}, "versionNumber"),
        ({"revision": 1, "versionNumber": 0}, "versionNumber"),
        ({"revision": 1, "readers": None}, "readers"),
        ({"revision": 1, "readers": "everyone"}, "readers"),
        ({"revision": 1, "readers": ["everyone"]}, "readers.0"),
        ({"revision": 1, "readers": [{"type": "robot"}]}, "readers.0.type"),
        ({"revision": 1, "readers": [{"type": "everyone"}, {"type": "group"}]}, "readers.1.name"),
        ({"revision": 1, "readers": [{"type": "everyone", "name": "x"}]}, "readers.0.name"),
        ({"revision": 1, "readers": [{"type": "user", "name": "x" * 151}]}, "readers.0.name"),
        ({"revision": 1, "readers": [{"type": "everyone"}] * 1001}, "readers"),
        ([], ""),
        ("text", ""),
        (7, ""),
        (None, ""),
    ],
)
def test_wrong_types(editor, document, body: object, field: str) -> None:
    answer = editor.call("POST", at(document, "publish"), raw=json.dumps(body).encode())
    assert (answer.status, answer.code) == (400, "invalid")
    assert list(answer.json["fields"]) == [field]
    document.refresh_from_db()
    assert document.requested_version is None


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"\xff\xfe",
        b'{"revision": NaN}',
        b'{"revision": 1, "readers": [{"type": "group", "name": "a\\u0000b"}]}',
        b'{"revision": 1, "readers": [{"type": "group", "name": "a\\ud800b"}]}',
        b'{"revision": 1, "readers": [{"type": "\\udfff"}]}',
        b'{"\\ud800": 1}',
        b"[" * 100_000,
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b'{"revision": ' + b"9" * 5_000 + b"}",
    ],
)
def test_json_that_is_none(editor, document, raw: bytes) -> None:
    answer = editor.post(at(document, "publish"), raw=raw, idempotency_key="bad-json")
    assert (answer.status, answer.code) == (400, "bad_request")


def test_unknown_readers(editor, world, document) -> None:
    stranger = make_world().editor.username
    for reader in (
        {"type": "group", "name": "no such group"},
        {"type": "user", "name": "nobody"},
        {"type": "user", "name": stranger},
    ):
        answer = editor.post(at(document, "publish"), {"revision": 1, "readers": [reader]})
        assert (answer.status, answer.code) == (400, "unknown_reader")
        assert reader["name"] in answer.json["detail"]
    document.refresh_from_db()
    assert document.requested_version is None


def test_what_cannot_be_published(editor, world, document) -> None:
    assert editor.post(at(document, "publish"), {"revision": 1, "versionNumber": 2}).code == "not_found"
    assert editor.put(at(document, "readers"), {"revision": 1, "readers": []}).code == "nothing_published"
    assert editor.post(at(document, "withdraw"), {"revision": 1}).code == "nothing_published"
    world.new_version(document, "two")
    world.publish(document)
    behind = editor.post(at(document, "publish"), {"revision": 3, "versionNumber": 1})
    assert (behind.status, behind.code, behind.json["requestedVersion"]) == (409, "version_behind", 2)


# Revision


def test_a_stale_revision_tells_the_current_one(editor, world, document) -> None:
    world.publish(document)
    for answer in (
        editor.post(at(document, "publish"), PUBLISH),
        editor.post(at(document, "publish"), {"readers": []}, if_match='"1"'),
        editor.put(at(document, "readers"), {"revision": 1, "readers": []}),
        editor.post(at(document, "restore"), {"revision": 9, "versionNumber": 1}),
        editor.post(at(document, "withdraw"), {"revision": 1}),
        editor.delete(at(document), if_match='"1"'),
        editor.upload(at(document, "versions"), revision=1),
        editor.upload(at(document, "versions"), if_match='"1"'),
    ):
        assert (answer.status, answer.code, answer.json["currentRevision"]) == (409, "stale_revision", 2)


def test_the_revision_may_stand_in_if_match(editor, document) -> None:
    assert editor.post(at(document, "publish"), {"readers": []}, if_match='"1"').status == 202
    assert editor.post(at(document, "withdraw"), {"revision": 2}, if_match='"2"').status == 200
    assert editor.upload(at(document, "versions"), if_match='"3"').status == 201


def test_revision_and_if_match_that_differ_or_mean_nothing(editor, document) -> None:
    assert editor.post(at(document, "publish"), {"revision": 1}, if_match='"2"').code == "invalid"
    for header in ("1", "*", 'W/"1"', '"1", "2"', '"x"', ""):
        answer = editor.post(at(document, "publish"), {}, if_match=header)
        assert (answer.status, answer.code) == (400, "invalid"), header


def test_a_missing_revision(editor, document) -> None:
    for answer in (
        editor.post(at(document, "publish"), {"readers": []}),
        editor.post(at(document, "publish")),
        editor.put(at(document, "readers"), {"readers": []}),
        editor.post(at(document, "restore"), {"versionNumber": 1}),
        editor.post(at(document, "withdraw")),
        editor.upload(at(document, "versions")),
    ):
        assert (answer.status, answer.code) == (400, "invalid")
        assert "revision" in answer.json["detail"]


# HTTP


def test_methods_media_types_and_addresses(editor, document) -> None:
    assert editor.call("PATCH", at(document)).code == "method_not_allowed"
    assert editor.get(at(document, "publish")).code == "method_not_allowed"
    assert editor.post(at(document, "publish"), raw=b"<x/>", content_type="application/xml").status == 415
    assert editor.post("documents", {"title": "x"}).code == "unsupported_media_type"
    assert editor.call("GET", at(document), accept="text/html").code == "not_acceptable"
    for address in ("nothing", "documents/7", "documents/x/publish", "documents/", "index-tasks/x", "index-tasks/-1"):
        assert editor.get(address).code == "not_found"
    assert editor.get("index-tasks/" + "9" * 40).code == "not_found"
    assert editor.get(at(document, "versions", "9" * 40, "content")).code == "not_found"


def test_what_fails_before_a_view_is_a_problem_too() -> None:
    refused = Client().get(ROOT + "documents", headers={"Host": "elsewhere.example"})
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid")
    failed = faults.server_error(RequestFactory().get(ROOT + "documents"))
    assert (failed.status_code, json.loads(failed.content)["code"]) == (500, "internal_error")


def test_pages_outside_the_api_stay_pages() -> None:
    assert "json" not in Client().get("/nothing").headers["Content-Type"]
    assert "json" not in Client().get("/", headers={"Host": "elsewhere.example"}).headers["Content-Type"]
    assert "json" not in faults.server_error(RequestFactory().get("/")).headers["Content-Type"]


@pytest.mark.parametrize("query", [{"limit": -1}, {"limit": 0}, {"limit": 101}, {"limit": "x"}, {"limit": 10**30}])
def test_limits_of_the_list(editor, world, query: dict[str, object]) -> None:
    assert list(editor.get("documents", tenant=world.tenant.slug, **query).json["fields"]) == ["limit"]


def test_queries_of_the_list(editor, world) -> None:
    assert list(editor.get("documents").json["fields"]) == ["tenant"]
    assert list(editor.get("documents", tenant="a\0b").json["fields"]) == ["tenant"]
    assert list(editor.get("documents", tenant=world.tenant.slug, state="GONE\0").json["fields"]) == ["state"]


def test_broken_forms(editor, world) -> None:
    path = "documents"
    assert editor.post(path, raw=b"no form", content_type="multipart/form-data; boundary=x").status == 400
    assert editor.post(path, raw=b"no form", content_type="multipart/form-data").code == "bad_request"
    many = {f"field{number}": "x" for number in range(1100)}
    assert new(editor, world, **many).status == 400
    assert new(editor, world, padding="x" * (django_settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)).status == 413


def test_json_over_the_limit_is_refused_unread(editor, document, settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    answer = editor.post(at(document, "publish"), raw=b" " * 1001)
    assert (answer.status, answer.code) == (413, "file_too_large")


def test_a_defect_tells_nothing_of_itself(editor, document, monkeypatch, caplog) -> None:
    def explode(**_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(catalog, "document_with_state", explode)
    answer = editor.get(at(document))
    assert (answer.status, answer.code) == (500, "internal_error")
    assert "secret" not in answer.content.decode()
    assert "secret" in caplog.text


def test_a_database_that_is_away_is_no_defect(editor, document, monkeypatch) -> None:
    def fail(**_: object) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(catalog, "document_with_state", fail)
    answer = editor.get(at(document))
    assert (answer.status, answer.code, answer.headers["Retry-After"]) == (503, "unavailable", "5")
    assert "connection refused" not in answer.content.decode()


def test_refusals_speak_the_callers_language(editor, world) -> None:
    answer = editor.call("GET", "documents", accept_language="zh-hans")
    assert answer.json["fields"]["tenant"] != ["This field is required."]
    assert answer.code == "invalid"


def test_text_survives_unchanged(editor, world) -> None:
    text = TEXT + "\0\n\n差旅 🧳"
    created = new(editor, world, content=text, title="差旅 🧳")
    assert created.status == 201
    found = editor.get(f"documents/{created.json['documentId']}/versions/1/content")
    assert found.content == text.encode()
