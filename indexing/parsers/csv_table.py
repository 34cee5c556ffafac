"""CSV and its kin: one table, its rows with the lines of the file, whatever separates the cells."""

from __future__ import annotations

import csv
import re
from collections import Counter
from itertools import islice

from documents.media_types import CSV
from indexing.blocks import ParsedDocument
from indexing.errors import DocumentCorrupt
from indexing.parsers import limits
from indexing.parsers.assemble import assemble
from indexing.parsers.encoding import decode_text
from indexing.parsers.number_formats import is_number
from indexing.parsers.sheet_grid import Cell, Room, Sheet
from indexing.parsers.sheet_tables import pieces_of

_SEPARATORS = ",;\t|"
_LOOKED_AT = 200  # rows that show what separates the cells
_DATE = re.compile(
    r"\d{4}[-/.年]\d{1,2}(?:[-/.月]\d{1,2}日?)?(?:[ T]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?Z?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}"
)


def parse(content: bytes) -> ParsedDocument:
    """Raises `DocumentCorrupt`, `DocumentTooLarge` or `NoText`."""
    text = decode_text(content)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    sheet, room = Sheet(None), Room()
    csv.field_size_limit(limits.CHARACTERS.value)
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=_separator(lines))
    row, first_line = 0, 1
    try:
        for values in reader:
            row += 1
            for column, value in enumerate(values, 1):
                if value := value.strip():
                    room.take(value)
                    sheet.cells[row, column] = Cell(value, is_number(value) or _DATE.fullmatch(value) is not None)
            limits.CELLS.check(room.cells + len(values))
            sheet.lines[row] = (first_line, min(reader.line_num, len(lines)))
            first_line = reader.line_num + 1
    except csv.Error as error:
        raise DocumentCorrupt() from error
    return assemble(CSV, pieces_of(sheet, room))


def _separator(lines: list[str]) -> str:
    """The one by which most rows have equally many cells, and more than one."""

    def evidence(separator: str) -> tuple[float, int]:
        rows = list(
            islice(csv.reader((f"{line}\n" for line in lines if line.strip()), delimiter=separator), _LOOKED_AT)
        )
        widths = Counter(len(row) for row in rows)
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]), default=(1, 0))
        return (count / len(rows) if rows and width > 1 else 0.0), width

    return max(_SEPARATORS, key=evidence)
