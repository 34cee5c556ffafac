"""Bulk runs in a real browser, wide and narrow, in both languages."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from indexing import recompute
from indexing.models import Pipeline
from tests.browser.conftest import Open
from tests.browser.test_admin_lists import right_edge
from tests.concurrency.leases import run_worker
from tests.db.office import browser
from tests.factories import World

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True, databases=["default", "owner"])]


@pytest.mark.parametrize(
    ("language", "width", "skipped"),
    [("en-US", 1280, "Skipped: newer version: 1"), ("zh-CN", 390, "已跳过：有更新的版本: 1")],
)
def test_what_was_overtaken_is_found_from_the_run(
    open_browser: Open, live_server: Any, world: World, language: str, width: int, skipped: str
) -> None:
    documents = [world.upload(title=f"Travel rules {number}") for number in range(3)]
    for document in documents:
        world.publish(document)
        assert run_worker() == "SUCCEEDED"
    pipeline = Pipeline.objects.get(tenants__tenant=world.tenant, tenants__role="SERVING")
    recompute.start(actor_id=world.editor.pk, pipeline_id=pipeline.pk, tenant_id=world.tenant.pk, rebuild=True)
    world.new_version(documents[1], "# Travel\n\nThe limit is 300 yuan.")
    world.publish(documents[1])

    page = open_browser(language=language, viewport={"width": width, "height": 700})
    session = browser(world.editor).cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    page.goto("/admin/indexing/recomputerun/")
    assert right_edge(page, "#result_list") <= width
    page.get_by_role("link", name=skipped).click()
    expect(page.locator("#result_list")).to_contain_text("Travel rules 1 v1")
    expect(page.locator("#result_list")).not_to_contain_text("Travel rules 2 v1")
    assert right_edge(page, "#result_list") <= width
