"""The original beside its chunks: a drawn page with marks, a text with marks, in both languages, wide and narrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from openpyxl import Workbook
from playwright.sync_api import Page, expect
from reportlab.platypus import PageBreak, Paragraph

from documents import uploading
from documents.models import Document
from indexing import inspection_page
from indexing.blocks import Block, BlockKind, Chunk, ParsedDocument
from indexing.inspection import Inspection
from indexing.locators import Locator
from indexing.worker import Worker
from tests.browser.conftest import Open
from tests.db.office import browser
from tests.factories import World
from tests.unit.sheets_made import made, rows_into
from tests.unit.test_parse_pdf import BODY, BODY_ZH, H1, H1_ZH, LONG, LONG_ZH, typeset

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True, databases=["default", "owner"])]

FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
NASTY = '<img src=x onerror="document.title=1"></script><script>document.title=1</script>"\'&amp;'


def indexed(world: World, content: bytes, name: str, title: str) -> Document:
    version = uploading.create_document(
        actor=world.editor, tenant=world.tenant.slug, title=title, data=content, file_name=name
    )
    world.publish(version.document)
    assert Worker().run_once().result == "SUCCEEDED"
    return version.document


def logged_in(open_browser: Open, live_server: Any, world: World, language: str, width: int) -> Page:
    page = open_browser(language=language, viewport={"width": width, "height": 900})
    session = browser(world.editor).cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    return page


@pytest.mark.parametrize(
    ("language", "width", "story", "words"),
    [
        ("en-US", 1400, [Paragraph("Leave Policy", H1), Paragraph(LONG, BODY)], "was found again at its place"),
        ("zh-CN", 390, [Paragraph("休假管理办法", H1_ZH), Paragraph(LONG_ZH, BODY_ZH)], "位置得到核实"),
    ],
)
def test_a_page_of_a_pdf_with_its_chunks(
    world: World, open_browser: Open, live_server: Any, language: str, width: int, story: list[Any], words: str
) -> None:
    content = typeset([*story, PageBreak(), Paragraph("Second page, last words.", BODY)])
    document = indexed(world, content, "leave.pdf", "Leave")
    page = logged_in(open_browser, live_server, world, language, width)
    page.goto(reverse("admin:indexing_chunks", args=[document.pk]))
    expect(page.get_by_text(words).first).to_be_visible()
    drawn = page.locator("svg.kb-original image")
    loaded = (
        "async (node) => { const it = new Image(); it.src = node.href.baseVal; await it.decode(); return it.width }"
    )
    assert drawn.evaluate(loaded) > 1000
    chunk, mark = page.locator("article[data-chunks]").first, page.locator("rect[data-chunks]").first
    chunk.hover()
    expect(mark).to_have_class("kb-lit")
    box, frame = mark.bounding_box(), page.locator("svg.kb-original").bounding_box()
    assert box is not None
    assert frame is not None
    assert box["width"] < frame["width"]  # a region, not the page
    assert box["height"] < frame["height"] / 2
    assert page.evaluate(FITS)
    page.locator("a[rel=next]").first.click()
    expect(page.locator("article[data-chunks]").first).to_contain_text("Second page")


@pytest.mark.parametrize(("language", "width"), [("en-US", 1400), ("zh-CN", 390)])
def test_a_text_with_its_chunks_stays_text(
    world: World, open_browser: Open, live_server: Any, language: str, width: int
) -> None:
    text = f"# Rules\n\n{NASTY} is shown as it is.\n\n## Meals\n\nAt most 60 yuan a day.\n"
    document = indexed(world, text.encode(), "rules.txt", "Rules")
    page = logged_in(open_browser, live_server, world, language, width)
    page.goto(reverse("admin:indexing_chunks", args=[document.pk]))
    expect(page.locator("div.kb-original")).to_contain_text(NASTY)
    page.locator("article[data-chunks]").first.click()
    expect(page.locator("span.kb-lit").first).to_be_visible()
    assert page.title() != "1"
    assert page.evaluate(FITS)


def test_the_page_of_inspect_document_shows_hostile_text_as_text(open_browser: Open, tmp_path: Path) -> None:
    blocks = (Block(BlockKind.PARAGRAPH, NASTY, Locator((0, len(NASTY)), lines=(1, 1))),)
    parsed = ParsedDocument("text/plain", NASTY, blocks, title=NASTY)
    chunk = Chunk(0, NASTY, (NASTY,), Locator((0, len(NASTY)), lines=(1, 1)), tokens=9, context=NASTY)
    broken = Inspection(NASTY, error=("NO_TEXT", NASTY))
    path = tmp_path / "page.html"
    path.write_text(inspection_page.page([Inspection(NASTY, parsed, (chunk,)), broken], {}), encoding="utf-8")
    page = open_browser()
    page.goto(path.as_uri())
    expect(page.locator(".text")).to_have_text(NASTY)
    expect(page.locator("article p")).to_have_text(NASTY)
    page.locator("article").click()  # the script in the page is the one that its policy allows
    expect(page.locator(".text .kb-lit")).to_have_count(1)
    assert page.title() == "Inspected: 2 files"
    assert page.locator("img").count() == 0


@pytest.mark.parametrize(("language", "width"), [("en-US", 1400), ("zh-CN", 390)])
def test_a_sheet_is_a_grid_beside_its_chunks(
    world: World, open_browser: Open, live_server: Any, language: str, width: int
) -> None:
    def fill(book: Workbook) -> None:
        rows = [[f"城市 {number}", number, NASTY] for number in range(40)]
        rows_into(book, ["城市 City", "上限 Limit", "备注 Note"], *rows)

    document = indexed(world, made(fill), "rates.xlsx", "Rates")
    page = logged_in(open_browser, live_server, world, language, width)
    page.goto(reverse("admin:indexing_chunks", args=[document.pk]))
    rows = page.locator(".kb-grid tr")
    assert rows.nth(0).inner_text().split() == ["A", "B", "C"]
    expect(rows.nth(2)).to_contain_text(NASTY)
    expect(rows.nth(2).locator("th")).to_have_text("2")
    page.locator("article[data-chunks]").first.hover()
    expect(rows.nth(2)).to_have_class("kb-lit")
    assert page.title() != "1"
    assert page.evaluate(FITS)
