"""Where a chunk is in the original: the places of exactly the blocks, and parts of blocks, that it is made of."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from indexing.blocks import Block
from indexing.locators import Locator, covering


class Places:
    """Finds places in one document's text, each in a time that does not depend on the text's length."""

    def __init__(self, text: str) -> None:
        self._line_feeds = [position for position, character in enumerate(text) if character == "\n"]

    def locate(self, blocks: Sequence[Block], start: int, end: int) -> Locator:
        """The locator of text[start:end], which touches all of `blocks` (in order, at least one)."""
        return covering((start, end), [place for block in blocks for place in self._places(block, start, end)])

    def _places(self, block: Block, start: int, end: int) -> Iterator[Locator]:
        if parts := touched(block.parts, start, end):
            yield from parts
        else:
            yield replace(block.locator, lines=self._lines(block, start, end))

    def _lines(self, block: Block, start: int, end: int) -> tuple[int, int] | None:
        """The block's lines, only those used where each line of its text is one line of the original."""
        lines = block.locator.lines
        begin, stop = block.locator.span
        if lines is None or self._feeds(begin, stop) != lines[1] - lines[0]:
            return lines
        first, last = max(start, begin), min(end, stop)
        return lines[0] + self._feeds(begin, first), lines[0] + self._feeds(begin, last)

    def _feeds(self, start: int, end: int) -> int:
        """How many line feeds there are between two positions."""
        return bisect_left(self._line_feeds, end) - bisect_left(self._line_feeds, start)


def touched(places: Sequence[Locator], start: int, end: int) -> Sequence[Locator]:
    """Those of `places`, which are in order, that have text between `start` and `end`."""
    first = bisect_right(places, start, key=lambda place: place.span[1])
    last = bisect_left(places, end, key=lambda place: place.span[0])
    return places[first:last]
