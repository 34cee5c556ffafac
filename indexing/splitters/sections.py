"""Sections: neighbouring blocks that may share a chunk, since they stand under one heading and on one sheet or slide."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from indexing.blocks import Block, BlockKind
from indexing.splitters.measure import Meter

BETWEEN_HEADINGS = " › "


@dataclass(frozen=True, slots=True)
class Section:
    """`context` is the line that is embedded before its text: the title of the document and the headings above it."""

    path: tuple[str, ...]
    context: str
    blocks: list[Block] = field(default_factory=list)

    def touched(self, start: int, end: int) -> Sequence[Block]:
        """The blocks that have text between `start` and `end`."""
        first = bisect_right(self.blocks, start, key=lambda block: block.locator.span[1])
        last = bisect_left(self.blocks, end, key=lambda block: block.locator.span[0])
        return self.blocks[first:last]


def sections(blocks: Sequence[Block], *, title: str, meter: Meter, budget: int) -> Iterator[Section]:
    """The sections of a document, in order. Headings are in their paths. One with nothing under it, or one that the context
    has no room for, is text, so that nothing is lost."""
    section: Section | None = None
    above: list[Block] = []  # headings since the last text
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block.kind is BlockKind.HEADING and _is_above(block, following):
            above.append(block)
            continue
        if section is None or above or not _go_together(section.blocks[-1], block):
            if section is not None:
                yield section
            context, left_out = _context(title, block.heading_path, meter, budget)
            section = Section(block.heading_path, context)
            if above and len(above[0].heading_path) < left_out:
                *before, last = (list(headings) for _, headings in groupby(above, key=place_of))
                if place_of(last[0]) == place_of(block):
                    section.blocks.extend(last)
                else:
                    before.append(last)
                for headings in before:
                    path = headings[0].heading_path
                    yield Section(path, _context(title, path, meter, budget)[0], headings)
            above = []
        section.blocks.append(block)
    if section is not None:
        yield section


def place_of(block: Block) -> tuple[str | None, int | None]:
    """The sheet and the slide, which no chunk crosses."""
    return block.locator.sheet, block.locator.slide


def _go_together(one: Block, other: Block) -> bool:
    return one.heading_path == other.heading_path and place_of(one) == place_of(other)


def _is_above(heading: Block, following: Block | None) -> bool:
    own = (*heading.heading_path, heading.text)
    return following is not None and following.heading_path[: len(own)] == own


def _context(title: str, path: tuple[str, ...], meter: Meter, budget: int) -> tuple[str, int]:
    """Title and heading path in one line, and how many headings are not in it: outer ones give way where it would take over
    a quarter of the budget."""
    parts = [part for part in (title, *path) if part]
    if len(parts) > 1 and parts[0] == parts[1]:
        parts = parts[1:]
    while parts and meter.count(BETWEEN_HEADINGS.join(parts)) > budget // 4:
        parts = parts[1:]
    return BETWEEN_HEADINGS.join(parts), max(len(path) - len(parts), 0)
