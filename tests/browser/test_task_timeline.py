"""The timeline of attempts and the question before a cancellation, wide and narrow, in both languages."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from indexing import queue, tasks
from indexing.models import IndexTask
from indexing.states import Stage
from tests.browser.conftest import Open
from tests.concurrency.leases import claim, expire
from tests.db.office import browser
from tests.db.staging import finished
from tests.factories import World

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True, databases=["default", "owner"])]


@pytest.mark.parametrize(
    ("language", "width", "texts"),
    [
        ("en-US", 1280, ("Attempt 2 · Succeeded", "Storing chunks was refused: attempt 2 had taken over.")),
        ("zh-CN", 390, ("第 2 次尝试 · 已完成", "第 2 次尝试已接手")),
    ],
)
def test_the_timeline_fits_and_cancelling_asks_first(
    world: World, open_browser: Open, live_server: Any, language: str, width: int, texts: tuple[str, str]
) -> None:
    task_id = world.publish(world.upload()).ticket.task_id
    late = claim("worker-host.example:4242:aabbcc")
    queue.report(late, stage=Stage.EMBED, done=1, total=2)
    tasks.cancel_task(actor=world.editor, task_id=task_id)
    world.publish(IndexTask.objects.get(pk=task_id).document)
    expire(task_id)
    lease = claim("worker-host.example:4243:ddeeff")
    queue.report(lease, stage=Stage.VALIDATE)
    for action in ("stage", "renew"):
        queue.record_refusal(late, action=action)
    finished(lease)
    waiting = world.publish(world.upload(title="Waiting")).ticket.task_id

    page = open_browser(language=language, viewport={"width": width, "height": 900})
    session = browser(world.editor).cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    page.goto(reverse("admin:indexing_indextask_change", args=[task_id]))
    for text in texts:
        expect(page.get_by_text(text).first).to_be_visible()
    fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert page.evaluate(fits)
    page.goto(reverse("admin:indexing_indextask_change", args=[waiting]))
    page.locator('form[action$="/cancel/"] button').click()
    expect(page.locator(".kb-consequences li")).to_have_count(4)
    assert page.evaluate(fits)
    assert IndexTask.objects.get(pk=waiting).state == "PENDING"
    page.locator(".kb-form button[type=submit]").click()
    expect(page.locator(".messagelist, .success").first).to_be_visible()
    assert IndexTask.objects.get(pk=waiting).state == "CANCELLED"
