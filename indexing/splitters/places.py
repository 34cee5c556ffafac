"""Where a chunk is in the original: the places of exactly the blocks, and parts of blocks, that it is made of."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from indexing.blocks import Block, Locator


class Places:
    """Finds places in one document's text, each in a time that does not depend on the text's length."""

    def __init__(self, text: str) -> None:
        self._line_feeds = [position for position, character in enumerate(text) if character == "\n"]

    def locate(self, blocks: Sequence[Block], start: int, end: int) -> Locator:
        """The locator of text[start:end], which touches all of `blocks` (in order, at least one)."""
        pages = [page for block in blocks for page in (block.locator.page, block.locator.page_end) if page is not None]
        page, page_end = (min(pages), max(pages)) if pages else (None, None)
        lines = [line for block in blocks if (line := self._lines(block, start, end)) is not None]
        return Locator(
            span=(start, end),
            page=page,
            page_end=page_end if page_end != page else None,
            region=_region(blocks) if page == page_end else None,
            lines=(lines[0][0], lines[-1][1]) if lines else None,
        )

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


def _region(blocks: Sequence[Block]) -> tuple[float, float, float, float] | None:
    regions = [block.locator.region for block in blocks if block.locator.region is not None]
    if not regions or len(regions) < len(blocks):
        return None
    lefts, tops, rights, bottoms = zip(*regions, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)
