"""The order in which a reader's eye meets the shapes of a slide. The file's own order is the one in which they were drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

Box = tuple[int, int, int, int]  # left, top, right, bottom

_COLUMN = 2  # shapes that a column has at least; below it, shapes side by side are read as a row


def in_reading_order(shapes: Sequence[Any]) -> list[Any]:
    """Column after column where a gap runs down the slide between columns, else from top to bottom and left to right.

    Shapes without a place of their own stay behind the others, in the file's order.
    """
    placed = [(box, at) for at, shape in enumerate(shapes) if (box := _box(shape)) is not None]
    known = {at for _, at in placed}
    return [shapes[at] for at in [*_ordered(placed), *(at for at in range(len(shapes)) if at not in known)]]


def _box(shape: Any) -> Box | None:
    sizes = (shape.left, shape.top, shape.width, shape.height)
    if any(size is None for size in sizes):
        return None
    left, top, width, height = map(int, sizes)
    return left, top, left + width, top + height


def _ordered(placed: list[tuple[Box, int]]) -> list[int]:
    if len(placed) < 2:
        return [at for _, at in placed]
    columns = _apart(placed, 0)
    if len(columns) > 1 and all(len(column) >= _COLUMN for column in columns):
        return [at for column in columns for at in _ordered(column)]
    rows = _apart(placed, 1)
    if len(rows) > 1:
        return [at for row in rows for at in _ordered(row)]
    if len(columns) > 1:
        return [at for column in columns for at in _ordered(column)]
    return [at for _, at in sorted(placed, key=lambda item: (item[0][1], item[0][0], item[1]))]


def _apart(placed: list[tuple[Box, int]], axis: int) -> list[list[tuple[Box, int]]]:
    """In groups that do not touch along the axis: 0 from left to right, 1 from top to bottom."""
    in_order = sorted(placed, key=lambda item: (item[0][axis], item[0][1 - axis], item[1]))
    groups = [[in_order[0]]]
    end = in_order[0][0][axis + 2]
    for _, item in pairwise(in_order):
        if item[0][axis] >= end:
            groups.append([])
        groups[-1].append(item)
        end = max(end, item[0][axis + 2])
    return groups
