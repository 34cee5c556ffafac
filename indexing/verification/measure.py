"""How much of a text stands in another one: the share of its words, and of its pairs of CJK characters.

Two readings of one place differ in white space, hyphens at line ends, ligatures, markup and the order of columns and cells. So
texts are compared as letters and digits after NFKC, case kept; a line or cell that is found as a whole counts in full, else
word by word, in any order. A page number, a label of a list or a mark that one reading has and the other has not costs a word:
hence `ENOUGH` and not all. A chunk moved to its neighbour's place reaches far less (docs/places.md has the figures).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cached_property

from indexing.parsers.clean import CJK

ENOUGH = 0.95
_NEAR = 5_000  # letters: more than a chunk has
_SHORT = 4  # letters: found inside of longer words by chance

_LETTER = re.compile(r"[^\W_]")
_NO_LETTERS = re.compile(r"[\W_]+")
_SPACES_AND_CONTROLS = re.compile(r"[\s\x00-\x1f]+")
_INSIDE_WORDS = re.compile("[-\x02\xad\u200b-\u200d\u2010-\u2013\u2060\ufeff\ufffe]")
_COMMANDS = re.compile(r"\\[A-Za-z]+")  # of LaTeX: an office file has a formula's structure as XML
# One form stands for lam and alef, and readings take it apart in either order: the two are compared without it.
_LAM_AND_ALEF = re.compile("[\u0622\u0623\u0625\u0627\u0644]{2,}")
_UNITS = re.compile(f"[{CJK}]+|[^\\W_{CJK}]+")
_IS_CJK = re.compile(f"[{CJK}]")
# In front of an item of a list or a section; office files and web pages keep the rule for it, not its characters.
_LABEL = re.compile(r"\s*(?:[（(]?\w{1,5}(?:\.\w{1,5}){0,6}[.)）、:：]?(?=[\s\W])|第\w{1,5}[章节条款])\s*")


def letters(text: str) -> str:
    """Letters and digits alone; all visible characters of a text that has none."""
    normal = _COMMANDS.sub("", _normal(text))
    return _NO_LETTERS.sub("", normal) or _SPACES_AND_CONTROLS.sub("", normal)


def units(text: str) -> list[str]:
    """Words, and pairs of neighbouring CJK characters."""
    normal = _INSIDE_WORDS.sub("", _COMMANDS.sub(" ", _normal(text)))
    found: list[str] = []
    for run in _UNITS.findall(normal):
        if _IS_CJK.match(run) and len(run) > 1:
            found += [run[index : index + 2] for index in range(len(run) - 1)]
        else:
            found.append(run)
    return found or [sign for sign in normal if not sign.isspace()]


def _normal(text: str) -> str:
    return _LAM_AND_ALEF.sub(lambda run: "".join(sorted(run[0])), unicodedata.normalize("NFKC", text))


def without_label(text: str) -> str:
    return _LABEL.sub("", text, count=1) or text


class Place:
    """The text of one place, asked for many others."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0  # in its letters, where the text before was found; the next one is likely to be near

    @cached_property
    def letters(self) -> str:
        return letters(self._text) + _SPACES_AND_CONTROLS.sub("", _signs(self._text))

    @cached_property
    def _units(self) -> frozenset[str]:
        return frozenset(units(self._text))

    def holds(self, texts: Iterable[str]) -> bool:
        """Whether enough of `texts`, taken together, stands here."""
        found = whole = 0
        for text in texts:
            if not _LETTER.search(text):
                continue  # lines and arrows: two readings write them in two ways, and they stand everywhere
            wanted = units(text)
            whole += len(wanted)
            if self._has(letters(text)) or self._has(letters(without_label(text))):
                found += len(wanted)
            else:
                found += sum(map(self._has, wanted))
        return found >= ENOUGH * whole

    def _has(self, text: str) -> bool:
        if len(text) < _SHORT and not _IS_CJK.match(text) and text.isalnum():
            return text in self._units
        # One line may be a whole file of megabytes, which would be looked through for each of its words.
        for begin, end in ((self._at, self._at + _NEAR), (max(self._at - _NEAR, 0), self._at), (0, len(self.letters))):
            at = self.letters.find(text, begin, end + len(text))
            if at >= 0:
                self._at = at
                return True
        return False


def _signs(text: str) -> str:
    """What is neither letter nor digit: for texts that have nothing else."""
    return "".join(re.findall(r"[\W_]+", text))
