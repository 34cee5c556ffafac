"""Running heads, footers and page numbers: lines at the edge of the page that come again on most pages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from indexing.parsers.pdf_types import Line, Page

_FEWEST_PAGES = 3  # in shorter documents nothing repeats often enough to be sure
_EDGE = 0.12  # share of the page's height at its top and at its bottom
_OUTERMOST = 4  # lines at each edge that may be furniture
_DRIFT = 6.0  # points that the same line may move between pages
_NUMBERS = re.compile(r"\d+|\b[ivxlc]+\b|[一二三四五六七八九十百]+(?=\s*页)", re.IGNORECASE)

Key = tuple[str, bool]  # text with its numbers blanked; at the top?


def without_furniture(pages: Sequence[Page]) -> list[Page]:
    """The pages without lines seen at the same place on most pages, or on most odd or most even ones."""
    if len(pages) < _FEWEST_PAGES:
        return list(pages)
    seen: dict[Key, dict[int, float]] = defaultdict(dict)  # key → page number → distance from the edge
    for page in pages:
        for line in _edge_lines(page):
            seen[_key(line, page)].setdefault(page.number, _offset(line, page))
    repeated = {key for key, offsets in seen.items() if _is_repeated(offsets, len(pages))}
    return [replace(page, lines=_kept(page, repeated)) for page in pages]


def _kept(page: Page, repeated: set[Key]) -> list[Line]:
    dropped = {line.index for line in _edge_lines(page) if _key(line, page) in repeated}
    return [line for line in page.lines if line.index not in dropped]


def _edge_lines(page: Page) -> list[Line]:
    by_height = sorted(page.lines, key=lambda line: line.top)
    edge = _EDGE * page.height
    top = [line for line in by_height[:_OUTERMOST] if line.bottom <= edge]
    bottom = [line for line in by_height[-_OUTERMOST:] if line.top >= page.height - edge]
    return top + bottom


def _key(line: Line, page: Page) -> Key:
    return _NUMBERS.sub("#", line.text), line.bottom <= _EDGE * page.height


def _offset(line: Line, page: Page) -> float:
    """From the nearer edge: pages may differ in height."""
    return line.top if line.bottom <= _EDGE * page.height else page.height - line.bottom


def _is_repeated(offsets: dict[int, float], pages: int) -> bool:
    steady = sorted(offsets.values())
    middle = steady[len(steady) // 2]
    numbers = [number for number, offset in offsets.items() if abs(offset - middle) <= _DRIFT]
    if len(numbers) * 2 > pages:
        return True
    for parity in (0, 1):
        of_parity = (pages + parity) // 2  # pages 1, 3, 5… for parity 1
        matching = sum(1 for number in numbers if number % 2 == parity)
        if matching >= _FEWEST_PAGES and matching * 2 > of_parity:
            return True
    return False
