"""A font for the Chinese, Japanese and Korean fonts that a PDF names and does not bring along.

A parser does not look for a machine's fonts (see `lockdown`), and PDFium drops a run of text whose letters have no extent:
of such fonts every run of one letter, which may be a "是" in a table or all of a page. Here each of their letters is one
slanted line: it has an extent, and nothing is seen of it where a page is drawn. How far letters
advance the file says itself.

Sources: PDFium's `fpdf_sysfontinfo.h`; OpenType 1.9, chapters “cmap” (format 13), “glyf”, “head”, “hhea”, “maxp”.
"""

from __future__ import annotations

import ctypes
import struct
from functools import cache
from typing import Any

import pypdfium2.raw as pdfium_c

_CHARSETS = {
    pdfium_c.FXFONT_GB2312_CHARSET,
    pdfium_c.FXFONT_CHINESEBIG5_CHARSET,
    pdfium_c.FXFONT_SHIFTJIS_CHARSET,
    pdfium_c.FXFONT_HANGEUL_CHARSET,
}
_FONT = 1  # PDFium's handle of it
_EM = 1000
_WIDTH = 100  # of the line: no letter is narrower
_TOP, _BOTTOM = 880, -120  # of a letter, as in fonts for these scripts


@cache
def use() -> Any:
    """For the rest of the process. Repeating it changes nothing. What PDFium keeps pointing to is returned, and kept."""
    font = _font()

    def map_font(_: Any, weight: int, italic: int, charset: int, pitch: int, face: Any, exact: Any) -> int | None:
        return _FONT if charset in _CHARSETS else None  # for the others PDFium has letters of its own

    def font_data(_: Any, handle: Any, table: int, buffer: Any, size: int) -> int:
        if table:
            return 0
        if buffer and size >= len(font):
            ctypes.memmove(buffer, font, len(font))
        return len(font)

    info = pdfium_c.FPDF_SYSFONTINFO()
    kinds = dict(info._fields_)
    info.version = 2  # asked for each font, never for a list of them
    info.MapFont = kinds["MapFont"](map_font)
    info.GetFontData = kinds["GetFontData"](font_data)
    pdfium_c.FPDF_SetSystemFontInfo(info)
    return info


def _font() -> bytes:
    """TrueType, with the same glyph for every character."""
    line = struct.pack(
        ">5h2H2B4h", 1, 0, _BOTTOM, _WIDTH, _TOP, 1, 0, 1, 1, 0, _WIDTH, _BOTTOM, _TOP - _BOTTOM
    ) + bytes(2)
    tables = {
        "cmap": struct.pack(">4HI2H6I", 0, 1, 3, 10, 12, 13, 0, 28, 0, 1, ord(" "), 0x10FFFF, 1),
        "glyf": line,
        "head": struct.pack(
            ">4I2H2Q4h2H3h", 0x10000, 0x10000, 0, 0x5F0F3CF5, 0, _EM, 0, 0, 0, _BOTTOM, _WIDTH, _TOP, 0, 8, 2, 1, 0
        ),
        "hhea": struct.pack(">I3hH11hH", 0x10000, _TOP, _BOTTOM, 0, _EM, 0, 0, _WIDTH, 1, *[0] * 7, 2),
        "hmtx": struct.pack(">HhHh", _EM, 0, _EM, 0),
        "loca": struct.pack(">3I", 0, 0, len(line)),
        "maxp": struct.pack(">I14H", 0x10000, 2, 2, 1, 0, 0, 1, *[0] * 8),
    }
    directory = struct.pack(">I4H", 0x10000, len(tables), 64, 2, 16 * len(tables) - 64)
    content = b""
    start = len(directory) + 16 * len(tables)
    for tag, table in tables.items():
        padded = table + bytes(-len(table) % 4)
        total = sum(struct.unpack(f">{len(padded) // 4}I", padded)) & 0xFFFFFFFF
        directory += struct.pack(">4s3I", tag.encode(), total, start + len(content), len(table))
        content += padded
    return directory + content
