"""A pipeline from its revision to serving, by hand in a real browser, wide and narrow."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from indexing.models import Pipeline
from indexing.pipelines import ensure_vector_index
from indexing.worker import Worker
from tests.browser.conftest import Open
from tests.browser.test_admin_lists import right_edge
from tests.browser.test_editor_journey import log_in
from tests.factories import World
from tests.provider_stub import ProviderStub

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "owner"]),
]


def confirm(page: Page, words: str, **fields: str) -> None:
    """The button on the page, then the one under what follows from it."""
    page.get_by_role("link", name=words, exact=True).click()
    expect(page.locator(".kb-consequences li").first).to_be_visible()
    for label, value in fields.items():
        page.get_by_label(label).fill(value)
    page.get_by_role("button", name=words, exact=True).click()


@pytest.mark.parametrize("width", [390, 1280])
def test_another_model_comes_to_serve(
    open_browser: Open, world: World, provider: ProviderStub, settings: Any, width: int
) -> None:
    provider.dimensions_of["stub-two"] = 32
    world.publish(world.upload())
    Worker(name="w").run(drain=True)
    world.editor.is_superuser = True
    world.editor.save()
    page = open_browser(viewport={"width": width, "height": 900})
    log_in(page, world)

    page.goto("/admin/indexing/pipeline/add/")
    page.get_by_label("Changes").fill("embedder.model=stub-two\nembedder.dimensions=32")
    page.get_by_role("button", name="Show the difference").click()
    expect(page.locator("table").last).to_contain_text("embedder.dimensions")
    page.get_by_role("button", name="Make this revision").click()
    expect(page.locator(".messagelist")).to_contain_text("Build it where it is to serve.")
    made = Pipeline.objects.get(config__embedder__model="stub-two")

    confirm(page, "Build")
    expect(page.locator(".kb-badge").first).to_contain_text("Being built")
    confirm(page, "Examine")
    expect(page.locator(".kb-error").first).to_be_visible()
    assert right_edge(page, "section.kb-card") <= width
    Worker(name="bulk", pool="bulk").run(drain=True)
    ensure_vector_index(pipeline_id=made.pk, dimensions=made.dimensions, using="owner")
    confirm(page, "Examine")
    expect(page.locator(".messagelist")).to_contain_text("It passed.")
    confirm(page, "Let it serve")
    expect(page.locator(".kb-badge").first).to_contain_text("Serves")
    expect(page.locator(".kb-events")).to_contain_text("Being built")

    page.goto("/admin/indexing/pipeline/")
    expect(page.locator("#result_list")).to_contain_text("Stands by")
