"""Weights of a query's terms."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from indexing.ranking import MAX_TERMS, inverse_frequency, weigh


def test_rare_terms_tell_more() -> None:
    weights = weigh(["the", "allowance", "unseen"], chunks_with={"": 1000, "the": 990, "allowance": 7})
    assert list(weights) == ["unseen", "allowance", "the"]
    assert weights["allowance"] == math.log(1 + 993.5 / 7.5)


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_weight_is_never_negative(with_term: int, chunks: int) -> None:
    """Statistics lag behind: a term may stand in more chunks than were counted in all."""
    assert inverse_frequency(with_term, chunks) >= 0


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_more_chunks_less_weight(chunks: int, with_term: int) -> None:
    assert inverse_frequency(with_term + 1, chunks) <= inverse_frequency(with_term, chunks)


def test_while_nothing_is_counted_all_weigh_the_same() -> None:
    assert weigh(["a", "b"], chunks_with={}) == {"a": 1.0, "b": 1.0}


def test_a_page_of_text_as_a_query_is_searched_by_its_rarest_terms() -> None:
    tokens = [f"t{number}" for number in range(500)]
    counts = {"": 1000, **{token: number + 1 for number, token in enumerate(tokens)}}
    assert list(weigh(tokens, chunks_with=counts)) == tokens[:MAX_TERMS]
    assert list(weigh(tokens, chunks_with={})) == tokens[:MAX_TERMS], "in their order, where all are equal"


def test_no_terms_no_weights() -> None:
    assert weigh([], chunks_with={"": 5}) == {}
