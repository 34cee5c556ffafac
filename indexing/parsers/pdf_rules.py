"""Straight lines of a PDF page's drawing, as it is displayed: what tables are ruled with."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pypdfium2.raw as pdfium_c

from indexing.locators import Region

_THIN = 3.2  # points: a path thinner than this is a rule; borders of 3 points are usual
_LONG = 8.0  # shorter rules are dots and ticks
_JOINED = 3.0  # rules as near as this are one
_MOST_OBJECTS = 20_000  # a page with more is a map or a drawing
_MOST_SEGMENTS = 2_000  # of one path; with more it is a curve or a letter
_MOST_POINTS = 60_000  # of all paths
_DEEPEST = 3  # forms in each other
_BACKGROUND = 0.9  # share of the page that a box is as large as

Point = tuple[float, float]
Place = Callable[[float, float], Point]


@dataclass(slots=True)
class Rules:
    """Lines from left to right and from top to bottom, each as a region without width; sorted by their place."""

    across: list[Region] = field(default_factory=list)
    down: list[Region] = field(default_factory=list)


class _TooMany(Exception):
    pass


def read_rules(page: Any, to_display: Place) -> Rules:
    """The page's rules, those on one line joined; none of a page that is a drawing."""
    count = pdfium_c.FPDFPage_CountObjects(page.raw)
    objects = (pdfium_c.FPDFPage_GetObject(page.raw, number) for number in range(count))
    largest = _BACKGROUND * page.get_width() * page.get_height()
    boxes: list[Region] = []
    try:
        for path, place in _paths(objects, to_display, [_MOST_OBJECTS], 0):
            boxes += (box for box in _boxes(path, place, largest))
            if len(boxes) > _MOST_POINTS:
                return Rules()
    except _TooMany:
        return Rules()
    across = [(y, x0, x1) for x0, top, x1, bottom in boxes if bottom - top < _THIN for y in [(top + bottom) / 2]]
    down = [
        (x, y0, y1) for left, y0, right, y1 in boxes if right - left < _THIN <= y1 - y0 for x in [(left + right) / 2]
    ]
    return Rules(
        [(start, at, end, at) for at, start, end in _joined(across)],
        [(at, start, at, end) for at, start, end in _joined(down)],
    )


def _paths(objects: Iterator[Any], place: Place, left: list[int], depth: int) -> Iterator[tuple[Any, Place]]:
    """Paths of the page and of the forms in it, each with the way from its points to the page as displayed."""
    for drawn in objects:
        left[0] -= 1
        if left[0] < 0:
            raise _TooMany
        kind = pdfium_c.FPDFPageObj_GetType(drawn)
        if kind == pdfium_c.FPDF_PAGEOBJ_PATH:
            yield drawn, place
        elif kind == pdfium_c.FPDF_PAGEOBJ_FORM and depth < _DEEPEST:
            inner = range(max(pdfium_c.FPDFFormObj_CountObjects(drawn), 0))
            parts = (pdfium_c.FPDFFormObj_GetObject(drawn, number) for number in inner)
            yield from _paths(parts, _after(_matrix(drawn), place), left, depth + 1)


def _matrix(drawn: Any) -> Any:
    matrix = pdfium_c.FS_MATRIX(1, 0, 0, 1, 0, 0)
    pdfium_c.FPDFPageObj_GetMatrix(drawn, matrix)
    return matrix


def _after(matrix: Any, place: Place) -> Place:
    a, b, c, d, e, f = matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f
    return lambda x, y: place(a * x + c * y + e, b * x + d * y + f)


def _boxes(path: Any, place: Place, largest: float) -> Iterator[Region]:
    """Its straight lines: drawn ones, thin boxes, and the sides of boxes that are filled, as cells are with a colour."""
    if not 0 < pdfium_c.FPDFPath_CountSegments(path) <= _MOST_SEGMENTS:
        return
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    pdfium_c.FPDFPath_GetDrawMode(path, fill, stroke)
    if not fill.value and not stroke.value:
        return
    for outline in _outlines(path, _after(_matrix(path), place)):
        xs, ys = [x for x, _ in outline], [y for _, y in outline]
        box = (min(xs), min(ys), max(xs), max(ys))
        width, height = box[2] - box[0], box[3] - box[1]
        if min(width, height) < _THIN:
            yield box
        elif width * height < largest and (stroke.value or len(outline) in (4, 5)):
            for (x0, y0), (x1, y1) in pairwise(outline):
                if min(abs(x1 - x0), abs(y1 - y0)) < 0.5:  # else it is a slope
                    yield min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


def _outlines(path: Any, place: Place) -> Iterator[list[Point]]:
    """The parts of a path that are straight lines one after the other."""
    x, y = ctypes.c_float(), ctypes.c_float()
    outline: list[Point] = []
    for number in range(pdfium_c.FPDFPath_CountSegments(path)):
        segment = pdfium_c.FPDFPath_GetPathSegment(path, number)
        pdfium_c.FPDFPathSegment_GetPoint(segment, x, y)
        kind = pdfium_c.FPDFPathSegment_GetType(segment)
        if kind != pdfium_c.FPDF_SEGMENT_LINETO:
            if len(outline) > 1:
                yield outline
            outline = []
        outline.append(place(x.value, y.value))
        if pdfium_c.FPDFPathSegment_GetClose(segment):
            outline.append(outline[0])
    if len(outline) > 1:
        yield outline


def _joined(rules: Sequence[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    """(place, start, end) of rules: those on one line that touch are one, short ones are dropped."""
    lines: list[list[tuple[float, float, float]]] = []
    for rule in sorted(rules):
        if lines and rule[0] - lines[-1][-1][0] < _JOINED / 2 and rule[0] - lines[-1][0][0] < _JOINED:
            lines[-1].append(rule)
        else:
            lines.append([rule])
    found = []
    for line in lines:
        at = sum(rule[0] for rule in line) / len(line)
        ends: list[list[float]] = []
        for _, start, end in sorted(line, key=lambda rule: rule[1]):
            if ends and start <= ends[-1][1] + _JOINED:
                ends[-1][1] = max(ends[-1][1], end)
            else:
                ends.append([start, end])
        found += [(round(at, 2), start, end) for start, end in ends if end - start > _LONG]
    return found
