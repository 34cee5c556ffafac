"""Embeds texts of several documents in one request, so that batches are full although documents are short.

It only fills the cache, each document's part under that document's own lease; every attempt then goes on as if it had been
alone, and finds its vectors there. So whatever goes wrong here is left to the attempts: they ask again, look for the text
that is to blame, or hear what is wrong with the provider.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from indexing import cache, canary, provider_gate, queue
from indexing.attempt import Attempt
from indexing.cache import literal
from indexing.embedders.base import Embedder
from indexing.embedding import ask
from indexing.errors import (
    EmbeddingBadResponse,
    EmbeddingInputRejected,
    EmbeddingTimeout,
    IndexingError,
    LeaseLost,
)
from indexing.retrying import retrying
from indexing.states import Stage


class Refused(Exception):
    """The provider takes nothing now: the attempts hear why."""


@dataclass
class _Part:
    """What one document still needs: texts by the digest of what is embedded."""

    attempt: Attempt
    texts: dict[str, str]
    total: int
    is_out: bool = False  # nobody wants it any more, or its lease is lost: its attempt finds out
    done: int = field(default=0)


def embed_together(attempts: Sequence[Attempt], *, checkpoint: Callable[[], None]) -> None:
    """Put the vectors of what the prepared `attempts` lack into the cache. `checkpoint` raises to end it."""
    models: defaultdict[str, list[_Part]] = defaultdict(list)
    embedders: dict[str, Embedder] = {}
    for attempt in attempts:
        part = _unknown(attempt)
        if part is not None and part.texts:
            fingerprint = attempt.embedder.fingerprint()
            embedders[fingerprint] = attempt.embedder
            models[fingerprint].append(part)
    for fingerprint, parts in models.items():
        try:
            _embed(embedders[fingerprint], parts, checkpoint)
        except Refused:
            continue


def _unknown(attempt: Attempt) -> _Part | None:
    texts = {item.embedded_digest: item.chunk.embedded_text for item in attempt.missing}
    try:
        known = retrying(
            lambda: cache.find_vectors(attempt.lease, fingerprint=attempt.embedder.fingerprint(), digests=list(texts))
        )
    except LeaseLost:
        return None
    missing = {digest: text for digest, text in texts.items() if digest not in known}
    return _Part(attempt, missing, total=len(texts), done=len(known))


def _embed(embedder: Embedder, parts: Sequence[_Part], checkpoint: Callable[[], None]) -> None:
    """In the order of the documents, so that the first can be finished first. Within a tenant a text is sent once; the same
    text of another tenant is another text."""
    owners: defaultdict[tuple[int, str], list[_Part]] = defaultdict(list)
    for part in parts:
        for digest in part.texts:
            owners[part.attempt.lease.tenant_id, digest].append(part)
    waiting = list(owners)
    while waiting:
        checkpoint()
        room = max(embedder.batch_size - canary.is_due(embedder), 1)
        batch, waiting = waiting[:room], waiting[room:]
        wanted = [key for key in batch if any(not part.is_out for part in owners[key])]
        for part in {id(part): part for key in wanted for part in owners[key]}.values():
            _report(part)
        wanted = [key for key in wanted if any(not part.is_out for part in owners[key])]
        if wanted:
            _send(embedder, wanted, owners, checkpoint)


def _report(part: _Part) -> None:
    """Text of a document that was deleted meanwhile, or that nobody may read, is not sent to a provider."""
    if part.is_out:
        return
    try:
        retrying(lambda: queue.report(part.attempt.lease, stage=Stage.EMBED, done=part.done, total=part.total))
    except IndexingError:
        part.is_out = True


def _send(
    embedder: Embedder,
    keys: Sequence[tuple[int, str]],
    owners: dict[tuple[int, str], list[_Part]],
    checkpoint: Callable[[], None],
) -> None:
    first = next(part for key in keys for part in owners[key] if not part.is_out)
    is_due = canary.is_due(embedder)
    texts = [owners[key][0].texts[key[1]] for key in keys]

    def wait(seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            checkpoint()
            time.sleep(min(left, 1.0))

    try:
        embedded = provider_gate.send(
            partial(ask, embedder, texts, with_canary=is_due),
            provider=embedder.provider,
            texts=len(texts) + is_due,
            task_id=first.attempt.lease.task_id,
            wait=wait,
            yields=True,
        )
    except (EmbeddingInputRejected, EmbeddingBadResponse, EmbeddingTimeout):
        return  # it may be the doing of one text: its own attempt finds out which
    except IndexingError as error:
        raise Refused from error
    vectors = {key: literal(vector) for key, vector in zip(keys, embedded, strict=True)}
    for part in {id(part): part for key in keys for part in owners[key]}.values():
        own = {digest: vectors[key] for key in keys if (digest := key[1]) in part.texts and part in owners[key]}
        _keep(part, embedder, own, is_proven=is_due)


def _keep(part: _Part, embedder: Embedder, vectors: dict[str, str], *, is_proven: bool) -> None:
    if part.is_out:
        return
    lease = part.attempt.lease
    try:
        retrying(partial(cache.keep_vectors, lease, fingerprint=embedder.fingerprint(), vectors=vectors))
    except LeaseLost:
        part.is_out = True
        return
    part.done += len(vectors)
    if not is_proven:
        canary.note(lease, embedder, digests=list(vectors))
