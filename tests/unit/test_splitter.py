from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.media_types import MARKDOWN, PDF, TEXT
from indexing.blocks import Block, BlockKind, Chunk, ParsedDocument
from indexing.parsers import parse
from indexing.parsers.assemble import Piece, assemble
from indexing.splitters import STRATEGIES, cuts, split
from indexing.splitters.measure import Meter
from tests.unit.blocks_asserts import squeezed

H, P, L, T, C, F = (
    BlockKind.HEADING,
    BlockKind.PARAGRAPH,
    BlockKind.LIST_ITEM,
    BlockKind.TABLE,
    BlockKind.CODE,
    BlockKind.FAQ,
)


def words(text: str) -> int:
    """A tokenizer of whole words and single CJK characters, with two marks of its own."""
    return len(re.findall(r"[\u3400-\u9fff]|[^\s\u3400-\u9fff]+", text)) + 2


def document(*pieces: Piece) -> ParsedDocument:
    return assemble(TEXT, pieces)


def chunks_of(
    source: ParsedDocument, budget: int = 40, title: str = "", count: Callable[[str], int] = words
) -> list[Chunk]:
    return checked(source, title=title, count=count, budget=budget)


def checked(source: ParsedDocument, *, title: str, count: Callable[[str], int], budget: int) -> list[Chunk]:
    """Split, and check what must hold of every split."""
    chunks = split(source, title=title, count_tokens=count, budget=budget)
    assert split(source, title=title, count_tokens=count, budget=budget) == chunks
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    end = 0
    for chunk in chunks:
        start, stop = chunk.locator.span
        assert end <= start < stop
        end = stop
        shown = source.text[start:stop]
        assert chunk.text == shown or chunk.text.endswith("\n" + shown)  # the rest is a repeated header or question
        assert chunk.tokens == count(chunk.embedded_text) <= budget
        assert count(chunk.context) <= budget // 4 or not chunk.context
        assert shown.strip("\n") == shown.rstrip() != ""
    assert_nothing_is_lost(source.blocks, chunks)
    return chunks


def assert_nothing_is_lost(blocks: tuple[Block, ...], chunks: list[Chunk]) -> None:
    for block in blocks:
        start, end = block.locator.span
        parts = [(max(c.locator.span[0], start) - start, min(c.locator.span[1], end) - start) for c in chunks]
        covered = "".join(block.text[a:b] for a, b in parts if a < b)
        if squeezed(covered) != squeezed(block.text):
            assert block.kind is H
            path = (*block.heading_path, block.text)
            assert covered == ""
            assert any(chunk.heading_path[: len(path)] == path for chunk in chunks)


def test_small_neighbours_under_one_heading_are_packed() -> None:
    source = document(
        Piece(H, "休假", level=1),
        Piece(P, "年假十五天。"),
        Piece(P, "病假三十天。"),
        Piece(H, "Pay", level=1),
        Piece(P, "On the tenth."),
    )
    assert [(c.text, c.heading_path, c.context) for c in chunks_of(source, title="Handbook")] == [
        ("年假十五天。\n\n病假三十天。", ("休假",), "Handbook › 休假"),
        ("On the tenth.", ("Pay",), "Handbook › Pay"),
    ]


def test_a_heading_without_a_body_is_text_of_the_section_above() -> None:
    source = document(
        Piece(H, "Contacts", level=1),
        Piece(P, "See below."),
        Piece(H, "Reception", level=2),
        Piece(H, "Canteen", level=2),
        Piece(H, "Rules", level=1),
        Piece(H, "Safety", level=2),
        Piece(P, "Wear shoes."),
        Piece(H, "End", level=1),
    )
    assert [(c.text, c.heading_path) for c in chunks_of(source)] == [
        ("See below.\n\nReception\n\nCanteen", ("Contacts",)),
        ("Wear shoes.", ("Rules", "Safety")),
        ("End", ()),
    ]


def test_sections_of_equal_names_stay_apart() -> None:
    source = document(
        Piece(H, "Notes", level=1), Piece(P, "one"), Piece(H, "Notes", level=1), Piece(P, "two"), Piece(P, "three")
    )
    assert [c.text for c in chunks_of(source)] == ["one", "two\n\nthree"]


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    chinese = "".join(f"第{number}条规定员工应当遵守。" for number in "一二三四五六")
    english = " ".join(f"Sentence number {number} is about Mr. Smith at 3.5 percent." for number in range(6))
    assert all(c.text.endswith("。") for c in chunks_of(document(Piece(P, chinese))))
    assert len(chunks_of(document(Piece(P, chinese)))) == 2
    assert [c.text[:17] for c in chunks_of(document(Piece(P, english)))] == ["Sentence number 0", "Sentence number 3"]


def test_sentences() -> None:
    def of(text: str) -> list[str]:
        return [text[start:end] for start, end in cuts.sentences(text)]

    assert of("他说：“走吧！”然后离开。好；再见") == ["他说：“走吧！”", "然后离开。", "好；", "再见"]
    assert of("Is it 3.5? Yes. Ask Dr. No at e.g. noon. no capital") == [
        "Is it 3.5? ",
        "Yes. ",
        "Ask Dr. No at e.g. noon. no capital",
    ]
    assert of("a\nb\n\n") == ["a\n", "b\n"]
    assert of("") == []


def test_a_list_stays_with_what_introduces_it() -> None:
    filler = Piece(P, " ".join(["filler"] * 30))
    items = [Piece(L, f"- item number {n}") for n in range(3)]
    source = document(filler, Piece(P, "You need:"), *items)
    assert [c.text.split("\n")[0] for c in chunks_of(source)] == [filler.text, "You need:"]
    assert "item number 2" in chunks_of(source)[1].text


def test_of_a_long_list_at_least_the_first_item_stays() -> None:
    items = [Piece(L, f"- {'word ' * 8}{n}") for n in range(8)]
    source = document(Piece(P, " ".join(["filler"] * 25)), Piece(P, "You need these things:"), *items)
    second = chunks_of(source)[1].text
    assert second.startswith("You need these things:\n\n- word")


def test_a_table_is_kept_whole_where_it_fits() -> None:
    table = Piece(T, rows=(("Kind", "Days"), ("年假", "15"), ("Sick", "30")), header_rows=1)
    source = document(Piece(P, " ".join(["filler"] * 32)), table)
    assert [c.text for c in chunks_of(source)][1] == "Kind | Days\n年假 | 15\nSick | 30"


def test_a_long_table_repeats_its_header() -> None:
    rows = (("Kind", "Days", "Note"), *((f"Kind{n}", str(n), "a note here") for n in range(20)))
    chunks = chunks_of(document(Piece(T, rows=rows, header_rows=1, lines=(1, 21))))
    assert len(chunks) > 3
    assert all(c.text.startswith("Kind | Days | Note\nKind") for c in chunks)
    assert [line for c in chunks for line in c.text.split("\n")[1:]] == [" | ".join(row) for row in rows[1:]]
    shown = [c.text.count("\n") for c in chunks]
    shown[0] += 1  # the header itself
    last = [sum(shown[: number + 1]) for number in range(len(shown))]
    assert [c.locator.lines for c in chunks] == [(1 + end - count, end) for count, end in zip(shown, last, strict=True)]


def test_a_cell_longer_than_the_budget() -> None:
    cell = " ".join(f"w{n}" for n in range(200))
    chunks = chunks_of(document(Piece(T, rows=(("Name", "Text"), ("a", cell), ("b", "short")), header_rows=1)))
    assert all(c.text.startswith("Name | Text\n") for c in chunks[1:])


def test_a_header_longer_than_the_budget() -> None:
    header = tuple(f"column {n}" for n in range(60))
    chunks_of(document(Piece(T, rows=(header, tuple("x" * 60)), header_rows=1)))


def test_a_long_answer_repeats_its_question() -> None:
    answer = " ".join(f"Answer sentence number {n} says something." for n in range(12))
    chunks = chunks_of(document(Piece(F, f"Q: Why is that so?\nA: {answer}")))
    assert len(chunks) > 1
    assert all(c.text.startswith("Q: Why is that so?\n") for c in chunks)
    assert sum(c.text.count("Answer sentence") for c in chunks) == 12


def test_code_is_cut_between_lines_and_keeps_its_indentation() -> None:
    code = "\n".join(f"    call(number, {n}, with_a_word)" for n in range(30))
    chunks = chunks_of(document(Piece(C, code)))
    assert len(chunks) > 1
    assert "\n".join(c.text for c in chunks) == code


@pytest.mark.parametrize("text", ["字" * 500, "x" * 500, "a" * 499 + "。", "🙂" * 300])
def test_a_sentence_without_end(text: str) -> None:
    assert "".join(c.text for c in chunks_of(document(Piece(P, text)), count=lambda t: len(t) + 2)) == text


def test_context_drops_its_outer_parts_first() -> None:
    path = [Piece(H, f"Heading of level {level} has a name", level=level) for level in range(1, 5)]
    chunk = chunks_of(document(*path, Piece(P, "text")), budget=40, title="A title")[0]
    assert chunk.context == "Heading of level 4 has a name"
    assert len(chunk.heading_path) == 4
    wide = chunks_of(document(*path, Piece(P, "text")), budget=200, title="A title")[0]
    assert wide.context.startswith("A title › Heading of level 1")
    long = chunks_of(document(Piece(H, "word " * 50, level=1), Piece(P, "text")), budget=40, title="T")[0]
    assert long.context == ""


def test_the_title_is_not_said_twice() -> None:
    source = document(Piece(H, "Handbook", level=1), Piece(P, "text"))
    assert chunks_of(source, title="Handbook")[0].context == "Handbook"


def test_locators_cover_pages_regions_and_lines() -> None:
    source = assemble(
        PDF,
        [
            Piece(P, "one", page=1, region=(10, 10, 50, 20)),
            Piece(P, "two", page=1, region=(5, 30, 40, 40)),
            Piece(H, "Next", level=1, page=1, region=(10, 50, 50, 60)),
            Piece(P, "three", page=1, region=(10, 70, 50, 80)),
            Piece(P, "four", page=2, page_end=3),
        ],
        pages=3,
    )
    first, second = chunks_of(source)
    assert first.locator.to_json() == {"span": [0, 8], "page": 1, "region": [5, 10, 50, 40]}
    assert second.locator.to_json() == {"span": [16, 27], "page": 1, "pageEnd": 3, "region": [10, 70, 50, 80]}


def test_lines_of_a_part_of_a_block_are_exact() -> None:
    source = parse(
        "\n\n".join("\n".join(f"Line {n} has some words." for n in range(20)) for _ in range(2)).encode(), TEXT, ""
    )
    for chunk in chunks_of(source):
        first, last = chunk.locator.lines or (0, 0)
        assert last - first == chunk.text.count("\n")
        assert int(chunk.text.split(" ")[1]) == (first - 1) % 21


def test_a_budget_that_is_too_small() -> None:
    with pytest.raises(ValueError, match="32"):
        split(document(Piece(P, "x")), title="", count_tokens=words, budget=31)
    with pytest.raises(ValueError, match="small"):
        split(document(Piece(P, "xy")), title="", count_tokens=lambda text: 33, budget=32)


def test_a_tokenizer_to_which_the_whole_costs_more_than_its_parts() -> None:
    """By the parts' costs, nine paragraphs fill the budget; counted as one text they are nine tokens over."""
    source = document(*(Piece(P, "abcdefghi") for _ in range(30)))
    chunks = chunks_of(source, budget=100, count=lambda text: len(text) + len(text) // 10 + 3)
    assert [chunk.text.count("abc") for chunk in chunks] == [8, 8, 8, 6]


def test_an_unknown_strategy() -> None:
    assert list(STRATEGIES) == ["structure", "fixed", "sentence", "parent-child"]
    with pytest.raises(KeyError):
        split(document(Piece(P, "x")), title="", count_tokens=words, budget=40, strategy="none")


def test_counting_is_sparing() -> None:
    """Once for a block and a few times for a chunk, not once for a character or a pair of neighbours."""
    calls = 0

    def counting(text: str) -> int:
        nonlocal calls
        calls += 1
        return words(text)

    source = document(*(Piece(P, f"Paragraph {n} has these few words.") for n in range(300)))
    chunks = split(source, title="T", count_tokens=counting, budget=100)
    assert calls <= 300 + 2 * len(chunks) + 10


def test_real_tokenizer() -> None:
    from indexing.embedders.local import LocalEmbedder

    source = parse(("# 制度\n\n" + "员工应当遵守规定。Employees follow the rules. " * 60).encode(), MARKDOWN, "a.md")
    chunks = checked(source, title="手册", count=LocalEmbedder().count_tokens, budget=64)
    assert len(chunks) > 10
    assert min(chunk.tokens for chunk in chunks[:-1]) > 40  # the budget is used


TEXTS = st.text(st.sampled_from("abc DE。，！年假制度. \n!?|🙂é"), min_size=1, max_size=120).filter(str.strip)
CELLS = st.lists(st.lists(TEXTS, min_size=2, max_size=3).map(tuple), min_size=1, max_size=6).map(tuple)
PIECES = st.one_of(
    st.builds(Piece, st.sampled_from([P, L, C, F]), TEXTS),
    st.builds(Piece, st.just(H), TEXTS, level=st.integers(1, 4)),
    st.builds(Piece, st.just(T), rows=CELLS, header_rows=st.integers(0, 1)),
)
COUNTERS = [
    words,
    len,
    lambda text: len(text) + 3,
    lambda text: (len(text.encode()) + 2) // 3 + 4,
    lambda text: len(text) + len(text) // 10 + 3,  # the whole costs more than its parts
]


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=12), st.sampled_from(COUNTERS), st.integers(32, 200), st.text(max_size=30))
def test_whatever_the_document_nothing_is_lost_and_the_budget_holds(
    pieces: list[Piece], count: Callable[[str], int], budget: int, title: str
) -> None:
    checked(document(*pieces), title=title, count=count, budget=budget)


@given(TEXTS, st.integers(1, 30))
def test_pieces_cover_a_text_and_fit(text: str, room: int) -> None:
    meter = Meter(len)
    intervals = list(cuts.pieces(text, meter, room))
    assert "".join(squeezed(text[start:end]) for start, end in intervals) == squeezed(text)
    assert all(end - start <= room for start, end in intervals)
