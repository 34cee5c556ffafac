"""Cells of a sheet to blocks: titles, tables with their headers, notes, each with its range of cells. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from indexing.blocks import BlockKind
from indexing.locators import Cells, Locator
from indexing.parsers import limits
from indexing.parsers.assemble import Piece
from indexing.parsers.sheet_grid import Area, Cell, Sheet, area_of, areas

MOST_TABLES = 50  # of one sheet; with more of them empty rows are its style, and it is one table
MOST_HEADER_ROWS = 5
LONGEST_LABEL = 60  # characters; a header is not a sentence
_YEAR = re.compile(r"(?:1[89]|20|21)\d\d(?:年|[/-]\d\d)?|(?:FY|Q[1-4] ?)(?:\d\d){1,2}")
_NOTE = re.compile(
    r"(?i)(?:notes?|source|sources|remarks?|\*+|注|备注|说明|资料来源|数据来源|来源)\s*[0-9]*\s*[:：.)）]?"
)


def pieces_of(sheet: Sheet) -> Iterator[Piece]:
    """A sheet's blocks in reading order; the sheet's name is a heading above them. Raises `DocumentTooLarge`."""
    limits.CELLS.check(sum(map(area_of, sheet.merged)))
    found = _tables_together(sheet, list(areas(sheet)))
    if not found:
        return
    if sheet.name is not None:
        yield Piece(BlockKind.HEADING, sheet.name, level=1, sheet=sheet.name)
    merged = _merged_values(sheet)
    for area in found:
        yield from _pieces(area, merged)


def _tables_together(sheet: Sheet, found: list[Area]) -> list[Area]:
    """Parts that only an empty row keeps apart are one table where the lower one has the upper one's columns and no header."""
    joined: list[Area] = []
    for area in found:
        above = joined[-1] if joined else None
        if (
            above is not None
            and len(above.rows) > 1
            and above.left <= area.left <= area.right <= above.right
            and area.right > area.left
            and area.top - above.bottom == 2
            and not _has_side_by_side(found, area)
            and _goes_on(above, area)
        ):
            above.bottom = area.bottom
            above.rows += area.rows
        else:
            joined.append(area)
    if sum(area.right > area.left and len(area.rows) > 1 for area in joined) <= MOST_TABLES:
        return joined
    rows = sorted({row for area in joined for row in area.rows})
    left, right = min(area.left for area in joined), max(area.right for area in joined)
    return [Area(sheet, rows[0], rows[-1], left, right, rows)]


def _has_side_by_side(found: Sequence[Area], area: Area) -> bool:
    return any(other is not area and other.top <= area.bottom and other.bottom >= area.top for other in found)


def _goes_on(above: Area, below: Area) -> bool:
    """Whether the rows below are of the kind of the table's last rows: words and values in the same columns."""
    last = above.row(above.rows[-1])
    offset = below.left - above.left
    first = below.row(below.rows[0])
    pairs = [(last[offset + at], cell) for at, cell in enumerate(first)]
    alike = [one.is_value == other.is_value for one, other in pairs if one is not None and other is not None]
    has_values = any(cell is not None and cell.is_value for cell in first)
    return bool(alike) and all(alike) and has_values


def _pieces(area: Area, merged: dict[tuple[int, int], tuple[Cells, Cell]]) -> Iterator[Piece]:
    """Titles above, the table, notes below."""
    rows = list(area.rows)
    before: list[int] = []
    after: list[int] = []
    while rows and _is_alone(area, rows[0], merged) and (len(rows) == 1 or not _is_list(area, rows, merged)):
        before.append(rows.pop(0))
    while rows and _is_alone(area, rows[-1], merged) and _is_note(area, rows[-1]):
        after.insert(0, rows.pop())
    if rows and area.left == area.right:
        before, rows = before + rows, []
    for row in before:
        yield _line(area, row, BlockKind.CAPTION if rows else BlockKind.PARAGRAPH)
    if rows:
        yield _table(area, rows, merged)
    for row in after:
        yield _line(area, row, BlockKind.PARAGRAPH)


def _is_alone(area: Area, row: int, merged: dict[tuple[int, int], tuple[Cells, Cell]]) -> bool:
    """Whether one cell of words is all that the row shows (a merged one may be wide)."""
    shown = [cell for cell in area.row(row) if cell is not None]
    covered = any(
        (row, column) in merged and merged[row, column][0][1] < row for column in range(area.left, area.right + 1)
    )
    return len(shown) == 1 and not shown[0].is_value and not covered


def _is_list(area: Area, rows: Sequence[int], merged: dict[tuple[int, int], tuple[Cells, Cell]]) -> bool:
    """Whether all rows have one cell: then it is a column of text, or a table of one column, not a title over something."""
    return area.right > area.left and all(_is_alone(area, row, merged) for row in rows)


def _is_note(area: Area, row: int) -> bool:
    text = next(cell.text for cell in area.row(row) if cell is not None)
    return _NOTE.match(text) is not None or len(text) > LONGEST_LABEL


def _line(area: Area, row: int, kind: BlockKind) -> Piece:
    at = next(column for column in range(area.left, area.right + 1) if (row, column) in area.sheet.cells)
    cell = area.sheet.cells[row, at]
    lines = area.sheet.lines.get(row)
    return Piece(
        kind, cell.text, sheet=area.sheet.name, cells=(at, row, at, row) if lines is None else None, lines=lines
    )


def _table(area: Area, rows: Sequence[int], merged: dict[tuple[int, int], tuple[Cells, Cell]]) -> Piece:
    sheet = area.sheet
    header_rows = _header_rows(area, rows, merged)
    texts = []
    parts = []
    for number, row in enumerate(rows):
        texts.append(_texts(area, row, merged, is_header=number < header_rows))
        lines = sheet.lines.get(row)
        cells = (area.left, row, area.right, row) if lines is None else None
        parts.append(Locator((number, number + 1), sheet=sheet.name, cells=cells, lines=lines))
    whole = (area.left, rows[0], area.right, rows[-1])
    spanned = (sheet.lines[rows[0]][0], sheet.lines[rows[-1]][1]) if sheet.lines else None
    return Piece(
        BlockKind.TABLE,
        rows=tuple(texts),
        header_rows=header_rows,
        sheet=sheet.name,
        cells=whole if spanned is None else None,
        lines=spanned,
        parts=parts,
    )


def _texts(
    area: Area, row: int, merged: dict[tuple[int, int], tuple[Cells, Cell]], *, is_header: bool
) -> tuple[str, ...]:
    """A row's cells. What is merged over rows stands in each of them, so that a row can be read by itself; what is merged
    over columns, in a header only."""
    texts = []
    for column in range(area.left, area.right + 1):
        cell = area.sheet.cells.get((row, column))
        if cell is None and (row, column) in merged:
            (left, _, _, _), value = merged[row, column]
            if is_header or column == left:
                cell = value
        texts.append(cell.text if cell is not None else "")
    return tuple(texts)


def _merged_values(sheet: Sheet) -> dict[tuple[int, int], tuple[Cells, Cell]]:
    """(row, column) of every covered place → its range and what stands there."""
    found = {}
    for cells in sheet.merged:
        left, top, right, bottom = cells
        value = sheet.cells.get((top, left))
        if value is not None:
            for row in range(top, bottom + 1):
                for column in range(left, right + 1):
                    found[row, column] = (cells, value)
    return found


def _header_rows(area: Area, rows: Sequence[int], merged: dict[tuple[int, int], tuple[Cells, Cell]]) -> int:
    """By what the file says, else by evidence: words above values, bold above plain, names that differ."""
    if len(rows) < 2:
        return 0
    said = [
        bottom
        for left, top, right, bottom in area.sheet.headers
        if top <= rows[0] <= bottom < rows[-1] and left <= area.right and right >= area.left
    ]
    if said:
        return min(sum(row <= max(said) for row in rows), MOST_HEADER_ROWS)
    count = 0
    while count < min(len(rows) - 1, MOST_HEADER_ROWS) and _is_upper_header(area, rows[count], merged):
        count += 1
    body = rows[count + 1 :]
    return (
        count + 1
        if body and _is_header(area, rows[count], body, merged)
        else count
        if count and _is_body(area, rows[count])
        else 0
    )


def _is_upper_header(area: Area, row: int, merged: dict[tuple[int, int], tuple[Cells, Cell]]) -> bool:
    """A row of a header that goes on below it: with a cell over several columns, or over several rows."""
    begins = [merged[row, column][0] for column in range(area.left, area.right + 1) if (row, column) in merged]
    wide = any(right > left for left, _, right, _ in begins)
    deep = any(bottom > row for _, _, _, bottom in begins)
    return (wide or deep) and all(cell is None or _is_label(cell) for cell in area.row(row)) and wide


def _is_header(area: Area, row: int, body: Sequence[int], merged: dict[tuple[int, int], tuple[Cells, Cell]]) -> bool:
    cells = [cell for cell in area.row(row) if cell is not None]
    if not cells or not all(map(_is_label, cells)):
        return False
    below = [cell for number in body[:20] for cell in area.row(number) if cell is not None]
    if any(cell.is_value for cell in below) and any(not cell.is_value for cell in cells):
        return True
    if all(cell.bold for cell in cells) and not all(cell.bold for cell in below):
        return True
    names = _texts(area, row, merged, is_header=True)
    return len(names) > 1 and all(names) and len(set(names)) == len(names) and not any(map(_is_sentence, names))


def _is_body(area: Area, row: int) -> bool:
    return any(cell is not None and cell.is_value for cell in area.row(row))


def _is_label(cell: Cell) -> bool:
    """Words, or a year, as tables over time have them."""
    if cell.is_value:
        return _YEAR.fullmatch(cell.text) is not None
    return len(cell.text) <= LONGEST_LABEL


def _is_sentence(text: str) -> bool:
    return text.endswith(("。", ".", "！", "?", "？")) and len(text) > LONGEST_LABEL // 2
