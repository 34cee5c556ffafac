"""Presentations: what is on each slide in the order of its places, lists, tables, charts and notes, each with its slide."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from lxml import etree
from PIL import Image
from pptx import Presentation
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Cm

from documents.media_types import PPTX, UnsupportedFile, detect
from indexing.blocks import Chunk, Gap, GapReason, LeftOutReason, ParsedDocument
from indexing.errors import DocumentCorrupt, DocumentEncrypted, NoText, UnsupportedDocument
from indexing.parsers import pptx
from indexing.parsers.office_graphics import chart, diagram, read_xml
from indexing.parsers.sandbox import parse_in_child
from indexing.splitters import split
from indexing.verification import claims_of, verify
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
        ("h2", "备注"),
        ("paragraph", "讲者备注：以新标准为准。"),
        ("h1", "Steps"),
        ("list_item", "1. Ask your manager"),
        ("list_item", "2. Book the hotel"),
    ]
    assert [block.locator.slide for block in document.blocks] == [1] * 6 + [2] * 3
    assert [block.depth for block in document.blocks] == [None, 0, 0, 1, None, None, None, 0, 0]
    assert (document.title, document.pages) == ("差旅费用", 2)
    chunks = split(document, title="t", count_tokens=lambda text: len(text), budget=2000)
    assert [chunk.locator.slide for chunk in chunks] == [1, 1, 2]


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
    assert [(left.reason, left.text, left.slide) for left in document.left_out] == [
        (LeftOutReason.HIDDEN, "Draft", 1),
        (LeftOutReason.PAGE_FOOTER, "公司机密", 2),
    ]


def test_a_title_holds_for_its_slide_alone() -> None:
    def fill(presentation: Any) -> None:
        box(slide(presentation, TITLE_ONLY, "First"), "under it", 1, 8)
        two = slide(presentation)
        box(two, "nothing above", 1, 8)
        two.notes_slide.notes_text_frame.text = "Say it slowly."

    blocks = parsed(fill).blocks
    assert [(block.text, block.heading_path) for block in blocks] == [
        ("First", ()),
        ("under it", ("First",)),
        ("nothing above", ()),
        ("Notes", ()),
        ("Say it slowly.", ("Notes",)),
    ]


def test_the_order_of_the_file_counts_unless_places_contradict_it() -> None:
    def cards(presentation: Any) -> None:
        one = slide(presentation)
        for text, left, top in (("A", 1, 1), ("B", 9, 1), ("C", 17, 1), ("a", 1, 4), ("b", 9, 4), ("c", 17, 4)):
            box(one, text, left, top)
        two = slide(presentation)
        for text, left, top, width in (
            *(("r2", 14, 9, 5), ("l2", 1, 9, 5), ("banner", 1, 1, 20), ("r1", 14, 5, 5), ("l1", 1, 5, 5)),
            *(("foot", 1, 13, 20),),
        ):
            box(two, text, left, top, width)

    texts = [text for _, text in outline(parsed(cards))]
    assert texts[:6] == ["A", "B", "C", "a", "b", "c"]
    assert texts[6:] == ["banner", "l1", "l2", "r1", "r2", "foot"]


def test_stairs_of_columns_in_rows_without_end() -> None:
    def fill(presentation: Any) -> None:
        one = slide(presentation)
        left, top, right, bottom = 0, 0, 60, 60
        for step in range(40):
            if step % 2:
                box(one, f"{step}", left, top, right - left, 0.5)
                top += 1
            else:
                box(one, f"{step}", left, top, 0.5, bottom - top)
                left += 1
        box(one, "before all", -9, 0, 1, 60)

    assert outline(parsed(fill))[0] == ("paragraph", "before all")


def xml(source: str) -> Any:
    spaces = (
        *(("p", "presentationml"), ("a", "drawingml")),
        *(("m", "officeDocument"), ("c", "drawingml"), ("dgm", "drawingml")),
    )
    ends = {"p": "main", "a": "main", "m": "math", "c": "chart", "dgm": "diagram"}
    declared = " ".join(
        f'xmlns:{prefix}="http://schemas.openxmlformats.org/{kind}/2006/{ends[prefix]}"' for prefix, kind in spaces
    )
    compatible = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    newer = 'xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main"'
    return etree.fromstring(f"<x {declared} {compatible} {newer}>{source}</x>")[0]


SHAPE = (
    '<p:sp><p:nvSpPr><p:cNvPr id="{id}" name="x"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>'
    "<p:txBody><a:bodyPr/>{paragraphs}</p:txBody></p:sp>"
)


def test_formulas_and_what_newer_programs_show() -> None:
    def fill(presentation: Any) -> None:
        letter = "<m:r><m:t>{}</m:t></m:r>".format
        power = f"<m:sSup><m:e>{letter('r')}</m:e><m:sup>{letter('2')}</m:sup></m:sSup>"
        square = f"<a14:m><m:oMath>{power}</m:oMath></a14:m>"
        newer = f"<a:p><a:r><a:t>面积 </a:t></a:r>{square}</a:p><a:p>{square}</a:p>"
        older = "<a:p><a:r><a:t>a picture of it</a:t></a:r></a:p>"
        tree = slide(presentation, TITLE_ONLY, "圆").shapes._spTree
        choice = f'<mc:Choice Requires="a14">{SHAPE.format(id=8, paragraphs=newer)}</mc:Choice>'
        fallback = f"<mc:Fallback>{SHAPE.format(id=9, paragraphs=older)}</mc:Fallback>"
        tree.append(xml(f"<mc:AlternateContent>{choice}{fallback}</mc:AlternateContent>"))

    assert outline(parsed(fill)) == [("h1", "圆"), ("paragraph", "面积 r^{2}"), ("formula", "r^{2}")]


def test_hidden_shapes_and_numbers_of_slides() -> None:
    def fill(presentation: Any) -> None:
        one = slide(presentation, TITLE_ONLY, "Shown")
        box(one, "old price", 1, 5)._element._nvXxPr.cNvPr.set("hidden", "1")
        shape = box(one, "see slide ", 1, 9)
        shape.text_frame.paragraphs[0]._p.append(
            xml('<a:fld id="{B6F15528-21DE-4FAA-801E-634DDDAF4B2B}" type="slidenum"><a:t>7</a:t></a:fld>')
        )

    document = parsed(fill)
    assert outline(document) == [("h1", "Shown"), ("paragraph", "see slide")]
    assert [(left.reason, left.text) for left in document.left_out] == [(LeftOutReason.HIDDEN, "old price")]


def test_what_is_said_of_pictures() -> None:
    def fill(presentation: Any) -> None:
        one = slide(presentation)
        for words in (
            "组织结构图\n\n描述已自动生成",
            "scan 1.png",
            "IMG_01.png",
            "Picture 4",
            "A lock. AI-generated content may be incorrect.",
        ):
            stream = io.BytesIO()
            Image.new("RGB", (9, 9)).save(stream, "PNG")
            picture = one.shapes.add_picture(stream, Cm(1), Cm(1))
            picture._element._nvXxPr.cNvPr.set("descr", words)

    assert outline(parsed(fill)) == [("caption", "组织结构图"), ("caption", "scan 1.png"), ("caption", "A lock.")]


def test_charts_of_every_kind() -> None:
    def fill(presentation: Any) -> None:
        levels = CategoryChartData(number_format="0%")
        for year in ("2023", "2024"):
            outer = levels.add_category(year)
            for quarter in ("Q1", "Q2"):
                outer.add_sub_category(quarter)
        levels.add_series("份额", (0.25, 0.5, None, 1))
        points = XyChartData()
        for name, pairs in (("one", ((1, 2), (3, 4.5))), ("two", ((1, 7), (9, 8)))):
            series = points.add_series(name)
            for x, y in pairs:
                series.add_data_point(x, y)
        for kind, data in ((XL_CHART_TYPE.LINE, levels), (XL_CHART_TYPE.XY_SCATTER, points)):
            slide(presentation).shapes.add_chart(kind, Cm(1), Cm(1), Cm(9), Cm(9), data)

    tables = [block.rows for block in parsed(fill).blocks]
    assert tables == [
        (("", "份额"), ("2023 Q1", "25%"), ("2023 Q2", "50%"), ("2024 Q1", ""), ("2024 Q2", "100%")),
        (("", "one"), ("1", "2"), ("3", "4.5")),
        (("", "two"), ("1", "7"), ("9", "8")),
    ]


def test_charts_since_2016() -> None:
    root = read_xml(
        b'<cx:chartSpace xmlns:cx="http://schemas.microsoft.com/office/drawing/2014/chartex"><cx:chartData><cx:data id="0">'
        b'<cx:strDim type="cat"><cx:lvl ptCount="2"><cx:pt idx="0">Start</cx:pt><cx:pt idx="1">End</cx:pt></cx:lvl></cx:strDim>'
        b'<cx:numDim type="val"><cx:lvl ptCount="2" formatCode="General"><cx:pt idx="0">100</cx:pt><cx:pt idx="1">-5</cx:pt>'
        b"</cx:lvl></cx:numDim></cx:data></cx:chartData><cx:chart><cx:plotArea><cx:plotAreaRegion>"
        b'<cx:series layoutId="waterfall"><cx:tx><cx:txData><cx:v>Cash</cx:v></cx:txData></cx:tx>'
        b'<cx:dataId val="0"/></cx:series>'
        b"</cx:plotAreaRegion></cx:plotArea></cx:chart></cx:chartSpace>"
    )
    assert [piece.rows for piece in chart(root)] == [(("", "Cash"), ("Start", "100"), ("End", "-5"))]


def test_diagrams_are_read_by_what_hangs_on_what() -> None:
    def point(identity: int, text: str, kind: str = "node") -> str:
        return f'<dgm:pt modelId="{identity}" type="{kind}"><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>'

    def below(upper: int, lower: int, order: int) -> str:
        return f'<dgm:cxn modelId="{upper}{lower}" srcId="{upper}" destId="{lower}" srcOrd="{order}"/>'

    points = point(1, "", "doc") + point(2, "财务部") + point(3, "Accounts") + point(4, "总经理") + point(5, "人事部")
    hanging = below(1, 4, 0) + below(4, 2, 1) + below(4, 5, 0) + below(2, 3, 0) + below(3, 1, 0)
    root = xml(f"<dgm:dataModel><dgm:ptLst>{points}</dgm:ptLst><dgm:cxnLst>{hanging}</dgm:cxnLst></dgm:dataModel>")
    assert list(diagram(root)) == ["总经理", "人事部", "财务部", "Accounts"]


@pytest.mark.parametrize(
    ("property", "first", "expected"),
    [
        ("采购管理", "", "采购管理"),
        ("Presentation to the board", "", "Presentation to the board"),
        ("PowerPoint Presentation", "", None),
        ("演示文稿1", "", None),
        ("Template 2019", "差旅费用", "差旅费用"),
    ],
)
def test_the_title(property: str, first: str, expected: str | None) -> None:
    def fill(presentation: Any) -> None:
        presentation.core_properties.title = property
        box(slide(presentation, TITLE_ONLY, first), "text", 1, 8)

    assert parsed(fill).title == expected


@pytest.mark.parametrize(
    "kind", ["ms-powerpoint.presentation.macroEnabled", "openxmlformats-officedocument.presentationml.slideshow"]
)
def test_presentations_with_macros_and_shows(kind: str) -> None:
    content = replaced(
        made(lists),
        "[Content_Types].xml",
        lambda data: data.replace(
            b"openxmlformats-officedocument.presentationml.presentation.main", f"{kind}.main".encode()
        ),
    )
    assert check(pptx.parse(content)).pages == 2
    assert detect(content, "a.pptm") == detect(content, "a.ppsx") == PPTX


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


def test_a_table_that_cannot_be_read_is_a_gap_among_the_rest_of_its_slide() -> None:
    def fill(presentation: Any) -> None:
        one = slide(presentation, TITLE_ONLY, "Rates")
        box(one, "above", 1, 5)
        one.shapes.add_table(2, 2, Cm(1), Cm(8), Cm(20), Cm(4)).table._tbl.tr_lst[0].tc_lst[0].set("rowSpan", "many")
        box(one, "below", 1, 14)

    document = parsed(fill)
    assert [text for _, text in outline(document)] == ["Rates", "above", "below"]
    assert document.gaps == (Gap(GapReason.UNREADABLE, slide=1),)


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


def test_every_chunk_is_found_again_on_its_slide() -> None:
    def fill(presentation: Any) -> None:
        lists(presentation)
        shares = CategoryChartData(number_format="0%")
        shares.categories = ["华东", "华北", "South"]
        shares.add_series("份额", (0.25, 0.5, 1))
        one = slide(presentation, TITLE_ONLY, "份额")
        one.shapes.add_chart(XL_CHART_TYPE.PIE, Cm(1), Cm(5), Cm(9), Cm(9), shares)
        one.notes_slide.notes_text_frame.text = "慢"

    content = made(fill)
    document = check(pptx.parse(content))
    whole = [
        Chunk(number, block.text, (), block.locator, 1) for number, block in enumerate(document.blocks)
    ]  # headings too, as some ways of splitting have them
    assert verify(content, PPTX, claims_of(document, whole)).failed == ()
    moved = [replace(chunk, locator=replace(chunk.locator, slide=2)) for chunk in whole]
    assert len(verify(content, PPTX, claims_of(document, moved)).failed) > len(whole) // 2


def test_presentations_are_read_in_the_locked_process() -> None:
    assert parse_in_child(made(lists), PPTX, "a.pptx", timeout=60, memory_bytes=1024**3).pages == 2
