"""The list of embedding providers in a real browser: the button in a row sends the list's own form to another address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

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

LIST = "/admin/indexing/embeddingprovider/"


@pytest.mark.parametrize("width", [390, 1280])
def test_an_operator_tries_again_and_it_goes_on(
    open_browser: Open,
    world: World,
    provider: ProviderStub,
    settings: Any,
    start_worker: Callable[[], Worker],
    width: int,
) -> None:
    provider.api_key, settings.KB_EMBEDDING_API_KEY = "right", "wrong"
    document = world.publish(world.upload()).document
    Worker(lease_seconds=60).run_once()
    world.editor.is_superuser = True
    world.editor.save()
    page = open_browser(viewport={"width": width, "height": 900})
    log_in(page, world)

    page.goto(f"/admin/documents/document/{document.pk}/change/")
    expect(page.locator(".kb-standing [data-field=error]")).to_contain_text("has refused our key since")
    page.goto(LIST)
    expect(page.locator("#result_list")).to_contain_text("Out of order")
    for cell in ("badge", "reason", "try_now_button"):
        assert right_edge(page, f"#result_list .field-{cell}") <= width, cell

    settings.KB_EMBEDDING_API_KEY = "right"
    page.get_by_role("button", name="Try again now").click()
    expect(page.locator(".messagelist")).to_contain_text("A worker tries the embedding provider again now.")
    start_worker()
    page.goto(f"/admin/documents/document/{document.pk}/change/")
    expect(page.locator(".kb-standing [data-field=word]")).to_have_text("Searchable")
    page.goto(LIST)
    expect(page.locator("#result_list")).to_contain_text("Working")
    page.get_by_role("link", name=provider.url.split("/")[2]).click()
    expect(page.locator(".kb-events")).to_contain_text("It answers again")
