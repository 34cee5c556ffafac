"""The order in which the shapes of a slide are read: the file's own, unless their places contradict it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

Box = tuple[int, int, int, int]  # left, top, right, bottom, in English Metric Units (360,000 to a centimetre)
Placed = tuple[Box, int]  # and the shape's number in the file

_COLUMN = 2  # shapes that a column has at least; below it, shapes side by side are read as a row
_MOST_COMPARED = 300  # shapes of a slide: each is compared with each
_DEEPEST = 20  # columns in rows in columns
_MARGIN = 90_000  # a quarter of a centimetre: frames of text that touch need not overlap in what is seen


def in_reading_order(shapes: Sequence[Any]) -> list[Any]:
    """The file's order is the one that a screen reader follows and that an author can set. Where a shape comes behind one that
    stands below it or to its right, nobody has set it, and places decide: column after column where a gap runs down between
    them, else from top to bottom and left to right. Shapes without a place stay behind the others.
    """
    placed = [(box, at) for at, shape in enumerate(shapes) if (box := _box(shape)) is not None]
    if len(placed) > _MOST_COMPARED or not _contradict(placed):
        return list(shapes)
    known = {at for _, at in placed}
    return [shapes[at] for at in [*_ordered(placed, 0), *(at for at in range(len(shapes)) if at not in known)]]


def _box(shape: Any) -> Box | None:
    sizes = (shape.left, shape.top, shape.width, shape.height)
    if any(size is None for size in sizes):
        return None
    left, top, width, height = map(int, sizes)
    side, end = min(max(width, 0) // 10, _MARGIN), min(max(height, 0) // 10, _MARGIN)
    return left + side, top + end, left + width - side, top + height - end


def _contradict(placed: list[Placed]) -> bool:
    return any(_stands_before(later, earlier) for (earlier, _), (later, _) in combinations(placed, 2))


def _stands_before(one: Box, other: Box) -> bool:
    """Whether the first stands above the second in a column, or left of it in a row."""
    in_column = one[0] < other[2] and other[0] < one[2]
    in_row = one[1] < other[3] and other[1] < one[3]
    return (in_column and one[3] <= other[1]) or (in_row and one[2] <= other[0])


def _ordered(placed: list[Placed], depth: int) -> list[int]:
    columns, rows = _apart(placed, 0), _apart(placed, 1)
    if len(placed) < 2 or depth > _DEEPEST or (len(columns) == len(rows) == 1):
        return [at for _, at in sorted(placed, key=lambda item: (item[0][1], item[0][0], item[1]))]
    groups = columns
    if len(columns) == 1 or any(len(column) < _COLUMN for column in columns):
        bands = _bands(rows)
        groups = bands if len(bands) > 1 else rows if len(rows) > 1 else columns
    return [at for group in groups for at in _ordered(group, depth + 1)]


def _bands(rows: list[list[Placed]]) -> list[list[Placed]]:
    """Rows that have the same columns, together."""
    bands: list[list[Placed]] = []
    for row in rows:
        if bands and len(row) > 1 and len(_apart(bands[-1], 0)) == len(_apart([*bands[-1], *row], 0)) > 1:
            bands[-1] = [*bands[-1], *row]
        else:
            bands.append(row)
    return bands


def _apart(placed: list[Placed], axis: int) -> list[list[Placed]]:
    """In groups that do not touch along the axis: 0 from left to right, 1 from top to bottom."""
    in_order = sorted(placed, key=lambda item: (item[0][axis], item[0][1 - axis], item[1]))
    groups: list[list[Placed]] = []
    end = 0
    for item in in_order:
        if not groups or item[0][axis] >= end:
            groups.append([])
            end = item[0][axis + 2]
        groups[-1].append(item)
        end = max(end, item[0][axis + 2])
    return groups
