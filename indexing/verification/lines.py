"""Formats whose places are lines of the file: text, Markdown, CSV, JSON, code."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from indexing.parsers.encoding import decode
from indexing.verification.claims import Claim, Outcome
from indexing.verification.measure import Place

_ESCAPED = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_CODE_POINT = re.compile(r"\\u([0-9a-fA-F]{4})")


def outcomes(content: bytes, claims: Sequence[Claim]) -> Iterator[Outcome]:
    lines = _lines(content)
    known: tuple[tuple[int, int], Place] | None = None  # of a long line many chunks are made
    for claim in claims:
        if claim.locator.lines is None:
            yield Outcome.ELSEWHERE
            continue
        first, last = claim.locator.lines
        if not 1 <= first <= last <= len(lines):
            yield Outcome.ELSEWHERE
            continue
        if known is None or known[0] != (first, last):
            known = (first, last), Place(_with_escapes_read("\n".join(lines[first - 1 : last])))
        yield Outcome.FOUND if known[1].holds(claim.texts) else Outcome.ELSEWHERE


def _with_escapes_read(text: str) -> str:
    """With what “&amp;”, “\\*” and “\\u00e9” stand for in one format or another."""
    read = _CODE_POINT.sub(lambda match: chr(int(match[1], 16)), html.unescape(text))
    return "\n".join(dict.fromkeys((text, read, _ESCAPED.sub("", read))))


def _lines(content: bytes) -> list[str]:
    """As editors count them. (`str.splitlines` knows more line ends than they do.)"""
    return decode(content).replace("\r\n", "\n").replace("\r", "\n").split("\n")
