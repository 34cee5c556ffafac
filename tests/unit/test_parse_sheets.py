"""Spreadsheets of every format: tables with their headers and ranges of cells, values as they are shown, nothing hidden."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import pytest
import xlwt
from openpyxl import Workbook
from openpyxl.styles import Font
from openpyxl.worksheet.table import Table

from documents.media_types import CSV, ODS, XLS, XLSX, UnsupportedFile, detect
from indexing.blocks import BlockKind, Gap, GapReason, LeftOut, LeftOutReason, ParsedDocument
from indexing.errors import DocumentCorrupt, DocumentEncrypted, DocumentTooLarge, NoText, UnsupportedDocument
from indexing.locators import cells_name
from indexing.parsers import csv_table, limits, ods, xls, xlsx
from indexing.parsers.sandbox import parse_in_child
from indexing.splitters import split
from tests.unit.blocks_asserts import check, outline

Fill = Callable[[Workbook], None]


def made(fill: Fill) -> bytes:
    book = Workbook()
    fill(book)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def parsed(fill: Fill) -> ParsedDocument:
    return check(xlsx.parse(made(fill)))


def places(document: ParsedDocument) -> list[tuple[str | None, str | None]]:
    found = [block.locator for block in document.blocks]
    return [(place.sheet, cells_name(place.cells) if place.cells else None) for place in found]


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
        *(("价格表", None), ("价格表", "A1:A1"), ("价格表", "A2:C4"), ("价格表", "A6:A6")),
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


def test_merged_cells() -> None:
    def merged(book: Workbook) -> None:
        sheet = book.active
        for row in (
            ["地区", "销售", None],
            [None, "一季度", "二季度"],
            ["华东", 1, 2],
            [None, 3, 4],
            ["合计", 5, None],
        ):
            sheet.append(row)
        for cells in ("A1:A2", "B1:C1", "A3:A4", "B5:C5"):
            sheet.merge_cells(cells)

    (_, table) = parsed(merged).blocks
    assert table.rows == (
        ("地区", "销售", "销售"),
        ("地区", "一季度", "二季度"),
        ("华东", "1", "2"),
        ("华东", "3", "4"),
        ("合计", "5", ""),
    )
    assert table.header_rows == 2


def test_tables_apart_and_one_table_with_gaps() -> None:
    def several(book: Workbook) -> None:
        sheet = book.active
        for row, values in {
            1: ["Item", "Qty", None, "Who", "Phone"],
            2: ["pen", 3, None, "Ann", 111],
            3: ["ink", 4, None, "Bob", 222],
            6: ["Month", "Sum"],
            7: ["Jan", 5],
            9: ["Feb", 6],
            11: ["Mar", 7],
        }.items():
            for column, value in enumerate(values, 1):
                sheet.cell(row, column, value)

    document = parsed(several)
    assert [block.rows for block in document.blocks[1:]] == [
        (("Item", "Qty"), ("pen", "3"), ("ink", "4")),
        (("Who", "Phone"), ("Ann", "111"), ("Bob", "222")),
        (("Month", "Sum"), ("Jan", "5"), ("Feb", "6"), ("Mar", "7")),
    ]
    assert [cells for _, cells in places(document)[1:]] == ["A1:B3", "D1:E3", "A6:B11"]
    assert [part.cells for part in document.blocks[3].parts] == [(1, r, 2, r) for r in (6, 7, 9, 11)]


def test_a_sheet_of_islands_is_one_table() -> None:
    def islands(book: Workbook) -> None:
        for number in range(300):
            for offset, values in enumerate((["name", "value"], [f"n{number}", "x"])):
                for column, value in enumerate(values, 1):
                    book.active.cell(number * 3 + offset + 1, column, value)

    document = parsed(islands)
    assert [block.kind for block in document.blocks] == [BlockKind.HEADING, BlockKind.TABLE]
    assert len(document.blocks[1].rows) == 600


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
        LeftOut(LeftOutReason.HIDDEN, "Secret | pin | key | Bob | 4"),
        LeftOut(LeftOutReason.HIDDEN, "草稿"),
    )

    def filtered(book: Workbook) -> None:
        hide(book)
        book.active.auto_filter.ref = "A1:C3"

    assert "Bob" in parsed(filtered).text, "what a filter hides is content"


def test_formulas_show_their_results_and_those_without_are_a_gap() -> None:
    def formula(book: Workbook) -> None:
        book.active.append(["Sum", "=1+1"])
        book.create_sheet("ok").append(["x", 1])

    without = parsed(formula)
    assert "=1+1" not in without.text
    assert without.gaps == (Gap(GapReason.NOT_CALCULATED, sheet="Sheet"),)
    content = replaced(made(formula), "xl/worksheets/sheet1.xml", b"<v></v>", b"<v>2</v>")
    content = replaced(content, "xl/worksheets/sheet1.xml", b"<v />", b"<v>2</v>")
    with_results = check(xlsx.parse(content))
    assert with_results.text.startswith("Sheet\n\nSum | 2")
    assert with_results.gaps == ()


def test_one_far_cell_costs_nothing() -> None:
    def far(book: Workbook) -> None:
        book.active["A1"] = "near"
        book.active["XFD1048576"] = "far"

    assert [text for _, text in outline(parsed(far))] == ["Sheet", "near", "far"]


def replaced(content: bytes, part: str, old: bytes, new: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, data.replace(old, new) if name == part else data)
    return stream.getvalue()


def test_files_that_are_not_read() -> None:
    good = made(prices)
    with pytest.raises(DocumentCorrupt):
        xlsx.parse(good[: len(good) // 2])
    with pytest.raises(DocumentCorrupt):
        xlsx.parse(replaced(good, "xl/workbook.xml", b"<sheets>", b"<sheetz>"))
    with pytest.raises(DocumentCorrupt):
        xlsx.parse(replaced(good, "xl/worksheets/sheet1.xml", b"<row", b"<!DOCTYPE x><row"))
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


def test_xls() -> None:
    book = xlwt.Workbook()
    sheet = book.add_sheet("价格")
    dated = xlwt.easyxf(num_format_str="yyyy-mm-dd")
    for row, values in enumerate((["品名", "日期", "单价"], ["苹果", datetime(2024, 3, 5), 12.5])):
        for column, value in enumerate(values):
            sheet.write(row, column, value, dated if isinstance(value, datetime) else xlwt.Style.default_style)
    sheet.write_merge(2, 3, 0, 0, "梨")
    sheet.write(2, 2, 1)
    sheet.write(3, 2, 2)
    book.add_sheet("hidden").write(0, 0, "secret")
    book.get_sheet(1).visibility = 1
    stream = io.BytesIO()
    book.save(stream)
    content = stream.getvalue()
    assert detect(content, "a.xls") == XLS
    document = check(xls.parse(content))
    assert document.blocks[1].rows == (
        ("品名", "日期", "单价"),
        ("苹果", "2024-03-05", "12.5"),
        ("梨", "", "1"),
        ("梨", "", "2"),
    )
    assert places(document)[1] == ("价格", "A1:C4")
    assert document.left_out == (LeftOut(LeftOutReason.HIDDEN, "secret"),)
    with pytest.raises(DocumentCorrupt):
        xls.parse(content[:600])


def ods_file(table: str, *, styles: str = "", manifest: str = "<m/>") -> bytes:
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text", "style")
    )
    content = (
        f'<?xml version="1.0"?><office:document-content {names}><office:automatic-styles>{styles}</office:automatic-styles>'
        f"<office:body><office:spreadsheet>{table}</office:spreadsheet></office:body></office:document-content>"
    )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as package:
        package.writestr("mimetype", ODS)
        package.writestr("content.xml", content)
        package.writestr("META-INF/manifest.xml", manifest)
    return stream.getvalue()


def cell(text: str, more: str = "", kind: str = "string") -> str:
    return f'<table:table-cell office:value-type="{kind}" {more}><text:p>{text}</text:p></table:table-cell>'


def test_ods() -> None:
    rows = (
        f"<table:table-row>{cell('项目')}{cell('金额')}</table:table-row>"
        f"<table:table-row>{cell('住宿', 'table:number-rows-spanned=&quot;2&quot;'.replace('&quot;', chr(34)))}"
        f"{cell('¥1,200.00', kind='currency')}</table:table-row>"
        f"<table:table-row><table:covered-table-cell/>{cell('50%', kind='percentage')}</table:table-row>"
        '<table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="16384"/>'
        "</table:table-row>"
        f'<table:table-row table:visibility="collapse">{cell("hidden")}</table:table-row>'
    )
    style = '<style:style style:name="h"><style:table-properties table:display="false"/></style:style>'
    other = f'<table:table table:name="x" table:style-name="h"><table:table-row>{cell("draft")}</table:table-row></table:table>'
    content = ods_file(f'<table:table table:name="差旅">{rows}</table:table>{other}', styles=style)
    assert detect(content, "a.ods") == ODS
    document = check(ods.parse(content))
    assert outline(document) == [("h1", "差旅"), ("table", "项目 | 金额\n住宿 | ¥1,200.00\n住宿 | 50%")]
    assert places(document)[1] == ("差旅", "A1:B3")
    assert [left.text for left in document.left_out] == ["hidden", "draft"]
    with pytest.raises(DocumentEncrypted):
        ods.parse(ods_file("", manifest="<m><encryption-data/></m>"))


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
def test_csv(separator: str, encoding: str) -> None:
    text = '姓名,部门,说明\n王小明,财务部,"两行\n说明, 带逗号"\n李华,人事部,负责招聘和培训工作\n'
    content = text.replace(",", separator).encode(encoding)
    document = check(csv_table.parse(content))
    (table,) = document.blocks
    joined = f"两行说明{separator} 带逗号" if separator != "\t" else "两行说明 带逗号"
    assert table.rows == (
        ("姓名", "部门", "说明"),
        ("王小明", "财务部", joined),
        ("李华", "人事部", "负责招聘和培训工作"),
    )
    assert table.header_rows == 1
    assert table.locator.lines == (1, 4)
    assert [part.lines for part in table.parts] == [(1, 1), (2, 3), (4, 4)]


def test_csv_without_a_header_and_with_ragged_rows() -> None:
    document = check(csv_table.parse(b"1,2\n3\n4,5,6\n"))
    assert document.blocks[0].rows == (("1", "2", ""), ("3", "", ""), ("4", "5", "6"))
    assert document.blocks[0].header_rows == 0


def test_spreadsheets_are_read_in_the_locked_process() -> None:
    contents = {
        XLSX: made(prices),
        CSV: b"a,b\n1,2\n",
        ODS: ods_file(f"<table:table><table:table-row>{cell('x')}{cell('y')}</table:table-row></table:table>"),
    }
    book, stream = xlwt.Workbook(), io.BytesIO()
    book.add_sheet("s").write(0, 0, "x")
    book.save(stream)
    contents[XLS] = stream.getvalue()
    for media_type, content in contents.items():
        assert parse_in_child(content, media_type, "a", timeout=60, memory_bytes=1024**3).blocks


def test_names_and_contents_agree() -> None:
    assert detect(made(prices), "a.xlsx") == detect(made(prices), "a.xlsm") == XLSX
    assert detect(b"a\tb\n", "a.tsv") == CSV
    for content, name in ((made(prices), "a.docx"), (made(prices), "a.csv"), (b"a,b", "a.xlsx"), (b"a,b", "a.xls")):
        with pytest.raises(UnsupportedFile):
            detect(content, name)
