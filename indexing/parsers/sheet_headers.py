"""How many of a table's first rows are its header: by what the file says, else by evidence. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from indexing.locators import Cells
from indexing.parsers.sheet_grid import Area, Cell, Place

LONGEST_LABEL = 60  # characters; a header is not a sentence
MOST_HEADER_ROWS = 5
_LOOKED_AT = 20  # rows below, which show what a header stands over
_YEAR = re.compile(r"(?:1[89]|20|21)\d\d(?:年|[/-]\d\d)?|(?:FY|Q[1-4] ?)(?:\d\d){1,2}")

Merged = dict[Place, tuple[Cells, Cell]]
"""Of every place that a merged range covers: the range and what stands in it."""


def header_rows(area: Area, rows: Sequence[int], merged: Merged) -> int:
    if len(rows) < 2:
        return 0
    said = [
        bottom
        for left, top, right, bottom in area.sheet.headers
        if top <= rows[0] <= bottom < rows[-1] and left <= area.right and right >= area.left
    ]
    if said:
        return min(sum(row <= max(said) for row in rows), MOST_HEADER_ROWS)
    upper = 0
    while upper < min(len(rows) - 1, MOST_HEADER_ROWS) and _is_upper(area, rows, upper, merged):
        upper += 1
    body = rows[upper + 1 :]
    if body and _is_header(area, rows[upper], body[:_LOOKED_AT], merged):
        return upper + 1
    return upper if _has_value(area.row(rows[upper])) else 0


def _is_upper(area: Area, rows: Sequence[int], at: int, merged: Merged) -> bool:
    """A row of a header that goes on below: names that stand over several columns, merged or with empty cells beside them."""
    cells = area.row(rows[at])
    if not all(cell is None or is_label(cell) for cell in cells):
        return False
    row = rows[at]
    ranges = [merged[row, column][0] for column in area.columns if (row, column) in merged]
    if any(right > left for left, _, right, _ in ranges):
        return True
    below = area.row(rows[at + 1])
    filled = sum(cell is not None for cell in cells)
    has_gaps = filled < len(cells) and filled < sum(cell is not None for cell in below)
    is_followed = at + 2 < len(rows) and _has_value(area.row(rows[at + 2]))
    return has_gaps and filled > 1 and is_followed and all(cell is None or _is_word(cell) for cell in below)


def _is_header(area: Area, row: int, body: Sequence[int], merged: Merged) -> bool:
    """Words above values, bold above plain, or names that differ and do not come back below."""
    cells = [cell for cell in area.row(row) if cell is not None]
    if not cells or not all(map(is_label, cells)):
        return False
    below = [area.row(number) for number in body]
    if any(map(_has_value, below)) and any(map(_is_word, cells)):
        return True
    if all(cell.bold for cell in cells) and not all(cell.bold for found in below for cell in found if cell is not None):
        return True
    names = [_name(area, row, column, merged) for column in area.columns]
    again = any(
        cell is not None and cell.text == name for found in below for name, cell in zip(names, found, strict=True)
    )
    differ = len(names) > 1 and all(names[1:]) and len(set(names)) == len(names)  # the first one may be empty
    return differ and not again and not any(map(_is_prose, names))


def _name(area: Area, row: int, column: int, merged: Merged) -> str:
    cell = area.sheet.cells.get((row, column))
    if cell is None and (row, column) in merged:
        cell = merged[row, column][1]
    return cell.text if cell is not None else ""


def is_label(cell: Cell) -> bool:
    """Words, or a year, as tables over time have them."""
    if cell.is_value:
        return _YEAR.fullmatch(cell.text) is not None
    return len(cell.text) <= LONGEST_LABEL


def _is_word(cell: Cell) -> bool:
    return not cell.is_value


def _has_value(cells: Sequence[Cell | None]) -> bool:
    return any(cell is not None and cell.is_value for cell in cells)


def _is_prose(text: str) -> bool:
    """A sentence, or a name whose value stands beside it."""
    return text.endswith((":", "：")) or (
        text.endswith(("。", ".", "！", "?", "？")) and len(text) > LONGEST_LABEL // 2
    )
