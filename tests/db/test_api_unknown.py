"""What the API does not know is refused, never overlooked: fields, parameters and addresses."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from documents.models import Document
from documents.readers import Reader
from tests.db.api import ROOT, Caller, at
from tests.factories import World

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("method", "rest", "body", "field"),
    [
        ("POST", "publish", {"revision": 2, "readrs": [{"type": "everyone"}]}, "readrs"),
        ("POST", "publish", {"revision": 2, "readers": [{"type": "group", "nmae": "hr"}]}, "readers.0.nmae"),
        ("PUT", "readers", {"revision": 2, "readers": [], "reader": []}, "reader"),
        ("POST", "restore", {"revision": 2, "versionNumber": 1, "publish": True}, "publish"),
        ("POST", "withdraw", {"revision": 2, "now": True}, "now"),
        ("DELETE", "", {"revision": 1}, "revision"),
    ],
)
def test_fields_of_a_body(world: World, editor: Caller, method: str, rest: str, body: Any, field: str) -> None:
    document = world.upload()
    world.publish(document)
    answer = editor.call(method, at(document, *filter(None, [rest])), body)
    assert (answer.status, answer.code) == (400, "invalid")
    assert list(answer.json["fields"]) == [field]
    assert field in answer.json["detail"]
    document.refresh_from_db()
    assert (document.revision, document.deleted_at) == (2, None)


def test_fields_of_a_form(world: World, editor: Caller) -> None:
    answer = editor.upload(title="x", tenant=world.tenant.slug, readers="everyone")
    assert (answer.status, list(answer.json["fields"])) == (400, ["readers"])
    assert not Document.objects.exists()
    document = world.upload()
    assert editor.upload(at(document, "versions"), revision=1, titel="x").code == "invalid"
    document.refresh_from_db()
    assert document.latest_version == 1


def test_calls_that_take_no_field(world: World, editor: Caller, settings) -> None:
    settings.KB_WORKER_RUN_ONCE_API = True
    task = f"index-tasks/{world.publish(world.upload()).ticket.task_id}"
    operator = Caller(world.member("operator", role="operator"))
    for path in (task + "/retry", task + "/cancel", "index-worker/run-once"):
        answer = operator.post(path, {"force": True})
        assert (answer.status, list(answer.json["fields"])) == (400, ["force"])


def test_parameters_of_a_query(world: World, editor: Caller) -> None:
    """A filter that is not heard answers with everything."""
    for path in ("documents", "index-tasks"):
        assert list(editor.get(path, tenant=world.tenant.slug, stat="FAILED").json["fields"]) == ["stat"]
    assert list(editor.get("search", tenant=world.tenant.slug, q="x", lang="zh").json["fields"]) == ["lang"]


@pytest.mark.parametrize("debug", [True, False])
def test_addresses(settings, debug: bool) -> None:
    """Django's own pages for debugging would not even ask handler404."""
    settings.DEBUG = debug
    client = Client(enforce_csrf_checks=True)
    paths = [
        "nope",
        "documents/",
        "documents/notauuid",
        "documents/notauuid/publish",
        "index-tasks/x",
        "index-tasks/1/x",
    ]
    for address in [*(ROOT + path for path in paths), "/api/", "/api/v1/", "/api/v2/documents"]:
        for response in (client.get(address), client.post(address, {"a": "b"})):
            assert response.status_code == 404, address
            assert response.headers["Content-Type"] == "application/problem+json", address
            assert response.json()["code"] == "not_found"


def test_addresses_without_their_slash() -> None:
    assert Client().get(ROOT + "docs").headers["Location"] == ROOT + "docs/"


def test_a_form_with_the_sessions_token(world: World) -> None:
    """A page of the site that posts a form carries it, and it is the session's, not a misspelt field."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.editor)
    token = "t" * 32
    client.cookies["csrftoken"] = token
    file = SimpleUploadedFile("a.md", b"# Text")
    fields = {"title": "x", "tenant": world.tenant.slug, "file": file, "csrfmiddlewaretoken": token}
    assert client.post(ROOT + "documents", fields).status_code == 201


def test_only_a_form_has_such_a_token(world: World, editor: Caller) -> None:
    answer = editor.post(at(world.upload(), "withdraw"), {"revision": 1, "csrfmiddlewaretoken": "x"})
    assert list(answer.json["fields"]) == ["csrfmiddlewaretoken"]


def test_the_format_may_be_named(world: World, editor: Caller) -> None:
    for path in ("documents", "index-tasks"):
        assert editor.get(path, tenant=world.tenant.slug, format="json").status == 200
    assert editor.get(at(world.upload()), format="json").status == 200


@pytest.mark.parametrize("name", ["xml", "api", "", "json\x00"])
def test_a_format_that_there_is_not(world: World, editor: Caller, name: str) -> None:
    answer = editor.get("documents", tenant=world.tenant.slug, format=name)
    if name:
        assert (answer.status, answer.code) == (406, "not_acceptable")
        assert "format=json" in answer.json["detail"]
    else:
        assert answer.status == 200


def test_readers_are_put_back_as_they_were_read(world: World, editor: Caller) -> None:
    """With its version's number, which is that of the version asked for last or a conflict."""
    document = world.upload()
    world.member("ann")
    path = at(document, "readers")
    assert editor.call("PUT", path, editor.get(path).json).code == "nothing_published"
    world.publish(document, readers=(Reader("everyone"), Reader("user", "ann")))
    read = editor.get(path).json
    assert read["versionNumber"] == 1
    assert editor.call("PUT", path, read).status == 200
    assert editor.get(path).json["readers"] == read["readers"]
    world.publish(document, version=world.new_version(document, "# Second"))
    again = editor.get(path).json
    answer = editor.call("PUT", path, {**again, "versionNumber": 1, "readers": []})
    assert (answer.status, answer.code, answer.json["requestedVersion"]) == (409, "conflict", 2)
    assert editor.get(path).json == again
