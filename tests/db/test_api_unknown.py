"""What the API does not know is refused, never overlooked: fields, parameters and addresses."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from documents.models import Document
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
