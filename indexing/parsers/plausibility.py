"""Which of several readings of the same bytes is a text: by how frequent its letters are in the languages it would be in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from indexing.parsers import letters

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_WORDS = re.compile(r"[^\W\d_]+")
_INSIDE_WORD = re.compile(r"(?<=[^\W\d_])[“”„‚«»‹›…•€£¿¡°§±½©](?=[^\W\d_])")
_QUOTES = "“”‘’„‚«»‹›–—…•·°§€£©®™¡¿×±½\u00a0"
_ALONE = "àéèêóôáíúâãüöåÀÉÈÊÓÁÍÚÂÖÅ"  # words of one letter, and first ones of a cut word
_CJK_MARKS = "、。，！？：；「」『』【】（）《》〈〉—…“”‘’·～　￥％〇々ー"
_WRONG = -1.0  # of a character that no text of the language holds
_UNUSUAL = -0.3


@dataclass(frozen=True, slots=True)
class Reading:
    """An encoding with how it weighs a text: −1 … 1, the mean over all its characters that are not ASCII. `expected` is how
    usual it is, in characters of evidence: it decides where there are few."""

    encoding: str
    weigh: Callable[[str], float]
    expected: float = 0.0


def score(text: str, reading: Reading) -> float:
    """How well `text`, read in this encoding, is explained; more is better."""
    found = len(_NOT_ASCII.findall(text))
    return reading.weigh(text) + reading.expected / found if found else 0.0


def _mean(counts: Iterable[tuple[str, int]], weight_of: Callable[[str], float]) -> float:
    total = weight = 0.0
    for character, count in counts:
        total += count
        weight += count * weight_of(character)
    return weight / total if total else 0.0


def _east_asian(script: str) -> Callable[[str], float]:
    @cache
    def weight_of(character: str) -> float:
        if character in _CJK_MARKS or "\uff10" <= character <= "\uff5a":
            return 0.4
        if "\u4e00" <= character <= "\u9fff":
            place = letters.HAN.find(character)
            if script == "hangul":
                return _UNUSUAL
            return 1.0 if 0 <= place < 400 else 0.6 if place >= 0 else 0.0 if _is_taught(character) else _UNUSUAL
        if "\u3041" <= character <= "\u30fe":
            return 1.0 if script == "kana" else _UNUSUAL
        if "\uac00" <= character <= "\ud7a3" and script == "hangul":
            return 1.0 if character in letters.HANGUL else 0.0
        return _WRONG

    return lambda text: _mean(Counter(_NOT_ASCII.findall(text)).items(), weight_of)


def _is_taught(character: str) -> bool:
    """Whether it is among the ordinary characters of the national standards, those of their first levels."""
    for encoding, first, last in (("gb2312", 0xB0, 0xD7), ("big5", 0xA4, 0xC6), ("shift_jis", 0x88, 0x98)):
        encoded = character.encode(encoding, "ignore")
        if len(encoded) == 2 and first <= encoded[0] <= last:
            return True
    return False


def _alphabet(order: str) -> Callable[[str], float]:
    """A script of its own: words are wholly in it, and no capital stands behind a small letter."""
    weights = {letter: 1.0 - place / len(order) for place, letter in enumerate(order)}
    weights |= {letter.upper(): 0.5 * weight for letter, weight in weights.items() if letter.upper() != letter}

    def weigh(text: str) -> float:
        weight, total = 0.0, 0
        for word, count in Counter(_words(text)).items():
            own = sum(weights.get(character, _WRONG) for character in word if not character.isascii())
            foreign = sum(map(str.isascii, word))
            if _has_inner_capital(word):
                own -= len(word)
            weight += count * (own - foreign)
            total += count * len(word)
        marks, marks_total = _marks(text)
        return (2 * weight + marks) / (total + marks_total) if total + marks_total else 0.0

    return weigh


def _latin(languages: tuple[str, ...]) -> Callable[[str], float]:
    """Letters with marks among ordinary ones, all of one language."""

    def weigh(text: str) -> float:
        counted: Counter[str] = Counter()
        alone = 0
        for word in _words(text):
            own = [character for character in word if not character.isascii()]
            if len(own) * 2 > len(word) + (word in _ALONE) or _has_inner_capital(word):
                alone += len(own)
            else:
                counted.update(map(str.lower, own))
        marks, marks_total = _marks(text)
        total = counted.total() + alone + marks_total
        best = max(sum(n if letter in own else -n for letter, n in counted.items()) for own in languages)
        return (best - alone + marks) / total if total else 0.0

    return weigh


def _has_inner_capital(word: str) -> bool:
    return any(one.islower() and other.isupper() for one, other in pairwise(word))


def _words(text: str) -> list[str]:
    return [word for word in _WORDS.findall(text) if not word.isascii()]


def _marks(text: str) -> tuple[float, int]:
    """The weight and the number of what is neither ASCII nor a letter."""
    found = [character for character in _NOT_ASCII.findall(text) if not character.isalpha()]
    inside = len(_INSIDE_WORD.findall(text))
    return sum(0.5 if character in _QUOTES else _WRONG for character in found) - 1.5 * inside, len(found)


_CHINESE, _JAPANESE, _KOREAN = _east_asian("han"), _east_asian("kana"), _east_asian("hangul")
_WESTERN, _CENTRAL, _CYRILLIC = _latin(letters.WESTERN), _latin(letters.CENTRAL), _alphabet(letters.CYRILLIC)

READINGS = (
    *(Reading("gb18030", _CHINESE, 1.0), Reading("big5hkscs", _CHINESE, 0.5), Reading("cp932", _JAPANESE, 0.5)),
    *(Reading("euc_jp", _JAPANESE), Reading("cp949", _KOREAN, 0.5)),
    *(Reading("cp1252", _WESTERN, 1.5), Reading("cp1250", _CENTRAL, 1.0), Reading("cp1251", _CYRILLIC, 1.0)),
    *(Reading("koi8_u", _CYRILLIC), Reading("cp866", _CYRILLIC), Reading("iso8859_5", _CYRILLIC)),
    *(Reading("cp1254", _latin(letters.TURKISH), 0.5), Reading("cp1257", _latin(letters.BALTIC), 0.5)),
    *(Reading("iso8859_2", _CENTRAL), Reading("cp850", _WESTERN), Reading("mac_roman", _WESTERN, -0.5)),
    *(Reading("cp1253", _alphabet(letters.GREEK)), Reading("cp1255", _alphabet(letters.HEBREW))),
    *(Reading("cp1256", _alphabet(letters.ARABIC)), Reading("cp874", _alphabet(letters.THAI))),
)
"""What files are written in that are not Unicode; of equal ones the first."""
