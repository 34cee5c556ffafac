"""The block model: it survives JSON as it is, and a chunk's place is made of exactly the parts that it touches."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.media_types import PDF, XLSX
from indexing.blocks import Block, BlockKind, Gap, GapReason, LeftOut, LeftOutReason, ParsedDocument
from indexing.locators import Locator, cells_from_name, cells_name, covering, joined_cells
from indexing.parsers.assemble import Piece, assemble
from indexing.splitters.places import Places

numbers = st.integers(1, 10_000)
regions = st.none() | st.tuples(*[st.floats(0, 1000)] * 4)
locators = st.builds(
    Locator,
    span=st.tuples(numbers, numbers),
    page=st.none() | numbers,
    page_end=st.none() | numbers,
    region=regions,
    lines=st.none() | st.tuples(numbers, numbers),
    region_end=regions,
    page_label=st.none() | st.text(min_size=1, max_size=5),
    sheet=st.none() | st.text(max_size=20),
    cells=st.none() | st.tuples(numbers, numbers, numbers, numbers),
    slide=st.none() | numbers,
    areas=st.lists(st.tuples(numbers, numbers, numbers, numbers), max_size=2).map(tuple),
)
blocks = st.builds(
    Block,
    kind=st.sampled_from(BlockKind),
    text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    locator=locators,
    heading_path=st.lists(st.text(), max_size=3).map(tuple),
    level=st.none() | st.integers(1, 6),
    rows=st.lists(st.lists(st.text(), max_size=3).map(tuple), max_size=3).map(tuple),
    parts=st.lists(locators, max_size=3).map(tuple),
    language=st.none() | st.text(),
    confidence=st.none() | st.floats(0, 1),
)
documents = st.builds(
    ParsedDocument,
    media_type=st.text(),
    text=st.text(),
    blocks=st.lists(blocks, max_size=3).map(tuple),
    title=st.none() | st.text(),
    pages=st.none() | numbers,
    language=st.none() | st.text(),
    gaps=st.lists(
        st.builds(
            Gap,
            st.sampled_from(GapReason),
            st.none() | numbers,
            st.none() | st.text(),
            cells=st.none() | st.just((1, 1, 2, 2)),
        ),
        max_size=2,
    ).map(tuple),
    left_out=st.lists(
        st.builds(
            LeftOut, st.sampled_from(LeftOutReason), st.text(), st.just((1, 2)), st.none() | st.text(), st.none()
        ),
    ).map(tuple),
)


def placed(document: ParsedDocument) -> ParsedDocument:
    """With the text that its blocks make, and what `indexing.parsers.assemble` sees to."""
    blocks, start = [], 0
    for block in document.blocks:
        span = (start, start + len(block.text))
        level = (block.level or 1) if block.kind is BlockKind.HEADING else None
        parts = tuple(replace(part, span=span) for part in block.parts)
        blocks.append(replace(block, locator=replace(block.locator, span=span), parts=parts, level=level))
        start = span[1] + 2
    return replace(document, text="\n\n".join(block.text for block in blocks), blocks=tuple(blocks))


@given(documents.map(placed))
def test_a_document_is_the_same_after_json(document: ParsedDocument) -> None:
    assert ParsedDocument.from_json(json.loads(json.dumps(document.to_json()))) == document


@given(st.tuples(*[st.integers(1, 20_000)] * 4))
def test_names_of_cells_read_back(cells: Any) -> None:
    assert cells_from_name(cells_name(cells)) == cells


def test_names_of_cells_are_those_of_spreadsheets() -> None:
    assert cells_name((2, 4, 6, 17)) == "B4:F17"
    assert cells_name((26, 1, 27, 1)) == "Z1:AA1"
    assert cells_name((702, 1, 703, 9)) == "ZZ1:AAA9"
    assert cells_name((2, 4, 2, 4)) == "B4"
    for name in ("B4:", "B", "4", "B4:F", "b4"):
        with pytest.raises(ValueError, match="no range"):
            cells_from_name(name)


@pytest.mark.parametrize(
    ("ranges", "joined"),
    [
        ("A1 A3:C3 A4:C4 A6:C9", "A1:C9"),  # a title and its table, which has an empty row
        ("A1:C9 E1:G9", "A1:C9 E1:G9"),
        ("A1 A3:C9 E3:G9", "A1:C9 E3:G9"),
        ("A1:B9 C1:C9", "A1:C9"),
        ("A1:C9 A13:C20", "A1:C9 A13:C20"),
        ("A1:D4 C3:F8", "A1:F8"),
        ("H2 B9 A1:C9", "A1:C9 H2"),
    ],
)
def test_cells_that_a_reader_sees_as_one(ranges: str, joined: str) -> None:
    found = joined_cells([cells_from_name(name) for name in ranges.split()])
    assert " ".join(map(cells_name, found)) == joined


def test_a_place_names_each_of_its_ranges() -> None:
    def at(name: str) -> Locator:
        return Locator((0, 1), sheet="A", cells=cells_from_name(name))

    place = covering((0, 9), [at("A1"), at("A2:C9"), at("H1:J9")])
    assert (place.cells, place.areas) == ((1, 1, 10, 9), ((1, 1, 3, 9), (8, 1, 10, 9)))
    assert covering((0, 9), [at("A1"), at("A2:C9")]).areas == ()


def test_a_place_over_two_pages_has_a_region_on_each() -> None:
    first = Locator((0, 5), page=3, region=(10, 700, 200, 780))
    more = Locator((5, 9), page=3, region=(15, 600, 180, 690))
    last = Locator((9, 12), page=4, region=(10, 20, 100, 40))
    assert covering((0, 12), [first, more, last]) == Locator(
        (0, 12), page=3, page_end=4, region=(10, 600, 200, 780), region_end=(10, 20, 100, 40)
    )


def test_a_region_is_not_told_where_a_part_has_none() -> None:
    places = [Locator((0, 5), page=3, region=(1, 2, 3, 4)), Locator((5, 9), page=3)]
    assert covering((0, 9), places).region is None


def test_rows_of_a_sheet_keep_their_cells() -> None:
    rows = (("项目", "Price"), ("", " "), ("苹果", "3"), ("Pear", "4"))
    parts = [Locator((n, n + 1), sheet="价格", cells=(1, n + 3, 2, n + 3)) for n in range(len(rows))]
    table = Piece(BlockKind.TABLE, rows=rows, header_rows=1, sheet="价格", cells=(1, 3, 2, 6), parts=parts)
    document = assemble(XLSX, [Piece(BlockKind.PARAGRAPH, "Before", sheet="价格", cells=(1, 1, 1, 1)), table])
    block = document.blocks[1]
    assert [document.text[part.span[0] : part.span[1]] for part in block.parts] == [
        "项目 | Price",
        "苹果 | 3",
        "Pear | 4",
    ]
    assert [part.cells for part in block.parts] == [(1, 3, 2, 3), (1, 5, 2, 5), (1, 6, 2, 6)]
    start = document.text.index("苹果")
    located = Places(document.text).locate([block], start, start + 3)
    assert (located.sheet, located.cells, located.lines) == ("价格", (1, 5, 2, 5), None)


def test_parts_of_a_paragraph_are_given_up_where_cleaning_moved_its_text() -> None:
    part = Locator((0, 5), page=1, region=(1, 1, 2, 2))
    clean = assemble(PDF, [Piece(BlockKind.PARAGRAPH, "Hello world", page=1, parts=[part])])
    moved = assemble(PDF, [Piece(BlockKind.PARAGRAPH, "  Hello world", page=1, parts=[part])])
    assert clean.blocks[0].parts == (part,)
    assert moved.blocks[0].parts == ()
