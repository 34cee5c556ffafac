"""Blocks to atoms: the pieces that a chunk is packed from and that are never cut further, unless nothing else fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from indexing.blocks import Block, BlockKind
from indexing.splitters import cuts
from indexing.splitters.measure import Meter


@dataclass(frozen=True, slots=True)
class Atom:
    """`start` and `end` are positions in the document's text, `cost` its tokens.

    A chunk that begins with this atom starts with `prefix` on a line of its own: the header of the table the atom is a
    row of, or the question it is the answer to.
    """

    start: int
    end: int
    cost: int
    prefix: str = ""
    prefix_cost: int = 0


def atoms_of(blocks: Sequence[Block], meter: Meter, room: int) -> Iterator[Atom]:
    """Atoms of neighbouring blocks under one heading, in order, each of at most `room` tokens where that can be."""
    position = 0
    while position < len(blocks):
        group = _lead_in_and_items(blocks, position)
        costs: list[int] = []
        together = -meter.gap
        for block in group:
            costs.append(meter.cost(block.text))
            together += meter.gap + costs[-1]
            if together > room:
                break
        if together <= room:
            yield Atom(group[0].locator.span[0], group[-1].locator.span[1], together)
            position += len(group)
        elif len(costs) > 1 and costs[0] + costs[1] + meter.gap <= room:
            # The whole list does not fit with what introduces it; at least its first item does.
            first_two = costs[0] + costs[1] + meter.gap
            yield Atom(group[0].locator.span[0], group[1].locator.span[1], first_two)
            position += 2
        else:
            yield from _single(group[0], costs[0], meter, room)
            position += 1


def halves(text: str, atom: Atom, meter: Meter) -> list[Atom]:
    """A smaller atom or two in place of one that turned out not to fit."""
    if atom.prefix:
        return [Atom(atom.start, atom.end, atom.cost)]
    found = cuts.pieces(text[atom.start : atom.end], meter, max(atom.cost // 2, 1))
    return [Atom(atom.start + s, atom.start + e, meter.cost(text[atom.start + s : atom.start + e])) for s, e in found]


def _lead_in_and_items(blocks: Sequence[Block], position: int) -> Sequence[Block]:
    """The block at `position`, with the list it introduces if it is a paragraph before one."""
    end = position + 1
    if blocks[position].kind is BlockKind.PARAGRAPH:
        while end < len(blocks) and blocks[end].kind is BlockKind.LIST_ITEM:
            end += 1
    return blocks[position:end]


def _single(block: Block, cost: int, meter: Meter, room: int) -> Iterator[Atom]:
    if cost <= room:
        yield Atom(*block.locator.span, cost)
    elif block.kind is BlockKind.TABLE:
        yield from _rows(block, meter, room)
    elif block.kind is BlockKind.FAQ:
        yield from _answer(block, meter, room)
    else:
        units = cuts.lines(block.text) if block.kind is BlockKind.CODE else cuts.sentences(block.text)
        for start, end in units:
            yield from _unit(block, start, end, meter, room)


def _rows(block: Block, meter: Meter, room: int) -> Iterator[Atom]:
    """One atom for each row, the header repeated before it; the first row stays with the header itself."""
    rows = cuts.lines(block.text)
    header_end = rows[block.header_rows - 1][1] if block.header_rows else 0
    header = block.text[:header_end].rstrip()
    header_cost = meter.cost(header) if header else 0
    if not header or header_cost > room // 2 or len(rows) == block.header_rows:
        for start, end in rows:
            yield from _unit(block, start, end, meter, room)
        return
    first_end = rows[block.header_rows][1]
    first_cost = meter.cost(block.text[:first_end])
    begin = block.locator.span[0]
    if first_cost <= room:
        yield Atom(begin, begin + first_end, first_cost)
        rows = rows[block.header_rows + 1 :]
    else:
        yield Atom(begin, begin + header_end, header_cost)
        rows = rows[block.header_rows :]
    for start, end in rows:
        yield from _unit(block, start, end, meter, room, header, header_cost)


def _answer(block: Block, meter: Meter, room: int) -> Iterator[Atom]:
    """Sentences of the answer, the question repeated before those that open a chunk."""
    question = block.text.split("\n", 1)[0]
    question_cost = meter.cost(question)
    repeated = question_cost <= room // 2
    for start, end in cuts.sentences(block.text):
        if repeated and start >= len(question):
            yield from _unit(block, start, end, meter, room, question, question_cost)
        else:
            yield from _unit(block, start, end, meter, room)


def _unit(
    block: Block, start: int, end: int, meter: Meter, room: int, prefix: str = "", prefix_cost: int = 0
) -> Iterator[Atom]:
    """One interval of a block's text, cut where it is too long by itself."""
    begin = block.locator.span[0]
    cost = meter.cost(block.text[start:end])
    if cost + prefix_cost <= room:
        yield Atom(begin + start, begin + end, cost, prefix, prefix_cost)
        return
    for s, e in cuts.pieces(block.text[start:end], meter, room - prefix_cost):
        piece_cost = meter.cost(block.text[start + s : start + e])
        yield Atom(begin + start + s, begin + start + e, piece_cost, prefix, prefix_cost)
