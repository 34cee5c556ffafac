"""A document and its chunks beside each other: which part of a text is of which chunks, and where they are on a page. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from indexing.locators import Locator, Region

MARGIN = 0.004  # of a page's longer side, around what is marked: characters of CJK reach to the edge of their region

Placed = tuple[int, Locator]
"""A chunk's ordinal and its place."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of text that belongs to `chunks` (ordinals): to none, where it is a heading, say; to two, where they overlap."""

    text: str
    chunks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a chunk stands on a page; the whole page where that is not known more exactly."""

    chunk: int
    region: Region

    @property
    def width(self) -> float:
        return self.region[2] - self.region[0]

    @property
    def height(self) -> float:
        return self.region[3] - self.region[1]


def segments(text: str, placed: Sequence[Placed], *, start: int = 0, end: int | None = None) -> list[Segment]:
    """text[start:end], cut wherever a chunk begins or ends."""
    end = len(text) if end is None else min(end, len(text))
    changes: dict[int, list[int]] = {start: [], end: []}
    for ordinal, locator in placed:
        for edge in locator.span:
            if start <= edge <= end:
                changes.setdefault(edge, [])
        if locator.span[1] > start and locator.span[0] < end:
            changes[max(locator.span[0], start)].append(ordinal)
            changes[min(locator.span[1], end)].append(ordinal)
    open_chunks: set[int] = set()
    found = []
    edges = sorted(changes)
    for edge, following in pairwise(edges):
        open_chunks ^= set(changes[edge])
        found.append(Segment(text[edge:following], tuple(sorted(open_chunks))))
    return found


def marks(placed: Iterable[Placed], *, page: int, width: float, height: float) -> list[Mark]:
    """The chunks that stand on a page, with their regions there and a little around them, so that no mark's edge runs through
    characters; the largest first, so that none covers a smaller one."""
    whole = (0.0, 0.0, width, height)
    found = [
        Mark(ordinal, _with_margin(region, whole) if region else whole)
        for ordinal, locator in placed
        for number, region in locator.regions()
        if number == page
    ]
    return sorted(found, key=lambda mark: -mark.width * mark.height)


def _with_margin(region: Region, page: Region) -> Region:
    margin = MARGIN * max(page[2], page[3])
    return (
        max(region[0] - margin, page[0]),
        max(region[1] - margin, page[1]),
        min(region[2] + margin, page[2]),
        min(region[3] + margin, page[3]),
    )
