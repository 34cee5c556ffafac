"""XLSX: values as they are shown, places as ranges of cells, nothing hidden, nothing lost in silence."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from openpyxl import Workbook
from openpyxl.comments import Comment
from openpyxl.styles import Font
from openpyxl.worksheet.table import Table

from indexing.blocks import Gap, GapReason, LeftOut, LeftOutReason
from indexing.errors import DocumentCorrupt, DocumentEncrypted, DocumentTooLarge, NoText, UnsupportedDocument
from indexing.parsers import limits, xlsx
from indexing.splitters import split
from tests.unit.blocks_asserts import check, outline
from tests.unit.sheets_made import changed, made, parsed, places, rows_into, verified

SHEET = "xl/worksheets/sheet1.xml"


def prices(book: Workbook) -> None:
    sheet = book.active
    sheet.title = "价格表"
    sheet["A1"] = "2024 年价格（单位：元）"
    sheet.merge_cells("A1:C1")
    for row in (["品名", "日期", "单价"], ["苹果", date(2024, 3, 5), 1234.5], ["梨", date(2024, 3, 6), -3]):
        sheet.append(row)
    for row in (3, 4):
        sheet[f"B{row}"].number_format = 'yyyy"年"m"月"d"日"'
        sheet[f"C{row}"].number_format = "#,##0.00;(#,##0.00)"
    sheet["A6"] = "注：含税。"
    english = book.create_sheet("Rates")
    english.append(["Grade", 2023, 2024])
    english.append(["A", 0.05, 0.125])
    for cell in english[2][1:]:
        cell.number_format = "0.0%"


def test_sheets_in_chinese_and_english() -> None:
    document = parsed(prices)
    assert outline(document) == [
        ("h1", "价格表"),
        ("caption", "2024 年价格（单位：元）"),
        ("table", "品名 | 日期 | 单价\n苹果 | 2024年3月5日 | 1,234.50\n梨 | 2024年3月6日 | (3.00)"),
        ("paragraph", "注：含税。"),
        ("h1", "Rates"),
        ("table", "Grade | 2023 | 2024\nA | 5.0% | 12.5%"),
    ]
    assert places(document) == [
        *(("价格表", None), ("价格表", "A1"), ("价格表", "A2:C4"), ("价格表", "A6")),
        *(("Rates", None), ("Rates", "A1:C2")),
    ]
    assert [block.header_rows for block in document.blocks if block.rows] == [1, 1]


def test_a_chunk_names_the_cells_of_its_rows() -> None:
    def many(book: Workbook) -> None:
        book.active.append(["Name", "Amount"])
        for number in range(1, 61):
            book.active.append([f"Customer number {number}", number])

    document = parsed(many)
    chunks = split(document, title="t", count_tokens=lambda text: len(text) // 4, budget=100)
    assert len(chunks) > 3
    for chunk in chunks:
        assert chunk.text.startswith("Name | Amount")
        assert chunk.locator.sheet == "Sheet"
        first, last = (int(row.rsplit("|", 1)[1]) for row in (chunk.text.split("\n")[1], chunk.text.split("\n")[-1]))
        assert chunk.locator.cells is not None
        left, top, right, bottom = chunk.locator.cells
        assert (left, right, bottom) == (1, 2, last + 1)
        assert top == (first + 1 if first > 1 else 1)


def test_headers_by_what_the_file_says_and_by_what_it_shows() -> None:
    def header(style: Callable[[Any], None], *rows: list[Any]) -> int:
        def fill(book: Workbook) -> None:
            for row in rows:
                book.active.append(row)
            style(book.active)

        return parsed(fill).blocks[1].header_rows

    def bold(sheet: Any) -> None:
        for cell in sheet[1]:
            cell.font = Font(bold=True)

    def frozen(sheet: Any) -> None:
        sheet.freeze_panes = "A3"

    def table(sheet: Any) -> None:
        sheet.add_table(Table(displayName="T", ref="A1:B3"))

    words = [["a", "a"], ["b", "b"], ["c", "d"]]
    assert header(lambda sheet: None, *words) == 0, "names of columns differ"
    assert header(bold, *words) == 1
    assert header(frozen, *words) == 2
    assert header(table, *words) == 1
    assert header(lambda sheet: None, [1, 2], [3, 4]) == 0
    assert header(lambda sheet: None, ["姓名", "部门"], ["王", "财务"], ["李", "人事"]) == 1


def test_what_is_hidden_is_left_out() -> None:
    def hide(book: Workbook) -> None:
        sheet = book.active
        for row in (["Name", "Secret", "Age"], ["Ann", "pin", 3], ["Bob", "key", 4]):
            sheet.append(row)
        sheet.column_dimensions["B"].hidden = True
        sheet.row_dimensions[3].hidden = True
        book.create_sheet("内部").append(["草稿"])
        book["内部"].sheet_state = "hidden"

    document = parsed(hide)
    assert document.blocks[1].rows == (("Name", "Age"), ("Ann", "3")), "what is beside hidden cells is one table"
    assert document.left_out == (
        LeftOut(LeftOutReason.HIDDEN, "Secret | pin | key | Bob | 4", sheet="Sheet", cells=(1, 1, 3, 3)),
        LeftOut(LeftOutReason.HIDDEN, "草稿", sheet="内部"),
    )

    def filtered(book: Workbook) -> None:
        hide(book)
        book.active.auto_filter.ref = "A1:C3"

    assert "Bob" in parsed(filtered).text, "what a filter hides is content"


def test_what_is_folded_away_is_content() -> None:
    def folded(book: Workbook) -> None:
        sheet = rows_into(book, ["Total", 3], ["part", 1], ["part", 2])
        sheet.row_dimensions.group(2, 3, hidden=True)

    document = parsed(folded)
    assert document.blocks[1].rows == (("Total", "3"), ("part", "1"), ("part", "2"))
    assert document.left_out == ()


def test_formulas_show_their_results_and_those_without_are_a_gap() -> None:
    def formula(book: Workbook) -> None:
        book.active.append(["Sum", "=1+1"])
        book.active["C4"] = "=2+2"
        book.create_sheet("ok").append(["x", 1])

    without = parsed(formula)
    assert "=1+1" not in without.text
    assert without.gaps == (Gap(GapReason.NOT_CALCULATED, sheet="Sheet", cells=(2, 1, 3, 4)),)
    content = changed(made(formula), SHEET, b"<v></v>", b"<v>2</v>")
    with_results = check(xlsx.parse(content))
    assert with_results.text.startswith("Sheet\n\nSum | 2")
    assert with_results.gaps == ()


def test_every_kind_of_cell() -> None:
    def kinds(book: Workbook) -> None:
        sheet = rows_into(book, ["is", True], ["is not", False], ["fails", "#DIV/0!"], ["day", date(2024, 3, 5)])
        sheet["B4"].number_format = "d mmm yyyy"

    content = changed(
        made(kinds),
        SHEET,
        b"</sheetData>",
        '<row r="5"><c r="A5" t="inlineStr"><is><r><t>漢</t></r><rPh sb="0" eb="1"><t>かん</t></rPh><r><t>字</t></r></is></c>'
        '<c r="B5" t="str"><f>A5</f><v>a_x000D__x000A_b</v></c></row>'
        '<row><c t="d"><v>2024-03-05T09:07:00</v></c><c><v>7</v></c></row></sheetData>'.encode(),
    )
    document = verified(content, check(xlsx.parse(content)))
    assert document.blocks[1].rows == (
        ("is", "TRUE"),
        ("is not", "FALSE"),
        ("fails", "#DIV/0!"),
        ("day", "5 Mar 2024"),
        ("漢字", "a b"),
        ("2024-03-05 09:07:00", "7"),
    )
    assert document.blocks[1].locator.cells == (1, 1, 2, 6), "cells without a place follow each other"


@pytest.mark.parametrize(
    ("number", "shown"), [(31, "2024年3月5日"), (57, "2024年3月"), (58, "3月5日"), (14, "2024-03-05")]
)
def test_dates_that_a_file_formats_by_number_only(number: int, shown: str) -> None:
    def dated(book: Workbook) -> None:
        rows_into(book, ["日期", 45356])["B1"].number_format = "0.0000"  # makes a style of its own

    content = changed(made(dated), "xl/styles.xml", b'numFmtId="164" fontId', f'numFmtId="{number}" fontId'.encode())
    assert check(xlsx.parse(content)).blocks[1].text == f"日期 | {shown}"


def test_days_are_counted_from_where_the_file_says() -> None:
    def dated(book: Workbook) -> None:
        sheet = rows_into(book, ["day", 1])
        sheet["B1"].number_format = "yyyy-mm-dd"

    assert "1900-01-01" in xlsx.parse(made(dated)).text
    content = changed(made(dated), "xl/workbook.xml", b"<workbookPr/>", b'<workbookPr date1904="1"/>')
    assert "1904-01-02" in xlsx.parse(content).text


def test_the_strict_kind_of_file_is_read_too() -> None:
    strict = made(lambda book: rows_into(book, ["Name", "Age"], ["Ann", 3]))
    transitional = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    for part in ("xl/workbook.xml", SHEET):
        strict = changed(strict, part, transitional, b"http://purl.oclc.org/ooxml/spreadsheetml/main")
    assert check(xlsx.parse(strict)).blocks[1].rows == (("Name", "Age"), ("Ann", "3"))


def test_what_cannot_be_read_of_a_sheet_is_a_gap_and_the_rest_is_read() -> None:
    def two(book: Workbook) -> None:
        rows_into(book, ["坏", 1, 5], ["好", 2, 6])
        book.create_sheet("second").append(["fine", 3])

    content = made(two)
    gap = (Gap(GapReason.UNREADABLE, sheet="Sheet"),)
    for damaged in (b"<v>one</v>", b"<v>1</v"):
        document = check(xlsx.parse(changed(content, SHEET, b"<v>1</v>", damaged)))
        assert document.gaps == gap
        assert "second\n\nfine | 3" in document.text
    one_cell = xlsx.parse(changed(content, SHEET, b"<v>1</v>", b"<v>one</v>"))
    assert one_cell.blocks[1].rows == (("坏", "", "5"), ("好", "2", "6"))
    missing = xlsx.parse(changed(content, "xl/_rels/workbook.xml.rels", b"sheet1.xml", b"sheet9.xml"))
    assert missing.gaps == gap
    assert missing.text == "second\n\nfine | 3"


def test_text_boxes_and_comments() -> None:
    def commented(book: Workbook) -> None:
        sheet = rows_into(book, ["Name", "Age"], ["Ann", 3])
        sheet["B2"].comment = Comment("Checked by Bob", "Bob")

    box = (
        '<d:wsDr xmlns:d="x" xmlns:a="y"><d:twoCellAnchor><d:from><d:col>3</d:col><d:row>1</d:row></d:from>'
        "<d:to><d:col>5</d:col><d:row>4</d:row></d:to><d:sp><d:txBody><a:p><a:r><a:t>填表</a:t></a:r><a:r><a:t>说明</a:t></a:r>"
        "</a:p><a:p><a:r><a:t>Second line</a:t></a:r></a:p></d:txBody></d:sp></d:twoCellAnchor></d:wsDr>"
    )
    relation = b'<Relationship Id="d" Type="x/drawing" Target="../drawings/drawing1.xml"/></Relationships>'
    content = changed(
        made(commented),
        "xl/worksheets/_rels/sheet1.xml.rels",
        b"</Relationships>",
        relation,
        xl__drawings__drawing1_xml=box.encode(),
    )
    document = verified(content, check(xlsx.parse(content)))
    assert outline(document)[2:] == [("paragraph", "填表说明\nSecond line"), ("paragraph", "Checked by Bob")]
    assert places(document)[2:] == [("Sheet", "D2:F5"), ("Sheet", "B2")]


def test_the_mark_of_a_picture_in_a_cell_is_no_text() -> None:
    document = parsed(lambda book: rows_into(book, ["图", "名称"], ['=DISPIMG("ID_1",1)', "泵"]))
    assert "DISPIMG" not in document.text


def test_one_far_cell_costs_nothing() -> None:
    def far(book: Workbook) -> None:
        book.active["A1"] = "near"
        book.active["XFD1048576"] = "far"

    assert [text for _, text in outline(parsed(far))] == ["Sheet", "near", "far"]


def test_files_that_are_not_read() -> None:
    good = made(prices)
    with pytest.raises(DocumentCorrupt):
        xlsx.parse(good[: len(good) // 2])
    with pytest.raises(DocumentCorrupt):
        xlsx.parse(changed(good, "xl/workbook.xml", b"<sheets>", b"<sheetz>"))
    with pytest.raises(DocumentCorrupt):
        xlsx.parse(changed(good, SHEET, b"<row", b"<!DOCTYPE x><row"))
    with pytest.raises(DocumentEncrypted):
        xlsx.parse(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"))
    with pytest.raises(UnsupportedDocument):
        xlsx.parse(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "Workbook".encode("utf-16-le"))
    with pytest.raises(NoText):
        xlsx.parse(made(lambda book: None))


def test_too_many_cells_and_characters_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CELLS", limits.Limit(3, limits.CELLS.sentence))
    with pytest.raises(DocumentTooLarge, match="3 cells"):
        xlsx.parse(made(prices))
    monkeypatch.undo()
    monkeypatch.setattr(limits, "CHARACTERS", limits.Limit(30, limits.CHARACTERS.sentence))
    with pytest.raises(DocumentTooLarge, match="30 characters"):
        xlsx.parse(made(lambda book: book.active.append(["ten letters"] * 3)))


def test_a_hidden_column_between_a_title_and_a_far_cell() -> None:
    def fill(book: Workbook) -> None:
        for place, text in {"A1": "a", "C1": "c", "A2": "d", "C2": "e", "A7": "m", "Z200": "far"}.items():
            book.active[place] = text
        book.active.merge_cells("A7:B8")
        book.active.column_dimensions["B"].hidden = True

    words = parsed(fill).text.replace("|", " ").split()
    assert {"a", "c", "d", "e", "m", "far"} <= set(words)
