"""Small chunks to be found, each with the larger passage around it to be read as evidence.

Children are what `structure` makes with a small budget. A parent is a section or, where that is longer than its budget, as
many neighbouring children of one section as fit into it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from indexing.blocks import Chunk, ParsedDocument
from indexing.splitters import structure
from indexing.splitters.measure import Meter
from indexing.splitters.options import Options
from indexing.splitters.packing import packed


def split(document: ParsedDocument, *, title: str, meter: Meter, budget: int, options: Options) -> Iterator[Chunk]:
    found = packed(document, structure.units, title=title, meter=meter, budget=min(options.child_tokens, budget))
    for _, section in groupby(found, key=lambda pair: id(pair[0])):
        yield from _with_parents([chunk for _, chunk in section], meter, budget)


def _with_parents(children: list[Chunk], meter: Meter, budget: int) -> Iterator[Chunk]:
    """The children of one section."""
    family: list[Chunk] = []
    size = 0
    for child in children:
        cost = meter.cost(child.text)
        if family and size + meter.gap + cost > budget:
            yield from _family(family)
            family, size = [], 0
        family.append(child)
        size += meter.gap + cost
    yield from _family(family)


def _family(children: list[Chunk]) -> Iterator[Chunk]:
    parent = children[0].locator.span[0], children[-1].locator.span[1]
    return (replace(child, locator=replace(child.locator, parent=parent)) for child in children)
