"""Atoms to chunks: as many neighbours as the budget holds, cut where an edit elsewhere would not move the cut."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from indexing.blocks import Chunk, ParsedDocument
from indexing.errors import DocumentTooLarge
from indexing.splitters.measure import Meter
from indexing.splitters.places import Places
from indexing.splitters.sections import Section, sections
from indexing.splitters.units import Atom, Cutter, Unit

MOST_CHUNKS = 20_000  # several thousand pages; embedding them takes hours
SMALLEST_BUDGET = 32  # tokens; below it a tokenizer's marks and one rare character may not fit
LEAST_FILLED = 0.3  # of a chunk's room, if there is more text: see _take

Outline = Callable[[Section, str], Iterator[Unit]]
"""The units of one section of a document's text, in order, made when they are needed."""


def packed(
    document: ParsedDocument, outline: Outline, *, title: str, meter: Meter, budget: int
) -> Iterator[tuple[Section, Chunk]]:
    """Chunks in reading order, each a slice of the text of one section, after what leads to it. `budget` is in tokens, context
    included.

    Raises `ValueError` if it is too small, `DocumentTooLarge` for more than `MOST_CHUNKS` chunks.
    """
    check_budget(budget)
    places = Places(document.text)
    ordinal = 0
    for section in sections(document.blocks, title=title, meter=meter, budget=budget):
        for text, start, end, tokens in _pack(document.text, section, outline, meter, budget):
            check_number(ordinal)
            locator = places.locate(section.touched(start, end), start, end)
            yield section, Chunk(ordinal, text, section.path, locator, tokens, section.context)
            ordinal += 1


def check_budget(budget: int) -> None:
    """Raises `ValueError` for a budget, in tokens, in which nothing fits."""
    if budget < SMALLEST_BUDGET:
        raise ValueError(f"A chunk needs room for {SMALLEST_BUDGET} tokens at least.")


def check_number(ordinal: int) -> None:
    """Raises `DocumentTooLarge` for the ordinal of one chunk too many."""
    if ordinal >= MOST_CHUNKS:
        raise DocumentTooLarge(f"It has more than {MOST_CHUNKS:,} passages.")


class _Waiting:
    """Atoms in their order, made when they are needed; some may be put back."""

    def __init__(self, atoms: Iterator[Atom]) -> None:
        self._atoms = atoms
        self._back: deque[Atom] = deque()

    def next(self) -> Atom | None:
        return self._back.popleft() if self._back else next(self._atoms, None)

    def put_back(self, *atoms: Atom) -> None:
        self._back.extendleft(reversed(atoms))


def _pack(
    text: str, section: Section, outline: Outline, meter: Meter, budget: int
) -> Iterator[tuple[str, int, int, int]]:
    """(chunk's text, start, end, tokens): as many atoms as fit, counted as a whole before they are let go."""
    head = f"{section.context}\n" if section.context else ""
    room = budget - meter.base - meter.cost(head)
    if room < 1:
        raise ValueError("The budget is too small for this tokenizer.")
    cutter = Cutter(text, meter, room)
    waiting = _Waiting(atom for unit in outline(section, text) for atom in cutter.atoms(unit))
    begins = {block.locator.span[0] for block in section.blocks}

    def rank(atom: Atom) -> tuple[bool, int]:
        return atom.start not in begins, _chance(text[atom.start : atom.end])

    while taken := _take(waiting, room, meter.gap, rank):
        while taken:
            shown, start, end = _render(text, taken)
            tokens = meter.count(head + shown)
            if tokens <= budget:
                yield shown, start, end, tokens
                break
            # Tokens of parts do not quite add up to those of the whole.
            last = taken.pop()
            waiting.put_back(*([last] if taken else cutter.smaller(last)))


def _take(waiting: _Waiting, room: int, gap: int, rank: Callable[[Atom], tuple[bool, int]]) -> list[Atom]:
    """The atoms of one chunk, which fit into it by their costs: at least one, none only at the end.

    Where there are too many, the cut is not as late as can be, which an edit anywhere before would move: of the atoms that
    may begin the next chunk, the last of the lowest rank does. Ranks depend on an atom alone, so the cuts after an edit soon
    fall where they fell before it, and those chunks need not be embedded again. There are few ranks, so that one of the last
    atoms has a low one, and chunks are filled.
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


def _chance(text: str) -> int:
    """0 for one text in six, 1 for one in four, 2 for the others, by its hash: of several, one is likely to stand out.

    Measured with `tests.benchmarks.bench_edit`: with one rank more or less, or other shares, chunks are filled less or an
    edit moves more cuts.
    """
    first = hashlib.blake2b(text.strip().encode(), digest_size=1).digest()[0]
    return 0 if first < 41 else 1 if first < 102 else 2


def _render(text: str, atoms: Sequence[Atom]) -> tuple[str, int, int]:
    """The text of a chunk and the part of the document it shows, without blank ends."""
    start, end = atoms[0].start, atoms[-1].end
    while text[start] == "\n":
        start += 1
    end = start + len(text[start:end].rstrip())
    shown = text[start:end]
    return (f"{atoms[0].prefix}\n{shown}" if atoms[0].prefix else shown), start, end
