"""Running heads, footers and page numbers: lines at the edge of the page that come again on most pages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from indexing.parsers.pdf_types import Line, Page

_FEWEST_PAGES = 3  # in shorter documents nothing repeats often enough to be sure
_EDGE = 0.12  # share of the page's height, at its top and bottom, where the same text may repeat
_MARGIN = 0.09  # the same for text that counts the pages: further in, "Lesson 1", "Lesson 2" are headings
_OUTERMOST = 4  # lines at each edge that may be furniture
_DRIFT = 6.0  # points that the same line may move between pages
_NUMBER = re.compile(r"\d{1,4}")
_ROMAN = re.compile(r"[ivxl]{1,8}", re.IGNORECASE)

Key = tuple[str, bool]  # text, perhaps with a number relative to the page's; at the top?


def without_furniture(pages: Sequence[Page]) -> list[Page]:
    """The pages without lines seen at the same place on most pages, or on most odd or most even ones."""
    if len(pages) < _FEWEST_PAGES:
        return list(pages)
    seen: dict[Key, dict[int, float]] = defaultdict(dict)  # key → page number → distance from the edge
    for page in pages:
        for line in _edge_lines(page):
            for key in _keys(line, page):
                seen[key].setdefault(page.number, _offset(line, page))
    repeated = {key for key, offsets in seen.items() if _is_repeated(offsets, len(pages))}
    return [replace(page, lines=_kept(page, repeated)) for page in pages]


def _kept(page: Page, repeated: set[Key]) -> list[Line]:
    dropped = {line.index for line in _edge_lines(page) if repeated.intersection(_keys(line, page))}
    return [line for line in page.lines if line.index not in dropped]


def _edge_lines(page: Page) -> list[Line]:
    by_height = sorted(page.lines, key=lambda line: line.top)
    outermost = {line.index for line in by_height[:_OUTERMOST] + by_height[-_OUTERMOST:]}
    return [line for line in page.lines if line.index in outermost and _offset(line, page) <= _EDGE * page.height]


def _keys(line: Line, page: Page) -> list[Key]:
    """The line as it is; in the margin also with one of its numbers relative to the page's, equal where it counts."""
    texts = [line.text]
    if _offset(line, page) <= _MARGIN * page.height:
        for match in _NUMBER.finditer(line.text):
            relative = int(match[0]) - page.number
            texts.append(f"{line.text[: match.start()]}#{relative}{line.text[match.end() :]}")
        if _ROMAN.fullmatch(line.text):
            texts.append("#roman")
    return [(text, line.bottom < page.height / 2) for text in texts]


def _offset(line: Line, page: Page) -> float:
    """From the nearer edge to the line's far side: pages may differ in height."""
    return min(line.bottom, page.height - line.top)


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
