"""Pictures: PNG, JPEG, TIFF of several pages, WebP, BMP, GIF. Their text is read by OCR.

A page is a frame of the file; of an animation only the first one is read. A point is a pixel of the picture, turned as its
EXIF data says.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from PIL import ExifTags, Image

from documents.media_types import BMP, GIF, JPEG, PNG, TIFF, WEBP
from indexing.blocks import Gap, GapReason, ParsedDocument
from indexing.errors import DocumentCorrupt
from indexing.parsers import limits
from indexing.parsers.assemble import assemble
from indexing.parsers.scan_pieces import pieces_of
from indexing.parsers.scans import ScannedPage, Scans

_FORMATS = {"PNG": PNG, "JPEG": JPEG, "TIFF": TIFF, "WEBP": WEBP, "BMP": BMP, "GIF": GIF}
_TYPES = {**_FORMATS, "MPO": JPEG}  # what Pillow calls a JPEG with a second picture behind it, as phones write them
_TURNS = {  # EXIF orientation → what undoes it
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_SMOOTH = {"1": "L", "P": "RGBA"}  # modes whose pixels have no mean
_BAND = 1_000  # rows
_READ_SIDE = 3_000  # pixels of the shorter side; more of them cost memory and show no more: A4 at 360 dpi


def parse(content: bytes, scans: Scans | None = None) -> ParsedDocument:
    """Raises `DocumentCorrupt`, `DocumentTooLarge` or `NoText`."""
    image = open_image(content)
    pages = list(_pages(image, scans or Scans()))
    if all(page.gap is GapReason.UNREADABLE for page in pages):
        raise DocumentCorrupt()
    gaps = [Gap(page.gap, page=page.number) for page in pages if page.gap]
    pieces, left_out = pieces_of(pages)
    return assemble(_TYPES[str(image.format)], pieces, pages=len(pages), gaps=gaps, left_out=left_out)


def open_image(content: bytes) -> Image.Image:
    """Reads the head of the file, no pixels. Raises `DocumentCorrupt`, or `DocumentTooLarge`."""
    warnings.simplefilter("ignore")  # Pillow's, of sizes and of odd metadata; the sizes are checked here
    try:
        return Image.open(io.BytesIO(content), formats=tuple(_FORMATS))
    except Image.DecompressionBombError as error:
        raise limits.PIXELS.exceeded() from error
    except Exception as error:
        raise DocumentCorrupt() from error


def _pages(image: Image.Image, scans: Scans) -> Iterator[ScannedPage]:
    number = 0
    while number == 0 or image.format == "TIFF":  # several pictures in any other format are moments of one
        try:
            image.seek(number)
        except EOFError:
            return
        except Exception:
            # The chain of pages is broken: nobody knows how many there were.
            yield ScannedPage(number + 1, gap=GapReason.UNREADABLE)
            return
        number += 1
        limits.PAGES.check(number)
        yield scans.read(number, partial(read_frame, image, number))


def read_frame(image: Image.Image, number: int, *, is_page: bool = True) -> ScannedPage:
    """What the frame says that `image` stands at. `is_page`: as `indexing.parsers.ocr.read_page`. Raises `DocumentTooLarge`."""
    limits.PIXELS.check(image.width * image.height)
    try:
        pixels, scale = _decoded(image)
    except MemoryError:
        raise
    except Exception:  # Pillow raises anything at all on broken pictures
        return ScannedPage(number, gap=GapReason.UNREADABLE)
    from indexing.parsers.ocr import read_page  # only here: it is slow to import, and the picture may not be one

    return read_page(pixels, number, points=scale, is_page=is_page)


def _decoded(image: Image.Image) -> tuple[Any, float]:
    """The frame's pixels as OCR takes them, and how many pixels of the original one of them is."""
    size = min(image.size)
    image.draft("RGB", _smaller(image.size))  # a JPEG need not be decoded in full
    image.load()
    # Pillow turns a TIFF by itself.
    turn = None if image.format == "TIFF" else _TURNS.get(image.getexif().get(ExifTags.Base.Orientation, 1))
    frame = image
    if min(frame.size) > _READ_SIDE:
        frame = frame.convert(_SMOOTH.get(frame.mode, frame.mode)).resize(
            _smaller(frame.size), Image.Resampling.BOX, reducing_gap=2.0
        )
    if frame.mode.startswith(("I", "F")):  # 16 or 32 bits of grey: Pillow would cut all above 255
        deep = np.asarray(frame, dtype=np.float32)
        frame = Image.fromarray((deep * (255 / max(float(deep.max()), 1.0))).astype(np.uint8))
    frame = _opaque(frame)
    if image.format != "TIFF":
        image.close()  # its pixels would stay in memory while these are read
    if turn is not None:
        frame = frame.transpose(turn)
    return _pixels(frame), size / min(frame.size)


def _pixels(frame: Image.Image) -> Any:
    """Height × width × (blue, green, red), copied band by band: in one go Pillow needs the memory twice."""
    pixels = np.empty((frame.height, frame.width, 3), np.uint8)
    for top in range(0, frame.height, _BAND):
        band = frame.crop((0, top, frame.width, min(top + _BAND, frame.height)))
        pixels[top : top + band.height] = np.asarray(band)[:, :, ::-1]
    return pixels


def _smaller(size: tuple[int, int]) -> tuple[int, int]:
    scale = min(_READ_SIDE / min(size), 1.0)
    return round(size[0] * scale), round(size[1] * scale)


def _opaque(frame: Image.Image) -> Image.Image:
    """In colours, what is transparent filled so that light text stays visible."""
    if not frame.has_transparency_data:
        return frame.convert("RGB")
    frame = frame.convert("RGBA")
    shown = np.asarray(frame.convert("L"))[np.asarray(frame.getchannel("A")) > 0]
    paper = "black" if shown.size and shown.mean() > 127 else "white"
    background = Image.new("RGBA", frame.size, paper)
    background.alpha_composite(frame)
    return background.convert("RGB")
