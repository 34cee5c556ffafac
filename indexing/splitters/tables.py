"""Tables come apart into rows, which stay with the header; a row into its cells, which stay with the row's label."""

from __future__ import annotations

from collections.abc import Iterator

from indexing.blocks import Block
from indexing.splitters import cuts
from indexing.splitters.prose import prose
from indexing.splitters.units import Unit

BETWEEN_CELLS = " | "
LONGEST_LABEL = 80  # characters of a first cell that names its row


def table(block: Block, text: str, begin: int) -> Unit:
    """A table with what stands above it from `begin` on, its caption or unit: that is repeated with the header."""
    start, end = block.locator.span
    rows = [(start + s, start + e) for s, e in cuts.lines(block.text)]
    header_rows = block.header_rows if block.header_rows < len(rows) else 0
    head = rows[header_rows - 1][1] if header_rows else start

    def parts() -> Iterator[Unit]:
        return (_row(text, *row) for row in rows[header_rows:])

    return Unit(begin, end, (begin, head) if begin < head else None, parts)


def _row(text: str, start: int, end: int) -> Unit:
    cells = text[start:end].split(BETWEEN_CELLS)
    if len(cells) < 2:
        return prose(text, start, end)
    label = start + len(cells[0])
    named = bool(cells[0].strip()) and len(cells[0]) <= LONGEST_LABEL

    def parts() -> Iterator[Unit]:
        position = start
        for number, cell in enumerate(cells):
            after = min(position + len(cell) + (len(BETWEEN_CELLS) if number < len(cells) - 1 else 0), end)
            if text[position:after].strip() and (number or not named):
                yield prose(text, position, after)
            position = after

    return Unit(start, end, (start, label) if named else None, parts)
