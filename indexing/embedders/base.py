"""The one door to every embedding model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors of one model. Implementations hold no database connection and know no Django.

    Errors: the `EMBEDDING_*` classes of `indexing.errors`, and nothing else, for whatever the provider does.
    """

    provider: str  # "local" or the endpoint's host
    model: str
    dimensions: int
    batch_size: int  # most texts in one call of `embed_passages`
    max_tokens: int  # longest text the model reads, in its own tokens

    def fingerprint(self) -> str:
        """Identifies model, dimensions and prefix rules: vectors of equal fingerprints may be compared and cached."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of document texts, shape (len(texts), dimensions), float32, finite, each of a norm above zero."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Vector of a search query, shape (dimensions,)."""
        ...

    def count_tokens(self, text: str) -> int:
        """Length of `text` in the model's tokens (an upper estimate where the tokenizer is the provider's secret)."""
        ...
