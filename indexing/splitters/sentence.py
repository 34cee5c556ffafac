"""Split between sentences alone: as many as fit under one heading, whatever blocks they stand in. Nothing is repeated."""

from __future__ import annotations

from collections.abc import Iterator

from indexing.blocks import Chunk, ParsedDocument
from indexing.splitters import cuts
from indexing.splitters.measure import Meter
from indexing.splitters.options import Options
from indexing.splitters.packing import packed
from indexing.splitters.sections import Section
from indexing.splitters.units import Unit


def split(document: ParsedDocument, *, title: str, meter: Meter, budget: int, options: Options) -> Iterator[Chunk]:
    found = packed(document, _units, title=title, meter=meter, budget=budget)
    return (chunk for _, chunk in found)


def _units(section: Section, text: str) -> Iterator[Unit]:
    for block in section.blocks:
        begin = block.locator.span[0]
        yield from (Unit(begin + start, begin + end) for start, end in cuts.sentences(block.text))
