"""A real Chromium against a live server and a real worker."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connections
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from indexing import pipelines
from indexing.worker import Worker
from tests.factories import World, make_world
from tests.provider_stub import ProviderStub

Open = Callable[..., Page]
PATIENCE = 20_000  # milliseconds, for machines that are busy

expect.set_options(timeout=PATIENCE)


def chromium() -> str:
    """Debian's Chromium. Where there is none the tests skip with a reason; in CI, where there must be one, they fail."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path:
        return path
    reason = "No Chromium on PATH: the editor's journey is NOT tested. Install the package “chromium”."
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def browser_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    # Playwright runs an event loop in the test's own thread, where Django would then refuse every query.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    path = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()
        # Django keeps connections apart for code beside a running loop; these would keep the database from being dropped.
        connections.close_all()


@pytest.fixture
def open_browser(browser_process: Browser, live_server: Any) -> Iterator[Open]:
    """Open a browser of somebody's own. A page that reports an error of a script or a missing resource fails the test."""
    troubles: list[str] = []

    def remember(message: ConsoleMessage) -> None:
        # A refused command is a page with its own status, which the browser's console reports as well.
        if message.type == "error" and "409 (Conflict)" not in message.text:
            troubles.append(message.text)

    def open_one(*, language: str = "en-US", **options: Any) -> Page:
        context = browser_process.new_context(base_url=live_server.url, locale=language, **options)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", remember)
        return page

    yield open_one
    assert not troubles


@pytest.fixture
def world(provider: ProviderStub, settings: Any) -> World:
    """A tenant whose worker and searches embed through the stub: the model's start would take longer than the journey."""
    settings.KB_EMBEDDING_URL = provider.url
    settings.KB_EMBEDDING_MODEL = "stub"
    settings.KB_EMBEDDING_DIMENSIONS = 64
    settings.KB_POLL_SECONDS = 0.2
    pipelines.ensure_default_pipeline(using="owner")
    world = make_world()
    world.editor.is_staff = True
    world.editor.save()
    return world


@pytest.fixture
def start_worker() -> Iterator[Callable[[], Worker]]:
    """A worker in a thread, started when the test says so and certainly stopped."""
    running: list[tuple[Worker, threading.Thread]] = []

    def run(worker: Worker) -> None:
        try:
            worker.run()
        finally:
            connections.close_all()

    def start() -> Worker:
        worker = Worker()
        thread = threading.Thread(target=run, args=[worker], daemon=True)
        running.append((worker, thread))
        thread.start()
        return worker

    yield start
    for worker, thread in running:
        worker.stop.set()
        thread.join(timeout=30)
        assert not thread.is_alive()
