"""One attempt at one task: parse, split, embed, stage, verify, finish. No transaction is open around slow work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.conf import settings

from documents import content
from documents.errors import StorageFailed
from documents.locks import ensure_no_transaction
from documents.models import StoredContent
from indexing import cache, queue, sink
from indexing.blocks import Chunk, ParsedDocument
from indexing.contextual import situate
from indexing.embedders.base import Embedder
from indexing.embedding import MOST_NAMED, batches, embed
from indexing.errors import NoText, StorageUnavailable, VerificationFailed, places_of
from indexing.lease import Lease
from indexing.parsers.sandbox import parse_in_child, verify_apart
from indexing.parsers.scans import ScannedPage
from indexing.providers import context_model, embedder_for
from indexing.retrying import retrying
from indexing.sink import Manifest, StagedChunk
from indexing.situating import ROOM
from indexing.splitters import split_as_configured
from indexing.states import Stage
from indexing.verification import Verification, claims_of, has_places

Checkpoint = Callable[[], None]
"""Called between two steps; raises to end the attempt (lease lost, worker told to stop)."""


class Attempt:
    """Carries a lease from its claim to the finish. Raises `LeaseLost`, or an `IndexingError` that says what follows."""

    def __init__(self, lease: Lease, *, checkpoint: Checkpoint) -> None:
        self.lease, self._checkpoint = lease, checkpoint
        self.has_begun = False
        self.embedder: Embedder
        self.missing: list[StagedChunk] = []  # once prepared: what is not stored yet
        self._manifest: Manifest
        self._facts: dict[str, Any] = {}
        self._data: bytes | None = None

    def begin(self) -> None:
        """Load what the task is about. Raises a `CancelledError` if nobody wants the result any more."""
        self._facts = retrying(lambda: sink.facts(self.lease))
        sink.refuse_unwanted(self._facts, version_number=self.lease.version_number)
        self.has_begun = True

    def run(self) -> None:
        """The work between `begin` and readers seeing the new version."""
        self.prepare()
        self.complete()

    def prepare(self) -> None:
        """The first part of it: what is to be embedded, and what of that an earlier attempt has stored."""
        self._step(Stage.PARSE)
        parsed = self._parse()
        self.embedder = embedder_for(self._facts["pipeline_config"])
        self._step(Stage.SPLIT)
        chunks = self._split(parsed, self.embedder)
        verification = self._verify(parsed, chunks)  # before any vector is paid for
        self._data = None  # the rest does not need its memory
        self._manifest = Manifest.of(
            self._situate(parsed, verification.corrected(chunks)),
            lease=self.lease,
            pipeline_digest=self._facts["pipeline_digest"],
            gaps=parsed.gaps,
            verification=verification,
        )
        staged = retrying(lambda: sink.already_staged(self.lease, self._manifest))
        self.missing = [item for item in self._manifest.chunks if item.id not in staged]

    def complete(self) -> None:
        """The rest: embed, store, verify, switch."""
        vectors = self._embed(self.missing, self.embedder)
        self._stage(self.missing, vectors)
        self._step(Stage.VALIDATE, 0, len(self._manifest.chunks))
        retrying(lambda: sink.finish(self.lease, self._manifest))

    def _step(self, stage: Stage, done: int = 0, total: int = 0) -> None:
        self._checkpoint()
        retrying(lambda: queue.report(self.lease, stage=stage, done=done, total=total))

    def _parse(self) -> ParsedDocument:
        key = {"content_digest": self._facts["content_digest"], "media_type": self._facts["media_type"]}
        parsed = retrying(lambda: cache.find_parsed(tenant_id=self.lease.tenant_id, **key))
        if parsed is None:
            scans = retrying(lambda: cache.find_scans(tenant_id=self.lease.tenant_id, **key))
            data = self._read()
            ensure_no_transaction()

            def keep_scan(page: ScannedPage) -> None:
                self._checkpoint()
                retrying(lambda: cache.keep_scan(self.lease, page, **key))

            parsed = parse_in_child(
                data,
                self._facts["media_type"],
                self._facts["file_name"],
                timeout=settings.KB_PARSE_TIMEOUT,
                memory_bytes=settings.KB_PARSE_MEMORY,
                known_scans=scans,
                keep_scan=keep_scan,
            )
            fresh = parsed
            retrying(lambda: cache.keep_parsed(self.lease, fresh, **key))
        return parsed

    def _read(self) -> bytes:
        """The original, once: it is parsed, and then looked into again."""
        if self._data is None:
            self._data = self._fetch()
        return self._data

    def _fetch(self) -> bytes:
        stored = retrying(lambda: StoredContent.objects.get(pk=self._facts["content_id"]))
        try:
            return content.read(stored)
        except StorageFailed as error:
            raise StorageUnavailable from error

    def _split(self, parsed: ParsedDocument, embedder: Embedder) -> list[Chunk]:
        chunks = split_as_configured(
            self._facts["pipeline_config"]["splitter"],
            parsed,
            title=self._facts["title"],
            count_tokens=embedder.count_tokens,
            most_tokens=embedder.max_tokens - (ROOM if "context" in self._facts["pipeline_config"] else 0),
            checkpoint=self._checkpoint,
        )
        if not chunks:
            raise NoText
        return chunks

    def _situate(self, parsed: ParsedDocument, chunks: Sequence[Chunk]) -> Sequence[Chunk]:
        """The chunks with a language model's sentences in front of them, if the pipeline has such a model."""
        config = self._facts["pipeline_config"].get("context")
        if config is None:
            return chunks
        return situate(
            chunks,
            parsed,
            title=self._facts["title"],
            config=config,
            model=context_model(config),
            lease=self.lease,
            report=partial(self._step, Stage.SPLIT),
        )

    def _verify(self, parsed: ParsedDocument, chunks: Sequence[Chunk]) -> Verification:
        """Find every chunk again in the original. Raises `VerificationFailed` for too many that are not there."""
        data = self._read()
        ensure_no_transaction()
        verification = verify_apart(
            data,
            self._facts["media_type"],
            claims_of(parsed, chunks),
            timeout=settings.KB_PARSE_TIMEOUT,
            memory_bytes=settings.KB_PARSE_MEMORY,
            checkpoint=self._checkpoint,
        )
        if has_places(self._facts["media_type"]) and verification.is_beyond(settings.KB_LOCATOR_FAILURES):
            failed = [chunks[ordinal] for ordinal in verification.failed]
            raise VerificationFailed(
                f"{len(failed)} of {len(chunks)} chunks are not where they should be.",
                places=places_of(failed[:MOST_NAMED], count=len(failed), complete=True),
            )
        return verification

    def _embed(self, chunks: Sequence[StagedChunk], embedder: Embedder) -> dict[str, str]:
        return embed(chunks, lease=self.lease, embedder=embedder, report=partial(self._step, Stage.EMBED))

    def _stage(self, chunks: Sequence[StagedChunk], vectors: dict[str, str]) -> None:
        for number, batch in enumerate(batches(chunks, sink.STAGE_BATCH)):
            self._step(Stage.INDEX, number * sink.STAGE_BATCH, len(chunks))
            retrying(partial(sink.stage, self.lease, batch, vectors=vectors, dimensions=self._facts["dimensions"]))
