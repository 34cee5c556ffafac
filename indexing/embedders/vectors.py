"""What every embedder checks before a vector reaches the database."""

from __future__ import annotations

import numpy as np

from indexing.embedders.base import Vectors


def first_unusable(vectors: Vectors) -> int | None:
    """Index of the first row of `vectors` (n, dimensions) that has no cosine with anything, or None.

    Such rows hold NaN or infinity, are all zero, or have a norm whose square leaves float32: the database adds up in
    float32 too, and would store the vector but never find it.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", vectors, vectors)
    unusable = np.flatnonzero(~(np.isfinite(squares) & (squares > 0)))
    return int(unusable[0]) if unusable.size else None
