"""From units, which are kept whole where they fit, to atoms, which a chunk is packed from and which are not cut further.

A unit knows how it comes apart: a list into its items, a table into rows, a row into cells, a paragraph into sentences. What
leads to its parts (the sentence that introduces the list, the header of the table) is repeated where they stand without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from indexing.splitters import cuts
from indexing.splitters.cuts import Interval
from indexing.splitters.measure import Meter


@dataclass(frozen=True, slots=True)
class Unit:
    """text[start:end] of a document. `parts`, called when they are needed, cover it in order, except for a `lead` at its
    beginning. A chunk that begins with a part after the `lead` repeats it."""

    start: int
    end: int
    lead: Interval | None = None
    parts: Callable[[], Iterator[Unit]] | None = None


@dataclass(frozen=True, slots=True)
class Atom:
    """`start` and `end` are positions in the document's text, `cost` its tokens.

    A chunk that begins with this atom starts with `prefix` on lines of its own: what leads to it.
    """

    start: int
    end: int
    cost: int
    prefix: str = ""
    prefix_cost: int = 0


class Cutter:
    """Makes atoms of at most `room` tokens, their prefix included, of one document's units."""

    def __init__(self, text: str, meter: Meter, room: int) -> None:
        self._text, self._meter, self._room = text, meter, room
        self._prefix = cache(self._new_prefix)

    def atoms(
        self,
        unit: Unit,
        leads: tuple[Interval, ...] = (),
        *,
        begin: int | None = None,
        outer: tuple[Interval, ...] = (),
    ) -> Iterator[Atom]:
        """The atoms of `unit`, in order. `leads`: what leads to it, outermost first. From `begin` on the text, which ends
        in such a lead, goes before the first atom, and what leads to that text is `outer`."""
        start, before = (unit.start, leads) if begin is None else (begin, outer)
        prefix, prefix_cost = self._prefix(before)
        cost = self._meter.cost_within(self._text[start : unit.end], self._room - prefix_cost)
        if cost is not None:
            yield Atom(start, unit.end, cost, prefix, prefix_cost)
        elif begin is not None and (unit.parts is None or self._fits(unit, leads)):
            yield from self.atoms(Unit(begin, unit.start), outer)
            yield from self.atoms(unit, leads)
        elif unit.parts is not None:
            yield from self._parts(unit, unit.parts(), leads, begin, outer)
        else:
            for s, e in cuts.pieces(self._text[start : unit.end], self._meter, self._room - prefix_cost):
                cost = self._meter.cost(self._text[start + s : start + e])
                yield Atom(start + s, start + e, cost, prefix, prefix_cost)

    def smaller(self, atom: Atom) -> list[Atom]:
        """Smaller atoms in place of one that turned out not to fit. Raises `ValueError` for a single character."""
        text = self._text[atom.start : atom.end]
        found = list(cuts.pieces(text, self._meter, max(self._meter.cost(text) // 2, 1)))
        if len(found) > 1:
            return [
                Atom(
                    atom.start + s,
                    atom.start + e,
                    self._meter.cost(text[s:e]),
                    *((atom.prefix, atom.prefix_cost) if number or atom.prefix else ("", 0)),
                )
                for number, (s, e) in enumerate(found)
            ]
        if atom.prefix:
            return [Atom(atom.start, atom.end, atom.cost)]
        raise ValueError("The budget is too small for a single character.")

    def _fits(self, unit: Unit, leads: tuple[Interval, ...]) -> bool:
        """Whether a unit is whole without the text that goes before it."""
        _, prefix_cost = self._prefix(leads)
        return self._meter.cost_within(self._text[unit.start : unit.end], self._room - prefix_cost) is not None

    def _parts(
        self,
        unit: Unit,
        parts: Iterator[Unit],
        leads: tuple[Interval, ...],
        begin: int | None,
        outer: tuple[Interval, ...],
    ) -> Iterator[Atom]:
        start, before = (unit.start, leads) if begin is None else (begin, outer)
        for number, part in enumerate(parts):
            behind = unit.lead is not None and part.start >= unit.lead[1]
            inner = (*leads, unit.lead) if behind and unit.lead is not None else leads
            if number == 0 and start < part.start:
                yield from self.atoms(part, inner, begin=start, outer=before)
            else:
                yield from self.atoms(part, inner)

    def _new_prefix(self, leads: tuple[Interval, ...]) -> tuple[str, int]:
        """In at most half of the room; outer leads give way. ("", 0) where there is none."""
        while leads:
            prefix = "\n".join(self._text[start:end].rstrip().lstrip("\n") for start, end in leads)
            cost = self._meter.cost_within(f"{prefix}\n", self._room // 2)
            if cost is not None:
                return prefix, cost
            leads = leads[1:]
        return "", 0
