"""Presentations: what is on each slide in the order of its places, lists, tables, charts and notes, each with its slide."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Cm

from documents.media_types import PPTX, UnsupportedFile, detect
from indexing.blocks import Gap, GapReason, LeftOutReason, ParsedDocument
from indexing.errors import DocumentCorrupt, DocumentEncrypted, NoText, UnsupportedDocument
from indexing.parsers import pptx
from indexing.parsers.sandbox import parse_in_child
from indexing.splitters import split
from tests.unit.blocks_asserts import check, outline

TITLE_AND_BODY, TITLE_ONLY, BLANK = 1, 5, 6
DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
Fill = Callable[[Any], None]


def made(fill: Fill) -> bytes:
    presentation = Presentation()
    fill(presentation)
    stream = io.BytesIO()
    presentation.save(stream)
    return stream.getvalue()


def parsed(fill: Fill) -> ParsedDocument:
    return check(pptx.parse(made(fill)))


def slide(presentation: Any, layout: int = BLANK, title: str = "") -> Any:
    added = presentation.slides.add_slide(presentation.slide_layouts[layout])
    if title:
        added.shapes.title.text = title
    return added


def box(on: Any, text: str, left: float, top: float, width: float = 5, height: float = 2) -> Any:
    shape = on.shapes.add_textbox(Cm(left), Cm(top), Cm(width), Cm(height))
    shape.text_frame.text = text
    return shape


def lists(presentation: Any) -> None:
    first = slide(presentation, TITLE_AND_BODY, "差旅费用")
    frame = first.placeholders[1].text_frame
    frame.text = "住宿上限 500 元"
    frame.add_paragraph().text = "交通"
    inner = frame.add_paragraph()
    inner.text, inner.level = "高铁二等座", 1
    first.notes_slide.notes_text_frame.text = "讲者备注：以新标准为准。"
    second = slide(presentation, TITLE_ONLY, "Steps")
    shape = box(second, "Ask your manager", 1, 5, 10)
    shape.text_frame.add_paragraph().text = "Book the hotel"
    for paragraph in shape.text_frame.paragraphs:
        properties = paragraph._p.get_or_add_pPr()
        properties.append(
            properties.makeelement(
                "{http://schemas.openxmlformats.org/drawingml/2006/main}buAutoNum", {"type": "arabicPeriod"}
            )
        )


def test_titles_lists_and_notes() -> None:
    document = parsed(lists)
    assert outline(document) == [
        ("h1", "差旅费用"),
        ("list_item", "住宿上限 500 元"),
        ("list_item", "交通"),
        ("list_item", "高铁二等座"),
        ("paragraph", "讲者备注：以新标准为准。"),
        ("h1", "Steps"),
        ("list_item", "1. Ask your manager"),
        ("list_item", "2. Book the hotel"),
    ]
    assert [block.locator.slide for block in document.blocks] == [1] * 5 + [2] * 3
    assert (document.title, document.pages) == ("差旅费用", 2)
    chunks = split(document, title="t", count_tokens=lambda text: len(text), budget=2000)
    assert [chunk.locator.slide for chunk in chunks] == [1, 2]


def test_shapes_are_read_by_their_places() -> None:
    def mixed(presentation: Any) -> None:
        one = slide(presentation)
        for text, left, top in (("below", 1, 12), ("above", 1, 1), ("right", 14, 5), ("left", 1, 5)):
            box(one, text, left, top)
        two = slide(presentation)
        for text, left, top in (("R2", 14, 4), ("L2", 1, 4), ("R1", 14, 1), ("L1", 1, 1)):
            box(two, text, left, top)
        group = two.shapes.add_group_shape()
        box(group, "group 2", 1, 15)
        box(group, "group 1", 1, 12)

    texts = [text for _, text in outline(parsed(mixed))]
    assert texts[:4] == ["above", "left", "right", "below"]
    assert texts[4:] == ["L1", "L2", "group 1", "group 2", "R1", "R2"]


def test_tables_and_charts() -> None:
    def fill(presentation: Any) -> None:
        one = slide(presentation, TITLE_ONLY, "Rates")
        table = one.shapes.add_table(4, 3, Cm(1), Cm(5), Cm(20), Cm(4)).table
        for at, text in enumerate(["地区", "销售", "", "", "一季度", "二季度", "华东", "1", "2", "", "3", "4"]):
            table.cell(at // 3, at % 3).text = text
        table.cell(0, 0).merge(table.cell(1, 0))
        table.cell(0, 1).merge(table.cell(0, 2))
        table.cell(2, 0).merge(table.cell(3, 0))
        data = CategoryChartData()
        data.categories = ["2023", "2024"]
        data.add_series("Sales", (1.5, 2))
        frame = slide(presentation).shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Cm(1), Cm(1), Cm(9), Cm(9), data)
        frame.chart.has_title = True
        frame.chart.chart_title.text_frame.text = "销售额"

    content = made(fill)
    assert detect(content, "a.pptx") == PPTX, "a chart has a spreadsheet inside"
    document = check(pptx.parse(content))
    table, chart = (block for block in document.blocks if block.rows)
    assert table.rows == (
        ("地区", "销售", "销售"),
        ("地区", "一季度", "二季度"),
        ("华东", "1", "2"),
        ("华东", "3", "4"),
    )
    assert table.header_rows == 2
    assert chart.rows == (("", "Sales"), ("2023", "1.5"), ("2024", "2"))
    assert outline(document)[2] == ("caption", "销售额")


def test_what_is_not_shown_is_left_out() -> None:
    def fill(presentation: Any) -> None:
        hidden = slide(presentation, TITLE_ONLY, "Draft")
        hidden.element.set("show", "0")
        shown = slide(presentation, TITLE_ONLY, "Shown")
        layout = shown.slide_layout
        for holder in layout.placeholders:
            if holder.placeholder_format.idx in (10, 11, 12):  # date, footer, number
                shown.shapes.clone_placeholder(holder)
        for holder in shown.placeholders:
            if holder.placeholder_format.idx == 11:
                holder.text_frame.text = "公司机密"

    document = parsed(fill)
    assert outline(document) == [("h1", "Shown")]
    assert [(left.reason, left.text, left.pages) for left in document.left_out] == [
        (LeftOutReason.HIDDEN, "Draft", (1,)),
        (LeftOutReason.PAGE_FOOTER, "公司机密", (2,)),
    ]


def replaced(content: bytes, part: str, data: Callable[[bytes], bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(stream, "w") as target:
        for name in source.namelist():
            target.writestr(name, data(source.read(name)) if name == part else source.read(name))
    return stream.getvalue()


def test_a_slide_that_cannot_be_read_is_a_gap() -> None:
    broken = replaced(
        made(lists), "ppt/slides/slide1.xml", lambda data: data.replace(b'type="title"', b'type="none-such"')
    )
    document = check(pptx.parse(broken))
    assert document.gaps == (Gap(GapReason.UNREADABLE, slide=1),)
    assert document.text.startswith("Steps")


def test_files_that_are_not_read() -> None:
    good = made(lists)
    with pytest.raises(DocumentCorrupt):
        pptx.parse(good[: len(good) // 2])
    with pytest.raises(DocumentCorrupt):
        pptx.parse(replaced(good, "ppt/slides/slide1.xml", lambda data: data[: len(data) // 2]))
    with pytest.raises(DocumentCorrupt):
        pptx.parse(replaced(good, "ppt/slides/slide1.xml", lambda data: b"<!DOCTYPE x>" + data))
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    with pytest.raises(DocumentEncrypted):
        pptx.parse(ole + "EncryptedPackage".encode("utf-16-le"))
    with pytest.raises(UnsupportedDocument):
        pptx.parse(ole + "PowerPoint Document".encode("utf-16-le"))
    with pytest.raises(NoText):
        pptx.parse(made(lambda presentation: slide(presentation)))
    with pytest.raises(UnsupportedFile):
        detect(good, "a.docx")


def test_presentations_are_read_in_the_locked_process() -> None:
    assert parse_in_child(made(lists), PPTX, "a.pptx", timeout=60, memory_bytes=1024**3).pages == 2
