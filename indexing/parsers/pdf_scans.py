"""Pages of a PDF without text, and pictures of pages under a stamp or a header: rendered as a reader sees them, read by OCR."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from indexing.blocks import GapReason
from indexing.parsers import limits
from indexing.parsers.scans import ScannedPage

_SHARPNESS = 200  # dots per inch: letters of 6 points are 17 dots high
_MOST_PIXELS = 12_000_000  # of a rendering; A3 at 200 dpi has 8 million
_POINTS_PER_INCH = 72
_STAMP = (
    200  # letters of real text that a scan may lie under: stamps and headers have fewer, a page of text has a thousand
)
_COVERED = 0.5  # of the page, by its pictures, from which on they may be its text


def is_scan_under(page: Any, *, letters: int) -> bool:
    """Whether a page of so many `letters` may be a picture with a few words over it. Where some of them are invisible, the
    picture was recognised before."""
    if letters > _STAMP:
        return False
    texts = page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_TEXT], max_depth=3)
    if any(
        pdfium_c.FPDFTextObj_GetTextRenderMode(text.raw) == pdfium_c.FPDF_TEXTRENDERMODE_INVISIBLE for text in texts
    ):
        return False
    width, height = page.get_size()
    covered = 0.0
    for picture in _pictures(page):
        left, bottom, right, top = picture.get_bounds()
        covered += min(right - left, width) * min(top - bottom, height)
    return bool(covered >= _COVERED * width * height)


def read_scan(page: Any, number: int, *, under_text: bool = False) -> ScannedPage:
    """Page `number`, 1-based. An empty page is blank; one whose pictures are too large, or that PDFium cannot draw, a gap.
    `under_text`: without its own text, which is read already."""
    if under_text:  # only in memory, and only until the page is closed
        for text in list(page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_TEXT], max_depth=1)):
            page.remove_obj(text)
    if not any(True for _ in page.get_objects(max_depth=1)) and not pdfium_c.FPDFPage_GetAnnotCount(page):
        return ScannedPage(number)
    width, height = page.get_size()
    if _pixels(page) > limits.PIXELS.value or min(width, height) <= 0:
        return ScannedPage(number, gap=GapReason.UNREADABLE)
    scale = min(_SHARPNESS / _POINTS_PER_INCH, (_MOST_PIXELS / (width * height)) ** 0.5)
    try:
        bitmap = page.render(
            scale=scale,
            force_bitmap_format=pdfium_c.FPDFBitmap_BGR,
            may_draw_forms=not under_text,
            draw_annots=not under_text,
        )
    except pdfium.PdfiumError:
        return ScannedPage(number, gap=GapReason.UNREADABLE)
    try:
        picture = np.array(bitmap.to_numpy())
    finally:
        bitmap.close()
    if (picture == picture[0, 0]).all():
        return ScannedPage(number, gap=None if all(map(_can_be_decoded, _pictures(page))) else GapReason.UNREADABLE)
    from indexing.parsers.ocr import read_page  # only here: most PDFs have text on every page, and it is slow to import

    return read_page(picture, number, points=1 / scale, is_page=not under_text)


def _pixels(page: Any) -> int:
    """Of the page's largest picture, as it says itself."""
    sizes = (picture.get_px_size() for picture in _pictures(page))
    return max((width * height for width, height in sizes), default=0)


def _pictures(page: Any) -> Iterator[Any]:
    return iter(page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_IMAGE], max_depth=3))


def _can_be_decoded(picture: Any) -> bool:
    """PDFium draws nothing where a picture is damaged: the page would pass for a blank one."""
    try:
        picture.get_bitmap()
    except pdfium.PdfiumError:
        return False
    return True
