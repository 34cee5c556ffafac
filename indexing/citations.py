"""What a hit shows of its source: a snippet with marks, and an address that outlives the chunk."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from indexing.lexical import token_spans

SNIPPET = 240  # code points
LONGEST_STEP = 16  # code points that a snippet gives up to begin or end between words


def snippet(text: str, *, tokens: Collection[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The part of `text` where most different `tokens` stand, between words where it can be, and where they stand in it
    ([start, end), code points)."""
    found = [(start, end, token) for token, start, end in token_spans(text) if token in tokens]
    start = _best_window(found, len(text))
    end = min(len(text), start + SNIPPET)
    start, end = _word_begin(text, start), _word_end(text, end)
    marks = _merged([(a - start, b - start) for a, b, _ in found if a >= start and b <= end])
    return text[start:end], marks


def permalink(*, document_id: uuid.UUID, version_number: int, span: tuple[int, int]) -> str:
    """Version and span in its extracted text: both stay when chunks are made anew."""
    return f"/documents/{document_id}/versions/{version_number}/?span={span[0]}-{span[1]}"


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


def _best_window(found: list[tuple[int, int, str]], length: int) -> int:
    """Start of the window that holds most different tokens; it begins a little before the first of them."""
    best, best_start = 0, 0
    for index, (begin, _, _) in enumerate(found):
        inside: set[str] = set()
        for _, end, token in found[index:]:
            if end > begin + SNIPPET - 40:
                break
            inside.add(token)
        if len(inside) > best:
            best, best_start = len(inside), begin
    return max(0, min(best_start - 40, length - SNIPPET))


def _merged(spans: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Overlapping and touching spans joined: pairs of characters overlap by nature."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)
