"""Characters of a PDF page, where they are and how they look; characters to lines."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import pairwise
from typing import Any

import pypdfium2.raw as pdfium_c

from indexing.locators import Region, around
from indexing.parsers import limits
from indexing.parsers.clean import CJK, clean
from indexing.parsers.pdf_types import Glyph, Line

_SOFT_HYPHENS = "\x02\ufffe\xad"  # what PDFium puts where a word was broken at the end of a line
_BOLD = re.compile(r"bold|black|heavy|demi|medi\b|(?:cm|sf)bx|simhei|heiti|黑体|[-,](?:bd|hv|blk|sb)\b", re.IGNORECASE)
_BOLD_WEIGHT = 600
_FIXED = re.compile(r"courier|mono\b|monospace|consolas|menlo|typewriter|cmtt|fira ?code", re.IGNORECASE)
_LETTER_HEIGHT = 0.7  # of a line's
_DIGIT = re.compile(r"\d")
_WIDE = 0.9  # of the font's size: a space is a quarter of it, a typewriter's 0.6
_FIXED_PITCH = 1  # of a font's flags: ISO 32000-1, table 123
_LAM = 0x644
_ALEFS = "اأإآ"
_NO_SPACE = re.compile(r"(?<=[A-Za-z]{2})(?=[\u0620-\u064a\u066e-\u06d3])")  # PDFium has it before the Latin word
_NOWHERE: Region = (0.0, 0.0, 0.0, 0.0)
_SPACED_PAIR = re.compile(f"(?<=[{CJK}]) (?=[{CJK}])")
_CLOSE_PAIR = re.compile(f"(?<=[{CJK}])(?=[{CJK}])")

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Transform:
    """From a page's coordinates to points on the page as displayed: x is x0 + ax·x + bx·y, y likewise."""

    x0: float
    ax: float
    bx: float
    y0: float
    ay: float
    by: float

    def __call__(self, x: float, y: float) -> Point:
        return self.x0 + self.ax * x + self.bx * y, self.y0 + self.ay * x + self.by * y


def read_glyphs(text_page: Any, to_display: Transform) -> list[Glyph]:
    """Every character of the page that has a Unicode value, in PDFium's reading order."""
    glyphs = []
    box = pdfium_c.FS_RECTF()
    has_lam = False
    count = pdfium_c.FPDFText_CountChars(text_page)
    limits.PAGE_CHARACTERS.check(count)
    handle = text_page.raw
    unicode_of, box_of = pdfium_c.FPDFText_GetUnicode, pdfium_c.FPDFText_GetLooseCharBox
    ox, ax, bx, oy, ay, by = astuple(to_display)  # written out: most of the time of a page is spent here
    for index in range(count):
        code = unicode_of(handle, index)
        if code in (0xA, 0xD):
            glyphs.append(Glyph("\n", index, _NOWHERE, index))
        elif code and box_of(handle, index, box):
            left, top, right, bottom = box.left, box.top, box.right, box.bottom
            x0, y0 = ox + ax * left + bx * top, oy + ay * left + by * top
            x1, y1 = ox + ax * right + bx * bottom, oy + ay * right + by * bottom
            if x0 > x1:
                x0, x1 = x1, x0
            if y0 > y1:
                y0, y1 = y1, y0
            glyphs.append(Glyph(chr(code), index, (x0, y0, x1, y1), index))
            has_lam = has_lam or code == _LAM
    if has_lam:
        _turn_ligatures(glyphs)
    return glyphs


def _turn_ligatures(glyphs: list[Glyph]) -> None:
    """A lam and an alef in one form share one place. PDFium turns Arabic around letter by letter, also these two."""
    for at, (one, other) in enumerate(pairwise(glyphs)):
        if one.text in _ALEFS and other.text == chr(_LAM) and one.region == other.region:
            glyphs[at], glyphs[at + 1] = one._replace(text=other.text), other._replace(text=one.text)


def to_lines(glyphs: Sequence[Glyph], text_page: Any, page_number: int) -> list[Line]:
    """Group glyphs into lines, in order; lines without visible text are dropped."""
    lines = []
    for row in _rows(glyphs):
        hyphenated = row[-1].text in _SOFT_HYPHENS
        text = join_spaced(" ".join(clean("".join(glyph.text for glyph in row)).split()))
        text = text if text.isascii() else _NO_SPACE.sub(" ", text)
        visible = [glyph for glyph in row if not glyph.text.isspace() and glyph.text not in _SOFT_HYPHENS]
        if not text or not visible:
            continue
        region = around([glyph.region for glyph in visible])
        size, bold, font, fixed = _look(text_page, visible)
        size = size or round(_LETTER_HEIGHT * (region[3] - region[1]), 1)  # of a form without any text
        parted = _parted(row, _WIDE * size) if _DIGIT.search(text) else ()
        lines.append(
            Line(text, int(visible[0].order), page_number, region, size, bold, hyphenated, font, fixed, parted)
        )
    return lines


def _parted(row: Sequence[Glyph], wide: float) -> tuple[int, ...]:
    """Numbers of the words that stand further than `wide` from the one before."""
    found, number, last, spaced = list[int](), 0, row[0].region[2], False
    for glyph in row:
        if glyph.text.isspace():
            spaced = True
            continue
        if spaced:
            number += 1
            if glyph.region[0] - last > wide:
                found.append(number)
        last, spaced = glyph.region[2], False
    return tuple(found)


def _rows(glyphs: Sequence[Glyph]) -> Iterator[list[Glyph]]:
    """Cut where PDFium has a line feed, unless the next glyph stands right beside the last one (after a footnote's
    mark, say); where a glyph is wholly above or below the last; and at a broken word, where there is no line feed.
    """
    row: list[Glyph] = []
    last: Region = _NOWHERE  # of the row's last glyph; a soft hyphen's own region is unreliable
    fed = False
    for glyph in glyphs:
        if glyph.text.isspace():
            fed = fed or glyph.text == "\n"
            if row and not fed:
                row.append(glyph)
            continue
        hyphen = glyph.text in _SOFT_HYPHENS
        returns = bool(row) and row[-1].text in _SOFT_HYPHENS and glyph.region[0] < last[0]
        away = returns or _apart(last, glyph.region) or (fed and not _beside(last, glyph.region))
        if row and away and not hyphen:
            yield row
            row = []
        row.append(glyph)
        last, fed = (last if hyphen else glyph.region), False
    if row:
        yield row


def _apart(one: Region, other: Region) -> bool:
    return (one[3] <= other[1] or other[3] <= one[1]) and _overlap(one, other) < -0.1


def _beside(one: Region, other: Region) -> bool:
    gap = other[0] - one[2]
    return _overlap(one, other) > 0.5 and -0.3 < gap / max(other[3] - other[1], 1.0) < 0.15


def _overlap(one: Region, other: Region) -> float:
    """How much of the lower of two glyphs' height both share; negative where one is above the other."""
    height = min(one[3] - one[1], other[3] - other[1])
    return (min(one[3], other[3]) - max(one[1], other[1])) / height if height > 0 else 0.0


def join_spaced(text: str) -> str:
    """Letter-spaced Chinese ("通 知 书") in one word, where most neighbours in the line are spaced."""
    spaced = len(_SPACED_PAIR.findall(text))
    return _SPACED_PAIR.sub("", text) if spaced > len(_CLOSE_PAIR.findall(text)) else text


def _look(text_page: Any, glyphs: Sequence[Glyph]) -> tuple[float, bool, str, bool]:
    """Font size in points, whether all of the line is bold, its font's name and whether that is a typewriter's: from its
    first, middle and last glyph."""
    sample = [glyph.number for glyph in (glyphs[0], glyphs[len(glyphs) // 2], glyphs[-1])]
    sizes = sorted(_size(text_page, index) for index in sample)
    fonts = {_font(text_page, index) for index in sample}
    bold = all(font.weight >= _BOLD_WEIGHT or _BOLD.search(font.name) is not None for font in fonts)
    fixed = all(font.fixed for font in fonts)
    return round(sizes[1], 1), bold, next(iter(fonts)).name if len(fonts) == 1 else "", fixed


def _size(text_page: Any, index: int) -> float:
    matrix = pdfium_c.FS_MATRIX()
    size: float = pdfium_c.FPDFText_GetFontSize(text_page, index)
    if pdfium_c.FPDFText_GetMatrix(text_page, index, matrix):
        scale: float = (matrix.c**2 + matrix.d**2) ** 0.5
        size *= scale or 1.0
    return size


@dataclass(frozen=True, slots=True)
class _Font:
    name: str
    weight: int
    fixed: bool


def _font(text_page: Any, index: int) -> _Font:
    name = ctypes.create_string_buffer(128)
    flags = ctypes.c_int()
    pdfium_c.FPDFText_GetFontInfo(text_page, index, name, 128, flags)
    decoded = name.value.decode("utf-8", "ignore")
    weight: int = pdfium_c.FPDFText_GetFontWeight(text_page, index)
    return _Font(decoded, weight, bool(flags.value & _FIXED_PITCH) or _FIXED.search(decoded) is not None)


def transform(page: Any) -> Transform:
    """Crop box, rotation and the upward y axis undone.

    PDFium only maps to whole device pixels, so three far points are mapped once, on a fine grid, and all else follows.
    """
    fine, far = 100, 10_000
    width, height = page.get_size()

    def mapped(x: float, y: float) -> Point:
        device_x, device_y = ctypes.c_int(), ctypes.c_int()
        pdfium_c.FPDF_PageToDevice(page, 0, 0, round(width * fine), round(height * fine), 0, x, y, device_x, device_y)
        return device_x.value / fine, device_y.value / fine

    (x0, y0), (x1, y1), (x2, y2) = mapped(0, 0), mapped(far, 0), mapped(0, far)
    return Transform(x0, (x1 - x0) / far, (x2 - x0) / far, y0, (y1 - y0) / far, (y2 - y0) / far)
