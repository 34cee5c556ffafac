"""Scanned pages to pieces of the document: running heads left out, lines joined to paragraphs, as for pages with text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median

from indexing.blocks import BlockKind
from indexing.locators import Locator, Region, around
from indexing.parsers.assemble import Piece
from indexing.parsers.pdf_furniture import without_furniture
from indexing.parsers.pdf_paragraphs import Paragraph, paragraphs
from indexing.parsers.pdf_types import Line, Page
from indexing.parsers.scans import ScannedPage

_SAME_SIZE = 1.35  # between the highest and the lowest box of one font: “一一一” and “gÅy|” differ so much
_FONT = 0.8  # of a box's height, which is a little more than the line's
_BROKEN_WORD = re.compile(r"[A-Za-z]-\Z")


def pieces_of(pages: Sequence[ScannedPage]) -> list[Piece]:
    """In reading order. Regions are on the pages as displayed."""
    by_number = {page.number: page for page in pages}
    upright = without_furniture([_page(page) for page in pages])
    return [_piece(paragraph, by_number) for paragraph in paragraphs(upright)]


def _page(page: ScannedPage) -> Page:
    sizes = _sizes([line.region[3] - line.region[1] for line in page.lines])
    lines = []
    for index, line in enumerate(page.lines):
        after = page.lines[index + 1].text if index + 1 < len(page.lines) else ""
        broken = _BROKEN_WORD.search(line.text) is not None and after[:1].islower()
        text = line.text[:-1] if broken else line.text
        height = line.region[3] - line.region[1]
        lines.append(Line(text, index, page.number, line.region, sizes[height], hyphenated=broken))
    return Page(page.number, page.size[1], lines)


def _sizes(heights: Sequence[float]) -> dict[float, float]:
    """Height of a box → font size: boxes of one font differ by the letters in them."""
    fonts: list[list[float]] = []
    for height in sorted(heights):
        if not fonts or height > _SAME_SIZE * fonts[-1][0]:
            fonts.append([])
        fonts[-1].append(height)
    return {height: round(_FONT * median(font), 1) for font in fonts for height in font}


def _piece(paragraph: Paragraph, pages: dict[int, ScannedPage]) -> Piece:
    first, last = paragraph.pages
    text, parts, end = paragraph.text, [], 0
    certain = 0.0
    for line in paragraph.lines:
        start = text.index(line.text, end)
        end = start + len(line.text)
        page = pages[line.page]
        parts.append(Locator((start, end), page=line.page, region=_displayed(line.region, page)))
        certain += page.lines[line.index].confidence * len(line.text)
    return Piece(
        BlockKind.IMAGE_TEXT,
        text,
        page=first,
        page_end=last if last != first else None,
        region=_around_on(first, parts),
        region_end=_around_on(last, parts) if last != first else None,
        parts=parts,
        confidence=round(certain / sum(len(line.text) for line in paragraph.lines), 2),
    )


def _around_on(page: int, parts: Sequence[Locator]) -> Region:
    return around([part.region for part in parts if part.page == page and part.region is not None])


def _displayed(region: Region, page: ScannedPage) -> Region:
    """A region of the upright page on the page as it is displayed: `page.turn` undone."""
    left, top, right, bottom = region
    width, height = page.size
    turned = {
        0: (left, top, right, bottom),
        1: (height - bottom, left, height - top, right),
        2: (width - right, height - bottom, width - left, height - top),
        3: (top, width - right, bottom, width - left),
    }[page.turn]
    return round(turned[0], 1), round(turned[1], 1), round(turned[2], 1), round(turned[3], 1)
