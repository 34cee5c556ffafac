"""The vectors in a provider's answer, or the reason why it is not believed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from indexing.embedders.base import Vectors
from indexing.embedders.vectors import first_unusable
from indexing.errors import EmbeddingBadResponse, EmbeddingDimensionMismatch, EmbeddingModelChanged


def longest_answer(texts: int, dimensions: int) -> int:
    """Bytes beyond which no honest answer goes: 64 for a number with its comma and indentation, and some room."""
    return 64 * texts * dimensions + 65_536


def read_vectors(body: bytes, *, texts: int, model: str, dimensions: int) -> Vectors:
    """Shape (texts, dimensions), row i for text i whatever the order of the answer.

    An answer that names a model must name `model` exactly: a dated or renamed variant may be another model, and its
    vectors would mix with the stored ones unseen. Configure the name the server answers with.

    Raises `EmbeddingBadResponse`, `EmbeddingModelChanged`, `EmbeddingDimensionMismatch`.
    """
    answer = _parsed(body)
    if answer.get("model") not in (None, model):
        raise EmbeddingModelChanged()
    rows = _in_order(answer.get("data"), texts)
    for index, row in enumerate(rows):
        if len(row) != dimensions:
            raise EmbeddingDimensionMismatch(f"Vector {index} has {len(row)} dimensions instead of {dimensions}.")
    vectors = _numbers(rows)
    unusable = first_unusable(vectors)
    if unusable is not None:
        raise EmbeddingBadResponse(f"Vector {unusable} is zero or not finite.")
    return vectors


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None  # raised below, because a JSON error carries the whole body along
    if not isinstance(answer, dict):
        raise EmbeddingBadResponse("It is not a JSON object.")
    return answer


def _in_order(data: object, texts: int) -> list[list[object]]:
    """The embeddings by ascending `index`, each of 0 … texts - 1 present exactly once."""
    if not isinstance(data, list) or len(data) != texts:
        found = len(data) if isinstance(data, list) else "no list of"
        raise EmbeddingBadResponse(f"It holds {found} vectors for {texts} texts.")
    rows: dict[int, list[object]] = {}
    for item in data:
        index, row = (item.get("index"), item.get("embedding")) if isinstance(item, dict) else (None, None)
        if type(index) is not int or not isinstance(row, list):
            raise EmbeddingBadResponse("It holds an item without index or vector.")
        rows[index] = row
    if sorted(rows) != list(range(texts)):
        raise EmbeddingBadResponse("Its indices are not those of the texts.")
    return [rows[index] for index in range(texts)]


def _numbers(rows: list[list[object]]) -> Vectors:
    try:
        table = np.array(rows)
    except ValueError:  # a list where a number should be
        raise EmbeddingBadResponse("A vector holds something else than numbers.") from None
    if table.ndim != 2 or table.dtype.kind not in "fi":
        raise EmbeddingBadResponse("A vector holds something else than numbers.")
    with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite and is refused as such
        return table.astype(np.float32)
