"""Split along the document's own structure: headings, then blocks, then sentences.

A chunk is a slice of the document's text under one heading path, packed with as many neighbouring pieces as the budget
holds; only a table's header or a FAQ's question is repeated in front of it. Headings live in the path, which is
embedded as context; one with nothing under it is text itself, so that nothing is lost.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from indexing.blocks import Block, BlockKind, Chunk, ParsedDocument
from indexing.errors import DocumentTooLarge
from indexing.splitters.atoms import Atom, atoms_of, halves
from indexing.splitters.measure import Meter
from indexing.splitters.places import Places

MOST_CHUNKS = 20_000  # several thousand pages; embedding them takes hours
SMALLEST_BUDGET = 32  # tokens; below it a tokenizer's marks and one rare character may not fit
BETWEEN_HEADINGS = " › "
LEAST_FILLED = 0.4  # of a chunk's room, if there is more text: see _take


@dataclass(frozen=True, slots=True)
class _Section:
    path: tuple[str, ...]
    blocks: list[Block] = field(default_factory=list)


class _Waiting:
    """Atoms in their order, made when they are needed; some may be put back."""

    def __init__(self, atoms: Iterator[Atom]) -> None:
        self._atoms = atoms
        self._back: deque[Atom] = deque()

    def next(self) -> Atom | None:
        return self._back.popleft() if self._back else next(self._atoms, None)

    def put_back(self, *atoms: Atom) -> None:
        self._back.extendleft(reversed(atoms))


def split(
    document: ParsedDocument,
    *,
    title: str,
    count_tokens: Callable[[str], int],
    budget: int,
    checkpoint: Callable[[], None],
) -> list[Chunk]:
    """Chunks in reading order. `budget` is in tokens, context included.

    Raises `ValueError` if it is too small, `DocumentTooLarge` for more than `MOST_CHUNKS` chunks.
    """
    if budget < SMALLEST_BUDGET:
        raise ValueError(f"A chunk needs room for {SMALLEST_BUDGET} tokens at least.")
    meter = Meter(count_tokens, checkpoint)
    places = Places(document.text)
    chunks: list[Chunk] = []
    for section in _sections(document.blocks):
        context = _context(title, section.path, meter, budget)
        for text, start, end, tokens in _pack(document.text, section, context, meter, budget):
            if len(chunks) == MOST_CHUNKS:
                raise DocumentTooLarge(f"It has more than {MOST_CHUNKS:,} passages.")
            locator = places.locate(_touched(section.blocks, start, end), start, end)
            chunks.append(Chunk(len(chunks), text, section.path, locator, tokens, context))
    return chunks


def _sections(blocks: Sequence[Block]) -> Iterator[_Section]:
    """Neighbouring blocks under one heading path. A heading ends a section, unless it has nothing under it."""
    section: _Section | None = None
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block.kind is BlockKind.HEADING and _is_above(block, following):
            if section is not None:
                yield section
            section = None
            continue
        if section is None or section.path != block.heading_path:
            if section is not None:
                yield section
            section = _Section(block.heading_path)
        section.blocks.append(block)
    if section is not None:
        yield section


def _touched(blocks: Sequence[Block], start: int, end: int) -> Sequence[Block]:
    """The blocks, which are in order, that have text between `start` and `end`."""
    first = bisect_right(blocks, start, key=lambda block: block.locator.span[1])
    last = bisect_left(blocks, end, key=lambda block: block.locator.span[0])
    return blocks[first:last]


def _is_above(heading: Block, following: Block | None) -> bool:
    own = (*heading.heading_path, heading.text)
    return following is not None and following.heading_path[: len(own)] == own


def _context(title: str, path: tuple[str, ...], meter: Meter, budget: int) -> str:
    """Title and heading path in one line; outer parts give way where it would take over a quarter of the budget."""
    parts = [part for part in (title, *path) if part]
    if len(parts) > 1 and parts[0] == parts[1]:
        parts = parts[1:]
    while parts and meter.count(BETWEEN_HEADINGS.join(parts)) > budget // 4:
        parts = parts[1:]
    return BETWEEN_HEADINGS.join(parts)


def _pack(text: str, section: _Section, context: str, meter: Meter, budget: int) -> Iterator[tuple[str, int, int, int]]:
    """(chunk's text, start, end, tokens): as many atoms as fit, counted as a whole before they are let go."""
    head = f"{context}\n" if context else ""
    room = budget - meter.base - meter.cost(head)
    if room < 1:
        raise ValueError("The budget is too small for this tokenizer.")
    waiting = _Waiting(atoms_of(section.blocks, meter, room))
    begins = {block.locator.span[0] for block in section.blocks}

    def rank(atom: Atom) -> tuple[bool, bytes]:
        return atom.start not in begins, _hash(text[atom.start : atom.end])

    while taken := _take(waiting, room, meter.gap, rank):
        while taken:
            shown, start, end = _render(text, taken)
            tokens = meter.count(head + shown)
            if tokens <= budget:
                yield shown, start, end, tokens
                break
            # Tokens of parts do not quite add up to those of the whole.
            last = taken.pop()
            if taken:
                waiting.put_back(last)
            else:
                waiting.put_back(*_smaller(text, last, meter))


def _take(waiting: _Waiting, room: int, gap: int, rank: Callable[[Atom], tuple[bool, bytes]]) -> list[Atom]:
    """The atoms of one chunk, which fit into it by their costs: at least one, none only at the end.

    Where there are too many, the cut is not as late as can be, which an edit anywhere before would move: of the atoms that
    may begin the next chunk, the one of the lowest rank does. Ranks depend on an atom alone, so the cuts after an edit soon
    fall where they fell before it, and those chunks need not be embedded again.
    Source: the idea of content-defined chunking, Muthitacharoen et al., “A Low-bandwidth Network File System”, 2001.
    """
    atoms: list[Atom] = []
    ends: list[int] = []  # cost of all atoms up to each
    while (not ends or ends[-1] <= 2 * room) and (atom := waiting.next()) is not None:
        ends.append(ends[-1] + gap + atom.cost if atoms else atom.prefix_cost + atom.cost)
        atoms.append(atom)
    fitting = max(bisect_right(ends, room), 1)  # a single atom may be too large; it is made smaller then
    if fitting < len(atoms):
        cuts = [kept for kept in range(1, fitting + 1) if ends[kept - 1] >= room * LEAST_FILLED]
        # Where the section ends soon, two chunks are enough.
        cuts = [kept for kept in cuts if ends[-1] - ends[kept - 1] <= room] or cuts
        kept = min(cuts, key=lambda kept: (rank(atoms[kept]), -kept), default=fitting)
        waiting.put_back(*atoms[kept:])
        del atoms[kept:]
    return atoms


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.strip().encode(), digest_size=8).digest()


def _render(text: str, atoms: Sequence[Atom]) -> tuple[str, int, int]:
    """The text of a chunk and the part of the document it shows, without blank ends."""
    start, end = atoms[0].start, atoms[-1].end
    while text[start] == "\n":
        start += 1
    end = start + len(text[start:end].rstrip())
    shown = text[start:end]
    return (f"{atoms[0].prefix}\n{shown}" if atoms[0].prefix else shown), start, end


def _smaller(text: str, atom: Atom, meter: Meter) -> list[Atom]:
    found = halves(text, atom, meter)
    if found == [atom]:
        raise ValueError("The budget is too small for a single character.")
    return found
