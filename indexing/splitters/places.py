"""Where a chunk is in the original: the places of exactly the blocks, and parts of blocks, that it is made of."""

from __future__ import annotations

from collections.abc import Sequence

from indexing.blocks import Block, Locator


def locate(blocks: Sequence[Block], start: int, end: int) -> Locator:
    """The locator of document.text[start:end], which touches all of `blocks` (in order, at least one)."""
    pages = [page for block in blocks for page in (block.locator.page, block.locator.page_end) if page is not None]
    page, page_end = (min(pages), max(pages)) if pages else (None, None)
    lines = [line for block in blocks if (line := _lines(block, start, end)) is not None]
    return Locator(
        span=(start, end),
        page=page,
        page_end=page_end if page_end != page else None,
        region=_region(blocks) if page == page_end else None,
        lines=(lines[0][0], lines[-1][1]) if lines else None,
    )


def _region(blocks: Sequence[Block]) -> tuple[float, float, float, float] | None:
    regions = [block.locator.region for block in blocks if block.locator.region is not None]
    if not regions or len(regions) < len(blocks):
        return None
    lefts, tops, rights, bottoms = zip(*regions, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _lines(block: Block, start: int, end: int) -> tuple[int, int] | None:
    """The block's lines, only those used where each line of its text is one line of the original."""
    lines = block.locator.lines
    if lines is None or block.text.count("\n") != lines[1] - lines[0]:
        return lines
    begin = block.locator.span[0]
    first, last = max(start - begin, 0), min(end - begin, len(block.text))
    return lines[0] + block.text.count("\n", 0, first), lines[0] + block.text.count("\n", 0, last)
