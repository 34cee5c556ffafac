"""From texts to vectors: from the cache, the rest from the model in batches, each kept at once. No transaction is open then.

A text that the provider refuses, or that makes it fall over, is found by halving its batch until it is alone: everything
else is embedded and kept on the way, and the error says where in the document the text stands.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from documents.locks import ensure_no_transaction
from indexing import cache, canary, provider_gate
from indexing.embedders.base import Embedder, Vectors
from indexing.errors import (
    EmbeddingBadResponse,
    EmbeddingInputRejected,
    EmbeddingTimeout,
    EmbeddingUnavailable,
    IndexingError,
    TransientError,
    places_of,
)
from indexing.lease import Lease
from indexing.retrying import retrying
from indexing.sink import StagedChunk
from indexing.states import TaskType

MOST_SOUGHT = 10  # texts at fault that one attempt looks for: each costs 2·log2(batch) + 3 requests at most
MOST_NAMED = 3

Item = TypeVar("Item")

Report = Callable[[int, int], None]
"""Called before each request with what is done and what there is; raises to end the attempt."""


def embed(chunks: Sequence[StagedChunk], *, lease: Lease, embedder: Embedder, report: Report) -> dict[str, str]:
    """Vectors as pgvector literals by digest of the embedded text. A crash costs at most the batch that was on its way.

    Raises `LeaseLost`, an `EMBEDDING_*` error, or what `report` raises.
    """
    return _Embedding(chunks, lease=lease, embedder=embedder, report=report).run()


def ask(embedder: Embedder, texts: Sequence[str], *, with_canary: bool) -> Vectors:
    """One request of a worker to the model: the only door to it from here. Raises an `EMBEDDING_*` error."""
    ensure_no_transaction()
    return canary.embed(embedder, texts) if with_canary else embedder.embed_passages(texts)


def batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """`items` in pieces of at most `size`."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


class _Embedding:
    """One attempt's embedding. Texts are known by their digests."""

    def __init__(self, chunks: Sequence[StagedChunk], *, lease: Lease, embedder: Embedder, report: Report) -> None:
        self._chunks = {item.embedded_digest: item.chunk for item in reversed(chunks)}  # of equal texts, the first
        self._digests = list(dict.fromkeys(item.embedded_digest for item in chunks))
        self._lease, self._embedder, self._report = lease, embedder, report
        self._fingerprint = embedder.fingerprint()
        self._size = embedder.batch_size
        self._vectors: dict[str, str] = {}
        self._faults: list[tuple[str, IndexingError]] = []

    def run(self) -> dict[str, str]:
        self._vectors = retrying(
            lambda: cache.find_vectors(self._lease, fingerprint=self._fingerprint, digests=self._digests)
        )
        waiting = [digest for digest in self._digests if digest not in self._vectors]
        while waiting and not self._has_enough():
            room = max(min(self._size, self._embedder.batch_size - canary.is_due(self._embedder)), 1)
            self._batch(waiting[:room])
            waiting = waiting[room:]
        if self._faults:
            raise self._blame(complete=not waiting)
        return self._vectors

    def _batch(self, batch: Sequence[str]) -> None:
        known = len(self._faults)
        if (error := self._failure(batch)) is None:
            return
        if isinstance(error, TransientError) and not self._lease.failures:
            raise error  # it may well pass: texts are suspected by the next attempt
        try:
            self._halve(batch)
        except EmbeddingUnavailable as outage:
            # A server that fell over at this batch, and is not up again. Uncharged, a text that fells it would do so for a day.
            if isinstance(error, TransientError) and not isinstance(outage.__cause__, IndexingError):
                raise error from outage
            raise  # our own text fails, too, or it no longer answers anybody: no text is to blame
        if len(self._faults) == known:
            self._size = max(len(batch) // 2, 1)  # no text was to blame: it was too much at once

    def _halve(self, batch: Sequence[str]) -> None:
        """Embed the halves of a batch that failed, down to a text that fails alone."""
        if len(batch) == 1:
            self._suspect(batch[0])
            return
        middle = len(batch) // 2
        for half in (batch[:middle], batch[middle:]):
            if not self._has_enough() and self._failure(half) is not None:
                self._halve(half)

    def _suspect(self, digest: str) -> None:
        """A text failed alone. It is to blame if it does so again, while our own text passes: not the provider as a whole."""
        self._ask([], with_canary=True)
        if (error := self._failure([digest])) is not None:
            self._faults.append((digest, error))

    def _failure(self, batch: Sequence[str]) -> IndexingError | None:
        """Send a batch and keep its vectors; what went wrong, if that may be the doing of one of its texts."""
        self._report(len(self._vectors), len(self._digests))
        try:
            self._send(batch)
        except (EmbeddingInputRejected, EmbeddingBadResponse, EmbeddingTimeout) as error:
            return error
        return None

    def _send(self, batch: Sequence[str]) -> None:
        is_due = canary.is_due(self._embedder)
        if is_due and len(batch) == self._embedder.batch_size:  # no room for it beside them
            self._ask([], with_canary=True)
            is_due = False
        embedded = self._ask(batch, with_canary=is_due)
        fresh = {digest: cache.literal(vector) for digest, vector in zip(batch, embedded, strict=True)}
        retrying(partial(cache.keep_vectors, self._lease, fingerprint=self._fingerprint, vectors=fresh))
        if not is_due:
            canary.note(self._lease, self._embedder, digests=batch)
        self._vectors.update(fresh)

    def _ask(self, batch: Sequence[str], *, with_canary: bool) -> Vectors:
        texts = [self._chunks[digest].embedded_text for digest in batch]
        return provider_gate.send(
            partial(ask, self._embedder, texts, with_canary=with_canary),
            provider=self._embedder.provider,
            texts=len(texts) + with_canary,
            task_id=self._lease.task_id,
            wait=self._wait,
            yields=self._lease.task_type == TaskType.RECOMPUTE,
        )

    def _wait(self, seconds: float) -> None:
        """For the provider to be ready; what ends the attempt meanwhile ends the wait."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._report(len(self._vectors), len(self._digests))
            time.sleep(min(left, 1.0))

    def _has_enough(self) -> bool:
        return len(self._faults) >= MOST_SOUGHT

    def _blame(self, *, complete: bool) -> IndexingError:
        """The error that names the texts at fault by their places: those refused, or else those that broke the server."""
        refused = [fault for fault in self._faults if isinstance(fault[1], EmbeddingInputRejected)]
        faults = refused or self._faults
        named = [self._chunks[digest] for digest, _ in faults[:MOST_NAMED]]
        places = places_of(named, count=len(faults), complete=complete)
        error = faults[0][1]
        numbers = ", ".join(str(chunk.ordinal + 1) for chunk in named)
        return type(error)(
            f"{error.detail} Texts at fault: {len(faults)}, first in chunk {numbers}.".strip(), places=places
        )
