"""A document and its chunks beside each other: which part of a text or row of a table is of which chunks, and where they are
on a page. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from indexing.blocks import Block, BlockKind, ParsedDocument
from indexing.locators import Locator, Region, column_name
from indexing.parsers.assemble import BETWEEN_CELLS

MOST_ROWS, MOST_COLUMNS = 200, 30  # of one table: a person looks at them
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


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table and the chunks that it is in. `number`: in its sheet; None where it has none."""

    cells: tuple[str, ...]
    chunks: tuple[int, ...]
    is_header: bool = False
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """A table, or what of it can be looked at. `columns` are the letters of a sheet's."""

    rows: tuple[Row, ...]
    columns: tuple[str, ...] = ()
    rows_left: int = 0
    columns_left: int = 0


def parts(
    document: ParsedDocument, placed: Sequence[Placed], *, start: int = 0, end: int | None = None
) -> list[Segment | Grid]:
    """The text from `start` to `end` as segments, tables as grids: their headers and the rows that have some of that text."""
    end = len(document.text) if end is None else min(end, len(document.text))
    found: list[Segment | Grid] = []
    at = start
    for block in document.blocks:
        first, last = block.locator.span
        if block.kind is BlockKind.TABLE and first < end and last > start:
            if at < first:
                found += segments(document.text, placed, start=at, end=first)
            found.append(_grid(block, placed, start, end))
            at = min(last, end)
    return [*found, *segments(document.text, placed, start=at, end=end)] if at < end else found


def _grid(block: Block, placed: Sequence[Placed], start: int, end: int) -> Grid:
    near = [(number, place.span) for number, place in placed if place.span[0] < block.locator.span[1]]
    numbers = {part.span[0]: part.cells[1] for part in block.parts if part.cells}
    rows, shown, at = list[Row](), 0, block.locator.span[0]
    for position, cells in enumerate(block.rows):
        last = at + len(BETWEEN_CELLS.join(cells))
        if position < block.header_rows or (at < end and last > start):
            shown += 1
            if shown <= MOST_ROWS:
                chunks = tuple(number for number, span in near if span[0] < last and span[1] > at)
                rows.append(Row(cells[:MOST_COLUMNS], chunks, position < block.header_rows, numbers.get(at)))
        at = last + 1
    width = len(block.rows[0]) if block.rows else 0
    return Grid(
        tuple(rows),
        _columns(block, width) if any(row.number for row in rows) else (),
        rows_left=shown - len(rows),
        columns_left=max(width - MOST_COLUMNS, 0),
    )


def _columns(block: Block, width: int) -> tuple[str, ...]:
    """None where some of the sheet's are hidden."""
    left, _, right, _ = block.locator.cells or (1, 0, 0, 0)
    if right - left + 1 != width:
        return ()
    return tuple(column_name(left + offset) for offset in range(min(width, MOST_COLUMNS)))


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
