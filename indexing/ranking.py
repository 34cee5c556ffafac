"""Weights of a query's terms. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

MAX_TERMS = 32  # rarest terms of a query that are searched for: a page of text as a query must not scan everything


def inverse_frequency(chunks_with_term: int, chunks: int) -> float:
    """How much a term tells: ln(1 + (N − n + ½) / (n + ½)).

    Source: Robertson and Zaragoza, “The Probabilistic Relevance Framework: BM25 and Beyond”, 2009, in the form that is
    never negative.
    """
    n = min(chunks_with_term, chunks)
    return math.log(1 + (chunks - n + 0.5) / (n + 0.5))


def weigh(tokens: Sequence[str], *, chunks_with: Mapping[str, int]) -> dict[str, float]:
    """A weight for each token, of at most `MAX_TERMS` of them. `chunks_with[""]` is the number of all chunks; while nothing
    is counted yet every token weighs the same."""
    chunks = chunks_with.get("", 0)
    weights = {token: inverse_frequency(chunks_with.get(token, 0), chunks) if chunks else 1.0 for token in tokens}
    return dict(sorted(weights.items(), key=lambda item: -item[1])[:MAX_TERMS])
