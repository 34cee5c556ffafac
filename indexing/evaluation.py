"""How well a ranking answers: questions with the documents that answer them, and the usual measures. Pure."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

DEPTH = 10  # ranks that count


@dataclass(frozen=True, slots=True)
class Question:
    query: str
    relevant: frozenset[uuid.UUID]


def read_questions(lines: Iterable[str]) -> list[Question]:
    """From JSON lines, `{"query": "…", "relevant": ["document id", …]}`; empty lines are passed over.

    Raises `ValueError`, with the line, for one that is not so.
    """
    questions = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
            query, relevant = found["query"], frozenset(uuid.UUID(one) for one in found["relevant"])
            if not isinstance(query, str) or not query.strip() or not relevant:
                raise ValueError
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            wanted = '{"query": "…", "relevant": ["document id", …]}'
            raise ValueError(f"line {number} is not {wanted}") from error
        questions.append(Question(query, relevant))
    if not questions:
        raise ValueError("there is no question in it")
    return questions


def ndcg(ranked: Sequence[uuid.UUID], relevant: frozenset[uuid.UUID], depth: int = DEPTH) -> float:
    """Normalised discounted cumulative gain of the first `depth` ranks, 0 to 1, every relevant document worth the same.

    Source: Järvelin and Kekäläinen, “Cumulated gain-based evaluation of IR techniques”, TOIS 2002.
    """
    gain = sum(1 / math.log2(place + 2) for place, one in enumerate(ranked[:depth]) if one in relevant)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(len(relevant), depth)))


def recall(ranked: Sequence[uuid.UUID], relevant: frozenset[uuid.UUID], depth: int = DEPTH) -> float:
    """Share of the relevant documents among the first `depth` ranks."""
    return len(relevant.intersection(ranked[:depth])) / len(relevant)


def overlap(one: Sequence[uuid.UUID], other: Sequence[uuid.UUID]) -> float:
    """Share of documents that both found, of all that either did; 1 where neither found any."""
    found = set(one) | set(other)
    return len(set(one) & set(other)) / len(found) if found else 1.0
