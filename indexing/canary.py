"""Whether the model that answers is still the one whose vectors are stored, which its name and dimensions cannot tell.

A fixed text rides in a request of a worker whenever this process's last good check of the fingerprint is too old. Its vector
is compared with the one that the first request under this fingerprint got; the batch beside it is judged by the same answer.
What a request without it brought stays unproven until the next good check, and leaves the cache after a bad one. A server
that serves one model under one name needs no more than that; KB_EMBEDDING_CANARY_SECONDS=0 checks every request.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from django.conf import settings

from indexing import cache
from indexing.embedders.base import Embedder, Vectors
from indexing.embedders.texts import CANARY
from indexing.errors import (
    EmbeddingBadResponse,
    EmbeddingInputRejected,
    EmbeddingModelChanged,
    EmbeddingTimeout,
    EmbeddingUnavailable,
)
from indexing.lease import Lease
from indexing.retrying import retrying
from indexing.statements import row

logger = logging.getLogger(__name__)

LIKENESS = 0.999
"""Least cosine between two vectors of one text by one model. Other hardware, other neighbours in the batch and half-precision
numbers (a relative error of 2⁻⁹ in each turns a vector by a cosine of 1 - 2⁻¹⁸) stay far above it; two models of equal
dimensions have nothing in common, and one that was trained further moves most texts by more."""


@dataclass
class _Watch:
    """What this process knows about one fingerprint."""

    good_at: float | None = None  # monotonic time at which the request of the last good check was sent
    unproven: list[tuple[Lease, Sequence[str]]] = field(default_factory=list)  # whose texts were kept since then


_watches: defaultdict[str, _Watch] = defaultdict(_Watch)


def is_due(embedder: Embedder) -> bool:
    """Whether the next request has to carry the canary."""
    if not _can_be_swapped(embedder):
        return False
    good_at = _watches[embedder.fingerprint()].good_at
    return good_at is None or time.monotonic() - good_at >= settings.KB_EMBEDDING_CANARY_SECONDS


def embed(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Vectors of `texts` by an answer that knows the canary; with no texts, a check of the provider alone.

    Raises `EmbeddingModelChanged`; `EmbeddingUnavailable` if the canary alone is refused: no document is to blame then.
    """
    sent_at = time.monotonic()
    try:
        vectors = embedder.embed_passages([*texts, CANARY])
    except (EmbeddingInputRejected, EmbeddingBadResponse, EmbeddingTimeout) as error:
        if texts:
            raise
        raise EmbeddingUnavailable(f"It fails with a text of ours, too: {error.detail or error.code}") from error
    fingerprint = embedder.fingerprint()
    if retrying(lambda: _is_known(fingerprint, vectors[-1])):
        _watches[fingerprint] = _Watch(good_at=sent_at)
    else:
        retrying(lambda: _distrust(fingerprint))
        raise EmbeddingModelChanged("A text of ours has another vector than it had.")
    return vectors[:-1]


def note(lease: Lease, embedder: Embedder, *, digests: Sequence[str]) -> None:
    """Vectors were kept that no canary has vouched for yet."""
    if _can_be_swapped(embedder):  # else no check would come, and the list grow for as long as the worker lives
        _watches[embedder.fingerprint()].unproven.append((lease, digests))


def _can_be_swapped(embedder: Embedder) -> bool:
    """Not a model in this process."""
    return embedder.provider != "local"


def _is_known(fingerprint: str, vector: Vectors) -> bool:
    """Compare with the stored vector, which is this one if it is the first."""
    row("embedding", "keep_canary", fingerprint=fingerprint, vector=cache.literal(vector))
    found = row("embedding", "canary", fingerprint=fingerprint)
    assert found is not None, "just stored, and nobody can remove it"
    stored = np.fromstring(found["embedding"].strip("[]"), dtype=np.float64, sep=",")
    likeness = stored @ vector.astype(np.float64) / (np.linalg.norm(stored) * np.linalg.norm(vector))
    return bool(likeness >= LIKENESS)


def _distrust(fingerprint: str) -> None:
    """Forget what may be of the other model, and say whose it was: tasks that have ended may need a rebuild."""
    unproven = _watches[fingerprint].unproven
    for lease, digests in unproven:
        cache.forget_vectors(tenant_id=lease.tenant_id, fingerprint=fingerprint, digests=digests)
    del _watches[fingerprint]
    logger.error(
        "the embedding provider answers with another model; tasks embedded since the last good check: %s",
        sorted({lease.task_id for lease, _ in unproven}) or "none",
    )
