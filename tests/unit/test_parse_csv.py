"""CSV and its kin: whatever the encoding and the separator, rows with the lines of the file."""

from __future__ import annotations

import pytest

from indexing.blocks import ParsedDocument
from indexing.errors import NoText
from indexing.parsers import csv_table
from tests.unit.blocks_asserts import check, outline
from tests.unit.sheets_made import verified


def read(text: str, encoding: str = "utf-8") -> ParsedDocument:
    content = text.encode(encoding)
    return verified(content, check(csv_table.parse(content)))


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
def test_csv(separator: str, encoding: str) -> None:
    text = '姓名,部门,说明\n王小明,财务部,"两行\n说明, 带逗号"\n李华,人事部,负责招聘和培训工作\n'
    document = read(text.replace(",", separator), encoding)
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
    document = read("1,2\n3\n4,5,6\n")
    assert document.blocks[0].rows == (("1", "2", ""), ("3", "", ""), ("4", "5", "6"))
    assert document.blocks[0].header_rows == 0


def test_text_with_the_other_separators_in_it() -> None:
    document = read("id;text;note\n1;a, b, c|d;x\n2;e, f;y\n")
    assert document.blocks[0].rows[1] == ("1", "a, b, c|d", "x")


def test_a_first_line_that_says_what_separates() -> None:
    document = read("sep=;\nName;Age\nAnn;3\n")
    assert document.blocks[0].rows == (("Name", "Age"), ("Ann", "3"))
    assert [part.lines for part in document.blocks[0].parts] == [(2, 2), (3, 3)]
    with pytest.raises(NoText):
        read("sep=;")


@pytest.mark.parametrize("rows", [3, 900])
def test_a_quotation_mark_that_is_never_closed_is_text(rows: int) -> None:
    lines = ["size,name", '"5 inch,screw', *(f"{number},nail" for number in range(rows))]
    table = read("\n".join(lines)).blocks[0]
    assert len(table.rows) == rows + 2
    assert table.rows[1] == ('"5 inch', "screw")
    assert table.parts[-1].lines == (rows + 2, rows + 2)


def test_an_empty_column_does_not_part_a_row() -> None:
    table = read("a,,c\n1,,3\n2,,4\n").blocks[0]
    assert table.rows == (("a", "", "c"), ("1", "", "3"), ("2", "", "4"))
    assert table.header_rows == 1


def test_a_report_with_a_title_and_two_tables() -> None:
    text = "Report of March,,\n\nName,Qty,Date\npen,1,2024-03-01\n\n\nRegion,Sum\nNorth,3\n"
    assert outline(read(text)) == [
        ("paragraph", "Report of March"),
        ("table", "Name | Qty | Date\npen | 1 | 2024-03-01"),
        ("table", "Region | Sum\nNorth | 3"),
    ]


def test_line_ends_of_every_kind_count_as_lines() -> None:
    table = read("a,b\r\n1,2\r3,4\n").blocks[0]
    assert [part.lines for part in table.parts] == [(1, 1), (2, 2), (3, 3)]
