"""What is set in columns of spaces and is no table: running text beside running text, and aligned program code."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from indexing.parsers.clean import is_cjk, join_lines, one_line
from indexing.parsers.limits import LONGEST_TABLE_LINE

CELLS = re.compile(r"\S+(?:\s\S+)*")  # words with single spaces between them
NUMBER = re.compile(r"[-+(]?[$€£¥￥]?\s?\d[\d\s,.]*[%)]?")
_FEWEST_LINES = 3
_RUN_ON = 0.5  # of the lines of running text are continued in the next one; in a table hardly any
_IN_EACH = 0.3  # likewise of each column's
_WORDS = 2  # in a line on average; CJK has none and counts its width
_FULL = 0.75  # of its widest line: as wide are a CJK column's lines within a paragraph
_SENTENCE = re.compile(r"[.!?](?:\s|\Z)|[，。！？；]")
_ENDS = re.compile(r"[.!?:。！？：；]\Z")

_CODE = 0.6  # of the lines look like code
_CODE_END = re.compile(r"[;{},]\Z")
_CODE_SIGN = re.compile(r"(?:[-+*/|&:?]?=[^=]|[-=]>|<-|//|/\*|;)")  # at the beginning of a cell
_COMMENT = re.compile(r"#\s")


@dataclass(frozen=True, slots=True)
class TextColumns:
    """Lines [first, end), 0-based; the text of each column."""

    first: int
    end: int
    texts: tuple[str, ...]


def running_text(lines: Sequence[str], first: int) -> tuple[TextColumns | None, int]:
    """Columns of running text that begin in line `first`; and where what begins there ends, whatever it is."""
    begins: list[int] = []
    found: list[list[str]] = []
    end = first
    while end < len(lines) and (cells := _placed(lines[end])):
        begins = begins or [begin for begin, _ in cells]
        if len(begins) < 2 or not all(_fits(begin, cell, begins) for begin, cell in cells):
            break
        found = found or [[] for _ in begins]
        for begin, cell in cells:
            found[begins.index(begin)].append(cell)
        end += 1
    if end - first < _FEWEST_LINES or not _is_running(found):
        return None, max(end, first + 1)
    return TextColumns(first, end, tuple(map(join_lines, found))), end


def is_code(rows: Sequence[Sequence[str]]) -> bool:
    """Whether lines of cells are statements rather than records."""
    return sum(map(_is_statement, rows)) >= _CODE * len(rows)


def columns(text: str) -> int:
    """How wide a text is on a screen: two for a character of East Asian width."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _placed(line: str) -> list[tuple[int, str]]:
    if len(line) > LONGEST_TABLE_LINE:
        return []
    found = [(columns(line[: match.start()]), one_line(match[0])) for match in CELLS.finditer(line)]
    return [(begin, cell) for begin, cell in found if cell]


def _fits(begin: int, cell: str, begins: Sequence[int]) -> bool:
    if begin not in begins:
        return False
    after = begins.index(begin) + 1
    return after == len(begins) or begin + columns(cell) < begins[after]


def _is_running(found: Sequence[Sequence[str]]) -> bool:
    shares = [_run_on(cells) for cells in found]
    if min(shares) < _IN_EACH or sum(shares) < _RUN_ON * len(shares):
        return False
    sentences = sum(any(map(_SENTENCE.search, cells)) for cells in found)
    return sentences * 2 >= len(found) and all(map(_is_wordy, found))


def _run_on(cells: Sequence[str]) -> float:
    """The share of lines that go on in the next one."""
    widest = max(map(columns, cells))
    going_on = sum(
        not _ENDS.search(upper)
        and (lower[0].islower() or (is_cjk(upper[-1]) and is_cjk(lower[0]) and columns(upper) >= _FULL * widest))
        for upper, lower in pairwise(cells)
    )
    return going_on / max(len(cells) - 1, 1)


def _is_wordy(cells: Sequence[str]) -> bool:
    if sum(NUMBER.fullmatch(cell) is not None for cell in cells) * 3 >= len(cells):
        return False
    words = sum(len(cell.split()) + sum(map(is_cjk, cell)) / 2 for cell in cells)  # two of CJK make a word
    return words >= _WORDS * len(cells)


def _is_statement(row: Sequence[str]) -> bool:
    if _CODE_END.search(row[-1]) or any(map(_CODE_SIGN.match, row[1:])):
        return True
    return any(map(_COMMENT.match, row[1:])) and any("=" in cell or "(" in cell for cell in row)
