"""Scanned pages to pieces of the document: running heads left out, lines joined to paragraphs, headings by their size and
numbers, all as for pages with text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from indexing.blocks import BlockKind, LeftOut
from indexing.locators import Locator, Region, around, covering
from indexing.parsers.assemble import Piece
from indexing.parsers.pdf_furniture import without_furniture
from indexing.parsers.pdf_headings import find_headings
from indexing.parsers.pdf_paragraphs import Paragraph, body_size, paragraphs
from indexing.parsers.pdf_types import Line, Page
from indexing.parsers.scans import ScannedPage

_SAME_SIZE = 1.6  # between one size and the next: “一一一” and “gÅy|” of one font differ by less
_FONT = 0.8  # of a box's height, which is a little more than the line's
_BROKEN_WORD = re.compile(r"[A-Za-z]-\Z")


def pieces_of(pages: Sequence[ScannedPage]) -> tuple[list[Piece], list[LeftOut]]:
    """In reading order, and the running heads without which they are. Regions are on the pages as displayed."""
    by_number = {page.number: page for page in pages}
    upright, left_out = without_furniture([_page(page) for page in pages])
    found = [paragraph for run in _runs(upright, by_number) for paragraph in paragraphs(run)]
    levels = find_headings(found, body_size(upright), {})
    pieces = [_piece(paragraph, levels.get(position), by_number) for position, paragraph in enumerate(found)]
    return pieces, left_out


def texts_of(page: ScannedPage) -> list[Piece]:
    """Of a picture inside a document, which is no page: it has no running heads, and its headings are not the document's."""
    pages = {page.number: page}
    found = (_piece(paragraph, None, pages) for run in _runs([_page(page)], pages) for paragraph in paragraphs(run))
    return [Piece(BlockKind.IMAGE_TEXT, piece.text, confidence=piece.confidence) for piece in found]


def _runs(pages: Sequence[Page], scanned: dict[int, ScannedPage]) -> Iterator[list[Page]]:
    """Parts of the pages that no paragraph goes on out of: it does not over a page that has no scanned lines, and a row of a
    form or a table is one by itself."""
    run: list[Page] = []
    for page in pages:
        if run and (not page.lines or page.number > run[-1].number + 1):
            yield run
            run = []
        run.append(replace(page, lines=[]))
        for line in page.lines:
            if scanned[page.number].lines[line.index].is_row:
                yield run
                yield [replace(page, lines=[line])]
                run = [replace(page, lines=[])]
            else:
                run[-1].lines.append(line)
    yield run


def _page(page: ScannedPage) -> Page:
    sizes = _sizes(page)
    lines = []
    for index, line in enumerate(page.lines):
        after = page.lines[index + 1].text if index + 1 < len(page.lines) else ""
        broken = _BROKEN_WORD.search(line.text) is not None and after[:1].islower()
        text = line.text[:-1] if broken else line.text
        lines.append(Line(text, index, page.number, line.region, sizes[index], hyphenated=broken))
    return Page(page.number, page.size[1], lines)


def _sizes(page: ScannedPage) -> list[float]:
    """The font size of each line: boxes of one font differ by the letters in them, so near heights are one size."""
    heights = [line.region[3] - line.region[1] for line in page.lines]
    by_letters = sorted(height for line, height in zip(page.lines, heights, strict=True) for _ in line.text)
    body = by_letters[len(by_letters) // 2] if by_letters else 1.0
    # Steps of one ratio, the body's in the middle of its own.
    return [
        round(_FONT * body * _SAME_SIZE ** round(math.log(max(height, 1.0) / body, _SAME_SIZE)), 1)
        for height in heights
    ]


def _piece(paragraph: Paragraph, level: int | None, pages: dict[int, ScannedPage]) -> Piece:
    text, parts, end = paragraph.text, [], 0
    certain = 0.0
    for line in paragraph.lines:
        start = text.index(line.text, end)
        end = start + len(line.text)
        page = pages[line.page]
        parts.append(Locator((start, end), page=line.page, region=_displayed(line.region, page)))
        certain += page.lines[line.index].confidence * len(line.text)
    whole = covering((0, len(text)), parts)
    return Piece(
        BlockKind.IMAGE_TEXT if level is None else BlockKind.HEADING,
        text,
        level=level,
        page=whole.page,
        page_end=whole.page_end,
        region=whole.region,
        region_end=whole.region_end,
        parts=parts,
        confidence=round(certain / sum(len(line.text) for line in paragraph.lines), 2),
    )


def _displayed(region: Region, page: ScannedPage) -> Region:
    """A region of the page set upright and straight on the page as it is displayed: `skew` and `turn` undone."""
    width, height = page.size
    left, top, right, bottom = _askew(region, page.skew)
    left, top, right, bottom = max(left, 0.0), max(top, 0.0), min(right, width), min(bottom, height)
    turned = {
        0: (left, top, right, bottom),
        1: (height - bottom, left, height - top, right),
        2: (width - right, height - bottom, width - left, height - top),
        3: (top, width - right, bottom, width - left),
    }[page.turn]
    return round(turned[0], 1), round(turned[1], 1), round(turned[2], 1), round(turned[3], 1)


def _askew(region: Region, skew: float) -> Region:
    """Around `region` turned clockwise around the page's top left corner."""
    sine, cosine = math.sin(math.radians(skew)), math.cos(math.radians(skew))
    corners = [(x * cosine - y * sine, y * cosine + x * sine) for x in region[::2] for y in region[1::2]]
    return around([(x, y, x, y) for x, y in corners])
