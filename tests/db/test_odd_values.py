"""What no column can hold is refused with a sentence, whichever door it comes through: never a page of “something broke”."""

from __future__ import annotations

import itertools
import json
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from documents.models import Document, Membership, ReaderGroup
from indexing.models import IndexTask
from tests.db.office import Office, browser, staff

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

ODD = {
    "nul": "a\x00b",
    "surrogate-bytes": b"\xed\xa0\x80",
    "too-long-a-number": "9" * 30,
    "beyond-parsing": "9" * 5000,
    "bigint": str(2**63),
    "negative": "-1",
    "float": "1e400",
    "nan": "NaN",
    "year-0": "0000-00-00",
    "far-date": "99999-12-31",
    "first-day": "0001-01-01",
    "quote": "';--\\",
    "noncharacter": "\ufdd0\uffff\U0010ffff",
    "uuid-like": "00000000-0000-0000-0000-00000000000g",
    "many": "字" * 3000,
}
PARAMETERS = [
    "q",
    "p",
    "o",
    "e",
    "all",
    "_facets",
    "id",
    "tenant",
    "tenant__id__exact",
    "state",
    "role__exact",
    "date",
    "updated_at__gte",
    "id__in",
    "limit",
    "cursor",
    "documentId",
    "span",
    "revoked_at__isempty",
    "next",
    "pool",
]

MISHANDLED = {
    name: ODD[name] for name in ("nul", "too-long-a-number", "beyond-parsing", "nan", "far-date")
}  # most often


@pytest.fixture
def office() -> Office:
    return Office()


def patient(client: Client) -> Client:
    """A browser that gets the answer to a failure instead of its exception."""
    client.raise_request_exception = False
    return client


def fails(answer: Any) -> bool:
    return answer.status_code >= 500


def everything(office: Office) -> tuple[Document, IndexTask, list[str]]:
    document = office.world.upload()
    office.world.publish(document)
    task = IndexTask.objects.get()
    names = [
        "documents_document",
        "indexing_indextask",
        "documents_tenant",
        "documents_membership",
        "documents_readergroup",
        "documents_apikey",
        "auth_user",
    ]
    pages = [reverse(f"admin:{name}_changelist") for name in names]
    pages += [
        reverse("admin:documents_document_states"),
        reverse("admin:documents_document_change", args=[document.pk]),
    ]
    pages += [
        reverse("admin:indexing_indextask_change", args=[task.pk]),
        reverse("admin:indexing_chunks", args=[document.pk]),
    ]
    pages += [
        reverse("search"),
        reverse("passage", args=[document.pk, 1]),
        reverse("login"),
        reverse("admin:autocomplete"),
    ]
    pages += ["/api/v1/documents", "/api/v1/index-tasks", "/api/v1/search", f"/api/v1/documents/{document.pk}"]
    return document, task, pages


def test_in_the_query(office: Office) -> None:
    """Each value in every parameter at once."""
    client = patient(office.clients["superuser"])
    _, _, pages = everything(office)
    start = {"tenant": office.world.tenant.slug, "q": "x", "app_label": "documents"}
    start |= {"model_name": "membership", "field_name": "user"}
    tried = {value: dict.fromkeys(PARAMETERS, odd) for value, odd in ODD.items()}
    wrong = [
        (page, value)
        for page, (value, query) in itertools.product(pages, tried.items())
        if fails(client.get(f"{page}?{urlencode({**start, **query})}"))
    ]
    assert not wrong


def test_in_the_path(office: Office) -> None:
    document, _, _ = everything(office)
    client = patient(office.clients["superuser"])
    made = [
        f"/documents/{document.pk}/versions/{{}}/",
        f"/documents/{document.pk}/versions/{{}}/original/",
        "/api/v1/index-tasks/{}",
        f"/api/v1/documents/{document.pk}/versions/{{}}/content",
        "/admin/indexing/indextask/{}/change/",
        f"/admin/documents/document/{document.pk}/versions/{{}}/file/",
        "/admin/documents/tenant/{}/change/",
        "/admin/documents/membership/{}/change/",
        "/admin/documents/readergroup/{}/delete/",
        "/admin/auth/user/{}/change/",
        "/admin/auth/user/{}/password/",
        "/admin/documents/document/{}/change/",
        "/{}",
    ]
    wrong = [
        (pattern, value)
        for pattern, (value, odd) in itertools.product(made, ODD.items())
        if fails(client.get(pattern.format(quote(odd, safe=""))))
    ]
    assert not wrong


def test_in_a_form(office: Office) -> None:
    document, task, _ = everything(office)
    client = patient(office.clients["superuser"])
    member = Membership.objects.first()
    group = ReaderGroup.objects.first()
    assert member is not None
    assert group is not None
    forms: list[tuple[str, dict[str, Any]]] = [
        (reverse("admin:documents_tenant_add"), {"name": "N", "slug": "s"}),
        (reverse("admin:documents_membership_add"), {"user": "1", "tenant": "1", "role": "reader"}),
        (reverse("admin:documents_membership_change", args=[member.pk]), {"role": "reader"}),
        (reverse("admin:documents_readergroup_change", args=[group.pk]), {"name": "g", "members": "1"}),
        (reverse("admin:documents_apikey_add"), {"user": "1", "name": "k"}),
        (
            reverse("admin:auth_user_add"),
            {"username": "u", "password1": "p", "password2": "p", "usable_password": "true"},
        ),
        (reverse("admin:indexing_indextask_changelist"), {"action": "cancel_tasks", "_selected_action": str(task.pk)}),
        (reverse("admin:documents_document_add"), {"title": "T", "tenant": office.world.tenant.slug, "file": "x"}),
        *(
            (reverse(f"admin:documents_document_{name}", args=[document.pk]), fields)
            for name, fields in {
                "publish": {"revision": "1", "version_number": "1", "audience": "chosen", "people": "1", "groups": "1"},
                "readers": {"revision": "1", "audience": "chosen", "people": "1", "groups": "1"},
                "restore": {"revision": "1", "version_number": "1"},
                "upload": {"revision": "1", "title": "T"},
                "staleness": {"revision": "1", "staleness": "withhold"},
            }.items()
        ),
        (reverse("login"), {"username": "u", "password": "p", "next": "/"}),
        (reverse("set_language"), {"language": "en", "next": "/"}),
    ]
    wrong = [
        (address, name, value)
        for address, fields in forms
        for name, (value, odd) in itertools.product(fields, MISHANDLED.items())
        if fails(
            client.post(address, {**fields, name: odd.decode("utf-8", "replace") if isinstance(odd, bytes) else odd})
        )
    ]
    assert not wrong


def test_in_a_file_name_and_in_headers(office: Office) -> None:
    client = patient(office.clients["editor"])
    wrong = []
    for value, odd in ODD.items():
        text = odd.decode("latin-1") if isinstance(odd, bytes) else odd
        upload = SimpleUploadedFile("x.md", b"# Text")
        upload.name = f"{text}.md"
        fields = {"title": text, "tenant": office.world.tenant.slug, "file": upload}
        for address in ("/api/v1/documents", reverse("admin:documents_document_add")):
            if fails(client.post(address, fields)):
                wrong.append((address, value))
        header = text.encode("utf-8", "replace").decode("latin-1")
        for name in (
            "HTTP_IDEMPOTENCY_KEY",
            "HTTP_IF_MATCH",
            "HTTP_AUTHORIZATION",
            "HTTP_ACCEPT_LANGUAGE",
            "HTTP_COOKIE",
        ):
            answer = client.get("/api/v1/documents?tenant=x", **{name: header})
            if fails(answer):
                wrong.append((name, value))
    assert not wrong


def test_in_json(office: Office) -> None:
    document, _, _ = everything(office)
    client = patient(office.clients["editor"])
    values: list[Any] = [
        *(v for v in ODD.values() if isinstance(v, str)),
        10**30,
        -(2**63),
        1.5,
        True,
        None,
        [],
        {},
        [[]],
    ]
    wrong = []
    for name, value in itertools.product(("revision", "versionNumber", "readers", "type", "name"), values):
        body: dict[str, Any] = {"revision": document.revision}
        if name in ("type", "name"):
            body["readers"] = [{"type": "user", "name": "x", name: value}]
        else:
            body[name] = value
        for call in ("publish", "restore", "withdraw"):
            address = f"/api/v1/documents/{document.pk}/{call}"
            if fails(client.post(address, json.dumps(body), content_type="application/json")):
                wrong.append((call, name, str(value)[:20]))
        if fails(
            client.put(f"/api/v1/documents/{document.pk}/readers", json.dumps(body), content_type="application/json")
        ):
            wrong.append(("readers", name, str(value)[:20]))
    assert not wrong


def test_a_session_that_is_no_text(office: Office) -> None:
    client = patient(browser(staff(office.world.editor)))
    client.cookies["sessionid"] = "a\x00b"
    for address in (reverse("search"), reverse("admin:index"), "/api/v1/documents?tenant=x"):
        assert client.get(address).status_code < 500
