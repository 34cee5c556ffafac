"""Glyphs of a PDF page in rows and words, by their places alone: for tables, whose cells are not in the text's flow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from statistics import median

from indexing.locators import Region, around
from indexing.parsers.clean import is_cjk
from indexing.parsers.pdf_lines import join_spaced
from indexing.parsers.pdf_types import Glyph

_LEAST_LETTERS = 4  # different ones, to tell a font by
TYPEWRITER = 2.0  # times as wide as in other fonts are its spaces
WORD_GAP = 0.1  # of the height of a line: a wider one is a space
_ON_LINE = 0.5  # likewise: how far the middle of a glyph may be from that of the row's highest one
_CJK_SPACE = 0.14  # likewise, between Chinese characters
CORRIDOR = 0.45  # likewise: the least width of the white between two columns
CELL_GAP = 0.75  # likewise: a wider one may be the edge of a column
_NUMBER = re.compile(r"[-+−–(<>~≈*†‡$€£¥￥]*\s*\d[\d.,:/%\s–−-]*[)%*†‡a-z]?|[-–—−.]+|\(?[XxzZ]\)|n/?a|N/?A|\*+|…|\.\.+")


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    region: Region
    glyphs: tuple[Glyph, ...]

    @property
    def middle(self) -> float:
        """From left to right."""
        return (self.region[0] + self.region[2]) / 2


@dataclass(frozen=True, slots=True)
class Row:
    """Words on one base line, from left to right. `spacing`: how many times wider than usual its spaces are."""

    words: tuple[Word, ...]
    spacing: float = 1.0

    @property
    def region(self) -> Region:
        return around([word.region for word in self.words])

    @property
    def height(self) -> float:
        return median(word.region[3] - word.region[1] for word in self.words)

    def segments(self, gap: float = CELL_GAP) -> list[list[Word]]:
        """Words that stand close to each other."""
        room = gap * self.height * self.spacing
        found = [[self.words[0]]]
        for word in self.words[1:]:
            if word.region[0] - found[-1][-1].region[2] > room:
                found.append([])
            found[-1].append(word)
        return found


def rows_of(glyphs: Sequence[Glyph]) -> list[Row]:
    """From top to bottom. Glyphs on their side, as in the margin of a table, are left out."""
    seen = [
        ((glyph.region[1] + glyph.region[3]) / 2, glyph.region[3] - glyph.region[1], glyph)
        for glyph in glyphs
        if glyph.region[3] > glyph.region[1] and not glyph.text.isspace()
    ]
    seen.sort(key=itemgetter(0))
    rows: list[list[Glyph]] = []
    limit = 0.0  # the middle of a glyph below it is on the row
    for middle, height, glyph in seen:
        if middle < limit:
            rows[-1].append(glyph)
        else:
            rows.append([glyph])
            limit = middle + _ON_LINE * height
    spaces = {glyph.order for glyph in glyphs if glyph.text != "\n" and glyph.text.isspace()}
    return [Row(tuple(_words(row, spaces)), _spacing(row)) for row in rows]


def _spacing(row: Sequence[Glyph]) -> float:
    """Spaces of a typewriter's font are as wide as its letters, which are all of one width."""
    widths = {glyph.text: glyph.region[2] - glyph.region[0] for glyph in row if glyph.text.isascii()}
    if sum(map(str.isalpha, widths)) < _LEAST_LETTERS:
        return 1.0
    return TYPEWRITER if max(widths.values()) - min(widths.values()) < 0.1 * max(widths.values()) else 1.0


def is_number(text: str) -> bool:
    """Also what stands for one: a dash, “n/a”."""
    return _NUMBER.fullmatch(text) is not None


def text_of(words: Sequence[Word]) -> str:
    """Words in a line; between Chinese ones there is a space where there is room for one."""
    text = ""
    for at, word in enumerate(words):
        if text:
            gap = word.region[0] - words[at - 1].region[2]
            together = (
                is_cjk(text[-1]) and is_cjk(word.text[0]) and gap < _CJK_SPACE * (word.region[3] - word.region[1])
            )
            text += "" if together else " "
        text += word.text
    return join_spaced(text)


def _words(row: list[Glyph], spaces: set[float]) -> list[Word]:
    row.sort(key=_left)
    found = [[row[0]]]
    for glyph in row[1:]:
        last = found[-1][-1]
        height = glyph.region[3] - glyph.region[1]
        spaced = glyph.order - last.order == 2 and last.order + 1 in spaces  # letters may be as wide as their fellows
        if spaced or glyph.region[0] - last.region[2] > WORD_GAP * height:
            found.append([])
        found[-1].append(glyph)
    return [
        Word("".join(glyph.text for glyph in word), around([glyph.region for glyph in word]), tuple(word))
        for word in found
    ]


def _left(glyph: Glyph) -> float:
    return glyph.region[0]
