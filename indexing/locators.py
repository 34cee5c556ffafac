"""Where a piece of text stands: in the extracted text, and in the original as its reader counts. Pure data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Region = tuple[float, float, float, float]
"""(left, top, right, bottom) in points from the top left corner of the page as it is displayed."""
Cells = tuple[int, int, int, int]
"""(first column, first row, last column, last row), 1-based: B4:F17 is (2, 4, 6, 17)."""

_RANGE = re.compile(r"([A-Z]{1,7})(\d{1,9})(?::([A-Z]{1,7})(\d{1,9}))?")
_EMPTY_ROWS = 1  # between a title and its table, or between parts of one table


@dataclass(frozen=True, slots=True)
class Locator:
    """A place. What a format does not have is None; `span` it always has.

    `span` is [start, end) in `ParsedDocument.text`, in Unicode code points. `page` is 1-based, as a PDF reader counts;
    `page_label` is what is printed on it, where that differs (“iii”). `region` lies on `page`, `region_end` on `page_end`;
    pages between them are covered whole. `lines` is the first and last line of the file, 1-based, for text, Markdown, code,
    JSON and CSV. `slide` is 1-based. `areas`: the ranges in `cells` that it really is, where it is several apart. HTML and
    DOCX have no places of their own: the headings above a text say where it is.
    """

    span: tuple[int, int]
    page: int | None = None
    page_end: int | None = None  # last page, where the piece goes on over a page break
    region: Region | None = None
    lines: tuple[int, int] | None = None
    region_end: Region | None = None
    page_label: str | None = None
    sheet: str | None = None
    cells: Cells | None = None
    slide: int | None = None
    parent: tuple[int, int] | None = None
    areas: tuple[Cells, ...] = ()

    @property
    def last_page(self) -> int | None:
        return self.page_end if self.page_end is not None else self.page

    def regions(self) -> list[tuple[int, Region | None]]:
        """Each page of it, with the region on that page; None is the whole page."""
        first, last = self.page, self.last_page
        if first is None or last is None:
            return []
        if first == last:
            return [(first, self.region)]
        between: list[tuple[int, Region | None]] = [(page, None) for page in range(first + 1, last)]
        return [(first, self.region), *between, (last, self.region_end)]

    def to_json(self) -> dict[str, Any]:
        values = {
            "span": list(self.span),
            "page": self.page,
            "pageEnd": self.page_end,
            "pageLabel": self.page_label,
            "region": list(self.region) if self.region else None,
            "regionEnd": list(self.region_end) if self.region_end else None,
            "lines": list(self.lines) if self.lines else None,
            "sheet": self.sheet,
            "cells": cells_name(self.cells) if self.cells else None,
            "areas": [cells_name(area) for area in self.areas] or None,
            "slide": self.slide,
            "parent": list(self.parent) if self.parent else None,
        }
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Locator:
        lines, cells, parent = data.get("lines"), data.get("cells"), data.get("parent")
        return cls(
            span=(data["span"][0], data["span"][1]),
            page=data.get("page"),
            page_end=data.get("pageEnd"),
            page_label=data.get("pageLabel"),
            region=_region(data.get("region")),
            region_end=_region(data.get("regionEnd")),
            lines=(lines[0], lines[1]) if lines else None,
            sheet=data.get("sheet"),
            cells=cells_from_name(cells) if cells else None,
            slide=data.get("slide"),
            parent=(parent[0], parent[1]) if parent else None,
            areas=tuple(map(cells_from_name, data.get("areas", ()))),
        )


def covering(span: tuple[int, int], places: Sequence[Locator]) -> Locator:
    """The locator of `span`, all of whose text stands in `places` (in reading order, at least one)."""
    pages = [page for place in places for page in (place.page, place.last_page) if page is not None]
    first, last = (min(pages), max(pages)) if pages else (None, None)
    lines = [place.lines for place in places if place.lines is not None]
    sheets = {place.sheet for place in places}
    cells = [place.cells for place in places if place.cells is not None] if len(sheets) == 1 else []
    areas = joined_cells(cells)
    return Locator(
        span=span,
        page=first,
        page_end=last if last != first else None,
        page_label=next((place.page_label for place in places if place.page == first), None),
        region=_around_on(first, places),
        region_end=_around_on(last, places) if last != first else None,
        lines=(lines[0][0], lines[-1][1]) if lines else None,
        sheet=places[0].sheet,
        cells=_cells_around(cells) if cells else None,
        slide=places[0].slide,
        areas=tuple(areas) if len(areas) > 1 else (),
    )


def around(regions: Sequence[Region]) -> Region:
    """The smallest region that holds all of `regions` (at least one)."""
    lefts, tops, rights, bottoms = zip(*regions, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def cells_name(cells: Cells) -> str:
    """“B4:F17”, of one cell “B4”, as spreadsheets write it."""
    first, last = f"{column_name(cells[0])}{cells[1]}", f"{column_name(cells[2])}{cells[3]}"
    return first if first == last else f"{first}:{last}"


def cells_from_name(name: str) -> Cells:
    """The reverse of `cells_name`. Raises `ValueError` for anything else."""
    match = _RANGE.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is no range of cells.")
    left, top = _column_number(match[1]), int(match[2])
    return (left, top, _column_number(match[3]), int(match[4])) if match[3] else (left, top, left, top)


def joined_cells(ranges: Sequence[Cells]) -> list[Cells]:
    """`ranges`, from the top down, those as one that a reader sees as one: they overlap, stand below each other in the same
    columns (a title above its table, say), or go on beside each other in the same rows."""
    found: list[Cells] = []
    for cells in ranges:
        while (other := next((known for known in found if _are_one(known, cells)), None)) is not None:
            found.remove(other)
            cells = _cells_around([other, cells])
        found.append(cells)
    return sorted(found, key=lambda cells: (cells[1], cells[0]))


def column_name(number: int) -> str:
    """1 → A, 26 → Z, 27 → AA."""
    name = ""
    while number:
        number, letter = divmod(number - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


def _column_number(name: str) -> int:
    number = 0
    for letter in name:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def _region(values: Sequence[float] | None) -> Region | None:
    return (values[0], values[1], values[2], values[3]) if values else None


def _around_on(page: int | None, places: Sequence[Locator]) -> Region | None:
    """The region of what stands on `page`; None where a part of that is not known."""
    found = [place.region for place in places if place.page == page]
    found += [place.region_end for place in places if place.page_end == page and place.page_end != place.page]
    regions = [region for region in found if region is not None]
    if page is None or not regions or len(regions) < len(found):
        return None
    return around(regions)


def _cells_around(cells: Sequence[Cells]) -> Cells:
    lefts, tops, rights, bottoms = zip(*cells, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _are_one(one: Cells, other: Cells) -> bool:
    columns_apart = max(one[0], other[0]) - min(one[2], other[2])  # 1: side by side; below: in the same columns
    rows_apart = max(one[1], other[1]) - min(one[3], other[3])
    narrow, wide = sorted((one, other), key=lambda cells: cells[2] - cells[0])
    return (
        (columns_apart <= 0 and rows_apart <= 0)
        or (wide[0] <= narrow[0] and narrow[2] <= wide[2] and rows_apart <= 1 + _EMPTY_ROWS)
        or ((one[1], one[3]) == (other[1], other[3]) and columns_apart == 1)
    )
