"""Ruled tables of a PDF. Rules come from pdfplumber, only on pages that have some; the text stays PDFium's.

pdfplumber takes some fifty milliseconds a page where PDFium takes one or two.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pypdfium2.raw as pdfium_c

from indexing.locators import Region
from indexing.parsers import limits
from indexing.parsers.pdf_types import Glyph, Line, Table

_THIN = 3.0  # points: a path thinner than this is a rule
_LONG = 8.0  # shorter paths are dots and ticks
_MOST_PATHS = 20_000  # a page with more is a map or a drawing
_LONGEST_MEAN_CELL = 500  # characters; above it the rules frame a layout

LinesOf = Callable[[Sequence[Glyph]], list[Line]]


@dataclass(frozen=True, slots=True)
class _Grid:
    region: Region
    rows: list[list[Region | None]]  # None where a merged cell goes on


def has_rules(page: Any) -> bool:
    """Whether the page's drawing has at least two horizontal and two vertical edges of some length."""
    width, height = page.get_size()
    across = down = 0
    paths = page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_PATH], max_depth=3)
    for seen, path in enumerate(paths):
        if seen > _MOST_PATHS:
            return False
        left, bottom, right, top = path.get_bounds()
        if (right - left) * (top - bottom) > 0.9 * width * height:
            continue  # a background or a frame around the page
        long_across, long_down = right - left > _LONG, top - bottom > _LONG
        across += 2 if long_across and long_down else long_across
        down += 2 if long_across and long_down else long_down
    return across >= 2 and down >= 2


class TableFinder:
    """Finds the tables of one document; opens it a second time when the first page with rules comes."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._document: Any = None

    def take(self, glyphs: list[Glyph], page_number: int, lines_of: LinesOf) -> tuple[list[Table], list[Glyph]]:
        """The page's tables, and the glyphs that are in none of them."""
        tables: list[Table] = []
        for grid in self._grids(page_number):
            inside = [glyph for glyph in glyphs if glyph.text != "\n" and _within(glyph, grid.region)]
            if not inside:
                continue
            feeds = [glyph for glyph in glyphs if glyph.text == "\n"]
            rows = _fill(grid, sorted([*inside, *feeds], key=lambda glyph: glyph.index), lines_of)
            if not _is_table(rows):
                continue
            tables.append(Table(rows, inside[0].index, page_number, grid.region))
            taken = {glyph.index for glyph in inside}
            glyphs = [glyph for glyph in glyphs if glyph.index not in taken]
        return tables, glyphs

    def _grids(self, page_number: int) -> list[_Grid]:
        try:
            if self._document is None:
                import pdfplumber  # only here: most files have no rules, and it is slow to import

                self._document = pdfplumber.open(io.BytesIO(self._content))
            page = self._document.pages[page_number - 1]
            found = [_Grid(_shift(table.bbox, page), _cells(table, page)) for table in _find(page)]
            page.close()
        except Exception:
            # It raises anything at all on files that PDFium reads well. The text is not lost: it stays in paragraphs.
            return []
        return [grid for grid in found if sum(map(len, grid.rows)) <= limits.RULED_CELLS]


def header_rows(rows: Sequence[Sequence[str]]) -> int:
    """The first row is the header; the second too, where the first is one cell across the table."""
    if len(rows) < 2:
        return 0
    return 2 if sum(1 for cell in rows[0] if cell) == 1 and len(rows) > 2 else 1


def _find(page: Any) -> list[Any]:
    """Tables by their rules; open sides are closed where the horizontal rules end, or outer columns would be missed."""
    tables: list[Any] = page.find_tables()
    sides: set[float] = set()
    for table in tables:
        left, top, right, bottom = table.bbox
        rules = [
            edge
            for edge in page.horizontal_edges
            if top - 1 <= edge["top"] <= bottom + 1 and edge["x0"] < right and edge["x1"] > left
        ]
        sides.update(end for end in (min(x["x0"] for x in rules), max(x["x1"] for x in rules)) if rules)
    outside = [x for x in sides if all(not t.bbox[0] - _THIN <= x <= t.bbox[2] + _THIN for t in tables)]
    return page.find_tables({"explicit_vertical_lines": sorted(outside)}) if outside else tables


def _cells(table: Any, page: Any) -> list[list[Region | None]]:
    return [[_shift(cell, page) if cell else None for cell in row.cells] for row in table.rows]


def _shift(box: Sequence[float], page: Any) -> Region:
    """pdfplumber measures from the media box, a reader sees the crop box."""
    left, top = page.cropbox[0], page.cropbox[1]
    return (
        round(float(box[0] - left), 2),
        round(float(box[1] - top), 2),
        round(float(box[2] - left), 2),
        round(float(box[3] - top), 2),
    )


def _fill(grid: _Grid, glyphs: Sequence[Glyph], lines_of: LinesOf) -> tuple[tuple[str, ...], ...]:
    """The text of each cell; what stands on a rule goes to the nearest cell, so that nothing is lost."""
    cells = [(r, c, cell) for r, row in enumerate(grid.rows) for c, cell in enumerate(row) if cell is not None]
    contents: dict[tuple[int, int], list[Glyph]] = {(r, c): [] for r, c, _ in cells}
    r, c, cell = cells[0]
    for glyph in glyphs:
        if glyph.text != "\n" and _distance(glyph, cell) > 0:  # else it is in the same cell as the one before
            r, c, cell = min(cells, key=lambda other: _distance(glyph, other[2]))
        contents[r, c].append(glyph)
    rows = []
    for r, row in enumerate(grid.rows):
        rows.append([_text(lines_of(contents.get((r, c), []))) for c in range(len(row))])
    used = [c for c in range(max(map(len, rows))) if any(c < len(row) and row[c] for row in rows)]
    return tuple(tuple(row[c] if c < len(row) else "" for c in used) for row in rows if any(row))


def _text(lines: Sequence[Line]) -> str:
    text = ""
    for line in lines:
        text += line.text + ("" if line.hyphenated else "\n")
    return text.strip()


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    cells = [cell for row in rows for cell in row if cell]
    if len(rows) < 2 or sum(1 for row in rows if sum(map(bool, row)) >= 2) < 2:
        return False
    return sum(map(len, cells)) <= _LONGEST_MEAN_CELL * len(cells)


def _within(glyph: Glyph, region: Region) -> bool:
    x, y = _center(glyph)
    return region[0] <= x <= region[2] and region[1] <= y <= region[3]


def _distance(glyph: Glyph, region: Region) -> float:
    x, y = _center(glyph)
    return max(region[0] - x, 0.0, x - region[2]) + max(region[1] - y, 0.0, y - region[3])


def _center(glyph: Glyph) -> tuple[float, float]:
    left, top, right, bottom = glyph.region
    return (left + right) / 2, (top + bottom) / 2
