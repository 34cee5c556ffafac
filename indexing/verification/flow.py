"""Formats without places of their own: the words stand in the file's text, in their order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from indexing.parsers.encoded import without_encoded
from indexing.verification.claims import Claim, Outcome
from indexing.verification.measure import ENOUGH, letters, units, without_label

_TRIES = 20  # places where a text may begin
_LOOKED_FOR = 8  # words at the beginning of a text, one of which is looked for: the first itself may be a label
_ROOM = 60  # words that may stand between those of one text, beyond its own number: notes, fields, alternative texts
_COMMAND = re.compile(r"\\[a-zA-Z]+")  # of TeX
_FORMULA = re.compile(r"\\[a-zA-Z]+|[_^]\{")


def outcomes(text: str, claims: Sequence[Claim]) -> Iterator[Outcome]:
    original = _Original(without_encoded(text, []))  # thousands of words that stand in no chunk
    for claim in claims:
        found = wanted = 0
        for part in claim.texts:
            parts = units(part)
            found, wanted = found + original.count(part, parts), wanted + len(parts)
        if claim.texts:
            yield Outcome.FOUND if found >= ENOUGH * wanted else Outcome.ELSEWHERE
        else:  # recognised in a picture
            yield Outcome.NOT_CHECKABLE


class _Original:
    def __init__(self, text: str) -> None:
        self._letters = letters(text)
        self._units = units(text)
        self._positions: dict[str, list[int]] = {}
        for position, unit in enumerate(self._units):
            self._positions.setdefault(unit, []).append(position)
        self._at = 0  # where the text before was found; the next one is likely to follow it

    def count(self, text: str, parts: Sequence[str]) -> int:
        """How many of a text's `parts` stand here in their order and near each other."""
        for wanted in (letters(text), letters(without_label(text))):
            begin = self._letters.find(wanted, self._at)
            if (begin := begin if begin >= 0 else self._letters.find(wanted)) >= 0:
                self._at = begin
                return len(parts)
        if _FORMULA.search(
            text
        ):  # written out in TeX: its letters are the file's, its commands and their order are not
            return len(parts) if all(part in self._letters for part in units(_COMMAND.sub(" ", text))) else 0
        return max((self._matched(parts, begin) for begin in self._begins(parts)), default=0)

    def _begins(self, parts: Sequence[str]) -> list[int]:
        """Where the rarest of the first few parts stands."""
        known = [(len(self._positions[part]), part) for part in parts[:_LOOKED_FOR] if part in self._positions]
        return self._positions[min(known)[1]][:_TRIES] if known else []

    def _matched(self, parts: Sequence[str], position: int) -> int:
        near = self._units[max(0, position - _LOOKED_FOR - _ROOM // 2) : position + 2 * len(parts) + _ROOM]
        return sum(block.size for block in SequenceMatcher(None, parts, near, autojunk=False).get_matching_blocks())
