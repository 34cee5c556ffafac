"""What a hit shows of its source: a snippet with marks, and an address that outlives the chunk."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection

from indexing.lexical import token_spans

SNIPPET = 240  # code points
LEAD = 40  # code points shown before the first word that was found
LONGEST_STEP = 16  # code points that a snippet gives up to begin or end between words

_BEGIN = re.compile(r"\n\s*|(?<=[.!?;])\s+|(?<=[。！？；])\s*")  # ends where a sentence or a row begins


def snippet(text: str, *, tokens: Collection[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The part of `text` where most different `tokens` stand, from the beginning of a sentence or row where one is near,
    and where the tokens stand in it ([start, end), code points)."""
    found = [(start, end, token) for token, start, end in token_spans(text) if token in tokens]
    start = _begin(text, *_best_window(found))
    end = _word_end(text, min(len(text), start + SNIPPET))
    marks = _merged([(a - start, b - start) for a, b, _ in found if a >= start and b <= end])
    return text[start:end], marks


def permalink(
    *, document_id: uuid.UUID, version_number: int, span: tuple[int, int], parent: tuple[int, int] | None = None
) -> str:
    """Version and span in its extracted text: both stay when chunks are made anew. `parent` is the passage shown around it."""
    address = f"/documents/{document_id}/versions/{version_number}/?span={span[0]}-{span[1]}"
    return f"{address}&within={parent[0]}-{parent[1]}" if parent else address


def _begin(text: str, first: int, last: int) -> int:
    """A little before `first`: where a sentence or row begins, if what ends at `last` is still shown then; else between
    words."""
    full = len(text) - SNIPPET  # from later on the snippet would not be filled
    usual = min(first - LEAD, full)
    if usual <= 0:
        return 0
    earliest, latest = max(usual - LEAD, last + LONGEST_STEP - SNIPPET), min(first, full)
    begins = [match.end() for match in _BEGIN.finditer(text) if earliest <= match.end() <= latest]
    return begins[-1] if begins else _word_begin(text, usual)


def _word_begin(text: str, at: int) -> int:
    """The next place after white space, if `at` is inside a word of a script that has spaces."""
    if at == 0 or text[at - 1].isspace():
        return at
    return next((place + 1 for place in range(at, min(at + LONGEST_STEP, len(text))) if text[place].isspace()), at)


def _word_end(text: str, at: int) -> int:
    """The last place before white space, likewise."""
    if at == len(text) or text[at].isspace():
        return at
    return next((place for place in range(at - 1, max(0, at - LONGEST_STEP), -1) if text[place].isspace()), at)


def _best_window(found: list[tuple[int, int, str]]) -> tuple[int, int]:
    """Where the first and the last of the tokens begin and end, where most different ones stand together."""
    best, window = 0, (0, 0)
    for index, (begin, _, _) in enumerate(found):
        inside = [(end, token) for _, end, token in found[index:] if end <= begin + SNIPPET - LEAD]
        different = len({token for _, token in inside})
        if different > best:
            best, window = different, (begin, max(end for end, _ in inside))
    return window


def _merged(spans: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Overlapping and touching spans joined: pairs of characters overlap by nature."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)
