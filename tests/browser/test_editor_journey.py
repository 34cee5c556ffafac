"""What an editor does every day, in a real browser: upload, publish, watch, search, find."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from documents.models import Document
from indexing.worker import Worker
from kbsite.demo import samples
from tests.browser.conftest import Open
from tests.factories import World

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "owner"]),
]

DAMAGED = Path(samples.__file__).parent / "samples" / "quarterly-report-damaged.pdf"


def log_in(page: Page, world: World) -> None:
    page.goto("/login/")
    page.get_by_label("User name").fill(world.editor.username)
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="What would you like to know?")).to_be_visible()


def upload(page: Page, file: Path | dict[str, object], *, title: str) -> None:
    page.get_by_role("link", name="Manage").click()
    page.get_by_role("navigation", name="Sections").get_by_role("link", name="Documents").click()
    page.get_by_role("link", name="Upload a document").click()
    page.get_by_label("Title").fill(title)
    page.get_by_label("File").set_input_files(file)  # type: ignore[arg-type]
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("The document was uploaded.")).to_be_visible()


def publish_for_everyone(page: Page) -> None:
    page.get_by_label("Every member of the tenant").first.check()
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("is published. It becomes searchable when it is indexed")).to_be_visible()


def text_file(name: str, text: str) -> dict[str, object]:
    return {"name": name, "mimeType": "text/markdown", "buffer": text.encode()}


def test_round_trip(open_browser: Open, world: World, start_worker: Callable[[], Worker]) -> None:
    page = open_browser()
    log_in(page, world)
    upload(
        page, text_file("kingfisher.md", "# Kingfisher\n\nThe kingfisher budget is 4.6 per cent."), title="Kingfisher"
    )
    publish_for_everyone(page)
    badge = page.locator(".kb-standing [data-field=word]")
    expect(badge).to_have_text("Indexing")
    page.evaluate("window.sameDocument = true")

    start_worker()
    expect(badge).to_have_text("Searchable")
    expect(page.locator("[data-field=summary]")).to_have_text("Readers see v1, the version in force.")
    expect(page.get_by_role("button", name="Cancel indexing")).to_be_hidden()
    expect(page.locator("[data-tag=searchableVersion]")).to_be_visible()
    assert page.evaluate("window.sameDocument"), "the page was not loaded again"

    page.get_by_role("link", name="Searchable text").click()
    chunks = page.get_by_role("region", name="Chunks")
    expect(chunks.get_by_text("The kingfisher budget is 4.6 per cent.")).to_be_visible()
    page.get_by_role("link", name="View site").click()
    page.get_by_label("Your question").fill("kingfisher budget")
    page.keyboard.press("Enter")
    hit = page.locator(".hits li").first
    expect(hit.locator("mark").first).to_have_text("kingfisher")
    expect(hit).to_contain_text("line 3")
    hit.get_by_role("link", name="Kingfisher").click()
    expect(page.locator(".text mark")).to_contain_text("The kingfisher budget is 4.6 per cent.")


def test_new_version_replaces_the_old_one_for_a_reader(
    open_browser: Open, world: World, start_worker: Callable[[], Worker]
) -> None:
    start_worker()
    page = open_browser()
    log_in(page, world)
    upload(page, text_file("limit.md", "# Limit\n\nThe heron limit is 200 yuan."), title="Limits")
    publish_for_everyone(page)
    badge = page.locator(".kb-standing [data-field=word]")
    expect(badge).to_have_text("Searchable")
    page.get_by_label("File").set_input_files(  # type: ignore[arg-type]
        text_file("limit-2.md", "# Limit\n\nThe heron limit is 300 yuan.")
    )
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("v2 was uploaded.")).to_be_visible()
    page.get_by_role("button", name="Publish").click()  # keeps the readers
    expect(page.locator("[data-field=searchable]")).to_have_text("v2")
    page.goto("/?q=heron+limit")
    expect(page.locator(".hits")).to_contain_text("300 yuan")
    expect(page.locator(".hits")).not_to_contain_text("200 yuan")


def test_a_damaged_file_says_what_to_do(open_browser: Open, world: World, start_worker: Callable[[], Worker]) -> None:
    page = open_browser()
    log_in(page, world)
    upload(page, DAMAGED, title="Quarterly Report")
    publish_for_everyone(page)
    start_worker()
    badge, error = page.locator(".kb-standing [data-field=word]"), page.locator("[data-field=error]")
    expect(badge).to_have_text("Failed")
    expect(error).to_have_text(
        "The file is damaged and cannot be opened. Open it in its own program, save it again and upload it as a new version."
    )
    expect(page.get_by_role("button", name="Try again now")).to_be_hidden()
    expect(page.get_by_role("link", name="Upload a new version")).to_be_visible()
    page.get_by_role("link", name="Index task", exact=True).click()
    page.get_by_role("button", name="Try again now").click()
    expect(page.get_by_role("heading", name="Try to index “Quarterly Report” v1 again?")).to_be_visible()
    page.get_by_role("button", name="Try again now").click()
    expect(page.get_by_text("The task is tried again.")).to_be_visible()
    expect(page.get_by_text("Failed → Waiting")).to_be_visible()


def test_a_stale_page_keeps_what_was_entered(open_browser: Open, world: World) -> None:
    page = open_browser()
    log_in(page, world)
    world.member("rita", groups=("hr",))
    upload(page, text_file("a.md", "# A\n\nText."), title="Shared")
    page.get_by_label("Only these groups and people").first.check()
    page.get_by_label("hr", exact=True).first.check()
    world.publish(Document.objects.get(title="Shared"))  # somebody else, meanwhile
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("The document was changed since you loaded this page")).to_be_visible()
    expect(page.get_by_label("hr", exact=True).first).to_be_checked()
    page.get_by_role("button", name="Publish").click()
    expect(page.locator(".kb-facts")).to_contain_text("group hr")


def test_a_phone_in_chinese(open_browser: Open, world: World) -> None:
    """Nothing is wider than the screen, and every text is Chinese."""
    document = world.upload(title="差旅")
    world.publish(document)
    page = open_browser(language="zh-CN", viewport={"width": 390, "height": 844})
    page.goto("/login/")
    page.get_by_label("用户名").fill(world.editor.username)
    page.get_by_label("密码").fill("correct horse battery")
    page.get_by_role("button", name="登录").click()
    expect(page.get_by_role("heading", name="想了解什么？")).to_be_visible()
    for address in (
        "/",
        "/?q=差旅",
        "/admin/",
        "/admin/documents/document/",
        f"/admin/documents/document/{document.pk}/change/",
    ):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, address
    expect(page.locator(".kb-standing [data-field=word]")).to_have_text("索引中")
