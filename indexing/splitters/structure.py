"""Split along the document's own structure: headings, then blocks, then sentences.

A chunk is a slice of the document's text under one heading path, packed with as many neighbouring units as the budget
holds. What leads to it is repeated in front: a table's caption and header, a FAQ's question, the sentence before a list, the
signature of a function. Headings live in the path, which is embedded as context.
"""

from __future__ import annotations

from collections.abc import Iterator

from indexing.blocks import Chunk, ParsedDocument
from indexing.splitters import outline
from indexing.splitters.measure import Meter
from indexing.splitters.options import Options
from indexing.splitters.packing import packed
from indexing.splitters.sections import Section
from indexing.splitters.units import Unit


def split(document: ParsedDocument, *, title: str, meter: Meter, budget: int, options: Options) -> Iterator[Chunk]:
    found = packed(document, units, title=title, meter=meter, budget=budget)
    return (chunk for _, chunk in found)


def units(section: Section, text: str) -> Iterator[Unit]:
    return outline.units(section.blocks, text)
