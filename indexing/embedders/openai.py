"""Any server that speaks OpenAI's `POST /v1/embeddings`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from indexing.embedders.answers import longest_answer, read_vectors
from indexing.embedders.base import Vectors
from indexing.embedders.estimate import upper_estimate
from indexing.embedders.exchange import Exchange, full_address
from indexing.embedders.fingerprint import fingerprint
from indexing.embedders.texts import capped, check_batch

PATH = "/embeddings"
MARKS = 2  # tokens that begin and end a text


class OpenAIEmbedder:
    """Vectors of shape (n, dimensions), float32, as the endpoint returns them; no answer is taken on trust.

    The request names neither `dimensions` nor a user: not every server knows them. Passages are sent whole (the
    splitter keeps them within `max_tokens`), queries are cut there.
    """

    def __init__(
        self,
        url: str,
        model: str,
        api_key: str = "",
        *,
        dimensions: int,
        batch_size: int = 32,
        connect_timeout: float = 5.0,
        timeout: float = 30.0,
        max_tokens: int = 512,
        query_prefix: str = "",
        passage_prefix: str = "",
    ) -> None:
        """`url`: the base (`…/v1`) or the full address (`…/v1/embeddings`). `api_key`: empty sends none.

        `connect_timeout`, `timeout`: seconds; the second is for a whole request, from connecting to the last byte.
        `max_tokens`: what the model reads, in its own tokens; prefix and marks are taken off.

        `ValueError`, without quoting the value, for an unusable address or key.
        """
        self._exchange = Exchange(url, PATH, api_key, connect_timeout=connect_timeout, timeout=timeout)
        self.provider = provider_of(url)
        self.model = model
        self.dimensions = dimensions
        self.batch_size = batch_size
        self.max_tokens = max_tokens - MARKS - max(upper_estimate(query_prefix), upper_estimate(passage_prefix))
        self._query_prefix = query_prefix
        self._passage_prefix = passage_prefix

    def fingerprint(self) -> str:
        """See `indexing.embedders.fingerprint`."""
        return fingerprint("openai", self.model, self.dimensions, self._query_prefix, self._passage_prefix)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimensions); one request, none for no texts. Raises any `EMBEDDING_*` error."""
        check_batch(texts, self.batch_size)
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return self._embed([self._passage_prefix + text for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """Shape (dimensions,). Raises any `EMBEDDING_*` error."""
        check_batch([text], 1)
        vector: Vectors = self._embed([self._query_prefix + capped(text, self.max_tokens, self.count_tokens)])[0]
        return vector

    def count_tokens(self, text: str) -> int:
        """An upper estimate: see `indexing.embedders.estimate`."""
        return upper_estimate(text)

    def _embed(self, texts: list[str]) -> Vectors:
        question = {"model": self.model, "input": texts, "encoding_format": "float"}
        body = self._exchange.post(question, longest=longest_answer(len(texts), self.dimensions))
        return read_vectors(body, texts=len(texts), model=self.model, dimensions=self.dimensions)


def provider_of(url: str) -> str:
    """Host and port: what all workers call the provider. `ValueError` for an unusable address."""
    return full_address(url, PATH).netloc.decode("ascii")
