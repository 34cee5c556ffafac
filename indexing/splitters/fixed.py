"""Split every so many characters, whatever stands there: for comparison, and for text without any structure.

Windows overlap. One that has too many tokens is made shorter. Headings are text like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from indexing.blocks import Chunk, ParsedDocument
from indexing.splitters.cuts import trimmed
from indexing.splitters.measure import Meter
from indexing.splitters.options import Options
from indexing.splitters.packing import check_budget, check_number
from indexing.splitters.places import Places
from indexing.splitters.sections import Section, place_of


def split(document: ParsedDocument, *, title: str, meter: Meter, budget: int, options: Options) -> Iterator[Chunk]:
    check_budget(budget)
    context = title if title and meter.count(title) <= budget // 4 else ""
    head = f"{context}\n" if context else ""
    places = Places(document.text)
    for ordinal, (start, end, section) in enumerate(_windows(document, head, meter, budget, options)):
        check_number(ordinal)
        touched = section.touched(start, end)
        locator = places.locate(touched, start, end)
        shown = document.text[start:end]
        yield Chunk(ordinal, shown, touched[0].heading_path, locator, meter.count(head + shown), context)


def _windows(
    document: ParsedDocument, head: str, meter: Meter, budget: int, options: Options
) -> Iterator[tuple[int, int, Section]]:
    """(start, end, the blocks of its sheet or slide), without blank ends."""
    for _, blocks in groupby(document.blocks, key=place_of):
        section = Section((), "", list(blocks))
        start, stop = section.blocks[0].locator.span[0], section.blocks[-1].locator.span[1]
        while start < stop:
            start, end = _fitting(document.text, start, min(start + options.characters, stop), head, meter, budget)
            yield start, end, section
            if not document.text[end:stop].strip():
                break
            # At least half of each window is new, however short it had to be.
            start, _ = trimmed(document.text, max(end - options.overlap, (start + end + 1) // 2), stop)


def _fitting(text: str, start: int, end: int, head: str, meter: Meter, budget: int) -> tuple[int, int]:
    """The window, shortened until it is within the budget. Raises `ValueError` for a single character."""
    start, end = trimmed(text, start, end)
    while meter.count(head + text[start:end]) > budget:
        if end - start == 1:
            raise ValueError("The budget is too small for a single character.")
        start, end = trimmed(text, start, start + max((end - start) * 3 // 4, 1))
    return start, end
