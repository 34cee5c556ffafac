"""Headings and list items known by their form alone: numbers, marks and capitals, in Chinese and English.

Conservative on purpose: a heading not seen costs a little context, a sentence taken for one spoils every path below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBER = r"[一二三四五六七八九十百零〇两\d]{1,6}"
_MOST_CHARACTERS = {"cjk": 40, "latin": 80}

# From the outermost to the innermost form; the position is the rank.
_FORMS = (
    re.compile(rf"第\s?{_NUMBER}\s?[编編篇卷部](?:分)?(?:[\s:：].*)?"),
    re.compile(rf"第\s?{_NUMBER}\s?章.*|(?:Chapter|CHAPTER|Part|PART|Appendix|APPENDIX)\s(?:\d+|[IVXLC]+|[A-Z])\b.*"),
    re.compile(rf"第\s?{_NUMBER}\s?[节節].*"),
    re.compile(rf"第\s?{_NUMBER}\s?[条條](?:[\s:：].*)?|(?:Article|ARTICLE|Section|SECTION|Clause)\s\d+(?:\.\d+)*\b.*"),
    re.compile(r"[一二三四五六七八九十]{1,3}、.*"),
    re.compile(r"[（(][一二三四五六七八九十]{1,3}[）)].*"),
)
_DECIMAL = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,2}){1,4})\.?\s(?P<title>[A-Z\u3400-\u9fff].*)")
_CAPITALS_RANK = -1
_DECIMAL_RANK = 10

_ENDS_LIKE_TEXT = re.compile(r"[。．；;，,、：:！!？?.…]\Z|\.{4,}|…{2}|·{4,}")  # also the dots of a table of contents
_SENTENCE_INSIDE = re.compile(r"[。；！？]|[,;!?]\s|\.\s[A-Z][a-z]+\s[a-z]")

# Word's bullets come from symbol fonts, whose characters PDF and text show in the private area U+F000.
_LIST_ITEM = re.compile(
    r"[-*+•◦▪●■–·\uf000-\uf0ff]\s+\S"
    r"|\d{1,3}[.)）]\s*(?![\d\s])\S"
    r"|\d{1,3}、\S"
    r"|[（(](?:\d{1,3}|[a-zA-Z]|[ivx]{2,4}|[一二三四五六七八九十]{1,3})[）)]\s*\S"
    r"|[a-zA-Z]\)\s+\S"
    r"|[一二三四五六七八九十]{1,3}、\S"
    r"|[①-⑳]\s*\S"
)


def heading_form(text: str) -> int | None:
    """The form of a line that reads as a heading: a number, smaller for outer headings; None for ordinary text."""
    limit = _MOST_CHARACTERS["cjk" if re.search(r"[\u3400-\u9fff]", text) else "latin"]
    if len(text) > limit or _ENDS_LIKE_TEXT.search(text) or _SENTENCE_INSIDE.search(text):
        return None
    for rank, form in enumerate(_FORMS):
        if form.fullmatch(text):
            return rank
    if decimal := _DECIMAL.fullmatch(text):
        return _DECIMAL_RANK + decimal["number"].count(".")
    return _CAPITALS_RANK if _in_capitals(text) else None


def levels(forms: Iterable[int]) -> dict[int, int]:
    """The heading level, 1–6, of each form that a document uses: only their order counts."""
    return {form: min(position, 6) for position, form in enumerate(sorted(set(forms)), start=1)}


def is_list_item(text: str) -> bool:
    """Whether a paragraph starts with a bullet or an item's number."""
    return _LIST_ITEM.match(text) is not None


def _in_capitals(text: str) -> bool:
    """A short line of Latin capitals: a word of six letters, or several words."""
    if len(text) > 60 or not text.isupper() or not re.fullmatch(r"[A-Z][A-Z0-9 &/’'()\-–—]*", text):
        return False
    letters = sum(character.isalpha() for character in text)
    return letters >= 6 and letters * 3 >= len(text) * 2
