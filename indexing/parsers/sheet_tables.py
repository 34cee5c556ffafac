"""Cells of a sheet to blocks: titles, tables with their headers, notes, each with its range of cells. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from indexing.blocks import BlockKind
from indexing.locators import Cells, Locator
from indexing.parsers.assemble import Piece
from indexing.parsers.sheet_grid import Area, Cell, Room, Sheet, area_around, areas, by_empty_columns
from indexing.parsers.sheet_headers import LONGEST_LABEL, Merged, header_rows

MOST_TABLES = 50  # of one sheet; with more of them empty rows are its style, and it is one table
MOST_PARAGRAPHS = 500  # in one column; a longer one is a list
LONGEST_CAPTION = 200  # characters; it is repeated with every part of a long table
_NOTE = re.compile(
    r"(?i)(?:notes?|sources?|remarks?|\*+|注|备注|说明|资料来源|数据来源|来源)\s*[0-9]*\s*(?:[:：.)）]|$)|\*"
)
_NAMED = re.compile(r"\w\s*[:：]\s*\S")
_END = ("。", "！", "？", ".", "!", "?", "；", ";", "：", ":")


def pieces_of(sheet: Sheet, room: Room) -> Iterator[Piece]:
    """A sheet's blocks in reading order; the sheet's name is a heading above them. What is merged is taken from `room` as
    often as it is repeated. Raises `DocumentTooLarge`."""
    if not sheet.cells:
        return
    sheet.merged = list(_merged_where_cells_are(sheet, room))
    found = _tables_together(sheet, list(areas(sheet)))
    if sheet.name is not None:
        yield Piece(BlockKind.HEADING, sheet.name, level=1, sheet=sheet.name)
    merged = {
        (row, column): (cells, sheet.cells[cells[1], cells[0]])
        for cells in sheet.merged
        for row in range(cells[1], cells[3] + 1)
        for column in range(cells[0], cells[2] + 1)
    }
    for area in found:
        yield from _pieces(area, merged)


def _merged_where_cells_are(sheet: Sheet, room: Room) -> Iterator[Cells]:
    """Merged ranges that hold something, as far as the sheet's cells reach: files merge to the end of the sheet."""
    last_row, last_column = (max(place[axis] for place in sheet.cells) for axis in (0, 1))
    for left, top, right, bottom in sheet.merged:
        value = sheet.cells.get((top, left))
        if value is not None:
            right, bottom = min(right, last_column), min(bottom, last_row)
            room.take(value.text, (right - left + 1) * (bottom - top + 1) - 1)
            yield left, top, right, bottom


def _tables_together(sheet: Sheet, found: list[Area]) -> list[Area]:
    """What an empty row or column keeps apart, but the text does not: rows of the same kind go on below an empty row, a
    table's values beside an empty column."""
    tops, bottoms = sorted(area.top for area in found), sorted(area.bottom for area in found)
    joined: list[Area] = []
    for area in found:
        before = joined[-1] if joined else None
        alone = bisect_right(tops, area.bottom) - bisect_left(bottoms, area.top) == 1  # nothing stands beside it
        if before is not None and ((alone and _goes_on_below(before, area)) or _goes_on_beside(before, area)):
            before.bottom, before.right = max(before.bottom, area.bottom), max(before.right, area.right)
            before.rows = sorted({*before.rows, *area.rows}) if before.top == area.top else before.rows + area.rows
        else:
            joined.append(area)
    if sum(area.right > area.left and len(area.rows) > 1 for area in joined) <= MOST_TABLES:
        return joined
    rows = sorted({row for area in joined for row in area.rows})
    left, right = min(area.left for area in joined), max(area.right for area in joined)
    return [Area(sheet, rows[0], rows[-1], left, right, rows)]


def _goes_on_below(above: Area, below: Area) -> bool:
    """Whether the rows below are of the kind of the table's last rows: words and values in the same columns, no header."""
    fits = len(above.rows) > 1 and above.left <= below.left < below.right <= above.right
    if not fits or below.top - above.bottom != 2:
        return False
    first = below.row(below.rows[0])
    last = [above.sheet.cells.get((above.rows[-1], column)) for column in below.columns]
    alike = [one.is_value == other.is_value for one, other in zip(last, first, strict=True) if one and other]
    return bool(alike) and all(alike) and any(cell is not None and cell.is_value for cell in first)


def _goes_on_beside(left: Area, right: Area) -> bool:
    """Whether the same rows go on behind an empty column: with values only, which are nothing without the names on the left."""
    if (left.top, left.bottom) != (right.top, right.bottom) or right.left - left.right != 2 or len(left.rows) < 3:
        return False
    names = [left.sheet.cells.get((row, left.left)) for row in left.rows[1:]]
    values = [cell for row in right.rows[1:] for cell in right.row(row) if cell is not None]
    return all(cell is None or not cell.is_value for cell in names) and all(cell.is_value for cell in values)


def _pieces(area: Area, merged: Merged) -> Iterator[Piece]:
    """Titles above, the tables, notes below."""
    rows = list(area.rows)
    before: list[int] = []
    after: list[int] = []
    if area.left == area.right and _is_prose(area):
        before, rows = rows, []
    elif area.left < area.right and not all(_is_alone(area, row, merged) for row in rows):
        while _is_alone(area, rows[0], merged) or _is_remark(area, rows[0], rows[1:2]):
            before.append(rows.pop(0))
        while (_is_alone(area, rows[-1], merged) and _is_note(area, rows[-1])) or _is_remark(
            area, rows[-1], rows[-2:-1]
        ):
            after.insert(0, rows.pop())
    for row in before:
        yield _line(area, row, is_caption=bool(rows))
    if rows:
        yield from (_table(table, merged) for table in _below_titles(area, rows, merged))
    for row in after:
        yield _line(area, row, is_caption=False)


def _below_titles(area: Area, rows: list[int], merged: Merged) -> list[Area]:
    """The tables in `rows`: without columns that only a title reached over, which may have stood over several tables."""
    inside = set(rows)
    filled = [
        (row, column)
        for row in rows
        for column in area.columns
        if (row, column) in area.sheet.cells or ((row, column) in merged and merged[row, column][0][1] in inside)
    ]
    if not filled:
        return []
    is_cut = len(rows) < len(area.rows) and not area.sheet.lines
    found = [area_around(area.sheet, part) for part in (by_empty_columns(area.sheet, filled) if is_cut else [filled])]
    tables = found[:1]
    for right in found[1:]:
        if _goes_on_beside(tables[-1], right):
            tables[-1].right = right.right
        else:
            tables.append(right)
    return tables


def _is_alone(area: Area, row: int, merged: Merged) -> bool:
    """Whether one cell of words is all that the row shows (a merged one may be wide)."""
    shown = [cell for cell in area.row(row) if cell is not None]
    covered = any((row, column) in merged and merged[row, column][0][1] < row for column in area.columns)
    return len(shown) == 1 and not shown[0].is_value and not covered


def _is_prose(area: Area) -> bool:
    """Whether a column is text, line by line, and not a list of names or numbers."""
    cells = [cell for row in area.rows if (cell := area.sheet.cells.get((row, area.left)))]
    if len(cells) > MOST_PARAGRAPHS or any(cell.is_value for cell in cells):
        return len(cells) == 1
    return len(cells) < 4 or any(len(cell.text) > LONGEST_LABEL or cell.text.endswith(_END) for cell in cells)


def _is_remark(area: Area, row: int, neighbour: Sequence[int]) -> bool:
    """Whether a row says things about the table, such as “Company: …” and, far from it, “in thousands”."""
    cells = [cell for cell in area.row(row) if cell is not None]
    return (
        any(_NAMED.search(cell.text) for cell in cells)
        and not any(cell.is_value for cell in cells)
        and 2 * len(cells) <= len(area.columns)
        and any(len(cells) < sum(cell is not None for cell in area.row(other)) for other in neighbour)
    )


def _is_note(area: Area, row: int) -> bool:
    text = next(cell.text for cell in area.row(row) if cell is not None)
    return _NOTE.match(text) is not None or len(text) > LONGEST_LABEL


def _line(area: Area, row: int, *, is_caption: bool) -> Piece:
    columns = [column for column in area.columns if (row, column) in area.sheet.cells]
    text, lines = "  ".join(area.sheet.cells[row, column].text for column in columns), area.sheet.lines.get(row)
    kind = BlockKind.CAPTION if is_caption and len(text) <= LONGEST_CAPTION else BlockKind.PARAGRAPH
    cells = None if lines else (columns[0], row, columns[-1], row)
    return Piece(kind, text, sheet=area.sheet.name, cells=cells, lines=lines)


def _table(area: Area, merged: Merged) -> Piece:
    sheet, rows = area.sheet, area.rows
    header = header_rows(area, rows, merged)
    texts, parts = [], []
    for number, row in enumerate(rows):
        texts.append(_texts(area, row, merged, is_header=number < header))
        lines = sheet.lines.get(row)
        cells = None if lines else (area.left, row, area.right, row)
        parts.append(Locator((number, number + 1), sheet=sheet.name, cells=cells, lines=lines))
    return Piece(
        BlockKind.TABLE,
        rows=tuple(texts),
        header_rows=header,
        sheet=sheet.name,
        cells=None if sheet.lines else (area.left, rows[0], area.right, rows[-1]),
        lines=(sheet.lines[rows[0]][0], sheet.lines[rows[-1]][1]) if sheet.lines else None,
        parts=parts,
    )


def _texts(area: Area, row: int, merged: Merged, *, is_header: bool) -> tuple[str, ...]:
    """A row's cells. What is merged over rows stands in each of them, so that a row can be read by itself; what is merged
    over columns, in a header only."""
    texts = []
    for column in area.columns:
        cell: Cell | None = area.sheet.cells.get((row, column))
        if cell is None and (row, column) in merged:
            (left, _, _, _), value = merged[row, column]
            if is_header or column == left:
                cell = value
        texts.append(cell.text if cell is not None else "")
    return tuple(texts)
