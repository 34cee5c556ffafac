"""Cells of a sheet to blocks: which cells are one table, what is its header, what stands above and below it."""

from __future__ import annotations

from typing import Any

import pytest
from openpyxl import Workbook

from indexing.blocks import BlockKind
from indexing.locators import Cells, cells_from_name
from indexing.parsers.assemble import Piece
from indexing.parsers.number_formats import is_value
from indexing.parsers.sheet_grid import Cell, Room, Sheet
from indexing.parsers.sheet_tables import pieces_of
from tests.unit.sheets_made import parsed, places


def pieces(*rows: str, merged: str = "") -> list[Piece]:
    """Blocks of a sheet whose rows are written with | between their cells; without its heading."""
    sheet = Sheet("s", merged=[cells_from_name(name) for name in merged.split()])
    for row, line in enumerate(rows, 1):
        for column, text in enumerate(map(str.strip, line.split("|")), 1):
            if text:
                sheet.cells[row, column] = Cell(text, is_value(text))
    return list(pieces_of(sheet, Room()))[1:]


def tables(*rows: str, merged: str = "") -> list[tuple[Cells | None, int]]:
    return [(piece.cells, piece.header_rows) for piece in pieces(*rows, merged=merged) if piece.kind is BlockKind.TABLE]


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


def test_tables_under_one_wide_title() -> None:
    found = pieces(
        "二〇二四年", "品名 | 数量 | | 姓名 | 年龄", "笔 | 3 | | 王 | 30", "墨 | 4 | | 李 | 40", merged="A1:E1"
    )
    assert [(piece.kind, piece.cells) for piece in found] == [
        (BlockKind.CAPTION, (1, 1, 1, 1)),
        (BlockKind.TABLE, (1, 2, 2, 4)),
        (BlockKind.TABLE, (4, 2, 5, 4)),
    ]


def test_a_title_wider_than_its_table_adds_no_columns() -> None:
    assert tables("Staff", "Name | Age", "Ann | 3", "Bob | 4", merged="A1:H1") == [((1, 2, 2, 4), 1)]


def test_values_beside_an_empty_column_belong_to_the_names_on_the_left() -> None:
    (table,) = pieces("Region | 2023 | | 2024 | 2025", "North | 1 | | 2 | 3", "South | 4 | | 5 | 6")
    assert table.rows[1] == ("North", "1", "", "2", "3")


def test_tables_that_touch_at_a_corner() -> None:
    assert [cells for cells, _ in tables("a | b", "1 | 2", "| | c | d", "| | 3 | 4")] == [(1, 1, 2, 2), (3, 3, 4, 4)]


def test_a_column_of_text_and_a_column_of_names() -> None:
    text = pieces("How to fill in this form", "Write clearly.", "Sign it.", "Send it to the office.")
    assert [piece.kind for piece in text] == [BlockKind.PARAGRAPH] * 4
    assert [piece.cells for piece in text] == [(1, row, 1, row) for row in range(1, 5)]
    (names,) = pieces("Colour", "red", "green", "blue", "black")
    assert (names.kind, len(names.rows)) == (BlockKind.TABLE, 5)


@pytest.mark.parametrize(
    ("rows", "merged", "header"),
    [
        (("Name | Age", "Ann | 3"), "", 1),
        (("Region | 2023 | 2024", "North | 1 | 2"), "", 1),
        (("1 | 2", "3 | 4"), "", 0),
        (("| 一月 | 二月", "东 | 1 | 2"), "", 1),
        (("| Category | Answer", "x | one | two", "y | three | four"), "", 1),
        (("种类 | 颜色", "苹果 | 红", "苹果 | 绿"), "", 1),
        (("苹果 | 红", "梨 | 黄", "苹果 | 绿"), "", 0),  # what comes back below is no name of a column
        (("甲方： | 张三", "乙方： | 李四"), "", 0),  # names beside their values
        (("Item | Sales | | Costs |", "| Q1 | Q2 | Q1 | Q2", "pen | 1 | 2 | 3 | 4"), "", 2),
        (("Item | Sales | | Costs |", "| Q1 | Q2 | Q1 | Q2", "pen | 1 | 2 | 3 | 4"), "A1:A2 B1:C1 D1:E1", 2),
        (("收入 | | ", "甲 | 乙 | 1", "丙 | 丁 | 2"), "A1:C1", 0),  # a title, not a header
    ],
)
def test_headers_by_evidence(rows: tuple[str, ...], merged: str, header: int) -> None:
    assert [found for _, found in tables(*rows, merged=merged)] == [header]


def test_merged_ranges_end_where_the_cells_end() -> None:
    found: list[Any] = pieces("all | x", "a | 1", merged="A1:A1048576")
    assert found[0].rows == (("all", "x"), ("a", "1"))


def test_lines_about_a_table_are_no_rows_of_it() -> None:
    found = pieces(
        "利润表 | | | ",
        "编制单位：甲公司 | | | 单位：万元",
        "项目 | 本期 | 上期 | 增长率",
        "营业收入 | 120 | 100 | 20%",
        "营业成本 | 60 | 50 | 20%",
        "制表：张三 | | 审核：李四 | ",
    )
    assert [(piece.kind, piece.text, piece.cells) for piece in found if piece.kind is not BlockKind.TABLE] == [
        (BlockKind.CAPTION, "利润表", (1, 1, 1, 1)),
        (BlockKind.CAPTION, "编制单位：甲公司  单位：万元", (1, 2, 4, 2)),
        (BlockKind.PARAGRAPH, "制表：张三  审核：李四", (1, 6, 3, 6)),
    ]
    assert [(piece.cells, piece.header_rows) for piece in found if piece.rows] == [((1, 3, 4, 5), 1)]
