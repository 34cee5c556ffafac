"""What lies on a sheet beside its cells: charts, chart sheets, text boxes at no cell, what is hidden or printed only."""

from __future__ import annotations

from dataclasses import replace

import pytest
from openpyxl import Workbook
from openpyxl.chart import BarChart, Reference

from indexing.blocks import Gap, GapReason, LeftOut, LeftOutReason
from indexing.parsers import xlsx
from indexing.parsers.office_graphics import read_xml
from indexing.parsers.sheet_printing import printed
from indexing.splitters import split
from indexing.verification import claims_of, verify
from tests.unit.blocks_asserts import check, outline
from tests.unit.sheets_made import changed, made, parsed, places, rows_into, verified, with_drawing

ANCHOR = (
    "<d:twoCellAnchor><d:from><d:col>3</d:col><d:row>1</d:row></d:from><d:to><d:col>9</d:col><d:row>14</d:row></d:to>{}"
    "</d:twoCellAnchor>"
)
FRAME = (
    '<d:graphicFrame><d:nvGraphicFramePr><d:cNvPr name="C" descr="{}"/></d:nvGraphicFramePr><c:chart r:id="c1"/>'
    "</d:graphicFrame>"
)
BOX = "<d:sp><d:nvSpPr><d:cNvPr name='B'{}/></d:nvSpPr><d:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></d:txBody></d:sp>"


def rich(text: str) -> str:
    return f"<c:title><c:tx><c:rich><a:p><a:r><a:t>{text}</a:t></a:r></a:p></c:rich></c:tx></c:title>"


def cached(name: str, kind: str, *values: str, code: str = "General") -> str:
    points = "".join(f'<c:pt idx="{number}"><c:v>{value}</c:v></c:pt>' for number, value in enumerate(values))
    return f"<c:{name}><c:{kind}><c:formatCode>{code}</c:formatCode>{points}</c:{kind}></c:{name}>"


def chart_part(title: str, x: str, y: str, names: tuple[str, str], categories: tuple[str, str]) -> str:
    series = "".join(
        f"<c:ser>{cached('tx', 'strCache', name)}{cached('cat', 'strCache', *categories)}"
        f"{cached('val', 'numCache', *values, code='0.0%')}</c:ser>"
        for name, values in zip(names, (("0.125", "0.25"), ("0.5", "0.75")), strict=True)
    )
    label = (
        "<c:dLbls><c:dLbl><c:tx><c:rich><a:p><a:r><a:t>Peak 峰值</a:t></a:r></a:p></c:rich></c:tx></c:dLbl></c:dLbls>"
    )
    return (
        f'<c:chartSpace xmlns:c="c" xmlns:a="a"><c:chart>{rich(title)}<c:plotArea><c:barChart>{series}{label}</c:barChart>'
        f"<c:catAx>{rich(x)}</c:catAx><c:valAx>{rich(y)}</c:valAx></c:plotArea></c:chart></c:chartSpace>"
    )


CHINESE = chart_part("各季度完成率", "季度", "占比（%）", ("华东", "华南"), ("第一季度", "第二季度"))
ENGLISH = chart_part("Wild ducks", "Year", "Share", ("Fresh water", "Salt water"), ("2019", "2020"))


@pytest.mark.parametrize(
    ("part", "title", "share", "rows"),
    [
        (
            *(CHINESE, "各季度完成率", "占比（%）"),
            (("季度", "华东", "华南"), ("第一季度", "12.5%", "50.0%"), ("第二季度", "25.0%", "75.0%")),
        ),
        (
            *(ENGLISH, "Wild ducks", "Share"),
            (("Year", "Fresh water", "Salt water"), ("2019", "12.5%", "50.0%"), ("2020", "25.0%", "75.0%")),
        ),
    ],
)
def test_a_chart_stands_where_it_lies(part: str, title: str, share: str, rows: tuple[tuple[str, ...], ...]) -> None:
    book = made(lambda book: rows_into(book, ["Name", "Age"], ["Ann", 3]))
    content = with_drawing(book, ANCHOR.format(FRAME.format("Ducks by kind")), xl__charts__chart1_xml=part)
    document = verified(content, check(xlsx.parse(content)))
    assert outline(document)[2:] == [
        ("caption", "Ducks by kind"),
        ("caption", title),
        ("caption", share),
        ("table", "\n".join(" | ".join(row) for row in rows)),
        ("paragraph", "Peak 峰值"),
    ]
    assert places(document)[2:] == [("Sheet", "D2:J15")] * 5
    assert document.blocks[5].rows == rows
    assert document.blocks[5].header_rows == 1
    assert not document.gaps


def test_a_chart_is_looked_for_where_it_is_said_to_lie() -> None:
    book = made(lambda book: rows_into(book, ["Name", "Age"], ["Ann", 3]))
    content = with_drawing(book, ANCHOR.format(FRAME.format("")), xl__charts__chart1_xml=ENGLISH)
    document = xlsx.parse(content)
    chunks = split(document, title="t", count_tokens=len, budget=60)
    moved = [replace(chunk, locator=replace(chunk.locator, cells=(40, 40, 41, 41))) for chunk in chunks]
    assert verify(content, document.media_type, claims_of(document, chunks)).failed == ()
    assert len(verify(content, document.media_type, claims_of(document, moved)).failed) == len(chunks)


def test_a_sheet_that_is_a_chart() -> None:
    def fill(book: Workbook) -> None:
        sheet = rows_into(book, ["年份", "数量"], ["2019", 3], ["2020", 5])
        chart = BarChart()
        chart.title, chart.y_axis.title = "野鸭数量", "Birds"
        chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
        book.create_chartsheet("Duck Chart 图").add_chart(chart)
        hidden = book.create_chartsheet("Draft")
        hidden.add_chart(BarChart())
        hidden._charts[0].title = "未公开 secret"
        hidden.sheet_state = "hidden"

    document = parsed(fill)
    assert outline(document)[2:] == [("h1", "Duck Chart 图"), ("caption", "野鸭数量"), ("caption", "Birds")]
    assert places(document)[2:] == [("Duck Chart 图", None)] * 3
    assert document.left_out == (LeftOut(LeftOutReason.HIDDEN, "未公开 secret", sheet="Draft"),)


def test_a_text_box_at_no_cell_and_a_hidden_one() -> None:
    absolute = (
        '<d:absoluteAnchor><d:pos x="0" y="0"/>' + BOX.format("", "Valid until May 有效至五月") + "</d:absoluteAnchor>"
    )
    content = with_drawing(
        made(lambda book: rows_into(book, ["Name", "Age"], ["Ann", 3])),
        absolute + ANCHOR.format(BOX.format(" hidden='1'", "内部批注")) + ANCHOR.format(BOX.format("", "填表说明")),
    )
    document = verified(content, check(xlsx.parse(content)))
    assert outline(document)[2:] == [("paragraph", "填表说明"), ("paragraph", "Valid until May 有效至五月")]
    assert places(document)[2:] == [("Sheet", "D2:J15"), ("Sheet", None)]
    assert document.left_out == (LeftOut(LeftOutReason.HIDDEN, "内部批注", sheet="Sheet"),)


@pytest.mark.parametrize("part", ["<c:chartSpace", None])
def test_a_chart_that_cannot_be_read_is_a_gap_of_its_sheet(part: str | None) -> None:
    book = made(lambda book: rows_into(book, ["Name", "Age"], ["Ann", 3]))
    charts = {"xl__charts__chart1_xml": part} if part else {}
    content = with_drawing(book, ANCHOR.format(FRAME.format("")) + ANCHOR.format(BOX.format("", "Read me")), **charts)
    document = xlsx.parse(content)
    assert [text for _, text in outline(document)] == ["Sheet", "Name | Age\nAnn | 3", "Read me"]
    assert document.gaps == (Gap(GapReason.UNREADABLE, sheet="Sheet"),)


def test_what_is_printed_around_sheets_is_left_out_by_name_and_once() -> None:
    def fill(book: Workbook) -> None:
        for sheet in (rows_into(book, ["Name", "Age"], ["Ann", 3]), book.create_sheet("二")):
            sheet["A1"] = "Name"
            sheet.oddHeader.left.text = "R&&D 研发部"
            sheet.oddHeader.left.size = 12
            sheet.oddHeader.right.text = "Draft"
            sheet.oddHeader.right.color = "FF0000"
            sheet.oddFooter.center.text = "第 &P 页 / Page &N"
            sheet.evenFooter.center.text = "&P / &N"

    assert parsed(fill).left_out == (
        LeftOut(LeftOutReason.PAGE_HEADER, "R&D 研发部 | Draft"),
        LeftOut(LeftOutReason.PAGE_FOOTER, "第 页 / Page"),
    )


def test_codes_of_printed_lines() -> None:
    root = read_xml(
        b'<h xmlns="x"><firstHeader>&amp;C&amp;"-,Bold"&amp;14&amp;K01+034Plan&amp;D&amp;</firstHeader></h>'
    )
    assert list(printed(root)) == [(LeftOutReason.PAGE_HEADER, "Plan&")]


def test_one_chart_shown_thousands_of_times_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from indexing.errors import DocumentTooLarge
    from indexing.parsers import limits

    monkeypatch.setattr(limits, "CELLS", limits.Limit(60, limits.CELLS.sentence))
    book = made(lambda book: rows_into(book, ["Name"]))
    content = with_drawing(book, ANCHOR.format(FRAME.format("")) * 10, xl__charts__chart1_xml=ENGLISH)
    with pytest.raises(DocumentTooLarge):
        xlsx.parse(content)


def test_the_two_kinds_of_one_drawing_are_read_once() -> None:
    both = "<m:AlternateContent xmlns:m='m'><m:Choice>{}</m:Choice><m:Fallback>{}</m:Fallback></m:AlternateContent>"
    content = with_drawing(
        changed(made(lambda book: rows_into(book, ["Name", "Age"], ["Ann", 3])), "xl/workbook.xml", b"", b""),
        ANCHOR.format(both.format(FRAME.format(""), BOX.format("", "This chart is not available"))),
        xl__charts__chart1_xml=CHINESE,
    )
    assert "not available" not in xlsx.parse(content).text


@pytest.mark.parametrize(("column", "place"), [("-9", "A2:J15"), ("99999999999", "XFD2:XFD15")])
def test_a_place_that_no_sheet_has(column: str, place: str) -> None:
    anchor = ANCHOR.replace("<d:col>3<", f"<d:col>{column}<").format(BOX.format("", "说明 note"))
    content = with_drawing(made(lambda book: rows_into(book, ["Name", "Age"], ["Ann", 3])), anchor)
    assert places(verified(content, check(xlsx.parse(content))))[2:] == [("Sheet", place)]
