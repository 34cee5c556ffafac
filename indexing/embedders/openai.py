"""Any server that speaks OpenAI's `POST /v1/embeddings`."""

from __future__ import annotations

import os
from collections.abc import Sequence

import httpx2
import numpy as np

from indexing.embedders.answers import longest_answer, read_vectors
from indexing.embedders.base import Vectors
from indexing.embedders.deadline import DeadlineTransport, deadline
from indexing.embedders.estimate import upper_estimate
from indexing.embedders.fingerprint import fingerprint
from indexing.embedders.refusals import refusal
from indexing.embedders.texts import capped, check_batch
from indexing.errors import EmbeddingBadResponse, EmbeddingTimeout, EmbeddingUnavailable

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
        self._url = _full_address(url)
        self.provider = provider_of(url)
        self.model = model
        self.dimensions = dimensions
        self.batch_size = batch_size
        self.max_tokens = max_tokens - MARKS - max(upper_estimate(query_prefix), upper_estimate(passage_prefix))
        self._headers = {"Accept-Encoding": "identity", **_authorization(api_key)}
        self._timeout = httpx2.Timeout(timeout, connect=min(connect_timeout, timeout))
        self._deadline = timeout
        self._query_prefix = query_prefix
        self._passage_prefix = passage_prefix
        self._transport: tuple[int, DeadlineTransport] | None = None  # process it belongs to, connections

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
        request = httpx2.Request(
            "POST", self._url, headers=self._headers, json=question, extensions={"timeout": self._timeout.as_dict()}
        )
        try:
            with deadline(self._deadline):
                body = self._exchange(request, longest_answer(len(texts), self.dimensions))
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise EmbeddingUnavailable("No connection could be made.") from error
        except httpx2.TimeoutException as error:
            raise EmbeddingTimeout() from error
        except httpx2.HTTPError as error:
            # Not "unavailable": a text that makes the server fall over must use up its budget.
            raise EmbeddingBadResponse("The connection broke before the answer was complete.") from error
        return read_vectors(body, texts=len(texts), model=self.model, dimensions=self.dimensions)

    def _exchange(self, request: httpx2.Request, longest: int) -> bytes:
        """The body of a 200 answer.

        Asks the transport, not a client: nothing here may follow a redirect with the key, keep cookies, read
        credentials from the environment, or log the address with its query.
        """
        response = self._connections().handle_request(request)
        try:
            if response.status_code != httpx2.codes.OK:
                raise refusal(response.status_code, response.headers)
            body = bytearray()
            for part in response.iter_raw():
                body += part
                if len(body) > longest:
                    raise EmbeddingBadResponse("It is far longer than the vectors asked for.")
            return bytes(body)
        finally:
            response.close()

    def _connections(self) -> DeadlineTransport:
        """This process's connections. A forked child that used its parent's could receive the parent's vectors."""
        if self._transport is None or self._transport[0] != os.getpid():
            self._transport = (os.getpid(), DeadlineTransport())
        return self._transport[1]


def provider_of(url: str) -> str:
    """Host and port: what all workers call the provider. `ValueError` for an unusable address."""
    return _full_address(url).netloc.decode("ascii")


def _full_address(url: str) -> httpx2.URL:
    try:
        address = httpx2.URL(url)
        address.host.encode("idna")
    except (httpx2.InvalidURL, UnicodeError):
        raise ValueError("the embedding URL is not a URL") from None
    if address.scheme not in ("http", "https") or not address.host:
        raise ValueError("the embedding URL must begin with http:// or https:// and name a host")
    if address.port is not None and not 0 < address.port < 65_536:
        raise ValueError("the embedding URL has an impossible port")
    if address.userinfo:
        raise ValueError("the embedding URL must not hold a user name or password: use the key setting")
    path = address.path.rstrip("/")
    return address.copy_with(path=path if path.endswith("/embeddings") else f"{path}/embeddings", fragment=None)


def _authorization(api_key: str) -> dict[str, str]:
    if not api_key:
        return {}
    if not all("!" <= character <= "~" for character in api_key):
        raise ValueError("the embedding key holds characters that no key has")
    return {"Authorization": f"Bearer {api_key}"}
