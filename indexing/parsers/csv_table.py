"""CSV and its kin: one table, its rows with the lines of the file, whatever separates the cells."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from documents.media_types import CSV
from indexing.blocks import ParsedDocument
from indexing.errors import DocumentCorrupt
from indexing.parsers import limits
from indexing.parsers.assemble import assemble
from indexing.parsers.encoding import decode_text
from indexing.parsers.number_formats import is_value
from indexing.parsers.sheet_grid import Cell, Room, Sheet
from indexing.parsers.sheet_tables import pieces_of

_SEPARATORS = ",;\t|"
_LOOKED_AT = 500  # lines that show what separates the cells
_MOST_LINES = 500  # of a cell; with more of them a quotation mark was never closed
_SAID = re.compile(r'"?sep=([^"\w\s]|\t| )"?')  # Excel's first line, which says what separates the cells

Quoting = Literal[0, 3]
Row = tuple[list[str], tuple[int, int]]
"""Cells, and the first and last line of the file."""


def parse(content: bytes) -> ParsedDocument:
    """Raises `DocumentCorrupt`, `DocumentTooLarge` or `NoText`."""
    lines = decode_text(content).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    csv.field_size_limit(limits.CHARACTERS.value)
    try:
        sheet, room = Sheet(None), Room()
        for number, (values, own_lines) in enumerate(_rows(lines), 1):
            sheet.lines[number] = own_lines
            for column, value in enumerate(values, 1):
                if value := value.strip():
                    room.take(value)
                    sheet.cells[number, column] = Cell(value, is_value(value))
    except csv.Error as error:
        raise DocumentCorrupt() from error
    return assemble(CSV, pieces_of(sheet, room))


def _rows(lines: list[str]) -> list[Row]:
    said = _SAID.fullmatch(lines[0])
    first = 1 if said else 0
    separator = said[1] if said else _separator(lines[:_LOOKED_AT])
    rows = list(_read(lines, separator, csv.QUOTE_MINIMAL, first))
    is_quoted = all(last - begin < _MOST_LINES for _, (begin, last) in rows)
    if not rows or (is_quoted and _is_closed(lines, rows[-1][1], separator)):
        return rows
    return list(_read(lines, separator, csv.QUOTE_NONE, first))  # the marks are text


def _read(lines: Sequence[str], separator: str, quoting: Quoting, first: int = 0) -> Iterator[Row]:
    """Raises `csv.Error`, or `DocumentTooLarge`."""
    reader = csv.reader((f"{line}\n" for line in lines[first:]), delimiter=separator, quoting=quoting)
    cells, begin = 0, first + 1
    for values in reader:
        cells += len(values)
        limits.CELLS.check(cells)
        yield values, (begin, min(first + reader.line_num, len(lines)))
        begin = first + reader.line_num + 1


def _is_closed(lines: Sequence[str], last_row: tuple[int, int], separator: str) -> bool:
    """Whether the last row ends with the file, and not only because the file ends."""
    begin, last = last_row
    try:
        list(csv.reader((f"{line}\n" for line in lines[begin - 1 : last]), delimiter=separator, strict=True))
    except csv.Error as error:
        return "end of data" not in str(error)
    return True


def _separator(lines: Sequence[str]) -> str:
    """The one by which most rows have equally many cells, and more than one."""

    def evidence(separator: str) -> tuple[float, int]:
        rows = [values for values, _ in _read(lines, separator, csv.QUOTE_MINIMAL) if values]
        widths = Counter(map(len, rows))
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]), default=(1, 0))
        return (count / len(rows) if width > 1 else 0.0), width

    return max(_SEPARATORS, key=evidence)
