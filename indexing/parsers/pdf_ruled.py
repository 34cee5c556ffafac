"""A grid of rules with the text in it: rows that no rule parts are told apart by their lines, merged cells are written out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby, pairwise

from indexing.locators import Region
from indexing.parsers.assemble import Rows
from indexing.parsers.pdf_grids import Cell, Grid
from indexing.parsers.pdf_types import Glyph, Line, Table
from indexing.parsers.pdf_words import CORRIDOR, Row, Word, is_number, rows_of, text_of

_LONGEST_MEAN_CELL = 500  # characters; above it the rules frame a layout
_MOST_HEADER_ROWS = 6
_CUT = 0.15  # share of words
_SILENT = 0.6  # share of rows; a form has words beside those that are to be filled in
_UNRULED = 3  # rows of numbers between two rules: these part groups of rows
_YEAR = re.compile(r"(?:19|20)\d\d年?")

LinesOf = Callable[[Sequence[Glyph]], list[Line]]


def ruled_table(grid: Grid, glyphs: Sequence[Glyph], page: int, lines_of: LinesOf) -> Table | None:
    """None where the rules are no table's. `glyphs`: those inside, with the line feeds, in reading order."""
    texts = _texts(grid, glyphs, lines_of)
    if not _is_table(texts) or _is_chart(grid, texts) or _cuts_words(grid, glyphs):
        return None
    header = _header_rows(grid, texts)
    rows, regions = _rows(grid, texts, header)
    filled = {row for row, owners in enumerate(grid.owners[:header]) if any(owner in texts for owner in owners)}
    first = next(int(glyph.order) for glyph in glyphs if glyph.text != "\n")
    return Table(rows, first, page, grid.region, min(len(filled), len(rows) - 1), regions)


def opened(grid: Grid, glyphs: Sequence[Glyph]) -> Grid:
    """The grid with the rows and cells that its text shows, where some of its rules are not drawn."""
    lines: list[list[Row]] = [[] for _ in grid.owners]
    for row in rows_of(glyphs):
        _, top, _, bottom = row.region
        lines[grid.row_at((top + bottom) / 2)].append(row)
    edges = grid.rows[:1]
    owners: list[list[Cell]] = []
    place: dict[int, int] = {}  # number of a row → that of its first part
    for number, (old, inside) in enumerate(zip(grid.owners, lines, strict=True)):
        place[number] = len(owners)
        old = _unmerged(grid, number, inside)
        cuts = _cuts(grid, inside)
        for _ in range(len(cuts) + 1):
            at = len(owners)
            owners.append([(at if row == number else place.get(row, at), column) for row, column in old])
        edges += [*cuts, grid.rows[number + 1]]
    return Grid(grid.columns, edges, owners)


def without_titles(grid: Grid) -> Grid:
    """The grid without rows at its top and bottom that are one cell: a title and notes."""
    wide = [len(set(owners)) == 1 for owners in grid.owners]
    first, last = 0, len(wide)
    while first < last and wide[first]:
        first += 1
    while last > first and wide[last - 1]:
        last -= 1
    owners = [[(row - first, column) for row, column in owners] for owners in grid.owners[first:last]]
    return Grid(grid.columns, grid.rows[first : last + 1], owners)


def _unmerged(grid: Grid, number: int, lines: Sequence[Row]) -> list[Cell]:
    """The owners of a row, without cells merged over columns whose words stand in the columns."""
    owners = list(grid.owners[number])
    for owner, group in groupby(range(len(owners)), key=lambda column: owners[column]):
        columns = list(group)
        if len(columns) < 2 or owner[0] != number:
            continue
        left, right = grid.columns[columns[0]], grid.columns[columns[-1] + 1]
        rows = [[word for word in row.words if left <= word.middle <= right] for row in lines]
        rows = [row for row in rows if row]
        inner = [grid.columns[column] for column in columns[1:]]
        filled = [len({grid.column_at(word.middle) for word in row}) for row in rows]
        if not rows or min(filled) < max(2, len(columns) / 2):
            continue
        if all(_keeps_clear(row, inner) for row in rows):
            for column in columns:
                owners[column] = (number, column)
    return owners


def _keeps_clear(words: Sequence[Word], edges: Sequence[float]) -> bool:
    """Whether at each edge words have white on both sides."""
    if any(word.region[0] + 1 < edge < word.region[2] - 1 for word in words for edge in edges):
        return False
    return all(
        other.region[0] - one.region[2] > CORRIDOR * (one.region[3] - one.region[1])
        for one, other in pairwise(words)
        if any(one.middle < edge < other.middle for edge in edges)
    )


def _cuts(grid: Grid, lines: Sequence[Row]) -> list[float]:
    """Where a row of the grid is cut: before each line that begins a row, if lines of numbers show that there are several."""
    numeric, begins = 0, list[bool]()
    for row in lines:
        cells: dict[int, list[Word]] = {}
        for word in row.words:
            cells.setdefault(grid.column_at(word.middle), []).append(word)
        has_numbers = any(is_number(text_of(segment)) for segment in row.segments()[1:])
        numeric += has_numbers
        begins.append(has_numbers or 0 in cells)
    if numeric < _UNRULED:
        return []
    return [
        (one.region[3] + other.region[1]) / 2
        for (one, other), begin in zip(pairwise(lines), begins[1:], strict=True)
        if begin
    ]


def _texts(grid: Grid, glyphs: Sequence[Glyph], lines_of: LinesOf) -> dict[Cell, str]:
    """The text of each cell that has some; what stands on a rule goes to the nearest, so that nothing is lost."""
    contents: dict[Cell, list[Glyph]] = {}
    cell = grid.owners[0][0]
    for glyph in glyphs:
        if glyph.text != "\n":
            cell = _owner(grid, glyph)
        contents.setdefault(cell, []).append(glyph)
    texts = {cell: _text(lines_of(some)) for cell, some in contents.items()}
    return {cell: text for cell, text in texts.items() if text}


def _text(lines: Sequence[Line]) -> str:
    text = ""
    for line in lines:
        text += line.text + ("" if line.hyphenated else "\n")
    return text.strip()


def _is_table(texts: dict[Cell, str]) -> bool:
    filled = Counter(row for row, _ in texts)
    if sum(1 for count in filled.values() if count >= 2) < 2:
        return False
    return sum(map(len, texts.values())) <= _LONGEST_MEAN_CELL * len(texts)


def _is_chart(grid: Grid, texts: dict[Cell, str]) -> bool:
    """Whether most of its rows say nothing, as between the lines of a chart."""
    silent = sum(not any(owner in texts for owner in owners) for owners in grid.owners)
    return silent > _SILENT * len(grid.owners)


def _cuts_words(grid: Grid, glyphs: Sequence[Glyph]) -> bool:
    """Whether its rules run through words, as those of a chart do."""
    words = [word for row in rows_of(glyphs) for word in row.words if len(word.text) > 1]
    cut = sum(len({_owner(grid, glyph) for glyph in word.glyphs}) > 1 for word in words)
    return cut > _CUT * len(words)


def _owner(grid: Grid, glyph: Glyph) -> Cell:
    left, top, right, bottom = glyph.region
    return grid.owners[grid.row_at((top + bottom) / 2)][grid.column_at((left + right) / 2)]


def _header_rows(grid: Grid, texts: dict[Cell, str]) -> int:
    """The first row; also the rows that its cells are merged down to, and the one below cells merged over columns."""
    last, row, total = 0, 0, len(grid.owners)
    while row <= last < min(total - 1, _MOST_HEADER_ROWS):
        owners = grid.owners[row]
        for column, owner in enumerate(owners):
            depth = next((r for r in range(row, total) if grid.owners[r][column] != owner), total) - 1
            if owner in texts and depth < total - 1:
                last = max(last, depth)
        wide = [column for column, owner in enumerate(owners) if owners.count(owner) > 1 and owner in texts]
        below = [texts.get(grid.owners[row + 1][column], "") for column in wide]
        if wide and not any(is_number(text) and not _YEAR.fullmatch(text) for text in below):
            last = max(last, row + 1)
        row += 1
    return min(last + 1, total - 1)


def _rows(grid: Grid, texts: dict[Cell, str], header: int) -> tuple[Rows, tuple[Region, ...]]:
    """A cell merged over rows is in each of them, in the header also one merged over columns. Empty columns are dropped."""
    used = [
        column
        for column in range(len(grid.columns) - 1)
        if any(row[column][1] == column and row[column] in texts for row in grid.owners)
    ]
    rows, regions = [], []
    for number, owners in enumerate(grid.owners):
        cells = [texts.get(owners[c], "") if c == owners[c][1] or number < header else "" for c in used]
        if any(cells):
            rows.append(tuple(cells))
            regions.append((grid.columns[0], grid.rows[number], grid.columns[-1], grid.rows[number + 1]))
    return tuple(rows), tuple(regions)
