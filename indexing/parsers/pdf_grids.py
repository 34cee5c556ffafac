"""Grids that the rules of a PDF page make: where their cells are, and which are merged."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from indexing.locators import Region
from indexing.parsers import limits
from indexing.parsers.pdf_rules import Rules

_TOUCH = 3.0  # points between the end of a rule and the rule that it reaches
_COVERED = 0.6  # share of a cell's side that a rule must cover to be its border

Cell = tuple[int, int]  # row, column


@dataclass(frozen=True, slots=True)
class Grid:
    """`edges` of its columns and rows, in points; `owners`: for each place, the first cell of those that are merged there."""

    columns: list[float]
    rows: list[float]
    owners: list[list[Cell]]

    @property
    def region(self) -> Region:
        return self.columns[0], self.rows[0], self.columns[-1], self.rows[-1]

    def column_at(self, x: float) -> int:
        return min(max(bisect_right(self.columns, x) - 1, 0), len(self.columns) - 2)

    def row_at(self, y: float) -> int:
        return min(max(bisect_right(self.rows, y) - 1, 0), len(self.rows) - 2)


def find_grids(rules: Rules) -> list[Grid]:
    """Of rules that cross or touch each other, at least two in each direction, from top to bottom."""
    if len(rules.across) < 2 or len(rules.down) < 1 or len(rules.across) * len(rules.down) > 4 * limits.RULED_CELLS:
        return []
    grids = [_grid(across, down) for across, down in _groups(rules)]
    return sorted((grid for grid in grids if grid is not None), key=lambda grid: (grid.rows[0], grid.columns[0]))


def _groups(rules: Rules) -> list[tuple[list[Region], list[Region]]]:
    """Rules that are connected."""
    group = list(range(len(rules.across) + len(rules.down)))

    def root(member: int) -> int:
        while group[member] != member:
            group[member] = group[group[member]]
            member = group[member]
        return member

    for one, (x0, y, x1, _) in enumerate(rules.across):
        for other, (x, y0, _, y1) in enumerate(rules.down, start=len(rules.across)):
            if x0 - _TOUCH <= x <= x1 + _TOUCH and y0 - _TOUCH <= y <= y1 + _TOUCH:
                group[root(one)] = root(other)
    members: dict[int, tuple[list[Region], list[Region]]] = defaultdict(lambda: ([], []))
    for member, rule in enumerate([*rules.across, *rules.down]):
        members[root(member)][member >= len(rules.across)].append(rule)
    return [(across, down) for across, down in members.values() if len(across) > 1 and down]


def _grid(across: Sequence[Region], down: Sequence[Region]) -> Grid | None:
    """Open sides are closed where the rules end."""
    ends_x = [min(rule[0] for rule in across), max(rule[2] for rule in across)]
    ends_y = [min(rule[1] for rule in down), max(rule[3] for rule in down)]
    columns = _steps([rule[0] for rule in down], ends_x)
    rows = _steps([rule[1] for rule in across], ends_y)
    if len(columns) < 3 or len(rows) < 2 or (len(columns) - 1) * (len(rows) - 1) > limits.RULED_CELLS:
        return None
    down_at, across_at = _on(down, columns, 0), _on(across, rows, 1)
    owners = [[(row, column) for column in range(len(columns) - 1)] for row in range(len(rows) - 1)]
    for row in range(len(rows) - 1):
        for column in range(len(columns) - 1):
            if column and not _covers(down_at[column], rows[row], rows[row + 1]):
                owners[row][column] = owners[row][column - 1]
    for row in range(1, len(rows) - 1):
        for column in range(len(columns) - 1):
            first = owners[row][column]
            if first != (row, column):
                continue
            width = [c for c in range(column, len(columns) - 1) if owners[row][c] == first]
            above = owners[row - 1][column]
            alike = [c for c in range(len(columns) - 1) if owners[row - 1][c] == above]
            if width == alike and not any(_covers(across_at[row], columns[c], columns[c + 1]) for c in width):
                for c in width:
                    owners[row][c] = above
    return Grid(columns, rows, owners)


def _steps(places: Sequence[float], ends: Sequence[float]) -> list[float]:
    """Places of rules in order, those near each other once; the ends only where no rule is."""
    steps: list[float] = []
    for place in sorted(places):
        if not steps or place - steps[-1] > _TOUCH:
            steps.append(place)
    if ends[0] < steps[0] - 2 * _TOUCH:
        steps.insert(0, ends[0])
    if ends[1] > steps[-1] + 2 * _TOUCH:
        steps.append(ends[1])
    return steps


def _on(rules: Sequence[Region], steps: Sequence[float], axis: int) -> list[list[tuple[float, float]]]:
    """For each step the stretches in which a rule runs along it."""
    found: list[list[tuple[float, float]]] = [[] for _ in steps]
    for rule in rules:
        nearest = min(range(len(steps)), key=lambda at: abs(steps[at] - rule[axis]))
        found[nearest].append((rule[1 - axis], rule[3 - axis]))
    return found


def _covers(stretches: Sequence[tuple[float, float]], start: float, end: float) -> bool:
    covered = sum(max(min(last, end) - max(first, start), 0.0) for first, last in stretches)
    return covered >= _COVERED * (end - start)
