"""Running heads, footers and page numbers: lines at the edge of the page that come again on most pages."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from indexing.blocks import LeftOut, LeftOutReason
from indexing.parsers.pdf_types import Line, Page

_FEWEST_PAGES = 3  # in shorter documents nothing repeats often enough to be sure
_EDGE = 0.12  # share of the page's height, at its top and bottom, where the same text may repeat
_MARGIN = 0.09  # the same for text that counts the pages: further in, "Lesson 1", "Lesson 2" are headings
_OUTERMOST = 4  # lines at each edge that may be furniture
_DRIFT = 6.0  # points that the same line may move between pages
_COUNTS = "\0"  # stands for a number that counts the pages
_NUMBER = re.compile(r"\d{1,4}")
_ONE_PAGE_NUMBER = (
    r"(?:[-–—]\s?\d{1,4}\s?[-–—]|Page\s\d{1,4}(?:\s?(?:of|/)\s?\d{1,4})?|\d{1,4}\s?(?:of|/)\s?\d{1,4}"
    r"|第\s?\d{1,4}\s?[页頁](?:\s?[,，/／]?\s?[共总總]\s?\d{1,4}\s?[页頁])?)"
)
_PAGE_NUMBER = re.compile(
    rf"{_ONE_PAGE_NUMBER}(?:\s?[/／|·]?\s?{_ONE_PAGE_NUMBER})?", re.IGNORECASE
)  # in one or two languages
# What counts like pages do where a chapter fills a page each.
_COUNTED_HEADING = re.compile(
    r"第\s?\d{1,4}\s?[章节節条條编編篇部课課]|(?:Chapter|Section|Part|Article|Clause|Lesson|Unit|Step|Appendix|Annex)\s\d",
    re.IGNORECASE,
)
_END_NUMBER = re.compile(r"^\d{1,4}(?=\s)|(?<=\s)\d{1,4}$")
_ROMAN = re.compile(r"[ivxl]{1,8}", re.IGNORECASE)

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
    found: dict[Key, tuple[LeftOutReason, str, list[int]]] = {}
    kept = []
    for page in pages:
        dropped = set()
        for line in _edge_lines(page):
            keys = [key for key in _keys(line, page) if key in repeated]
            if not keys and (_is_page_number(line, page) or (page.number, line.index) in heads):
                keys = _keys(line, page)
            if keys:
                dropped.add(line.index)
                found.setdefault(keys[0], (_reason(line, page), line.text, []))[2].append(page.number)
        kept.append(replace(page, lines=[line for line in page.lines if line.index not in dropped]))
    return kept, [LeftOut(reason, text, tuple(numbers)) for reason, text, numbers in found.values()]


def _is_page_number(line: Line, page: Page) -> bool:
    """Also in a document of one page: a form that nothing else has."""
    return _offset(line, page) <= _MARGIN * page.height and _PAGE_NUMBER.fullmatch(line.text) is not None


def _reason(line: Line, page: Page) -> LeftOutReason:
    if _PAGE_NUMBER.fullmatch(line.text) or _NUMBER.fullmatch(line.text) or _ROMAN.fullmatch(line.text):
        return LeftOutReason.PAGE_NUMBER
    return LeftOutReason.PAGE_HEADER if line.bottom < page.height / 2 else LeftOutReason.PAGE_FOOTER


def _chapter_heads(pages: Sequence[Page]) -> set[tuple[int, float]]:
    """(page, index) of running heads that name the chapter: a line no larger than the text, first on its page, at one height
    on most pages; most such lines are on several pages."""
    tops: dict[tuple[int, float], list[tuple[Page, Line]]] = defaultdict(list)
    sizes = Counter(round(line.size, 1) for page in pages for line in page.lines for _ in line.text)
    body = sizes.most_common(1)[0][0] if sizes else 0.0
    for page in pages:
        first = min(page.lines, key=lambda line: line.top, default=None)
        if first is not None and first.size <= body and first.bottom <= _MARGIN * page.height:
            tops[round(first.top / _DRIFT), first.size].append((page, first))
    for lines in tops.values():
        texts = Counter(_without_page_number(line.text, page.number) for page, line in lines)
        again = sum(count for count in texts.values() if count > 1)
        if len(lines) > _FEWEST_PAGES and len(lines) * 2 > len(pages) and again * 3 > len(lines) * 2:
            return {(page.number, line.index) for page, line in lines}
    return set()


def _without_page_number(text: str, page: int) -> str:
    """With a number at its end told by how far it is from the page's: equal on all pages where it counts them. Any other number
    is what the line says."""
    if _COUNTED_HEADING.match(text):
        return text
    return _END_NUMBER.sub(lambda match: f"{_COUNTS}{int(match[0]) - page}", text)


def _edge_lines(page: Page) -> list[Line]:
    by_height = sorted(page.lines, key=lambda line: line.top)
    outermost = {line.index for line in by_height[:_OUTERMOST] + by_height[-_OUTERMOST:]}
    return [line for line in page.lines if line.index in outermost and _offset(line, page) <= _EDGE * page.height]


def _keys(line: Line, page: Page) -> list[Key]:
    """The line as it is; in the margin also with one of its numbers relative to the page's, equal where it counts."""
    texts = [line.text]
    if _offset(line, page) <= _MARGIN * page.height and not _COUNTED_HEADING.match(line.text):
        for match in _NUMBER.finditer(line.text):
            relative = int(match[0]) - page.number
            texts.append(f"{line.text[: match.start()]}{_COUNTS}{relative}{line.text[match.end() :]}")
        if _ROMAN.fullmatch(line.text):
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
