"""Sentences of a language model in front of what is embedded: from the cache, the rest one by one, each kept at once.

No transaction is open then. A crash costs the sentence that was on its way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from documents.locks import ensure_no_transaction
from indexing import cache, provider_gate, situating
from indexing.blocks import Chunk, ParsedDocument
from indexing.embedders.chat import ChatModel
from indexing.errors import EmbeddingInputRejected, IndexingError
from indexing.identity import config_digest, text_digest
from indexing.lease import Lease
from indexing.retrying import retrying

Report = Callable[[int, int], None]
"""Called before each request with what is done and what there is; raises to end the attempt."""


def situate(
    chunks: Sequence[Chunk],
    parsed: ParsedDocument,
    *,
    title: str,
    config: dict[str, Any],
    model: ChatModel,
    lease: Lease,
    report: Report,
) -> list[Chunk]:
    """The chunks with their sentences. Raises `LeaseLost`, an `EMBEDDING_*` error, or what `report` raises."""
    return _Situating(parsed, title=title, config=config, model=model, lease=lease, report=report).run(chunks)


class _Situating:
    def __init__(
        self,
        parsed: ParsedDocument,
        *,
        title: str,
        config: dict[str, Any],
        model: ChatModel,
        lease: Lease,
        report: Report,
    ) -> None:
        self._parsed, self._title, self._model, self._lease, self._report = parsed, title, model, lease, report
        self._fingerprint = config_digest(config)
        self._done = self._total = 0

    def run(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        digests = [self._digest(chunk) for chunk in chunks]
        known = retrying(
            lambda: cache.find_sentences(self._lease, fingerprint=self._fingerprint, digests=sorted(set(digests)))
        )
        self._total = len(set(digests))
        for chunk, digest in zip(chunks, digests, strict=True):
            self._done = len(known)
            if digest not in known:
                known[digest] = self._new(chunk, digest)
        return [replace(chunk, situation=known[digest]) for chunk, digest in zip(chunks, digests, strict=True)]

    def _digest(self, chunk: Chunk) -> str:
        return text_digest(situating.question(self._parsed, chunk, title=self._title))

    def _new(self, chunk: Chunk, digest: str) -> str:
        self._report(self._done, self._total)
        try:
            answer = self._send(partial(self._ask, situating.question(self._parsed, chunk, title=self._title)))
        except EmbeddingInputRejected:
            answer = ""  # the sentence is a help: a text that the model refuses is found without it
        found = situating.sentence(answer)
        retrying(lambda: cache.keep_sentence(self._lease, fingerprint=self._fingerprint, digest=digest, sentence=found))
        return found

    def _ask(self, question: str) -> str:
        ensure_no_transaction()
        try:
            return self._model.ask(situating.INSTRUCTION, question, most_tokens=situating.ANSWER_TOKENS)
        except IndexingError as error:  # the classes speak of embedding; an operator must know which endpoint it is
            detail = f"(The language model at KB_CONTEXT_URL.) {error.detail}".strip()
            raise type(error)(detail, retry_after=error.retry_after) from error

    def _send(self, request: Callable[[], str]) -> str:
        provider = self._model.provider
        found = retrying(lambda: provider_gate.standing(provider))
        if found.open_for is not None and found.pause <= 0:
            # No idle worker watches over this provider: who needs it finds out whether it is back.
            provider_gate.probe(request, provider=provider)
        return provider_gate.send(request, provider=provider, texts=1, task_id=self._lease.task_id, wait=self._wait)

    def _wait(self, seconds: float) -> None:
        """For the provider to be ready; what ends the attempt meanwhile ends the wait."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._report(self._done, self._total)
            time.sleep(min(left, 1.0))
