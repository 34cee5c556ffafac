"""ODS: every visible sheet; the file holds each cell's text as it is shown.

Elements: Open Document Format for Office Applications (OpenDocument) 1.3, part 3, chapter 9.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any

from lxml import etree

from documents.media_types import ODS
from indexing.blocks import LeftOut, LeftOutReason, ParsedDocument
from indexing.errors import DocumentCorrupt, DocumentEncrypted
from indexing.locators import Cells
from indexing.parsers import limits
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.left_out import leave_out
from indexing.parsers.number_formats import is_value
from indexing.parsers.package import check_package
from indexing.parsers.sheet_grid import Cell, Place, Room, Sheet, around_places
from indexing.parsers.sheet_tables import pieces_of

_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_FONT = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
_SPACES = tuple(f"{_TEXT}{name}" for name in ("s", "tab", "line-break"))
_MOST_ROWS, _MOST_COLUMNS = 1_048_576, 16_384  # of a sheet


def parse(content: bytes) -> ParsedDocument:
    """Raises `DocumentCorrupt`, `DocumentEncrypted`, `DocumentTooLarge` or `NoText`."""
    _refuse_encrypted(content)
    check_package(content, main_part="content.xml", old_stream="Workbook")
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        data = package.read("content.xml")
    try:
        root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        raise DocumentCorrupt() from error
    hidden_styles = {
        style.get(f"{_STYLE}name")
        for style in root.iter(f"{_STYLE}style")
        if any(part.get(f"{_TABLE}display") == "false" for part in style)
    }
    bold = {
        style.get(f"{_STYLE}name")
        for style in root.iter(f"{_STYLE}style")
        if any(part.get(f"{_FONT}font-weight") == "bold" for part in style)
    }
    left_out, pieces, room = list[LeftOut](), list[Piece](), Room()
    for table in root.iterfind(f".//{_OFFICE}spreadsheet/{_TABLE}table"):
        sheet, hidden = _sheet(table, room, bold)
        if table.get(f"{_TABLE}style-name") in hidden_styles:
            hidden, sheet = sheet.cells | hidden, Sheet(sheet.name)
        if hidden:
            texts, cells = (cell.text for cell in hidden.values()), around_places(hidden)
            left_out.append(leave_out(LeftOutReason.HIDDEN, texts, sheet=sheet.name, cells=cells))
        pieces += pieces_of(sheet, room)
    return assemble(ODS, pieces, left_out=left_out)


def _refuse_encrypted(content: bytes) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            part = package.getinfo("META-INF/manifest.xml")
            if part.file_size <= limits.SMALL_BYTES and b"encryption-data" in package.read(part):
                raise DocumentEncrypted()
    except (zipfile.BadZipFile, KeyError, OSError, ValueError, EOFError, NotImplementedError):
        return  # the checks that follow say what is wrong


def _sheet(table: Any, room: Room, bold: set[str]) -> tuple[Sheet, dict[Place, Cell]]:
    """The cells that are shown, and those of hidden rows and columns; not what is folded away in an outline."""
    sheet, hidden = Sheet(table.get(f"{_TABLE}name")), dict[Place, Cell]()
    merged, rows, number = list[Cells](), list[int](), 1
    columns = _hidden_columns(table)
    for row in table.iter(f"{_TABLE}table-row"):
        repeated = _count(row, "number-rows-repeated")
        found = list(_row(row, room, bold))
        is_hidden = _is_hidden(row)
        if row.getparent().tag == f"{_TABLE}table-header-rows":
            sheet.headers = [*sheet.headers, (1, number, _MOST_COLUMNS, number)]
        if is_hidden:
            rows += range(number, min(number + repeated, _MOST_ROWS))
        for repetition in range(repeated if found else 0):
            for column, cell, across, down in found:
                if repetition:
                    room.take(cell.text)
                if is_hidden or column in columns:
                    hidden[number + repetition, column] = cell
                    continue
                sheet.cells[number + repetition, column] = cell
                if across > 1 or down > 1:
                    merged.append((column, number, column + across - 1, number + down - 1))
        number += repeated
    sheet.merged, sheet.hidden_columns, sheet.hidden_rows = merged, sorted(columns), rows
    return sheet, hidden


def _row(row: Any, room: Room, bold: set[str]) -> Iterator[tuple[int, Cell, int, int]]:
    """Column, cell, and over how many columns and rows it is merged."""
    column = 1
    for element in row:
        if element.tag not in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            continue
        repeated = _count(element, "number-columns-repeated")
        text = "\n".join(map(_text, element.iterfind(f"{_TEXT}p"))).strip()
        if text and element.tag == f"{_TABLE}table-cell":
            is_typed = element.get(f"{_OFFICE}value-type", "string") != "string"
            cell = Cell(text, is_typed or is_value(text), bold=element.get(f"{_TABLE}style-name") in bold)
            spans = _count(element, "number-columns-spanned"), _count(element, "number-rows-spanned")
            for offset in range(repeated):
                room.take(text)
                yield column + offset, cell, *spans
        column += repeated


def _text(paragraph: Any) -> str:
    """With its spaces and line breaks, which are elements."""
    parts = [paragraph.text or ""]
    for element in paragraph.iterdescendants():
        if element.tag in _SPACES:
            parts.append(" ")
        parts += [element.text or "", element.tail or ""]
    return "".join(parts)


def _is_hidden(element: Any) -> bool:
    """What a filter hides is still content, and what is folded away can be unfolded."""
    is_group = element.getparent().tag in (f"{_TABLE}table-row-group", f"{_TABLE}table-column-group")
    return element.get(f"{_TABLE}visibility") == "collapse" and not is_group


def _hidden_columns(table: Any) -> set[int]:
    hidden, column = set[int](), 1
    for element in table.iter(f"{_TABLE}table-column"):
        repeated = _count(element, "number-columns-repeated")
        if _is_hidden(element):
            hidden.update(range(column, min(column + repeated, _MOST_COLUMNS)))
        column += repeated
    return hidden


def _count(element: Any, name: str) -> int:
    value = element.get(f"{_TABLE}{name}", "1")
    return max(int(value), 1) if value.isdecimal() and len(value) < 9 else 1
