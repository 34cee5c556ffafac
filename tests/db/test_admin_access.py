"""Every page and command of the admin for everybody who might try it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib import admin
from django.urls import NoReverseMatch, reverse

from documents.models import AuditEvent, Document
from indexing.models import IndexTask
from tests.db.office import Office, file
from tests.db.staging import claim, finished

pytestmark = pytest.mark.django_db(databases=["default", "owner"])

EVERYBODY = ["superuser", "editor", "operator", "reader", "outsider", "other_editor"]
OVERSEERS = ["superuser", "editor", "operator"]
EDITORS = ["superuser", "editor"]

DOCUMENT_PAGES = ["documents_document_change", "indexing_chunks"]
COMMANDS: dict[str, Callable[[], dict[str, Any]]] = {
    "upload": lambda: {"file": file()},
    "publish": lambda: {"version_number": 1, "audience": "everyone"},
    "readers": lambda: {"audience": "nobody"},
    "restore": lambda: {"version_number": 1},
    "staleness": lambda: {"staleness": "withhold"},
    "withdraw": dict,
    "delete": dict,
}


@pytest.fixture
def office() -> Office:
    return Office()


@pytest.fixture
def document(office: Office) -> Document:
    document = office.world.upload()
    office.world.publish(document)
    finished(claim())
    document.refresh_from_db()
    return document


@pytest.mark.parametrize("who", EVERYBODY)
def test_pages_of_a_document(office: Office, document: Document, who: str) -> None:
    expected = 200 if who in OVERSEERS else 404
    for page in DOCUMENT_PAGES:
        assert office.get(who, f"admin:{page}", document.pk).status_code == expected, page
    assert office.get(who, "admin:documents_document_original", document.pk, 1).status_code == expected
    for page in ("withdraw", "delete"):
        assert office.get(who, f"admin:documents_document_{page}", document.pk).status_code == expected, page
    task = IndexTask.objects.get()
    assert office.get(who, "admin:indexing_indextask_change", task.pk).status_code == expected


@pytest.mark.parametrize("who", EVERYBODY)
def test_lists(office: Office, document: Document, who: str) -> None:
    # Somebody who oversees another tenant sees the list, without this tenant's rows.
    expected = 200 if who in [*OVERSEERS, "other_editor"] else 403
    for page in ("documents_document_changelist", "indexing_indextask_changelist"):
        answer = office.get(who, f"admin:{page}")
        assert answer.status_code == expected, page
        assert (document.title.encode() in answer.content) == (who in OVERSEERS), page
    index = office.get(who, "admin:index").content
    assert (b"documents/document/" in index) == (expected == 200)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("who", EVERYBODY)
def test_commands(office: Office, document: Document, who: str, command: str) -> None:
    before = (document.revision, AuditEvent.objects.count())
    answer = office.send(who, document, command, **COMMANDS[command]())
    document.refresh_from_db()
    changed = (document.revision, AuditEvent.objects.count()) != before
    if who in EDITORS:
        assert answer.status_code == 302
        assert changed
        assert AuditEvent.objects.order_by("-id")[0].actor_name == office.people[who].username
    else:
        # An operator sees the page, and is told why not; for the others there is no such document.
        assert answer.status_code == (403 if who == "operator" else 404)
        assert not changed


ASKED_FIRST = ("withdraw", "delete", "retry")  # a GET is the question, and changes nothing


@pytest.mark.parametrize("command", [*COMMANDS, "retry"])
def test_commands_are_posted_by_logged_in_staff_only(
    office: Office, document: Document, command: str, client: Any
) -> None:
    url = reverse(f"admin:documents_document_{command}", args=[document.pk])
    assert "/admin/login/" in client.post(url)["Location"]
    rita = office.people["reader"]
    rita.is_staff = False
    rita.save()
    assert "/admin/login/" in office.clients["reader"].post(url)["Location"]
    before = (Document.objects.get(pk=document.pk).revision, AuditEvent.objects.count())
    assert office.clients["editor"].get(url).status_code == (200 if command in ASKED_FIRST else 405)
    assert (Document.objects.get(pk=document.pk).revision, AuditEvent.objects.count()) == before


@pytest.mark.parametrize("who", EVERYBODY)
def test_upload_page(office: Office, who: str) -> None:
    expected = 200 if who in [*EDITORS, "other_editor"] else 403
    assert office.get(who, "admin:documents_document_add").status_code == expected


@pytest.mark.parametrize("model", ["tenant", "membership", "readergroup", "apikey"])
@pytest.mark.parametrize("who", EVERYBODY)
def test_administration_is_for_superusers(office: Office, who: str, model: str) -> None:
    expected = 200 if who == "superuser" else 403
    assert office.get(who, f"admin:documents_{model}_changelist").status_code == expected
    assert office.get(who, f"admin:documents_{model}_add").status_code == expected


def test_nothing_goes_round_the_services(office: Office, document: Document) -> None:
    """Django's own forms for documents and tasks, and its bulk deletion, have no address."""
    for model in ("documents_document", "indexing_indextask"):
        for page in ("history", "add" if model == "indexing_indextask" else "history"):
            with pytest.raises(NoReverseMatch):
                reverse(f"admin:{model}_{page}", args=[document.pk])
    url = reverse("admin:documents_document_changelist")
    office.clients["superuser"].post(
        url, {"action": "delete_selected", "_selected_action": [document.pk], "post": "yes"}
    )
    url = reverse("admin:indexing_indextask_changelist")
    task = IndexTask.objects.get()
    office.clients["superuser"].post(url, {"action": "delete_selected", "_selected_action": [task.pk], "post": "yes"})
    document.refresh_from_db()
    assert document.deleted_at is None
    assert IndexTask.objects.count() == 1
    change = reverse("admin:documents_document_change", args=[document.pk])
    office.clients["superuser"].post(change, {"title": "Changed", "tenant": office.other.tenant.pk})
    document.refresh_from_db()
    assert document.title == "Travel"


def test_schedules_have_no_page() -> None:
    """`Schedule.func` is a free dotted path."""
    assert not [model for model in admin.site._registry if model._meta.app_label == "django_q"]
