"""From texts to vectors: from the cache, the rest from the model in batches, each kept at once. No transaction is open then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from indexing import cache
from indexing.embedders.base import Embedder, Vectors
from indexing.lease import Lease
from indexing.statements import ensure_no_transaction, retrying

Item = TypeVar("Item")

Report = Callable[[int, int], None]
"""Called before each batch with what is done and what there is; raises to end the attempt."""


def embed(texts: Mapping[str, str], *, lease: Lease, embedder: Embedder, report: Report) -> dict[str, str]:
    """Vectors as pgvector literals for `texts`, both by digest. A crash costs at most the batch that was on its way.

    Raises `LeaseLost`, an `EMBEDDING_*` error, or what `report` raises.
    """
    model = embedder.fingerprint()
    vectors = retrying(lambda: cache.find_vectors(lease, fingerprint=model, digests=list(texts)))
    unknown = [digest for digest in texts if digest not in vectors]
    for batch in batches(unknown, embedder.batch_size):
        report(len(vectors), len(texts))
        embedded = ask(embedder, [texts[digest] for digest in batch])
        fresh = {digest: cache.literal(vector) for digest, vector in zip(batch, embedded, strict=True)}
        retrying(partial(cache.keep_vectors, lease, fingerprint=model, vectors=fresh))
        vectors.update(fresh)
    return vectors


def ask(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """One request of a worker to the model: the only door to it from here. Raises an `EMBEDDING_*` error."""
    ensure_no_transaction()
    return embedder.embed_passages(texts)


def batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """`items` in pieces of at most `size`."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
