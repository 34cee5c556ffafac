"""A sheet as its cells: what every format of spreadsheets is read into before tables are looked for. Pure data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from indexing.locators import Cells


@dataclass(frozen=True, slots=True)
class Cell:
    """`text` as it is shown. `is_value`: a number, date or truth value, not words."""

    text: str
    is_value: bool = False
    bold: bool = False


@dataclass(slots=True)
class Sheet:
    """Cells by (row, column), 1-based, empty ones left out. `merged` are ranges of which the first cell is filled.

    `headers` are ranges of rows that the file itself calls headers: of tables, of filters, of what stays when one scrolls.
    `lines` has the lines of the file that a row stands on, for formats that are text.
    """

    name: str | None
    cells: dict[tuple[int, int], Cell] = field(default_factory=dict)
    merged: Sequence[Cells] = ()
    headers: Sequence[Cells] = ()
    lines: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass(slots=True)
class Area:
    """A rectangle of a sheet: from `top` to `bottom` and from `left` to `right`, all inside."""

    sheet: Sheet
    top: int
    bottom: int
    left: int
    right: int
    rows: list[int] = field(default_factory=list)  # that have a cell

    @property
    def cells(self) -> Cells:
        return self.left, self.top, self.right, self.bottom

    def row(self, number: int) -> list[Cell | None]:
        return [self.sheet.cells.get((number, column)) for column in range(self.left, self.right + 1)]


def area_of(cells: Cells) -> int:
    """How many cells a range has."""
    left, top, right, bottom = cells
    return max(right - left + 1, 0) * max(bottom - top + 1, 0)


def areas(sheet: Sheet) -> Iterator[Area]:
    """Parts of a sheet that empty rows and empty columns keep apart, from top to bottom and from left to right.

    A merged range counts as filled: a title over a table does not fall to one of its columns.
    """
    filled = set(sheet.cells)
    for left, top, right, bottom in sheet.merged:
        if (top, left) in filled:
            filled.update((row, column) for row in range(top, bottom + 1) for column in range(left, right + 1))
    yield from _cut(sheet, sorted(filled))


def _cut(sheet: Sheet, filled: list[tuple[int, int]]) -> Iterator[Area]:
    pending = [filled] if filled else []
    while pending:
        some = pending.pop()
        parts = _runs(some, 0)
        if len(parts) == 1:
            parts = _runs(some, 1)
        if len(parts) == 1:
            rows = sorted({row for row, _ in some})
            columns = {column for _, column in some}
            yield Area(sheet, rows[0], rows[-1], min(columns), max(columns), rows)
        else:
            pending += reversed(parts)


def _runs(filled: list[tuple[int, int]], axis: int) -> list[list[tuple[int, int]]]:
    """The places in groups between which a row (axis 0) or a column (axis 1) is empty."""
    used = sorted({place[axis] for place in filled})
    group, number = {}, 0
    for before, value in zip([used[0], *used], used, strict=False):
        number += value > before + 1
        group[value] = number
    runs: list[list[tuple[int, int]]] = [[] for _ in range(number + 1)]
    for place in filled:
        runs[group[place[axis]]].append(place)
    return runs
