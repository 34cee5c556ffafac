"""A sheet as its cells: what every format of spreadsheets is read into before tables are looked for. Pure data."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from indexing.locators import Cells
from indexing.parsers import limits

Place = tuple[int, int]
"""(row, column), 1-based."""


@dataclass(frozen=True, slots=True)
class Cell:
    """`text` as it is shown. `is_value`: a number, date or truth value, not words."""

    text: str
    is_value: bool = False
    bold: bool = False


@dataclass(slots=True)
class Sheet:
    """Cells by (row, column), 1-based, empty ones left out. `merged` are ranges of which the first cell is filled.

    `hidden_rows` and `hidden_columns` (in order) are not shown: what stands on both sides of them is side by side.
    `headers` are ranges of rows that the file itself calls headers: of tables, of filters, of what stays when one scrolls.
    `lines` has the lines of the file that a row stands on, for formats that are text.
    """

    name: str | None
    cells: dict[Place, Cell] = field(default_factory=dict)
    merged: Sequence[Cells] = ()
    hidden_rows: Sequence[int] = ()
    hidden_columns: Sequence[int] = ()
    headers: Sequence[Cells] = ()
    lines: dict[int, tuple[int, int]] = field(default_factory=dict)


def around_places(places: Iterable[Place]) -> Cells | None:
    """The smallest range that holds all of them."""
    found = list(places)
    if not found:
        return None
    rows, columns = zip(*found, strict=True)
    return min(columns), min(rows), max(columns), max(rows)


@dataclass(slots=True)
class Room:
    """What the sheets of one file may hold together: counted before it is kept, as one long text may fill every cell."""

    cells: int = 0
    characters: int = 0

    def take(self, text: str, times: int = 1) -> None:
        """Raises `DocumentTooLarge`."""
        self.cells += times
        self.characters += len(text) * times
        limits.CELLS.check(self.cells)
        limits.CHARACTERS.check(self.characters)


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

    @property
    def columns(self) -> Sequence[int]:
        """Those that are shown."""
        whole = range(self.left, self.right + 1)
        hidden = self.sheet.hidden_columns
        return [column for column in whole if not _count(hidden, column, column)] if hidden else whole

    def row(self, number: int) -> list[Cell | None]:
        return [self.sheet.cells.get((number, column)) for column in self.columns]


def _count(numbers: Sequence[int], first: int, last: int) -> int:
    """How many of `numbers`, which are in order, lie from `first` to `last`."""
    return bisect_right(numbers, last) - bisect_left(numbers, first)


def areas(sheet: Sheet) -> Iterator[Area]:
    """Parts of a sheet that empty rows and empty columns keep apart, from top to bottom and from left to right.

    A merged range counts as filled: a title over a table does not fall to one of its columns. In a file that is text, what
    stands on one line belongs together.
    """
    filled = set(sheet.cells)
    for left, top, right, bottom in sheet.merged:
        if (top, left) in filled:
            filled.update((row, column) for row in range(top, bottom + 1) for column in range(left, right + 1))
    pending = [sorted(filled)] if filled else []
    while pending:
        some = pending.pop()
        for cut in (_by_empty_rows,) if sheet.lines else (_by_empty_rows, by_empty_columns, _by_corners):
            parts = cut(sheet, some)
            if len(parts) > 1:
                pending += reversed(parts)
                break
        else:
            yield area_around(sheet, some)


def area_around(sheet: Sheet, places: Sequence[Place]) -> Area:
    rows = sorted({row for row, _ in places})
    columns = {column for _, column in places}
    return Area(sheet, rows[0], rows[-1], min(columns), max(columns), rows)


def _by_empty_rows(sheet: Sheet, filled: list[Place]) -> list[list[Place]]:
    return _runs(filled, 0, sheet.hidden_rows)


def by_empty_columns(sheet: Sheet, filled: list[Place]) -> list[list[Place]]:
    """The places in groups between which a column is empty."""
    return _runs(filled, 1, sheet.hidden_columns)


def _runs(filled: list[Place], axis: int, hidden: Sequence[int]) -> list[list[Place]]:
    """The places in groups between which a row (axis 0) or a column (axis 1) is empty."""
    if not filled:
        return []
    used = sorted({place[axis] for place in filled})
    gaps = [value - before - 1 > _count(hidden, before + 1, value - 1) for before, value in pairwise(used)]
    return _grouped(filled, axis, used, gaps)


def _by_corners(_: Sheet, filled: list[Place]) -> list[list[Place]]:
    """The places in groups that touch at a corner only: between two rows no column goes on."""
    first, last = dict[int, int](), dict[int, int]()
    for row, column in filled:  # in the order of rows
        first.setdefault(column, row)
        last[column] = row
    begins, ends = Counter(first.values()), Counter(last.values())
    used = sorted({row for row, _ in filled})
    cuts, open_columns = [], 0
    for row in used[:-1]:
        open_columns += begins[row] - ends[row]
        cuts.append(open_columns == 0)
    return _grouped(filled, 0, used, cuts)


def _grouped(filled: list[Place], axis: int, used: list[int], cuts: list[bool]) -> list[list[Place]]:
    """In groups, with a cut between two values in `used` where `cuts` says so."""
    group, number = {used[0]: 0}, 0
    for value, is_cut in zip(used[1:], cuts, strict=True):
        number += is_cut
        group[value] = number
    groups: list[list[Place]] = [[] for _ in range(number + 1)]
    for place in filled:
        groups[group[place[axis]]].append(place)
    return groups
