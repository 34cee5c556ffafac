"""Tables of a DOCX: cells on the table's grid, what is merged, which rows are the header."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from docx.oxml.ns import qn

from indexing.parsers.assemble import Rows

_WIDEST_ROW = 1_000  # columns that merged cells may cover; Word has 63
_WRAPPERS = ("w:sdt", "w:sdtContent", "w:customXml", "w:ins")
_OFF = ("0", "false", "off")


@dataclass(slots=True)
class _Place:
    """One place of the grid. `goes_on`: the cell above it is merged into it; `width`: how many places its cell covers."""

    text: str
    width: int = 1
    goes_on: bool = False


def through_wrappers(parent: Any, name: str) -> Iterator[Any]:
    """Children called `name`, also those inside content controls and tracked insertions."""
    for child in parent:
        if child.tag == qn(name):
            yield child
        elif child.tag in map(qn, _WRAPPERS):
            yield from through_wrappers(child, name)


def read_table(table: Any, rows: list[Any], text_of: Callable[[Any], str]) -> tuple[Rows, int]:
    """The rows, and how many of them are the header. A cell merged over rows has its text in each of them, in the header also
    one merged over columns."""
    grid = [list(_places(row, text_of)) for row in rows]
    header_rows = _header_rows(table, rows)
    for above, row in zip([[], *grid], grid, strict=False):
        for column, place in enumerate(row):
            if place.goes_on:
                place.text = above[column].text if column < len(above) else ""
    return tuple(tuple(_texts(row, spread=number < header_rows)) for number, row in enumerate(grid)), header_rows


def _places(row: Any, text_of: Callable[[Any], str]) -> Iterator[_Place]:
    before = row.find(f"{qn('w:trPr')}/{qn('w:gridBefore')}")
    left = _WIDEST_ROW
    for _ in range(_small(before)):
        yield _Place("")
    for cell in through_wrappers(row, "w:tc"):
        merge = cell.find(f"{qn('w:tcPr')}/{qn('w:vMerge')}")
        goes_on = merge is not None and merge.get(qn("w:val"), "continue") == "continue"
        more = min(max(_small(cell.find(f"{qn('w:tcPr')}/{qn('w:gridSpan')}")) - 1, 0), left)
        left -= more
        yield _Place("" if goes_on else text_of(cell), 1 + more, goes_on)
        for _ in range(more):
            yield _Place("", width=0)


def _texts(row: list[_Place], *, spread: bool) -> Iterator[str]:
    last = ""
    for place in row:
        if place.width:
            last = place.text
        yield place.text if place.width or not spread else last


def _small(element: Any) -> int:
    value = element.get(qn("w:val")) if element is not None else None
    return int(value) if value and re.fullmatch(r"\d{1,2}", value) else 0


def _header_rows(table: Any, rows: list[Any]) -> int:
    """Rows marked to repeat on every page; without such a mark the first, unless the table's look says otherwise."""
    marked = 0
    for row in rows:
        mark = row.find(f"{qn('w:trPr')}/{qn('w:tblHeader')}")
        if mark is None or mark.get(qn("w:val"), "1") in _OFF:
            break
        marked += 1
    if marked:
        return marked if marked < len(rows) else 1
    look = table.find(f"{qn('w:tblPr')}/{qn('w:tblLook')}")
    plain = look is not None and look.get(qn("w:firstRow"), "1") in _OFF
    return 0 if plain or len(rows) < 2 else 1
