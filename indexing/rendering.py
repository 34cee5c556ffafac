"""A page of a PDF or of a picture, drawn for people. Pure; the file is untrusted, so outside of tests this runs in the locked
process (`indexing.parsers.sandbox`)."""

from __future__ import annotations

import base64
import io
import warnings
from dataclasses import dataclass
from typing import Any

from documents.media_types import IMAGES, PDF
from indexing.errors import DocumentCorrupt, DocumentTooLarge, UnsupportedDocument
from indexing.parsers import limits

LONGEST_SIDE = 1_600  # pixels: a page of A4 at 137 dpi, to be read on a screen
DRAWN = (PDF, *IMAGES)
"""Media types whose pages can be drawn."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawn page as a PNG. `width` and `height` are those of the page, in the unit of its regions: points, or a picture's
    pixels."""

    png: bytes
    width: float
    height: float

    def to_json(self) -> dict[str, Any]:
        return {"png": base64.b64encode(self.png).decode(), "width": self.width, "height": self.height}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Picture:
        return cls(base64.b64decode(data["png"]), data["width"], data["height"])


def render(content: bytes, media_type: str, *, page: int) -> Picture:
    """Draw page `page` (1-based). Raises `UnsupportedDocument` for a type without pages that can be drawn, `DocumentCorrupt`
    where there is no such page, `DocumentTooLarge` for a picture over the limit."""
    if media_type not in DRAWN or page < 1:
        raise UnsupportedDocument()
    return _pdf_page(content, page) if media_type == PDF else _frame(content, page)


def _pdf_page(content: bytes, number: int) -> Picture:
    import pypdfium2 as pdfium  # only here: the worker and the web server know this module, too

    try:
        with pdfium.PdfDocument(content) as document:
            if number > len(document):
                raise DocumentCorrupt()
            page = document[number - 1]
            width, height = page.get_size()
            bitmap = page.render(scale=LONGEST_SIDE / max(width, height, 1.0))
            return Picture(_png(bitmap.to_pil()), width, height)
    except pdfium.PdfiumError as error:
        raise DocumentCorrupt() from error


def _frame(content: bytes, number: int) -> Picture:
    from PIL import Image, ImageOps

    warnings.simplefilter("ignore")
    try:
        image = Image.open(io.BytesIO(content))
        image.seek(number - 1)
        limits.PIXELS.check(image.width * image.height)
        upright = image if image.format == "TIFF" else ImageOps.exif_transpose(image)  # Pillow turns a TIFF by itself
        width, height = upright.size
        shown = upright.convert("RGB")
    except (DocumentTooLarge, MemoryError):
        raise
    except Exception as error:  # Pillow raises anything at all on broken pictures
        raise DocumentCorrupt() from error
    shown.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    return Picture(_png(shown), width, height)


def _png(image: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()
