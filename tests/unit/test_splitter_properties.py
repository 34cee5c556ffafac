"""What holds for every strategy, whatever the document: nothing lost, nothing invented, in order, in budget, repeatable."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.media_types import TEXT
from indexing.blocks import BlockKind, Chunk, ParsedDocument
from indexing.embedders.estimate import upper_estimate
from indexing.embedders.local import LocalEmbedder
from indexing.parsers.assemble import Piece, assemble
from indexing.splitters import STRATEGIES, split
from tests.environment import ROOT
from tests.unit.splitter_sample import OPTIONS, PROSE, fingerprints

SENTENCES = st.sampled_from(
    [
        "年假为十五天。",
        "但下列情形除外：",
        "报销须附发票！",
        "Leave is taken within the year.",
        "However, not in May.",
        "The following apply:",
        "Q: 为什么？\nA: because.",
        "def f(a):\n    return a\n",
        "（一）交通费",
        "1. trains",
        "x" * 70,
        "字" * 70,
        "🙂é | \t| ",
        "Table 3. Rates",
        "  \u3000 a",
    ]
)
TEXTS = st.lists(SENTENCES, min_size=1, max_size=8).map("".join)
CELLS = st.lists(st.lists(TEXTS, min_size=1, max_size=3).map(tuple), min_size=1, max_size=6).map(tuple)
PLACES = st.fixed_dictionaries({}, optional={"slide": st.integers(1, 2), "sheet": st.sampled_from(["A", "表"])})


def _placed(piece: Piece, place: dict[str, object]) -> Piece:
    for name, value in place.items():
        setattr(piece, name, value)
    return piece


PIECES = st.builds(
    _placed,
    st.one_of(
        st.builds(Piece, st.sampled_from(PROSE), TEXTS),
        st.builds(Piece, st.just(BlockKind.LIST_ITEM), TEXTS, depth=st.integers(0, 3)),
        st.builds(Piece, st.just(BlockKind.IMAGE_TEXT), TEXTS, confidence=st.just(0.9)),
        st.builds(Piece, st.just(BlockKind.HEADING), TEXTS, level=st.integers(1, 4)),
        st.builds(Piece, st.just(BlockKind.TABLE), rows=CELLS, header_rows=st.integers(0, 2)),
    ),
    PLACES,
)
DOCUMENTS = st.lists(PIECES, min_size=1, max_size=10).map(lambda pieces: assemble(TEXT, pieces))
COUNTERS: dict[str, Callable[[str], int]] = {
    "characters": lambda text: len(text) + 2,
    "bundled model": cache(LocalEmbedder().count_tokens),
    "endpoint": upper_estimate,
}

strategies = pytest.mark.parametrize("strategy", STRATEGIES)
counters = pytest.mark.parametrize("count", COUNTERS.values(), ids=COUNTERS)


def run(
    document: ParsedDocument, strategy: str, count: Callable[[str], int], *, budget: int, title: str
) -> list[Chunk]:
    return split(document, title=title, count_tokens=count, budget=budget, strategy=strategy, options=OPTIONS)


def check(document: ParsedDocument, strategy: str, count: Callable[[str], int], *, budget: int, title: str) -> None:
    chunks = run(document, strategy, count, budget=budget, title=title)
    assert run(document, strategy, count, budget=budget, title=title) == chunks
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    _in_order(chunks, may_overlap=strategy == "fixed")
    for chunk in chunks:
        _not_invented(document, chunk)
        longest = min(budget, OPTIONS.child_tokens) if strategy == "parent-child" else budget
        assert chunk.tokens == count(chunk.embedded_text) <= longest
        _of_one_place(document, chunk)
    _not_lost(document, chunks)
    if strategy == "parent-child":
        _in_parents(chunks)
    assert (strategy == "parent-child") == all(chunk.locator.parent is not None for chunk in chunks)


def _in_order(chunks: list[Chunk], *, may_overlap: bool) -> None:
    for one, other in pairwise(chunks):
        assert one.locator.span[0] < other.locator.span[0]
        assert one.locator.span[1] < other.locator.span[1]
        assert may_overlap or one.locator.span[1] <= other.locator.span[0]


def _not_invented(document: ParsedDocument, chunk: Chunk) -> None:
    """A chunk is a slice of the text, after lines that stand before it in the same text."""
    start, end = chunk.locator.span
    shown = document.text[start:end]
    assert 0 <= start < end
    assert shown.strip()
    assert chunk.text.endswith(shown)
    for line in chunk.text.removesuffix(shown).splitlines():
        assert line.rstrip() in document.text[:start]


def _of_one_place(document: ParsedDocument, chunk: Chunk) -> None:
    start, end = chunk.locator.span
    inside = [b.locator for b in document.blocks if b.locator.span[0] < end and b.locator.span[1] > start]
    assert {(place.sheet, place.slide) for place in inside} == {(chunk.locator.sheet, chunk.locator.slide)}


def _not_lost(document: ParsedDocument, chunks: list[Chunk]) -> None:
    covered = bytearray(len(document.text))
    for chunk in chunks:
        start, end = chunk.locator.span
        covered[start:end] = b"\1" * (end - start)
    for block in document.blocks:
        start, end = block.locator.span
        lost = "".join(c for c, is_covered in zip(block.text, covered[start:end], strict=True) if not is_covered)
        if lost.strip():
            assert block.kind is BlockKind.HEADING
            assert lost == block.text
            assert any(block.text in chunk.context for chunk in chunks), "it is in no text and in no context"


def _in_parents(chunks: list[Chunk]) -> None:
    for chunk in chunks:
        parent = chunk.locator.parent
        assert parent is not None
        assert parent[0] <= chunk.locator.span[0] < chunk.locator.span[1] <= parent[1]
    parents = list(dict.fromkeys(chunk.locator.parent for chunk in chunks if chunk.locator.parent))
    assert all(one[1] <= other[0] for one, other in pairwise(parents))


@strategies
@counters
@settings(max_examples=40, deadline=None)
@given(document=DOCUMENTS, budget=st.integers(40, 160), title=st.sampled_from(["", "Handbook", "员工手册" * 12]))
def test_every_strategy(
    strategy: str, count: Callable[[str], int], document: ParsedDocument, budget: int, title: str
) -> None:
    check(document, strategy, count, budget=budget, title=title)


@strategies
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from("ab 。，：:\n(1一但|é🙂\u3000"), min_size=1, max_size=300).map("".join).filter(str.strip)
)
def test_any_text(strategy: str, text: str) -> None:
    check(assemble(TEXT, [Piece(BlockKind.PARAGRAPH, text)]), strategy, COUNTERS["characters"], budget=40, title="t")


@strategies
@settings(max_examples=30, deadline=None)
@given(document=DOCUMENTS)
def test_splitting_what_was_read_back_gives_the_same(strategy: str, document: ParsedDocument) -> None:
    again = ParsedDocument.from_json(json.loads(json.dumps(document.to_json())))
    count = COUNTERS["endpoint"]
    assert run(again, strategy, count, budget=80, title="t") == run(document, strategy, count, budget=80, title="t")


PROGRAM = "import json; from tests.unit.splitter_sample import fingerprints; print(json.dumps(fingerprints()))"


def _elsewhere(python: str, seed: str, **environment: str) -> dict[str, str]:
    done = subprocess.run(
        [python, "-c", PROGRAM],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed, "DJANGO_SETTINGS_MODULE": "kbsite.settings", **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("seed", ["1", "4711"])
def test_another_process_splits_in_the_same_way(seed: str) -> None:
    assert _elsewhere(sys.executable, seed) == fingerprints()


def test_what_any_python_and_machine_must_come_to() -> None:
    """Written down: CI runs this with every Python that is supported. Changed rules come with a new SPLITTER_REVISION."""
    expected = json.loads((Path(__file__).parent / "splitter_fingerprints.json").read_text())
    assert fingerprints() == expected
