"""Huge and strange documents: work grows in proportion to the text, can be stopped, and comes to an end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from semantic_text_splitter import TextSplitter

from documents.media_types import TEXT
from indexing.attempt import Attempt
from indexing.blocks import BlockKind, ParsedDocument
from indexing.embedders.estimate import upper_estimate
from indexing.errors import DocumentTooLarge
from indexing.parsers.assemble import Piece, assemble
from indexing.splitters import cuts, outline, packing, split
from indexing.splitters.measure import WINDOW, Meter
from indexing.splitters.units import Atom, Cutter
from tests.unit.blocks_asserts import squeezed

UNITS = {
    "cjk": "文",
    "letters": "a",
    "words": "word ",
    "emoji": "😀",
    "sentences": "今天天气很好。",
    "marks": "!",
    "quotes": '!"',
    "lines": "x\n",
    "joiners": "\u200d",
}


class Counting:
    """Counts what is counted."""

    def __init__(self) -> None:
        self.characters = self.longest = self.calls = 0

    def __call__(self, text: str) -> int:
        self.characters += len(text)
        self.longest = max(self.longest, len(text))
        self.calls += 1
        return upper_estimate(text)


def one_block(text: str, kind: BlockKind = BlockKind.PARAGRAPH) -> ParsedDocument:
    return assemble(TEXT, [Piece(kind, text)])


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize("kind", [BlockKind.PARAGRAPH, BlockKind.CODE])
def test_the_work_grows_with_the_text_and_not_faster(
    unit: str, kind: BlockKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut: list[int] = []

    class Recording:
        def __init__(self, capacity: int, trim: bool) -> None:
            self._real = TextSplitter(capacity, trim=trim)

        def chunk_indices(self, text: str) -> list[tuple[int, str]]:
            cut.append(len(text))
            return self._real.chunk_indices(text)

    monkeypatch.setattr(cuts, "TextSplitter", Recording)
    counted = {}
    for length in (50_000, 100_000):
        counter = Counting()
        document = one_block(unit * (length // len(unit)), kind)
        chunks = split(document, title="T", count_tokens=counter, budget=320)
        assert squeezed("".join(chunk.text for chunk in chunks)) == squeezed(document.text)
        assert max(chunk.tokens for chunk in chunks) <= 320
        assert counter.longest <= max(WINDOW, *(len(chunk.embedded_text) + 1_000 for chunk in chunks))
        counted[length] = counter.characters
    assert max(cut, default=0) <= WINDOW
    assert counted[100_000] <= 2.2 * counted[50_000]
    assert counted[100_000] <= 8 * 100_000


@given(st.text(st.sampled_from("ab 。，é文\n"), max_size=60), st.integers(1, 700))
def test_windows_cover_a_text_in_order(unit: str, times: int) -> None:
    text = unit * times
    found = list(cuts.windows(text))
    assert "".join(text[start:end] for start, end in found) == text
    assert [start for start, _ in found] == [0, *(end for _, end in found)][: len(found)]
    assert all(0 < end - start <= WINDOW for start, end in found)
    assert all(end - start >= WINDOW // 2 for start, end in found[:-1])


def test_windows_end_between_words_and_clauses() -> None:
    text = "word " * 5_000
    assert all(text[end - 1] == " " for _, end in cuts.windows(text))
    clauses = "凡本公司员工，" * 3_000
    assert all(clauses[end - 1] == "，" for _, end in cuts.windows(clauses))
    assert list(cuts.windows("文" * WINDOW)) == [(0, WINDOW)]


def test_marks_without_a_space_are_looked_at_once() -> None:
    """From every mark of the row to its end, this would take an hour."""
    assert cuts.sentences("!" * 1_000_000 + "a") == [(0, 1_000_001)]
    assert cuts.sentences("What?!” he said. Ha!!! 好!! a") == [(0, 8), (8, 17), (17, 23), (23, 27), (27, 28)]


class Stopped(Exception):
    pass


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_a_checkpoint_is_passed_between_any_two_counts(unit: str) -> None:
    passed = 0
    counter = Counting()

    def checkpoint() -> None:
        nonlocal passed
        assert counter.calls == passed  # the next count comes right after
        passed += 1
        if passed > 20:
            raise Stopped

    with pytest.raises(Stopped):
        split(
            one_block(unit * (300_000 // len(unit))), title="", count_tokens=counter, budget=320, checkpoint=checkpoint
        )
    assert counter.characters <= 20 * WINDOW


def test_a_document_of_too_many_chunks_is_refused_before_it_is_all_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MOST_CHUNKS", 10)
    document = one_block("文" * 100_000)
    counter = Counting()
    with pytest.raises(DocumentTooLarge, match="more than 10 passages"):
        split(document, title="", count_tokens=counter, budget=320)
    assert counter.characters < 3 * 100_000
    small = one_block("文" * 2_500)
    assert len(split(small, title="", count_tokens=counter, budget=320)) <= 10


def first_atom(document: ParsedDocument, counter: Counting, room: int) -> Atom:
    cutter = Cutter(document.text, Meter(counter), room)
    return next(atom for unit in outline.units(document.blocks, document.text) for atom in cutter.atoms(unit))


def test_atoms_are_made_when_they_are_needed() -> None:
    counter = Counting()
    first_atom(one_block("x\n" * 100_000), counter, 300)
    assert counter.calls <= 10
    assert counter.characters < 10_000


def test_of_a_long_list_only_what_may_fit_is_counted_with_its_lead_in() -> None:
    counter = Counting()
    items = [Piece(BlockKind.LIST_ITEM, f"item {n}") for n in range(1_000)]
    first_atom(assemble(TEXT, [Piece(BlockKind.PARAGRAPH, "You need:"), *items]), counter, 100)
    assert counter.calls < 60
    assert counter.characters < 5_000


def test_the_lines_of_a_chunk_in_a_huge_block_are_found_without_reading_it_again() -> None:
    document = assemble(TEXT, [Piece(BlockKind.CODE, "x = 1\n" * 20_000, lines=(1, 20_000))])
    chunks = split(document, title="", count_tokens=upper_estimate, budget=320)
    assert all(chunk.locator.lines is not None for chunk in chunks)
    ends = [line for chunk in chunks for line in chunk.locator.lines or ()]
    assert (ends[0], ends[-1]) == (1, 20_000)
    assert all(after - before in (0, 1) for before, after in zip(ends[1::2], ends[2::2], strict=False))


def test_an_attempt_passes_its_own_checkpoint_while_it_splits() -> None:
    def stop() -> None:
        raise Stopped

    class Embedder:
        max_tokens = 320
        count_tokens = staticmethod(upper_estimate)

    attempt = Attempt(None, checkpoint=stop)  # type: ignore[arg-type]
    attempt._facts = {"title": "T", "pipeline_config": {"splitter": {"strategy": "structure", "tokens": 320}}}
    with pytest.raises(Stopped):
        attempt._split(one_block("text"), Embedder())  # type: ignore[arg-type]
