"""Running heads, footers and page numbers: lines at the edge of the page that come again on most pages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from indexing.blocks import LeftOut, LeftOutReason
from indexing.parsers.left_out import leave_out
from indexing.parsers.pdf_page_numbers import (
    is_page_number,
    is_roman,
    is_sure,
    page_numbers,
    without_named,
    without_numbers,
)
from indexing.parsers.pdf_types import Line, Page

_FEWEST_PAGES = 3  # in shorter documents nothing repeats often enough to be sure
_EDGE = 0.12  # share of the page's height, at its top and bottom, where the same text may repeat
_MARGIN = 0.09  # the same for text that counts the pages: further in, "Lesson 1", "Lesson 2" are headings
_OUTERMOST = 4  # lines at each edge that may be furniture
_DRIFT = 6.0  # points that the same line may move between pages
_COUNTS = "\0"  # stands for a number that counts the pages

Key = tuple[str, bool]  # text, perhaps with a number relative to the page's; at the top?


def without_furniture(pages: Sequence[Page]) -> tuple[list[Page], list[LeftOut]]:
    """The pages without lines seen at the same place on most pages, or on most odd or most even ones; and these lines."""
    seen: dict[Key, dict[int, float]] = defaultdict(dict)  # key → page number → distance from the edge
    for page in pages:
        for line in _edge_lines(page):
            for key in _keys(line, page):
                seen[key].setdefault(page.number, _offset(line, page))
    repeated = {key for key, offsets in seen.items() if _is_repeated(offsets, len(pages), key)}
    heads = _chapter_heads(pages)
    found: dict[tuple[LeftOutReason, Key], list[Line]] = defaultdict(list)
    kept = []
    for page in pages:
        dropped = set()
        for line in _edge_lines(page):
            keys = _keys(line, page)
            counted = [key for key in keys if key in repeated]
            is_number = _offset(line, page) <= _MARGIN * page.height and is_sure(line, page)
            if counted or is_number or (page.number, line.index) in heads:
                dropped.add(line.index)
                found[_reason(line, page), (counted or keys[-1:])[0]].append(line)
        kept.append(replace(page, lines=[line for line in page.lines if line.index not in dropped]))
    return kept, [_left_out(reason, lines) for (reason, _), lines in found.items()]


def _left_out(reason: LeftOutReason, lines: Sequence[Line]) -> LeftOut:
    """All that the lines say, but for numbers that are sure to be the pages'."""
    texts: dict[str, str] = {}
    for line in lines:
        texts.setdefault("" if reason is LeftOutReason.PAGE_NUMBER else without_named(line.text), line.text)
    return leave_out(reason, texts.values(), pages=tuple(line.page for line in lines))


def _reason(line: Line, page: Page) -> LeftOutReason:
    if is_page_number(line.text):
        return LeftOutReason.PAGE_NUMBER
    return LeftOutReason.PAGE_HEADER if line.bottom < page.height / 2 else LeftOutReason.PAGE_FOOTER


def _chapter_heads(pages: Sequence[Page]) -> set[tuple[int, int]]:
    """(page, index) of running heads that name the chapter: a line no larger than the text, first on its page, at one height
    on most pages; most such lines are on several pages. What stands nowhere else is no such line the first time."""
    tops: dict[tuple[int, float], list[tuple[Page, Line]]] = defaultdict(list)
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            sizes[round(line.size, 1)] += len(line.text)
    body = sizes.most_common(1)[0][0] if sizes else 0.0
    for page in pages:
        first = min(page.lines, key=lambda line: line.top, default=None)
        if first is not None and first.size <= body and first.bottom <= _MARGIN * page.height:
            tops[round(first.top / _DRIFT), first.size].append((page, first))
    for lines in tops.values():
        texts = Counter(_keys(line, page)[-1] for page, line in lines)
        again = sum(count for count in texts.values() if count > 1)
        if len(lines) > _FEWEST_PAGES and len(lines) * 2 > len(pages) and again * 3 > len(lines) * 2:
            return _said_again(pages, [(page, line, texts[_keys(line, page)[-1]]) for page, line in lines])
    return set()


def _said_again(pages: Sequence[Page], heads: Sequence[tuple[Page, Line, int]]) -> set[tuple[int, int]]:
    """Those of the heads whose text a reader also finds in the pages' other lines, or in a head before; of numbers alone,
    those that count pages. With each head comes how many are like it."""
    at = {(page.number, line.index) for page, line, _ in heads}
    others = [[line.text for line in page.lines if (page.number, line.index) not in at] for page in pages]
    said = {_squeezed(text) for texts in others for text in texts}
    said |= {_squeezed(one + other) for texts in others for one, other in pairwise(texts)}
    found = set()
    for page, line, alike in heads:
        text = _squeezed(without_numbers(line))
        if (text in said) if text else (alike > 1):
            found.add((page.number, line.index))
        said.add(text)
    return found


def _squeezed(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _edge_lines(page: Page) -> list[Line]:
    by_height = sorted(page.lines, key=lambda line: line.top)
    outermost = {line.index for line in by_height[:_OUTERMOST] + by_height[-_OUTERMOST:]}
    return [line for line in page.lines if line.index in outermost and _offset(line, page) <= _EDGE * page.height]


def _keys(line: Line, page: Page) -> list[Key]:
    """The line as it is; in the margin also with one of its numbers relative to the page's, equal where it counts."""
    texts = [line.text]
    if _offset(line, page) <= _MARGIN * page.height:
        for start, end in page_numbers(line):
            relative = int(line.text[start:end]) - page.number
            texts.append(f"{line.text[:start]}{_COUNTS}{relative}{line.text[end:]}")
        if is_roman(line.text):
            texts.append(f"{_COUNTS}roman")
    return [(text, line.bottom < page.height / 2) for text in texts]


def _offset(line: Line, page: Page) -> float:
    """From the nearer edge to the line's far side: pages may differ in height."""
    return min(line.bottom, page.height - line.top)


def _is_repeated(offsets: dict[int, float], pages: int, key: Key) -> bool:
    steady = sorted(offsets.values())
    middle = steady[len(steady) // 2]
    numbers = [number for number, offset in offsets.items() if abs(offset - middle) <= _DRIFT]
    # In two pages the same line says little; a number that counts them is sure.
    if len(numbers) * 2 > pages and (pages >= _FEWEST_PAGES or (_COUNTS in key[0] and len(numbers) > 1)):
        return True
    for parity in (0, 1):
        of_parity = (pages + parity) // 2  # pages 1, 3, 5… for parity 1
        matching = sum(1 for number in numbers if number % 2 == parity)
        if matching >= _FEWEST_PAGES and matching * 2 > of_parity:
            return True
    return False
