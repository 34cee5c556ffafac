"""One sheet of an XLSX: its cells as they are shown, in one pass over its XML.

Elements: ECMA-376 part 1, 18.3. Cells that are styled and empty cost nothing: files have millions of them.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lxml import etree

from indexing.blocks import LeftOutReason
from indexing.locators import Cells
from indexing.parsers.number_formats import is_value, show, show_serial
from indexing.parsers.sheet_grid import Cell, Place, Room, Sheet
from indexing.parsers.sheet_printing import printed
from indexing.parsers.xlsx_book import (
    MOST_COLUMNS,
    MOST_ROWS,
    Book,
    SheetPart,
    Style,
    elements,
    range_of,
    relations_of,
    text_of,
    unescaped,
)

_PLACE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})")
_PLAIN = Style()
_PICTURE = "=DISPIMG("  # what WPS puts under a picture in a cell
DAMAGED = (etree.XMLSyntaxError, LookupError, ValueError, TypeError, OverflowError)
"""What reading XML of another shape than it should have raises."""


@dataclass(slots=True)
class SheetReading:
    """`hidden`: cells of hidden rows and columns. `furniture`: what is printed above and below the sheet.
    `uncalculated`: the range of the formulas whose results are not in the file, None where all are. `is_whole`: whether all
    was read; a cell that makes no sense is left out, and what stands behind damaged XML."""

    sheet: Sheet
    hidden: dict[Place, Cell] = field(default_factory=dict)
    furniture: list[tuple[LeftOutReason, str]] = field(default_factory=list)
    uncalculated: Cells | None = None
    is_whole: bool = True


def read_sheet(package: zipfile.ZipFile, book: Book, part: SheetPart, room: Room) -> SheetReading:
    """Raises `DocumentTooLarge`."""
    reading = SheetReading(Sheet(part.name))
    try:
        _read(package, book, part.path or "", room, reading)
    except DAMAGED:
        reading.is_whole = False
    return reading


def _read(package: zipfile.ZipFile, book: Book, path: str, room: Room, reading: SheetReading) -> None:
    sheet, merged, headers, columns = reading.sheet, list[Cells](), list[Cells](), set[int]()
    hidden_rows = dict[Place, Cell]()
    rows, is_filtered, number = set[int](), False, 0
    for element in elements(package, path, "row", "col", "mergeCell", "pane", "autoFilter", "headerFooter"):
        name = etree.QName(element).localname
        if name == "row":
            number = int(element.get("r", number + 1))
            if not 0 < number <= MOST_ROWS:
                raise ValueError("no such row")
            is_hidden = _is_hidden(element)
            kept = hidden_rows if is_hidden else sheet.cells
            rows.update([number] if is_hidden else [])
            for column, cell in _cells(number, element, book, reading):
                room.take(cell.text)
                if column in columns:
                    reading.hidden[number, column] = cell
                else:
                    kept[number, column] = cell
        elif name == "col" and _is_hidden(element):
            columns.update(range(int(element.get("min")), min(int(element.get("max")), MOST_COLUMNS) + 1))
        elif name == "mergeCell":
            merged.append(range_of(element.get("ref")))
        elif name == "pane" and element.get("state") in ("frozen", "frozenSplit"):
            frozen = int(float(element.get("ySplit", "0")))
            headers += [(1, 1, MOST_COLUMNS, frozen)] if frozen else []
        elif name == "headerFooter":
            reading.furniture += printed(element)
        elif name == "autoFilter" and element.get("ref"):
            left, top, right, _ = range_of(element.get("ref"))
            headers.append((left, top, right, top))
            is_filtered = True
    tables = list(_headers_of_tables(package, path))
    if is_filtered or tables:  # what a filter hides is still content
        sheet.cells.update(hidden_rows)
    else:
        reading.hidden |= hidden_rows
        sheet.hidden_rows = sorted(rows)
    sheet.hidden_columns, sheet.merged, sheet.headers = sorted(columns), merged, headers + tables


def _is_hidden(element: Any) -> bool:
    """Not what is folded away in an outline: there its readers find it."""
    return element.get("hidden") in ("1", "true") and element.get("outlineLevel", "0") == "0"


def _cells(number: int, row: Any, book: Book, reading: SheetReading) -> Iterator[tuple[int, Cell]]:
    column = 0
    for element in row:
        place = element.get("r")
        try:
            column = _column(place) if place else column + 1
            found = _cell(element, (number, column), book, reading)
        except DAMAGED:
            reading.is_whole = False
            continue
        if found is not None:
            yield column, found


def _cell(element: Any, at: Place, book: Book, reading: SheetReading) -> Cell | None:
    kind, value, formula = element.get("t", "n"), None, False
    for child in element:
        name = etree.QName(child).localname
        if name == "v":
            value = child.text
        elif name == "is":
            value = text_of(child)
        formula |= name == "f"
    if not value:
        if formula and kind != "str":  # its result was never stored: written by a program that does not calculate
            reading.uncalculated = _with(at, reading.uncalculated)
        return None
    number = element.get("s")
    style = book.styles[int(number)] if number and int(number) < len(book.styles) else _PLAIN
    text, typed = _shown(kind, value, style, book)
    if text.startswith(_PICTURE) or not text or text.isspace():
        return None
    return Cell(text, typed, style.bold)


def _with(at: Place, cells: Cells | None) -> Cells:
    row, column = at
    left, top, right, bottom = cells or (column, row, column, row)
    return min(left, column), min(top, row), max(right, column), max(bottom, row)


def _shown(kind: str, value: str, style: Style, book: Book) -> tuple[str, bool]:
    """A cell's text, and whether it is a value."""
    if kind == "n":
        number = float(value)
        if not math.isfinite(number):
            raise ValueError("no number")
        exact = int(number) if number.is_integer() and abs(number) < 1e15 else number
        return show_serial(exact, style.number_format, since_1904=book.since_1904), True
    if kind == "b":
        return show(value.strip() in ("1", "true")), True
    if kind == "d":
        return show(datetime.fromisoformat(value).replace(tzinfo=None), style.number_format), True
    text = book.texts[int(value)] if kind == "s" else value if kind == "inlineStr" else unescaped(value)
    return text, kind == "e" or is_value(text)


def _column(place: str) -> int:
    match = _PLACE.fullmatch(place)
    number = 0
    for letter in match[1] if match else place:
        number = number * 26 + ord(letter) - ord("A") + 1
    if match is None or number > MOST_COLUMNS:
        raise ValueError("no such column")
    return number


def _headers_of_tables(package: zipfile.ZipFile, path: str) -> Iterator[Cells]:
    for kind, table_path in relations_of(package, path).values():
        if kind == "table" and table_path in package.NameToInfo:
            for table in elements(package, table_path, "table"):
                rows = int(table.get("headerRowCount", "1"))
                left, top, right, _ = range_of(table.get("ref", ""))
                if rows:
                    yield left, top, right, top + rows - 1
