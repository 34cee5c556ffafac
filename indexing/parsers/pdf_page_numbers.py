"""Which numbers of a PDF's line may be the page's: named as one, or set apart from the line's other words.

“Patient 3” and “Step 1 of 6” are what a page says, also where the numbers happen to count the pages.
"""

from __future__ import annotations

import re

from indexing.parsers.pdf_types import Line, Page

Span = tuple[int, int]  # in the line's text

_NAMED = re.compile(
    r"\b(?:pages?|pg|p|seite|página|pagina|стр|страница)\b\.?\s?(\d{1,4})(?!\w)|第\s?(\d{1,4})\s?[页頁]|(?<![\d.])(\d{1,4})\s?ページ",
    re.IGNORECASE,
)
_ALONE = re.compile(  # also “- 3 -”, “3 of 12”, and with the number of the chapter, “A-3”
    r"(?<!\S)[-–—~(\[<]?(?:(?:[A-Z]{1,2}|[1-9]\d?)[-–](?!0))?(\d{1,4})(?:\s?(?:of|von|de|sur|/)\s?\d{1,4})?[-–—~)\]>]?(?!\S)"
)
_PARTING = frozenset("|/·•—–-~│｜")
_ROMAN = re.compile(r"[ivxl]{1,8}", re.IGNORECASE)
_SURE = (  # in one language
    r"(?:[-–—]\s?\d{1,4}\s?[-–—]|Page\s\d{1,4}(?:\s?(?:of|/)\s?\d{1,4})?"
    r"|第\s?\d{1,4}\s?[页頁](?:\s?[,，/／]?\s?[共总總]\s?\d{1,4}\s?[页頁])?)"
)
_SURE_FORM = re.compile(rf"{_SURE}(?:\s?[/／|·]?\s?{_SURE})?", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,4}")


def page_numbers(line: Line) -> list[Span]:
    """Where the line has numbers that may count the pages."""
    named = [match.span(group) for match in _NAMED.finditer(line.text) if (group := match.lastindex)]
    alone = [match.span(1) for match in _ALONE.finditer(line.text) if _is_apart(line, *match.span())]
    return sorted({*named, *alone})


def without_named(text: str) -> str:
    """Equal for lines that differ in the named number of a page."""
    return _NAMED.sub("", text)


def without_numbers(line: Line) -> str:
    """What the line says beside numbers that may count the pages."""
    text = line.text
    for start, end in reversed(page_numbers(line)):
        text = text[:start] + text[end:]
    return text


def is_roman(text: str) -> bool:
    return _ROMAN.fullmatch(text) is not None


def is_page_number(text: str) -> bool:
    """Whether nothing else is said."""
    return any(form.fullmatch(text) for form in (_SURE_FORM, _NUMBER, _ALONE, _ROMAN))


def is_sure(line: Line, page: Page) -> bool:
    """Whether one page is enough to know it: it names a page, and of how many, or stands alone at the end of the page."""
    if not _SURE_FORM.fullmatch(line.text):
        return False
    height = line.bottom - line.top
    others = [other for other in page.lines if other.index != line.index]
    above = [other for other in others if other.bottom + height < line.top]
    below = [other for other in others if other.top - height > line.bottom]
    return len(_NUMBER.findall(line.text)) > 1 or others in (above, below)


def _is_apart(line: Line, start: int, end: int) -> bool:
    """Whether wide white or a mark parts a piece of the text from what stands before and behind it."""
    before, behind = line.text[:start].split(), line.text[end:].split()
    first = len(before)
    last = len(line.text.split()) - len(behind)
    from_before = not before or before[-1] in _PARTING or first in line.parted
    return from_before and (not behind or behind[0] in _PARTING or last in line.parted)
