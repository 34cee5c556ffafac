"""Tables of contents in a PDF: lines that end in the number of a page, behind dots or below the word “Contents”."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from indexing.blocks import LeftOut, LeftOutReason
from indexing.locators import Region, around
from indexing.parsers.left_out import leave_out
from indexing.parsers.pdf_types import Glyph
from indexing.parsers.pdf_words import rows_of, text_of

_LEAST_ENTRIES = 4
_MOST_BETWEEN = 2  # lines without a number between two entries: titles of two lines, parts of a book
_RISING = 0.8  # share of the numbers that are not smaller than the one before
_UNCOUNTED = 10  # pages of a cover and a preface that the file may lack
_TITLE = re.compile(
    r"(?:Table of )?Contents|(?:List|Table) of (?:Tables|Figures)|目\s?[录錄次]|(?:图|表|插图|表格)目[录錄]",
    re.IGNORECASE,
)
_LEADERS = re.compile(r"(?:\.\s?){4,}|…{2,}|·{4,}|(?:\. ){3,}")
_ENTRY = re.compile(
    r"(?P<title>.*?[^\W\d].*?)(?:(?:[.·]\s?){4,}|…{2,}|\s)\s*[(（]?(?P<page>\d{1,4}|[ivxlc]{1,7})[)）]?"
)


def without_contents(
    glyphs: list[Glyph], page: int, goes_on: bool, *, pages: int
) -> tuple[list[Glyph], LeftOut | None]:
    """The page's glyphs without those of a table of contents, and what that says. `goes_on`: the page before ended in one;
    `pages`: how many the document has, of which the numbers must be: a price list has rising numbers behind dots, too."""
    plain = "".join(glyph.text for glyph in glyphs)
    if not goes_on and not _LEADERS.search(plain) and not _TITLE.search(plain):
        return glyphs, None
    rows = rows_of(glyphs)
    texts = [text_of(row.words) for row in rows]
    title = next((at for at, text in enumerate(texts) if _TITLE.fullmatch(text)), None)
    dotted = [_LEADERS.search(text) is not None for text in texts]
    if title is None and not goes_on and sum(dotted) < _LEAST_ENTRIES:
        return glyphs, None
    entries = [
        at
        for at, text in enumerate(texts)
        if _ENTRY.fullmatch(text) and (dotted[at] or goes_on or (title is not None and at > title))
    ]
    run = _longest_run(entries)
    if len(run) < _LEAST_ENTRIES or not _names_pages([texts[at] for at in run], pages):
        return glyphs, None
    first = title if title is not None and title < run[0] and run[0] - title <= _MOST_BETWEEN + 1 else run[0]
    region = around([row.region for row in rows[first : run[-1] + 1]])
    left_out = leave_out(LeftOutReason.CONTENTS, texts[first : run[-1] + 1], pages=(page,))
    return [glyph for glyph in glyphs if not _within(glyph, region)], left_out


def _longest_run(entries: Sequence[int]) -> list[int]:
    """Entries with few other lines between them."""
    runs: list[list[int]] = []
    for at in entries:
        if runs and at - runs[-1][-1] <= _MOST_BETWEEN + 1:
            runs[-1].append(at)
        else:
            runs.append([at])
    return max(runs, key=len, default=[])


def _names_pages(texts: Sequence[str], pages: int) -> bool:
    """Whether the numbers rise and are of pages that there are; printed ones may begin later than the file does."""
    numbers = [int(match["page"]) for text in texts if (match := _ENTRY.fullmatch(text)) and match["page"].isdigit()]
    rising = sum(one <= other for one, other in pairwise(numbers))
    there = sum(number <= pages + _UNCOUNTED for number in numbers)
    return rising >= _RISING * (len(numbers) - 1) and there >= _RISING * len(numbers)


def _within(glyph: Glyph, region: Region) -> bool:
    left, top, right, bottom = glyph.region
    return (
        bottom > top and region[0] <= (left + right) / 2 <= region[2] and region[1] <= (top + bottom) / 2 <= region[3]
    )
