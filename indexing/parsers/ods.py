"""ODS: every visible sheet; the file holds each cell's text as it is shown.

Elements: Open Document Format for Office Applications (OpenDocument) 1.3, part 3, chapter 9.
"""

from __future__ import annotations

import io
import zipfile
from typing import Any

from lxml import etree

from documents.media_types import ODS
from indexing.blocks import LeftOut, LeftOutReason, ParsedDocument
from indexing.errors import DocumentCorrupt, DocumentEncrypted
from indexing.locators import Cells
from indexing.parsers import limits
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.number_formats import is_number
from indexing.parsers.package import check_package
from indexing.parsers.sheet_grid import Cell, Sheet
from indexing.parsers.sheet_tables import pieces_of

_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_MOST_REPEATED = 1_000  # of a filled row or cell; the files repeat empty ones a million times
_HIDDEN = ("collapse", "filter")


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
    left_out, pieces, cells = list[LeftOut](), list[Piece](), 0
    for table in root.iterfind(f".//{_OFFICE}spreadsheet/{_TABLE}table"):
        sheet, hidden = _sheet(table)
        cells += len(sheet.cells)
        limits.CELLS.check(cells)
        if table.get(f"{_TABLE}style-name") in hidden_styles:
            hidden, sheet = [*sheet.cells.values(), *hidden], Sheet(sheet.name)
        if hidden:
            left_out.append(LeftOut(LeftOutReason.HIDDEN, limits.excerpt(cell.text for cell in hidden)))
        pieces += pieces_of(sheet)
    return assemble(ODS, pieces, left_out=left_out)


def _refuse_encrypted(content: bytes) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            part = package.getinfo("META-INF/manifest.xml")
            if part.file_size <= limits.SMALL_BYTES and b"encryption-data" in package.read(part):
                raise DocumentEncrypted()
    except (zipfile.BadZipFile, KeyError, OSError, ValueError, EOFError, NotImplementedError):
        return  # the checks that follow say what is wrong


def _sheet(table: Any) -> tuple[Sheet, list[Cell]]:
    """The cells that are shown, and those of hidden rows and columns."""
    sheet, hidden, merged, number = Sheet(table.get(f"{_TABLE}name")), list[Cell](), list[Cells](), 1
    hidden_columns = _hidden_columns(table)
    for row in table.iter(f"{_TABLE}table-row"):
        repeated = _count(row, "number-rows-repeated")
        found = _row(row)
        for _ in range(min(repeated, _MOST_REPEATED) if found else 0):
            for column, cell, across, down in found:
                if row.get(f"{_TABLE}visibility") == "collapse" or column in hidden_columns:
                    hidden.append(cell)
                    continue
                sheet.cells[number, column] = cell
                if across > 1 or down > 1:
                    merged.append((column, number, column + across - 1, number + down - 1))
            limits.CELLS.check(len(sheet.cells))
            number += 1
        number += repeated - (min(repeated, _MOST_REPEATED) if found else 0)
    sheet.merged = merged
    return sheet, hidden


def _row(row: Any) -> list[tuple[int, Cell, int, int]]:
    """Column, cell, and over how many columns and rows it is merged."""
    found, column = [], 1
    for element in row:
        if element.tag not in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            continue
        repeated = _count(element, "number-columns-repeated")
        text = "\n".join("".join(paragraph.itertext()) for paragraph in element.iterfind(f"{_TEXT}p")).strip()
        if text and element.tag == f"{_TABLE}table-cell":
            is_value = element.get(f"{_OFFICE}value-type", "string") != "string" or is_number(text)
            spans = _count(element, "number-columns-spanned"), _count(element, "number-rows-spanned")
            found += [
                (column + offset, Cell(text, is_value), *spans) for offset in range(min(repeated, _MOST_REPEATED))
            ]
        column += repeated
    return found


def _hidden_columns(table: Any) -> set[int]:
    hidden, column = set[int](), 1
    for element in table.iter(f"{_TABLE}table-column"):
        repeated = _count(element, "number-columns-repeated")
        if element.get(f"{_TABLE}visibility") in _HIDDEN:
            hidden.update(range(column, column + min(repeated, 16_384)))
        column += repeated
    return hidden


def _count(element: Any, name: str) -> int:
    value = element.get(f"{_TABLE}{name}", "1")
    return max(int(value), 1) if value.isdecimal() and len(value) < 9 else 1
