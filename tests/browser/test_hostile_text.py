"""Nothing of a document becomes a part of a page, and the policy that stands behind it lets every page of the site work."""

from __future__ import annotations

import io
from collections.abc import Callable

import docx
import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect

from documents import uploading
from documents.models import Document
from indexing.models import Chunk, IndexTask
from indexing.worker import Worker
from kbsite.middleware import POLICY, POLICY_OF_API_DOCS
from tests.browser.conftest import Open
from tests.browser.test_editor_journey import log_in
from tests.factories import EVERYONE, World

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "owner"]),
]

ATTACK = "<script>window.broken=1</script><img src=x onerror=window.broken=1><mark>x</mark>&lt;b&gt;"
ESCAPED = ATTACK.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def word() -> bytes:
    buffer = io.BytesIO()
    document = docx.Document()
    document.add_heading(f"Heading {ATTACK}", 1)
    document.add_paragraph(f"The limit {ATTACK} is 200 yuan.")
    document.save(buffer)
    return buffer.getvalue()


FILES = {
    f"{ATTACK[:40]}.md": f"# Heading {ESCAPED}\n\nThe limit {ESCAPED} is 200 yuan.\n".encode(),
    f"{ATTACK[:40]}.txt": f"CHAPTER {ATTACK}\n\nThe limit {ATTACK} is 200 yuan.\n".encode(),
    f"{ATTACK[:40]}.html": f"<title>{ESCAPED}</title><h1>Heading {ESCAPED}</h1><p>The limit {ESCAPED} is 200 yuan.".encode(),
    f"{ATTACK[:40]}.docx": word(),
}


def untouched(page: Page) -> None:
    """No script ran and no element came out of a text. The fixture fails on whatever the browser complains of."""
    assert page.evaluate("window.broken") is None
    assert page.locator("img[src=x]").count() == 0
    assert not [script for script in page.locator("script").all() if "broken" in (script.text_content() or "")]


def test_texts_stay_texts(open_browser: Open, world: World, start_worker: Callable[[], Worker]) -> None:
    for name, content in FILES.items():
        version = uploading.create_document(
            actor=world.editor, tenant=world.tenant.slug, title=f"Title {ATTACK}", data=content, file_name=name
        )
        world.publish(version.document, readers=EVERYONE)
    damaged = uploading.create_document(
        actor=world.editor, tenant=world.tenant.slug, title=f"Broken {ATTACK}", data=b"%PDF-1.7", file_name="<b>.pdf"
    )
    world.publish(damaged.document)
    Worker().run(drain=True)
    assert Chunk.objects.values("document").distinct().count() == len(FILES)
    page = open_browser()
    log_in(page, world)
    page.goto("/?q=limit+script")
    expect(page.get_by_text("<script>window.broken=1</script>").first).to_be_visible()
    untouched(page)
    page.goto(f"/?q={ATTACK[:60].replace('=', '%3D').replace('<', '%3C')}")
    untouched(page)
    for document in Document.objects.all():
        for address in (
            reverse("admin:documents_document_change", args=[document.pk]),
            reverse("passage", args=[document.pk, 1]),
        ):
            if document.pk != damaged.document_id or "admin" in address:
                page.goto(address)
                untouched(page)
    for task in IndexTask.objects.all():
        page.goto(reverse("admin:indexing_indextask_change", args=[task.pk]))
        untouched(page)
    for address in ("/admin/documents/document/", "/admin/indexing/indextask/", "/admin/"):
        page.goto(address)
        untouched(page)


@pytest.fixture
def administrator(world: World) -> User:
    world.editor.is_superuser = True
    world.editor.save()
    return world.editor


def test_every_page_works_under_its_policy(open_browser: Open, world: World, administrator: User) -> None:
    document = world.upload()
    world.publish(document)
    Worker().run(drain=True)
    page = open_browser()
    log_in(page, world)
    page.goto("/admin/")
    links = {link.get_attribute("href") or "" for link in page.locator("#content a, #header a").all()}
    links |= {
        "/",
        "/?q=travel",
        "/login/",
        "/admin/password_change/",
        f"/admin/documents/document/{document.pk}/change/",
    }
    for address in sorted(link for link in links if link.startswith("/")):
        answer = page.goto(address)
        assert answer is not None
        assert answer.headers["content-security-policy"] == POLICY, address
        assert answer.status == 200, address
    page.goto("/api/v1/docs/")
    page.get_by_role("button", name="get /api/v1/search", exact=False).first.click()
    page.get_by_role("button", name="Try it out").click()
    page.locator("tr[data-param-name=q] input").fill("travel")
    page.locator("tr[data-param-name=tenant] input").fill(world.tenant.slug)
    page.get_by_role("button", name="Execute").click()
    expect(page.locator(".live-responses-table tbody .response-col_status").first).to_contain_text("200")


def test_other_answers_have_one_too(world: World, client: Client) -> None:
    for address in ("/nowhere", "/api/v1/nowhere", "/healthz", "/static/site/site.css", "/login/"):
        assert client.get(address).headers["Content-Security-Policy"] == POLICY, address
    client.force_login(world.editor)
    document = world.upload(f"# {ATTACK}", name="a.html")
    original = client.get(f"/documents/{document.pk}/versions/1/original/")
    assert original.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert original.headers["X-Content-Type-Options"] == "nosniff"
    assert original.headers["Content-Disposition"].startswith("attachment")
    assert client.get("/api/v1/docs/").headers["Content-Security-Policy"] == POLICY_OF_API_DOCS


@pytest.mark.parametrize(
    ("name", "saved_as"),
    [
        ("a\r\nSet-Cookie: b.txt", "aSet-Cookie: b.txt"),
        ("../../etc/passwd.txt", "passwd.txt"),
        ("C:\\temp\\x.txt", "x.txt"),
        ("\u202etxt.exe.txt", "txt.exe.txt"),
        ('a"; filename=b.html; x=".txt', 'a"; filename=b.html; x=".txt'),
        ("报告 ü.txt", "报告 ü.txt"),
    ],
)
def test_names_of_downloads(world: World, client: Client, name: str, saved_as: str) -> None:
    from django.utils.http import content_disposition_header

    document = world.upload("text", name=name)
    client.force_login(world.editor)
    for address in (
        f"/documents/{document.pk}/versions/1/original/",
        f"/api/v1/documents/{document.pk}/versions/1/content",
    ):
        header = client.get(address).headers["Content-Disposition"]
        assert header == content_disposition_header(True, saved_as)
        assert not set(header) & {"\r", "\n", "\u202e"}
