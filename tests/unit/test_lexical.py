"""Tokens: the same at index and at query time, and each with its place in the original."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from indexing import lexical
from indexing.lexical import any_of, index_tokens, query_tokens, quoted, token_spans, tsvector


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("差旅标准", ["差", "差旅", "旅", "旅标", "标", "标准", "准"]),
        ("报", ["报"]),
        ("Travel Policy", ["travel", "policy"]),
        ("ＶＰＮ设置２", ["vpn", "设", "设置", "置", "2"]),  # full-width forms are ordinary ones
        ("第3章API说明", ["第", "3", "章", "api", "说", "说明", "明"]),
        ("don't l’homme", ["don", "t", "l", "homme"]),
        ("ﬁle Straße ΣΟΦΟΣ", ["file", "strasse", "σοφοσ"]),
        ("ｶﾞｽ", ["ガ", "ガス", "ス"]),  # half-width kana with its voicing mark is one character
        ("한국어", ["한", "한국", "국", "국어", "어"]),
        ("𠮷野家", ["𠮷", "𠮷野", "野", "野家", "家"]),
        ("KB-2024_v1.5", ["kb", "2024", "v1", "5"]),
        ("👍🏽 ok 👨‍👩‍👧", ["ok"]),
        ("…，。！？ \n\t", []),
        ("", []),
    ],
)
def test_index_tokens(text: str, tokens: list[str]) -> None:
    assert index_tokens(text) == tokens


@pytest.mark.parametrize(
    ("query", "tokens"),
    [
        ("差旅标准", ["差旅", "旅标", "标准"]),  # no single characters: they match nearly every chunk
        ("报", ["报"]),  # unless there is nothing else
        ("报销 VPN 报销", ["报销", "vpn"]),
        ("第3章", ["第", "3", "章"]),
        ("👍", []),
    ],
)
def test_query_tokens(query: str, tokens: list[str]) -> None:
    assert query_tokens(query) == tokens


@given(st.text())
def test_a_text_is_found_by_every_token_of_itself(text: str) -> None:
    """A query token that indexing never makes could find nothing."""
    assert set(query_tokens(text)) <= set(index_tokens(text))


JOINING = st.text(st.sampled_from("aeЖ가ᄀ ᅡᆨ\u0301\u0323\u0327ｶﾞ差旅İßﬁ①' é"), max_size=12)


@given(st.one_of(st.text(max_size=40), JOINING))
@example("A\uff9e\u0323")
def test_marks_are_made_of_the_tokens_that_were_indexed(text: str) -> None:
    """Characters are normalised with the marks that follow them, as in the whole text."""
    assert [token for token, _, _ in token_spans(text)] == index_tokens(text)


@given(st.one_of(st.text(max_size=40), JOINING))
def test_spans_point_into_the_original(text: str) -> None:
    for token, start, end in token_spans(text):
        assert 0 <= start < end <= len(text)
        assert token in index_tokens(text[start:end]) or token in lexical.normalise(text[start:end])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ﬁle", [("file", "ﬁle")]),
        ("Cafe\u0301!", [("café", "Cafe\u0301")]),
        (
            "㍿",
            [("株", "㍿"), ("株式", "㍿"), ("式", "㍿"), ("式会", "㍿"), ("会", "㍿"), ("会社", "㍿"), ("社", "㍿")],
        ),
        ("𠮷野", [("𠮷", "𠮷"), ("𠮷野", "𠮷野"), ("野", "野")]),
    ],
)
def test_spans_where_normalising_changes_the_length(text: str, found: list[tuple[str, str]]) -> None:
    assert [(token, text[start:end]) for token, start, end in token_spans(text)] == found


def test_words_and_positions_have_limits() -> None:
    assert index_tokens("x" * 5000) == ["x" * 100]
    many = tsvector("word " * 20_000)
    assert many.count(",") == 254, "PostgreSQL keeps 255 positions of a word"
    late = tsvector("a " * 20_000 + "late")
    assert "'late':16383" in late, "and none above 16,383"


def test_a_monster_of_a_text_is_cut_to_what_a_tsvector_holds() -> None:
    """Rare characters can all be one token to a model, so that a chunk's budget does not bound its characters."""
    monster = "".join(chr(0x20000 + number % 40_000) for number in range(400_000))
    size = sum(len(token.encode()) for token in re.findall(r"'([^']+)'", tsvector("title", monster)))
    assert 300_000 < size <= lexical.MAX_BYTES
    assert tsvector("title", monster).count("'title':1") == 1


def test_quotes_and_backslashes_are_escaped() -> None:
    assert quoted("a'b\\c") == "'a''b\\\\c'"
    assert any_of(["a", "b'"]) == "'a' | 'b'''"
    assert any_of([]) == ""


def test_several_texts_share_one_run_of_positions() -> None:
    assert tsvector("b a", "a") == "'a':2,3 'b':1"


def test_words_that_only_ask_do_not_outweigh_what_is_asked_about() -> None:
    assert query_tokens("VPN 怎么办") == ["vpn"]
    assert query_tokens("How do I set up the VPN?") == ["set", "up", "vpn"]
    assert "打印" in query_tokens("打印机怎么用")
    assert "怎么" not in query_tokens("打印机怎么用")


def test_names_in_capitals_are_no_asking_words() -> None:
    assert query_tokens("IT support") == ["it", "support"]
    assert query_tokens("WHO guidelines") == ["who", "guidelines"]


def test_a_query_of_asking_words_alone_is_still_a_query() -> None:
    assert query_tokens("怎么办") == ["怎么", "么办"]
    assert query_tokens("what is it") == ["what", "is", "it"]
