"""What a hit shows of its text."""

from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st

from indexing.citations import LONGEST_STEP, SNIPPET, permalink, snippet
from indexing.lexical import normalise, query_tokens


def marked(text: str, query: str) -> tuple[str, list[str]]:
    shown, marks = snippet(text, tokens=set(query_tokens(query)))
    return shown, [shown[start:end] for start, end in marks]


def test_pairs_of_characters_make_one_mark() -> None:
    assert marked("关于差旅标准的规定", "差旅标准") == ("关于差旅标准的规定", ["差旅标准"])


def test_words_are_marked_as_they_are_written() -> None:
    assert marked("The ＬＩＭＩＴ is 200 yuan; limits vary.", "limit 200")[1] == ["ＬＩＭＩＴ", "200"]


def test_astral_characters_count_as_one() -> None:
    shown, marks = snippet("😀😀 𠮷野家 here", tokens={"𠮷野", "野家"})
    assert marks == ((3, 6),)
    assert shown[3:6] == "𠮷野家"


def test_the_window_is_where_most_different_terms_stand() -> None:
    """Not where one of them is repeated."""
    text = "limit limit limit limit. " + "x " * 300 + "the limit of travel is 300. " + "y " * 300
    shown, marks = marked(text, "limit travel 300")
    assert SNIPPET - 2 * LONGEST_STEP <= len(shown) <= SNIPPET
    assert {"limit", "travel", "300"} <= set(marks)


def test_a_little_of_what_comes_before_is_shown() -> None:
    text = "a " * 200 + "needle " + "b " * 200
    shown, _ = snippet(text, tokens={"needle"})
    assert 20 <= shown.index("needle") <= 40


def test_a_snippet_begins_with_a_row_or_sentence_where_one_is_near() -> None:
    row = "Hotel in Beijing | 600 yuan | a night"
    table = "\n".join([*["Place | limit | unit"] * 20, row, *["Other | 1 | x"] * 20])
    assert marked(table, "600")[0].startswith(row)
    prose = "Some words before. " * 20 + "The limit is needle. " + "And some after. " * 20
    assert marked(prose, "needle")[0].startswith("The limit is needle.")
    chinese = "前面还有一些话。" * 50 + "北京的住宿标准是六百元。" + "后面还有一些话。" * 50
    assert marked(chinese, "六百")[0].startswith("北京的住宿标准是六百元。")


def test_nothing_that_was_found_is_given_up_for_the_beginning() -> None:
    text = "x " * 200 + "Before. " + "a" * 30 + " limit " + "b " * 80 + "travel " + "y " * 200
    assert set(marked(text, "limit travel")[1]) == {"limit", "travel"}


def test_nothing_found_shows_the_beginning() -> None:
    text = "0123456789 " * 100
    assert snippet(text, tokens=set()) == (text[: SNIPPET - 10], ())
    assert snippet("", tokens={"x"}) == ("", ())


def test_a_snippet_begins_and_ends_between_words() -> None:
    text = "wordwordword " * 40 + "needle " + "wordwordword " * 40
    shown, _ = snippet(text, tokens={"needle"})
    assert set(shown.split()) == {"wordwordword", "needle"}
    chinese = "没有空格的文字" * 100
    assert len(snippet(chinese, tokens=set())[0]) == SNIPPET


def test_a_hit_at_the_end_fills_the_window() -> None:
    text = "x " * 300 + "needle"
    shown, marks = marked(text, "needle")
    assert (len(shown), marks) == (SNIPPET, ["needle"])


@given(st.text(max_size=700), st.text(max_size=20))
def test_marks_lie_in_the_snippet_apart_and_in_order(text: str, query: str) -> None:
    tokens = set(query_tokens(query))
    shown, marks = snippet(text, tokens=tokens)
    assert shown in text
    assert min(len(text), SNIPPET - 2 * LONGEST_STEP) <= len(shown) <= SNIPPET
    edge = -1
    for start, end in marks:
        assert edge < start < end <= len(shown)
        assert any(token in normalise(shown[start:end]) for token in tokens)
        edge = end


@given(st.integers(0, 2000), st.sampled_from(["需要的词", "needle"]))
def test_what_is_found_is_always_shown(before: int, needle: str) -> None:
    text = "填充的字 " * (before // 5) + needle + " 其他内容" * 100
    assert needle in marked(text, needle)[1]


def test_the_address_names_version_and_place_not_the_chunk() -> None:
    document = uuid.UUID(int=7)
    link = permalink(document_id=document, version_number=3, span=(10, 25))
    assert link == f"/documents/{document}/versions/3/?span=10-25"
