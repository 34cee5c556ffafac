"""Marks on a drawn page, tables beside their chunks."""

from __future__ import annotations

import io

import pytest
from PIL import Image
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen import canvas

from documents.media_types import PDF, XLSX
from indexing import inspection_page
from indexing.blocks import BlockKind, ParsedDocument
from indexing.inspection import Inspection
from indexing.locators import Locator
from indexing.parsers import parse
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.sandbox import render_in_child
from indexing.side_by_side import MOST_COLUMNS, MOST_ROWS, Grid, Segment, marks, parts


def chinese() -> bytes:
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    stream = io.BytesIO()
    page = canvas.Canvas(stream, pagesize=(400, 300))
    page.setFont("STSong-Light", 14)
    page.drawString(60, 200, "员工每年享有十五天年假，病假三十天。")
    page.save()
    return stream.getvalue()


def test_no_edge_of_a_mark_runs_through_a_line_of_chinese() -> None:
    content = chinese()
    # In a process of its own, as in service: one that parses has no fonts of the system.
    picture = render_in_child(content, PDF, page=1, timeout=60.0, memory_bytes=2**30)
    placed = [(number, block.locator) for number, block in enumerate(parse(content, PDF, "a.pdf").blocks)]
    (mark,) = marks(placed, page=1, width=picture.width, height=picture.height)
    image = Image.open(io.BytesIO(picture.png)).convert("L")
    scale = image.width / picture.width
    left, top, right, bottom = (round(edge * scale) for edge in mark.region)
    inside = image.crop((left, top, right, bottom))
    assert darkest(inside.crop((5, 5, inside.width - 5, inside.height - 5))) < 100
    image.paste(255, (left + 5, top + 5, right - 5, bottom - 5))
    assert darkest(image) > 200, "there is ink on an edge, or outside"


def darkest(image: Image.Image) -> int:
    return next(level for level, pixels in enumerate(image.histogram()) if pixels)


def test_the_largest_is_drawn_first_and_none_leaves_the_page() -> None:
    small, large = Locator((0, 1), page=1, region=(1, 1, 20, 20)), Locator((1, 2), page=1)
    found = marks([(0, small), (1, large), (2, Locator((2, 3), page=2))], page=1, width=100, height=200)
    assert [(mark.chunk, mark.region) for mark in found] == [
        (1, (0, 0, 100, 200)),
        (0, pytest.approx((0.2, 0.2, 20.8, 20.8))),
    ]


def sheet(rows: int, columns: int) -> ParsedDocument:
    cells = tuple(tuple(f"<{row}.{column}>" for column in range(columns)) for row in range(rows))
    places = [Locator((row, row + 1), sheet="价格", cells=(2, 3 + row, 1 + columns, 3 + row)) for row in range(rows)]
    title = Piece(BlockKind.HEADING, "价格", level=1, sheet="价格")
    whole = (2, 3, 1 + columns, 2 + rows)
    table = Piece(BlockKind.TABLE, rows=cells, header_rows=1, sheet="价格", cells=whole, parts=places)
    return assemble(XLSX, [title, table, Piece(BlockKind.PARAGRAPH, "Note", sheet="价格")])


def test_a_sheet_is_shown_as_a_grid_with_its_letters_and_numbers() -> None:
    document = sheet(4, 3)
    second = document.blocks[1].parts[1].span[0]
    placed = [(0, Locator((second, document.blocks[1].parts[2].span[1]))), (1, document.blocks[2].locator)]
    before, grid, between, note = parts(document, placed)
    assert isinstance(grid, Grid)
    assert [part.text for part in (before, between, note) if isinstance(part, Segment)] == ["价格\n\n", "\n\n", "Note"]
    assert grid.columns == ("B", "C", "D")
    assert [(row.number, row.is_header, row.chunks) for row in grid.rows] == [
        *((3, True, ()), (4, False, (0,)), (5, False, (0,)), (6, False, ()))
    ]
    assert grid.rows[1].cells == ("<1.0>", "<1.1>", "<1.2>")


def test_a_grid_has_an_end() -> None:
    document = sheet(300, 40)
    grid = next(part for part in parts(document, []) if isinstance(part, Grid))
    assert (len(grid.rows), len(grid.rows[0].cells), len(grid.columns)) == (MOST_ROWS, MOST_COLUMNS, MOST_COLUMNS)
    assert (grid.rows_left, grid.columns_left) == (100, 10)
    some = document.blocks[1].parts[250].span
    (grid,) = parts(document, [], start=some[0], end=some[1])
    assert isinstance(grid, Grid)
    assert [row.number for row in grid.rows] == [3, 253], "the header and what was asked for"


def test_a_grid_of_inspect_document_is_escaped() -> None:
    page = inspection_page.page([Inspection("a.xlsx", sheet(3, 2))], {})
    assert "<td>&lt;1.0&gt;</td>" in page
    assert "<th>4</th>" in page
    assert "<0.0>" not in page
