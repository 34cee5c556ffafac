"""The admin's lists in a real browser: they update themselves, and nothing of a row lies beyond the edge of the screen."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from indexing import queue, tasks
from indexing.errors import DocumentCorrupt
from tests.browser.conftest import Open
from tests.browser.test_editor_journey import log_in
from tests.db.staging import claim, finished
from tests.factories import World

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "owner"]),
]

DOCUMENTS, TASKS = "/admin/documents/document/", "/admin/indexing/indextask/"


def test_the_list_updates_itself(open_browser: Open, world: World) -> None:
    """One question for all rows, and none once nothing is being indexed."""
    for title in ("One", "Two", "Three"):
        world.publish(world.upload(title=title))
    finished(claim())  # One
    page = open_browser()
    log_in(page, world)
    page.goto(DOCUMENTS)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/states/" in request.url else None)
    expect(page.locator("#result_list [data-field=word]")).to_have_text(["Indexing", "Indexing", "Searchable"])
    running = claim()  # Two
    tasks.cancel_task(actor=world.editor, task_id=running.task_id)
    expect(page.locator("#result_list [data-field=word]")).to_have_text(["Indexing", "Cancelling…", "Searchable"])
    assert asked[0].count("id=") == 2
    end(running, DocumentCorrupt())
    finished(claim())  # Three
    expect(page.locator("#result_list [data-field=word]")).to_have_text(["Searchable", "Failed", "Searchable"])
    expect(page.locator("#result_list [data-field=versions]").first).to_have_text("v1 / v1")
    expect(page.locator("#result_list [data-field=error]").nth(1)).to_contain_text("The file is damaged")
    asked.clear()
    page.wait_for_timeout(3500)
    assert not asked


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_lies_beyond_the_edge(open_browser: Open, world: World, width: int) -> None:
    world.publish(world.upload(title="T" * 240))
    end(claim("worker-on-a-host-with-a-long-name:12345"), DocumentCorrupt())
    page = open_browser(viewport={"width": width, "height": 900})
    log_in(page, world)
    for address, cells in ((DOCUMENTS, ("title", "what_readers_see")), (TASKS, ("what", "error", "changed"))):
        page.goto(address)
        for cell in cells:
            assert right_edge(page, f"#result_list .field-{cell}") <= width, cell


def right_edge(page: Page, place: str) -> float:
    box = page.locator(place).first.bounding_box()
    assert box is not None, place
    return box["x"] + box["width"]


def end(lease: Any, error: Any) -> None:
    verdict: Any = type("Verdict", (), {"state": "DEAD", "charge": 1, "delay": None})
    queue.fail(lease, error=error, verdict=verdict)
