"""Where a text may be cut: lines, sentences (Chinese and Western), and as a last resort anywhere.

All functions return intervals [start, end) of code points that cover every visible character, in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from semantic_text_splitter import TextSplitter

from indexing.splitters.measure import WINDOW, Meter

Interval = tuple[int, int]

_ABBREVIATED = r"(?<!\b[A-Z])(?<!\b(?:Mr|Ms|Dr|St|vs|No|Nr))(?<!\b(?:Mrs|Inc|Ltd|etc|e\.g|i\.e|Fig))"
_CLOSING = r"[”’」』）】)\]\"']*"
_SENTENCE_END = re.compile(
    rf"(?:[。！？；…]+{_CLOSING}"  # ends a sentence wherever it stands
    rf"|(?<![!?])[!?]++{_CLOSING}(?=\s)"  # from the start of a row of marks only: rows may be long
    rf"|{_ABBREVIATED}\.{_CLOSING}(?=\s+[^\sa-z])"
    r"|\n)[^\S\n]*"
)
_BREAK = re.compile(r"[\s，、：；。！？…]")


def lines(text: str) -> list[Interval]:
    return _between(text, [match.end() for match in re.finditer("\n", text)])


def sentences(text: str) -> list[Interval]:
    return _between(text, [match.end() for match in _SENTENCE_END.finditer(text)])


def pieces(text: str, meter: Meter, room: int) -> Iterator[Interval]:
    """Intervals that each cost at most `room` tokens, or are one code point: the largest semantic units that fit."""
    for begin, end in windows(text):
        for s, e in _pieces(text[begin:end], meter, room):
            yield begin + s, begin + e


def windows(text: str) -> Iterator[Interval]:
    """A text in intervals of at most `WINDOW` characters, each ending at a break in its second half where there is one.

    What is done with a window takes time in proportion to the square of its length, so that a long text needs windows.
    """
    start = 0
    while len(text) - start > WINDOW:
        end = start + WINDOW
        end = max((match.end() for match in _BREAK.finditer(text, end - WINDOW // 2, end)), default=end)
        yield start, end
        start = end
    if start < len(text):
        yield start, len(text)


def trimmed(text: str, start: int, end: int) -> Interval:
    """The interval without white space at its ends."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _pieces(text: str, meter: Meter, room: int) -> list[Interval]:
    whole = trimmed(text, 0, len(text))
    cost = meter.cost(text[whole[0] : whole[1]])
    if cost <= room or whole[1] - whole[0] < 2:
        return [whole] if whole[0] < whole[1] else []
    # The package counts characters, which costs nothing; the tokens in them are estimated, then checked.
    capacity = max(min(len(text) * room * 9 // (cost * 10), len(text) - 1), 1)
    found: list[Interval] = []
    for offset, piece in TextSplitter(capacity, trim=False).chunk_indices(text):
        found.extend((offset + start, offset + end) for start, end in _checked(piece, meter, room))
    return found


def _checked(piece: str, meter: Meter, room: int) -> list[Interval]:
    """The piece, in halves as often as it takes."""
    start, end = trimmed(piece, 0, len(piece))
    if start == end:
        return []
    if end - start == 1 or meter.cost(piece[start:end]) <= room:
        return [(start, end)]
    middle = (start + end) // 2
    right = [(middle + s, middle + e) for s, e in _checked(piece[middle:end], meter, room)]
    return [(start + s, start + e) for s, e in _checked(piece[start:middle], meter, room)] + right


def _between(text: str, ends: list[int]) -> list[Interval]:
    """The intervals between cuts; a blank one belongs to the next."""
    intervals = []
    start = 0
    for end in [*ends, len(text)]:
        if text[start:end].strip():
            intervals.append((start, end))
            start = end
    return intervals
