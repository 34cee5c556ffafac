"""What the parser's process or the cache hands back is the document that was written, or refused with one error."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.media_types import PDF
from indexing.blocks import BlockKind, Gap, GapReason, LeftOut, LeftOutReason, ParsedDocument
from indexing.locators import Locator
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.scans import ScannedLine, ScannedPage
from indexing.verification import Verification


def document() -> ParsedDocument:
    """With a value in every field."""
    rows = (("项目", "Price"), ("苹果", "3"))
    parts = [Locator((n, n + 1), page=1, region=(1, 2 + n, 3, 4 + n)) for n in range(2)]
    pieces = [
        Piece(BlockKind.HEADING, "价格", level=2, page=1, page_label="i"),
        Piece(
            BlockKind.PARAGRAPH, "Prices of 水果.", page=1, page_end=2, region=(0.5, 1, 2, 3), region_end=(-1, 1, 2, 3)
        ),
        Piece(BlockKind.LIST_ITEM, "one", lines=(3, 4), depth=1),
        Piece(BlockKind.TABLE, rows=rows, header_rows=1, page=1, parts=parts),
        Piece(BlockKind.CODE, "x = 1", language="python", lines=(5, 5)),
        Piece(BlockKind.IMAGE_TEXT, "招牌", confidence=0.9, page=3),
        Piece(BlockKind.PARAGRAPH, "cells", sheet="表", cells=(1, 2, 3, 4)),
        Piece(BlockKind.PARAGRAPH, "on a slide", slide=4),
    ]
    gaps = [Gap(GapReason.UNREADABLE, page=2), Gap(GapReason.NOT_CALCULATED, sheet="表")]
    left_out = [LeftOut(LeftOutReason.PAGE_NUMBER, "7", (1, 2))]
    return assemble(PDF, pieces, title="Fruit", pages=3, gaps=gaps, left_out=left_out)


WRITTEN = document().to_json()
JUNK = st.sampled_from(
    [
        None,
        True,
        0,
        1,
        -1,
        2,
        1.5,
        10**9,
        float("nan"),
        float("inf"),
        "",
        "x",
        "heading",
        "A1:B2",
        "\ud800",
        "a\0",
        [],
        [1],
        {},
    ]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to everything in `value`."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in inner:
        yield from places(member, (*path, key))


PLACES = list(places(WRITTEN))[1:]


def damaged(path: tuple[Any, ...], how: str, junk: Any) -> Any:
    data = copy.deepcopy(WRITTEN)
    around: Any = data
    for key in path[:-1]:
        around = around[key]
    if how == "remove":
        del around[path[-1]]
    elif how == "add" and isinstance(around, dict):
        around["more"] = junk
    elif how == "add":
        around.insert(path[-1], junk)
    else:
        around[path[-1]] = junk
    return data


def test_a_sound_document_is_the_same() -> None:
    assert ParsedDocument.from_json(json.loads(json.dumps(WRITTEN))) == document()


@given(st.sampled_from(PLACES), st.sampled_from(["remove", "add", "replace"]), JUNK)
@settings(max_examples=500)
def test_what_is_damaged_is_refused_or_a_document(path: tuple[Any, ...], how: str, junk: Any) -> None:
    data = damaged(path, how, junk)
    try:
        found = ParsedDocument.from_json(data)
    except ValueError:
        return
    assert found.to_json() == data
    assert ParsedDocument.from_json(found.to_json()) == found
    assert all(found.text[block.locator.span[0] : block.locator.span[1]] == block.text for block in found.blocks)
    found.text.encode()


BLOCK = ("blocks", 1)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("blocks",), {}),
        (("text",), 5),
        (("text",), WRITTEN["text"] + "\0"),
        (("title",), 7),
        (("pages",), True),
        (("pages",), -1),
        (("gaps", 0, "reason"), "lost"),
        (("leftOut", 0, "pages"), "12"),
        ((*BLOCK, "kind"), "poem"),
        ((*BLOCK, "kind"), []),
        ((*BLOCK, "kind"), "heading"),  # without a level
        ((*BLOCK, "text"), "Prices of another."),
        ((*BLOCK, "headingPath"), "价格"),
        ((*BLOCK, "headingPath"), [1]),
        ((*BLOCK, "level"), 1),
        ((*BLOCK, "more"), 1),
        ((*BLOCK, "locator"), []),
        ((*BLOCK, "locator", "span"), [4]),
        ((*BLOCK, "locator", "span"), [4, 17, 9]),
        ((*BLOCK, "locator", "span"), [-13, 17]),
        ((*BLOCK, "locator", "span"), [17, 4]),
        ((*BLOCK, "locator", "span"), [4, 10**6]),
        ((*BLOCK, "locator", "span"), ["4", "17"]),
        ((*BLOCK, "locator", "page"), 1.5),
        ((*BLOCK, "locator", "region"), [1, 2, 3]),
        ((*BLOCK, "locator", "region"), [1, 2, 3, float("nan")]),
        (("blocks", 0, "level"), 7),
        (("blocks", 3, "headerRows"), 3),
        (("blocks", 3, "rows", 0), "ab"),
        (("blocks", 3, "parts", 0, "span"), [0, 10**6]),
        (("blocks", 5, "confidence"), 1.5),
        (("blocks", 6, "locator", "cells"), "A1:"),
    ],
)
def test_each_kind_of_damage_is_refused(path: tuple[Any, ...], value: Any) -> None:
    with pytest.raises(ValueError, match=r"written|fit"):
        ParsedDocument.from_json(damaged(path, "replace", value))


@pytest.mark.parametrize("key", sorted(WRITTEN))
def test_nothing_may_be_missing(key: str) -> None:
    with pytest.raises(ValueError, match="written"):
        ParsedDocument.from_json({name: value for name, value in WRITTEN.items() if name != key})


@pytest.mark.parametrize("data", [None, 5, "text", [], {}, [WRITTEN]])
def test_what_is_no_document_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match="written"):
        ParsedDocument.from_json(data)


def test_a_scanned_page_and_a_verification_are_read_as_strictly() -> None:
    page = ScannedPage(3, (10.5, 20), 1, -0.4, (ScannedLine("招牌 A", 0.9, (1, 2, 3, 4), is_row=True),))
    assert ScannedPage.from_json(json.loads(json.dumps(page.to_json()))) == page
    for wrong in (
        {"number": "3"},
        {"turn": -1},
        {"size": [1]},
        {"lines": [["a", 2, [1, 2, 3], False]]},
        {"gap": "lost"},
    ):
        with pytest.raises(ValueError, match="written"):
            ScannedPage.from_json(page.to_json() | wrong)
    checked = Verification(3, (1, 2), 4)
    assert Verification.from_json(checked.to_json()) == checked
    for told in ({"found": -1}, {"failed": "12"}, {"failed": [True]}, {"notCheckable": None}):
        with pytest.raises(ValueError, match="written"):
            Verification.from_json(checked.to_json() | told)
