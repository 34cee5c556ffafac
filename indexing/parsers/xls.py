"""XLS, the older Excel's format (BIFF 2 to 8): every visible sheet, values as they are shown, of formulas their results."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import Any

import xlrd
from xlrd.compdoc import CompDocError

from documents.media_types import XLS
from indexing.blocks import LeftOut, LeftOutReason, ParsedDocument
from indexing.errors import DocumentCorrupt, DocumentEncrypted
from indexing.locators import Cells
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.builtin_formats import BUILTIN, GENERAL
from indexing.parsers.left_out import leave_out
from indexing.parsers.number_formats import is_value, show, show_serial
from indexing.parsers.sheet_grid import Cell, Place, Room, Sheet, around_places
from indexing.parsers.sheet_tables import pieces_of

_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")  # a protected XLSX under an old name
# What the library raises for bytes that are not as they should be.
_DAMAGED = (
    *(xlrd.XLRDError, CompDocError, struct.error, AssertionError, ArithmeticError, AttributeError, LookupError),
    *(NotImplementedError, TypeError, ValueError),
)


def parse(content: bytes) -> ParsedDocument:
    """Raises `DocumentCorrupt`, `DocumentEncrypted`, `DocumentTooLarge` or `NoText`."""
    if _ENCRYPTED in content:
        raise DocumentEncrypted()
    left_out, pieces, room = list[LeftOut](), list[Piece](), Room()
    try:
        book = xlrd.open_workbook(
            file_contents=content, formatting_info=True, ragged_rows=True, on_demand=True, logfile=io.StringIO()
        )
        for number in range(book.nsheets):
            found = book.sheet_by_index(number)
            sheet, hidden = _sheet(book, found, room)
            book.unload_sheet(number)
            if found.visibility:
                hidden, sheet = sheet.cells | hidden, Sheet(found.name)
            if hidden:
                texts, cells = (cell.text for cell in hidden.values()), around_places(hidden)
                left_out.append(leave_out(LeftOutReason.HIDDEN, texts, sheet=found.name, cells=cells))
            pieces += pieces_of(sheet, room)
    except _DAMAGED as error:
        if "encrypted" in str(error):
            raise DocumentEncrypted() from error
        raise DocumentCorrupt() from error
    return assemble(XLS, pieces, left_out=left_out)


def _sheet(book: Any, found: Any, room: Room) -> tuple[Sheet, dict[Place, Cell]]:
    """The cells that are shown, and those that are hidden; not what is folded away in an outline."""
    sheet, hidden = Sheet(found.name), dict[Place, Cell]()
    rows = {row for row, info in found.rowinfo_map.items() if info.hidden and not info.outline_level}
    columns = {column for column, info in found.colinfo_map.items() if info.hidden and not info.outline_level}
    for row in range(found.nrows):
        for column, cell in _cells(book, found, row):
            room.take(cell.text)
            if row in rows or column in columns:
                hidden[row + 1, column + 1] = cell
            else:
                sheet.cells[row + 1, column + 1] = cell
    sheet.hidden_rows, sheet.hidden_columns = ([number + 1 for number in sorted(found)] for found in (rows, columns))
    sheet.merged = [(left + 1, top + 1, right, bottom) for top, bottom, left, right in found.merged_cells]
    sheet.headers = list(_frozen(found))
    return sheet, hidden


def _cells(book: Any, found: Any, row: int) -> Iterator[tuple[int, Cell]]:
    values, kinds = found.row_values(row), found.row_types(row)
    for column, (kind, value) in enumerate(zip(kinds, values, strict=True)):
        if kind in (xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK):
            continue
        style = book.xf_list[found.cell_xf_index(row, column)]
        if kind in (xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE):
            exact = int(value) if value.is_integer() and abs(value) < 1e15 else value
            text = show_serial(exact, _format(book, style), since_1904=book.datemode == 1)
        elif kind == xlrd.XL_CELL_BOOLEAN:
            text = show(bool(value))
        elif kind == xlrd.XL_CELL_ERROR:
            text = xlrd.error_text_from_code[value]
        else:
            text = value
        if text and not text.isspace():
            is_typed = kind != xlrd.XL_CELL_TEXT
            yield column, Cell(text, is_typed or is_value(text), bold=bool(book.font_list[style.font_index].bold))


def _format(book: Any, style: Any) -> str:
    found = book.format_map.get(style.format_key)
    written = found.format_str if found is not None else ""
    return str(BUILTIN.get(style.format_key, GENERAL) if written in ("", GENERAL) else written)


def _frozen(found: Any) -> Iterator[Cells]:
    if found.panes_are_frozen and found.horz_split_pos:
        yield 1, 1, 256, found.horz_split_pos
