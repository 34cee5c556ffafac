"""Footnotes of a PDF: lines in small type at the foot of a column, of which the first begins with a mark."""

from __future__ import annotations

import re
from collections.abc import Sequence

from indexing.parsers.pdf_types import Line

_SMALLER = 0.93  # times the font size of the text
_LOWER = 0.4  # of the page's height: above it stands no footnote
_MARK = re.compile(r"(?:\d{1,3}|[*†‡§¶※①-⑳]{1,3}|\[\d{1,3}\]|[（(]\d{1,3}[)）]|注\s?\d{0,3}\s?[:：])[).、.]?\s?\S")


def notes_of(lines: Sequence[Line], height: float, body: float) -> list[Line]:
    """Those of a page's lines that are footnotes. `height`: the page's; `body`: the font size of ordinary text."""
    small = [line for line in lines if line.size < _SMALLER * body and line.top > _LOWER * height]
    text = [line for line in lines if line.size >= _SMALLER * body]
    if not text:
        return []
    at_foot = [line for line in small if not any(_is_above(line, other) for other in text)]
    notes: list[Line] = []
    for line in at_foot:
        column = [note for note in notes if _share_column(note, line)]
        if column or (_MARK.match(line.text) and any(_share_column(other, line) for other in text)):
            notes.append(line)
    return notes


def _is_above(line: Line, other: Line) -> bool:
    return _share_column(line, other) and other.top > line.top


def _share_column(one: Line, other: Line) -> bool:
    return one.left < other.right and other.left < one.right
