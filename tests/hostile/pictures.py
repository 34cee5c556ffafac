"""Hostile pictures, and PDFs that are only pictures."""

from __future__ import annotations

import io
import struct
import zlib

from tests.hostile.catalogue import REFUSED, add, add_all, hostile
from tests.hostile.pdfs import one_page, pdf, stream

CORRUPT, LARGE, NONE = "DOCUMENT_CORRUPT", "DOCUMENT_TOO_LARGE", "NO_TEXT"
CRASH, TIME = "PARSE_CRASHED", "PARSE_TIMEOUT"
BOMB = "a bomb: the size that it declares is not decoded"


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width: int, height: int, pixels: bytes, *more: bytes, depth: int = 1, colour: int = 0) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    parts = (chunk(b"IHDR", head), *more, chunk(b"IDAT", pixels), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def squeezed(size: int) -> bytes:
    """That many zeros, zipped a thousand times smaller."""
    packer = zlib.compressobj(9)
    block = bytes(1_000_000)
    return (
        b"".join(packer.compress(block[: min(len(block), size - at)]) for at in range(0, size, len(block)))
        + packer.flush()
    )


def tiff(*pages: dict[int, tuple[int, int, int]], loop: bool = False, data: bytes = b"") -> bytes:
    """Directories of tag → (type, count, value), one a page; the last one leads to the first with `loop`."""
    out = io.BytesIO()
    out.write(b"II*\0" + struct.pack("<I", 8 + len(data)) + data)
    for number, tags in enumerate(pages):
        out.write(struct.pack("<H", len(tags)))
        for tag, (kind, count, value) in sorted(tags.items()):
            out.write(struct.pack("<HHII", tag, kind, count, value))
        last = number == len(pages) - 1
        out.write(struct.pack("<I", (8 + len(data) if loop else 0) if last else out.tell() + 4))
    return out.getvalue()


def grey(width: int, height: int, length: int) -> dict[int, tuple[int, int, int]]:
    return {
        256: (4, 1, width), 257: (4, 1, height), 258: (3, 1, 8), 259: (3, 1, 1), 262: (3, 1, 1), 273: (4, 1, 8),
        277: (3, 1, 1), 278: (4, 1, height), 279: (4, 1, length),
    }  # fmt: skip


def bmp(width: int, height: int) -> bytes:
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 14 + len(head), 0, 0, 54) + head


def picture_pdf(width: int, height: int, data: bytes, filters: bytes = b"/FlateDecode") -> bytes:
    """One page that shows one picture of this declared size."""
    entries = (
        b"/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter %s"
    )
    return pdf(
        one_page(
            b"q 612 0 0 792 0 0 cm /I Do Q",
            b"/Resources << /XObject << /I 6 0 R >> >>",
            more={6: stream(data, entries % (width, height, filters))},
        )
    )


DRAWN = "its picture cannot be drawn"
NO_COLOURS = png(9, 9, zlib.compress(bytes(90)), depth=8, colour=3)
HUGE_JPEG = b"\xff\xd8\xff\xc0\x00\x11\x08\xff\xff\xff\xff\x03\x01\x22\0\x02\x11\1\x03\x11\1\xff\xd9"
LYING_TIFF = tiff(grey(900, 900, 2**32 - 1), data=bytes(10))
LOOP = tiff(*[grey(10, 10, 100)] * 3, loop=True, data=bytes(100))

add_all(
    [
        ("declared-50000.png", LARGE, BOMB, png(50_000, 50_000, zlib.compress(bytes(100)))),
        ("declared-largest.png", LARGE, BOMB, png(2**31 - 1, 2**31 - 1, zlib.compress(b""))),
        ("declared-nothing.png", CORRUPT, "no pixels at all", png(0, 0, zlib.compress(b""))),
        ("one-pixel.png", NONE, "nothing to read", png(1, 1, zlib.compress(b"\0\0"))),
        ("one-row.png", f"{NONE}|{CORRUPT}", "60,000 pixels wide, one high", png(60_000, 1, zlib.compress(bytes(7_501)))),
        ("one-column.png", NONE, "one pixel wide, 60,000 high", png(1, 60_000, zlib.compress(bytes(120_000)))),
        ("no-pixels.png", CORRUPT, "declares more than it has", png(400, 400, zlib.compress(bytes(10)))),
        ("not-zipped.png", CORRUPT, "its pixels are not what they should be", png(400, 400, b"\xff" * 1_000)),
        ("cut.png", CORRUPT, "a download that broke off", png(400, 400, zlib.compress(bytes(400 * 51)))[:50]),
        ("palette-without.png", f"{CORRUPT}|{NONE}", "colours that it does not have", NO_COLOURS),
        ("only-its-head.jpg", CORRUPT, "three bytes", b"\xff\xd8\xff"),
        ("markers.jpg", CORRUPT, "a marker after the other", b"\xff\xd8" + b"\xff\xe0\x00\x02" * 50_000),
        ("declared-65535.jpg", f"{LARGE}|{CORRUPT}", BOMB, HUGE_JPEG),
        ("declared.tif", LARGE, BOMB, tiff(grey(50_000, 50_000, 10), data=bytes(10))),
        ("lying.tif", f"{CORRUPT}|{NONE}", "its pixels are said to be behind its end", LYING_TIFF),
        ("loop.tif", f"{NONE}|{CORRUPT}", "its last page leads to its first", LOOP),
        ("two-thousand-pages.tif", NONE, "two thousand pages of nothing", tiff(*[grey(10, 10, 100)] * 2_000, data=bytes(100))),
        ("endless-pages.tif", LARGE, "more pages than a document may have", tiff(*[grey(2, 2, 4)] * 10_001, data=bytes(4))),
        ("no-directory.tif", CORRUPT, "leads nowhere", b"II*\0\xff\xff\xff\xff"),
        ("declared.bmp", LARGE, BOMB, bmp(60_000, 60_000)),
        ("negative.bmp", LARGE, "sizes below zero", bmp(-1, -1)),
        ("only-its-head.gif", CORRUPT, "six bytes", b"GIF89a"),
        ("declared.gif", f"{LARGE}|{CORRUPT}", BOMB, b"GIF89a\xff\xff\xff\xff\0\0\0,\0\0\0\0\xff\xff\xff\xff\0\2\2\x4c\1\0;"),
        ("only-its-head.webp", CORRUPT, "no picture inside", b"RIFF\0\0\0\0WEBPVP8 "),
        ("script.png", REFUSED, "a page of the web under a picture's name", "<svg onload=alert(1)>"),
        ("picture.pdf", REFUSED, "a picture under a PDF's name", png(9, 9, zlib.compress(bytes(20)))),
        ("page-of-declared-50000.pdf", NONE, BOMB, picture_pdf(50_000, 50_000, zlib.compress(bytes(100)))),
        ("page-of-broken-jpeg.pdf", NONE, DRAWN, picture_pdf(900, 900, b"\xff\xd8\xff\xe0broken", b"/DCTDecode")),
        ("page-of-broken-jbig2.pdf", NONE, DRAWN, picture_pdf(900, 900, b"\x97JB2\r\n\x1a\nxx", b"/JBIG2Decode")),
        ("page-of-broken-jpeg2000.pdf", NONE, DRAWN, picture_pdf(900, 900, b"\0\0\0\x0cjP  \r\n\x87\n", b"/JPXDecode")),
    ]
)  # fmt: skip


@hostile("just-below-the-limit.png", NONE, "as many pixels as are allowed, zipped a thousand times smaller")
def just_below(_: str) -> bytes:
    return png(8_900, 8_900, squeezed(8_900 * (8_900 // 8 + 2)))


@hostile("page-of-many-pixels.pdf", f"{NONE}|{CRASH}", "the same within a PDF")
def page_of_many_pixels(_: str) -> bytes:
    return picture_pdf(8_900, 8_900, squeezed(8_900 * 8_900))


@hostile("much-metadata.png", f"{CORRUPT}|{NONE}", "texts beside the picture that are a bomb of their own")
def much_metadata(_: str) -> bytes:
    text = chunk(b"zTXt", b"Comment\0\0" + squeezed(300_000_000))
    return png(9, 9, zlib.compress(bytes(27)), text)


for quarter in range(1, 4):
    add(
        f"cut-{quarter}.bmp",
        lambda _, part=quarter: (bmp(200, 200) + bytes(120_000))[: 120_054 * part // 4],
        CORRUPT,
        "a download that broke off",
    )
