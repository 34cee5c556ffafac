"""What the PDF modules hand to each other. All lengths are points, measured on the page as displayed, from top left."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from indexing.locators import Region
from indexing.parsers.assemble import Rows


class Glyph(NamedTuple):
    """A character on a page; `order` is its place in the order of reading, `number` that of a character in PDFium's, to ask how
    it looks. Line feeds have an empty region."""

    text: str
    order: float
    region: Region
    number: int


@dataclass(frozen=True, slots=True)
class Line:
    """Glyphs in a row. `hyphenated`: its last word goes on in the next line, the hyphen itself is not in `text`. `parted`:
    numbers of its words, from 0, that stand far from the one before, if there are digits in it."""

    text: str
    index: int
    page: int
    region: Region
    size: float = 0.0  # of the font
    bold: bool = False
    hyphenated: bool = False
    font: str = ""  # its name, if the line is in one
    fixed: bool = False  # its letters are all of one width
    parted: tuple[int, ...] = ()

    @property
    def left(self) -> float:
        return self.region[0]

    @property
    def top(self) -> float:
        return self.region[1]

    @property
    def right(self) -> float:
        return self.region[2]

    @property
    def bottom(self) -> float:
        return self.region[3]


@dataclass(frozen=True, slots=True)
class Table:
    """`index` is that of its first glyph, `regions` are those of its rows."""

    rows: Rows
    index: int
    page: int
    region: Region
    header_rows: int
    regions: tuple[Region, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """Lines and tables of one page, each in reading order."""

    number: int
    height: float
    lines: list[Line] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
