"""PDF: what PDFium says stands in a region. The parser places characters one by one; here PDFium is asked for a rectangle."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from indexing.locators import Locator, Region
from indexing.parsers import pdf_missing_fonts
from indexing.verification.claims import Claim, Outcome
from indexing.verification.measure import Place

MARGIN = 1.0  # points around a region, for rounding; a line of text is ten high
_FINE = 100  # PDFium maps whole numbers only


def outcomes(content: bytes, claims: Sequence[Claim]) -> Iterator[Outcome]:
    pdf_missing_fonts.use()  # or PDFium would miss what the parser found
    with pdfium.PdfDocument(content) as document:
        reader = _Reader(document)
        for claim in claims:
            if not reader.exists(claim.locator):
                yield Outcome.ELSEWHERE
            elif not claim.texts:
                yield Outcome.NOT_CHECKABLE
            else:
                yield Outcome.FOUND if reader.text(claim.locator).holds(claim.texts) else Outcome.ELSEWHERE


class _Reader:
    def __init__(self, document: Any) -> None:
        self._document = document
        self._open = lru_cache(maxsize=4)(self._opened)  # chunks come in the order of pages

    def exists(self, locator: Locator) -> bool:
        regions = locator.regions()
        if not regions or not 1 <= regions[0][0] <= regions[-1][0] <= len(self._document):
            return False
        return all(region is None or self._is_inside(page, region) for page, region in regions)

    def text(self, locator: Locator) -> Place:
        return Place("".join(self._text(page, region) for page, region in locator.regions()))

    def _opened(self, number: int) -> tuple[Any, Any]:
        page = self._document[number - 1]
        return page, page.get_textpage()

    def _is_inside(self, number: int, region: Region) -> bool:
        size: tuple[float, float] = self._open(number)[0].get_size()
        width, height = size
        left, top, right, bottom = region
        return -MARGIN <= left <= right <= width + MARGIN and -MARGIN <= top <= bottom <= height + MARGIN

    def _text(self, number: int, region: Region | None) -> str:
        page, text_page = self._open(number)
        if region is None:
            text: str = text_page.get_text_range()
            return text
        left, top, right, bottom = region
        one = _on_page(page, left - MARGIN, top - MARGIN)
        other = _on_page(page, right + MARGIN, bottom + MARGIN)
        bounded: str = text_page.get_text_bounded(
            left=min(one[0], other[0]),
            bottom=min(one[1], other[1]),
            right=max(one[0], other[0]),
            top=max(one[1], other[1]),
        )
        return bounded


def _on_page(page: Any, x: float, y: float) -> tuple[float, float]:
    """A point of the page as it is displayed, in the page's own coordinates."""
    width, height = page.get_size()
    page_x, page_y = ctypes.c_double(), ctypes.c_double()
    size = (round(width * _FINE), round(height * _FINE))
    pdfium_c.FPDF_DeviceToPage(page, 0, 0, *size, 0, round(x * _FINE), round(y * _FINE), page_x, page_y)
    return page_x.value, page_y.value
