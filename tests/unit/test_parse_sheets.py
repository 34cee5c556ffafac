"""XLS and ODS, and what holds for spreadsheets of every format."""

from __future__ import annotations

import io
from datetime import datetime
from typing import Any

import pytest
import xlwt

from documents.media_types import CSV, ODS, XLS, XLSX, UnsupportedFile, detect
from indexing.blocks import LeftOut, LeftOutReason
from indexing.errors import DocumentCorrupt, DocumentEncrypted
from indexing.parsers import ods, xls
from indexing.parsers.sandbox import parse_in_child
from tests.unit.blocks_asserts import check, outline
from tests.unit.sheets_made import made, ods_file, places, rows_into, verified

A_BOOK = made(lambda book: rows_into(book, ["品名", "单价"], ["苹果", 3]))


def saved(book: Any) -> bytes:
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def test_xls() -> None:
    book = xlwt.Workbook()
    sheet = book.add_sheet("价格")
    styles = {1: 'yyyy"年"m"月"d"日"', 2: "#,##0.00"}
    for row, values in enumerate((["品名", "日期", "单价"], ["苹果", datetime(2024, 3, 5), 1234.5])):
        for column, value in enumerate(values):
            style = xlwt.easyxf(num_format_str=styles[column]) if row and column in styles else xlwt.Style.default_style
            sheet.write(row, column, value, style)
    sheet.write_merge(2, 3, 0, 0, "梨")
    sheet.write(2, 2, 1)
    sheet.write(3, 2, True)
    sheet.write(4, 0, "hidden row")
    sheet.row(4).hidden = True
    book.add_sheet("hidden").write(0, 0, "secret")
    book.get_sheet(1).visibility = 1
    content = saved(book)
    assert detect(content, "a.xls") == XLS
    document = verified(content, check(xls.parse(content)))
    assert document.blocks[1].rows == (
        ("品名", "日期", "单价"),
        ("苹果", "2024年3月5日", "1,234.50"),
        ("梨", "", "1"),
        ("梨", "", "TRUE"),
    )
    assert places(document)[1] == ("价格", "A1:C4")
    assert document.left_out == (
        LeftOut(LeftOutReason.HIDDEN, "hidden row", sheet="价格", cells=(1, 5, 1, 5)),
        LeftOut(LeftOutReason.HIDDEN, "secret", sheet="hidden", cells=(1, 1, 1, 1)),
    )
    with pytest.raises(DocumentCorrupt):
        xls.parse(content[:600])


def test_headers_of_xls_by_bold_and_by_what_stays_when_one_scrolls() -> None:
    def header(*, bold: bool = False, frozen: int = 0) -> int:
        book = xlwt.Workbook()
        sheet = book.add_sheet("s")
        for row, values in enumerate((["a", "a"], ["b", "b"], ["c", "d"])):
            for column, value in enumerate(values):
                sheet.write(row, column, value, xlwt.easyxf("font: bold on" if bold and not row else ""))
        if frozen:
            sheet.set_panes_frozen(True)
            sheet.set_horz_split_pos(frozen)
        return xls.parse(saved(book)).blocks[1].header_rows

    assert (header(), header(bold=True), header(frozen=2)) == (0, 1, 2)


def cell(text: str, more: str = "", kind: str = "string") -> str:
    return f'<table:table-cell office:value-type="{kind}" {more}><text:p>{text}</text:p></table:table-cell>'


def test_ods() -> None:
    deep, price, share = 'table:number-rows-spanned="2"', 'office:value="1200"', 'office:value="0.5"'
    rows = (
        f"<table:table-row>{cell('项目')}{cell('金额')}</table:table-row>"
        f"<table:table-row>{cell('住宿', deep)}{cell('¥1,200.00', price, 'currency')}</table:table-row>"
        f"<table:table-row><table:covered-table-cell/>{cell('50%', share, 'percentage')}</table:table-row>"
        '<table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="16384"/>'
        "</table:table-row>"
        f'<table:table-row table:visibility="collapse">{cell("hidden")}</table:table-row>'
    )
    style = '<style:style style:name="h"><style:table-properties table:display="false"/></style:style>'
    other = f'<table:table table:name="x" table:style-name="h"><table:table-row>{cell("draft")}</table:table-row></table:table>'
    content = ods_file(f'<table:table table:name="差旅">{rows}</table:table>{other}', styles=style)
    assert detect(content, "a.ods") == ODS
    document = verified(content, check(ods.parse(content)))
    assert outline(document) == [("h1", "差旅"), ("table", "项目 | 金额\n住宿 | ¥1,200.00\n住宿 | 50%")]
    assert places(document)[1] == ("差旅", "A1:B3")
    assert [left.text for left in document.left_out] == ["hidden", "draft"]
    with pytest.raises(DocumentEncrypted):
        ods.parse(ods_file("", manifest="<m><encryption-data/></m>"))


def test_spaces_bold_and_repeated_cells_of_ods() -> None:
    style = '<style:style style:name="b"><style:text-properties fo:font-weight="bold"/></style:style>'
    bold, twice = 'table:style-name="b"', 'table:number-columns-repeated="2"'
    spaced = "<table:table-cell><text:p>two<text:s/>words<text:line-break/>next</text:p></table:table-cell>"
    rows = (
        f"<table:table-row>{cell('a', bold)}{cell('a', bold)}</table:table-row>"
        f"<table:table-row>{spaced}{cell('x')}</table:table-row>"
        f'<table:table-row table:number-rows-repeated="1500">{cell("y", twice)}</table:table-row>'
    )
    (_, table) = check(ods.parse(ods_file(f'<table:table table:name="t">{rows}</table:table>', styles=style))).blocks
    assert table.header_rows == 1
    assert table.rows[1] == ("two words next", "x")
    assert table.rows[2:] == (("y", "y"),) * 1500


def test_spreadsheets_are_read_in_the_locked_process() -> None:
    contents = {
        XLSX: A_BOOK,
        CSV: b"a,b\n1,2\n",
        ODS: ods_file(f"<table:table><table:table-row>{cell('x')}{cell('y')}</table:table-row></table:table>"),
    }
    book = xlwt.Workbook()
    book.add_sheet("s").write(0, 0, "x")
    contents[XLS] = saved(book)
    for media_type, content in contents.items():
        assert parse_in_child(content, media_type, "a", timeout=60, memory_bytes=1024**3).blocks


def test_names_and_contents_agree() -> None:
    assert detect(A_BOOK, "a.xlsx") == detect(A_BOOK, "a.xlsm") == XLSX
    assert detect(b"a\tb\n", "a.tsv") == CSV
    for content, name in ((A_BOOK, "a.docx"), (A_BOOK, "a.csv"), (b"a,b", "a.xlsx"), (b"a,b", "a.xls")):
        with pytest.raises(UnsupportedFile):
            detect(content, name)
