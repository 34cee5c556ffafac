"""Stage, then switch: chunks are stored where no reader looks, verified, and switched on in one short transaction."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from documents.locks import hold_tenant
from documents.models import Document
from documents.publishing import promote
from indexing import errors, lexical, queue
from indexing.backoff import Verdict
from indexing.blocks import Chunk, Gap
from indexing.identity import chunk_id, manifest_digest, text_digest
from indexing.lease import Lease
from indexing.statements import row, rows
from indexing.states import PipelineRole, TaskState
from indexing.verification import Verification

STAGE_BATCH = 200  # chunks written in one fenced transaction


@dataclass(frozen=True, slots=True)
class StagedChunk:
    """A chunk with its identity and the digest of what is embedded for it."""

    id: uuid.UUID
    chunk: Chunk
    embedded_digest: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a complete set of chunks consists of, and what of the original is not in it."""

    chunks: tuple[StagedChunk, ...]
    digest: str
    gaps: tuple[Gap, ...] = ()
    verification: Verification | None = None

    @classmethod
    def of(
        cls,
        chunks: Sequence[Chunk],
        *,
        lease: Lease,
        pipeline_digest: str,
        gaps: tuple[Gap, ...] = (),
        verification: Verification | None = None,
    ) -> Manifest:
        staged = tuple(
            StagedChunk(
                id=chunk_id(
                    document_id=lease.document_id,
                    version_number=lease.version_number,
                    pipeline_digest=pipeline_digest,
                    chunk=chunk,
                ),
                chunk=chunk,
                embedded_digest=text_digest(chunk.embedded_text),
            )
            for chunk in chunks
        )
        digest = manifest_digest((item.chunk.ordinal, item.id, item.chunk.text) for item in staged)
        return cls(staged, digest, gaps, verification)


def facts(lease: Lease) -> dict[str, Any]:
    """What decides whether a task is still wanted, and where its content is."""
    found = row("sink", "facts", **lease.chunk_set)
    if found is None:
        raise errors.DocumentDeleted  # its versions were purged
    return found


def refuse_unwanted(found: dict[str, Any], *, version_number: int) -> None:
    """Raise the `CancelledError` that says why nobody wants the result any more, if so."""
    if found["deleted"]:
        raise errors.DocumentDeleted
    if found["withdrawn"]:
        raise errors.DocumentWithdrawn
    if found["role"] == PipelineRole.RETIRED:
        raise errors.PipelineRetired
    if found.get("cancel_requested"):
        raise errors.CancelledByUser
    # An older version that was running when a newer one was published may still finish; it is not begun again.
    if "pointer_version" in found and version_number < max(found["requested_version"], found["pointer_version"] or 0):
        raise errors.Superseded


def already_staged(lease: Lease, manifest: Manifest) -> set[uuid.UUID]:
    """Ids of the manifest's chunks that are stored; rows of other contents are removed, under the fence.

    Raises `LeaseLost`, and `Superseded` if readers are served this set already: another order for the same (a bulk run's, or an
    editor's) has finished meanwhile, and what readers see is not touched.
    """
    with transaction.atomic():
        queue.fence(lease, action="stage")
        if row("sink", "served_set", **lease.chunk_set) is not None:
            raise errors.Superseded
        rows("sink", "discard_strangers", **lease.chunk_set, keep=[item.id for item in manifest.chunks])
        return {item["chunk_id"] for item in rows("sink", "staged", **lease.chunk_set)}


def stage(lease: Lease, chunks: Sequence[StagedChunk], *, vectors: dict[str, str], dimensions: int) -> None:
    """Store one batch with its vectors, under the fence. Raises `LeaseLost`."""
    batch = [
        {
            "chunk_id": str(item.id),
            "ordinal": item.chunk.ordinal,
            "text": item.chunk.text,
            "heading_path": list(item.chunk.heading_path),
            "locator": item.chunk.locator.to_json(),
            "tokens": item.chunk.tokens,
            "embedded_digest": item.embedded_digest,
            "terms": lexical.tsvector(item.chunk.context, item.chunk.text),
            "embedding": vectors[item.embedded_digest],
        }
        for item in chunks
    ]
    with transaction.atomic():
        queue.fence(lease, action="stage")
        rows(
            "sink",
            "stage",
            **lease.chunk_set,
            task=lease.task_id,
            attempts=lease.attempts,
            dimensions=dimensions,
            rows=json.dumps(batch, ensure_ascii=False),
        )


def verify(lease: Lease, manifest: Manifest) -> None:
    """Compare what is stored with the manifest. Raises `VerificationFailed`."""
    stored = row("sink", "manifest", **lease.chunk_set)
    assert stored is not None, "an aggregate always returns a row"
    if (stored["count"], stored["vectors"], stored["digest"]) != (len(manifest.chunks),) * 2 + (manifest.digest,):
        raise errors.VerificationFailed(f"{stored['count']} of {len(manifest.chunks)} chunks are stored.")


def end(
    lease: Lease, error: errors.IndexingError, *, decide: Callable[[errors.IndexingError, int], Verdict]
) -> Verdict:
    """Record how an attempt ended, or give the task back if what ended it is no longer so; return the verdict.

    Between the moment when a worker saw a wish (cancel, withdraw, readers taken off) and this one, an editor may have
    published again, was told that the version is being indexed, and must not find it cancelled. And a wish to cancel that
    came during an attempt that failed for another reason still holds. So wishes are read again here, under the same locks
    that the editors' commands take. `decide` is told the error and how often it has ended the task's attempts before.
    Raises `LeaseLost`.
    """
    with transaction.atomic():
        wishes = _hold(lease, action="fail")
        try:
            refuse_unwanted(wishes, version_number=lease.version_number)
        except errors.CancelledError as reason:
            error = reason
        else:
            if _no_longer_so(error, wishes):
                queue.release(lease)
                return Verdict(TaskState.PENDING, charge=0)
        verdict = decide(error, queue.times_ended(lease, code=error.code))
        queue.fail(lease, error=error, verdict=verdict)
        return verdict


def _no_longer_so(error: errors.IndexingError, wishes: dict[str, Any]) -> bool:
    """Whether a reason that depends on people's wishes has gone, given that nothing speaks against the task now.

    `Superseded` never goes: requested version and pointer only grow.
    """
    if isinstance(error, errors.AccessRevoked):
        return bool(wishes["has_readers"]) or not wishes["readers_requested"]
    return isinstance(error, errors.CancelledError) and not isinstance(error, errors.Superseded)


def finish(lease: Lease, manifest: Manifest) -> None:
    """Switch readers to the new set and mark the task done: both, or neither.

    Locks in the order tenant, document, task, pointer. Raises `LeaseLost`, a `CancelledError` if nobody wants the result
    any more (a newer version stands, too), `AccessRevoked` or `VerificationFailed`; nothing has changed then.
    """
    with transaction.atomic():
        wishes = _hold(lease, action="finish")
        refuse_unwanted(wishes, version_number=lease.version_number)
        if wishes["readers_requested"] and not wishes["has_readers"]:
            raise errors.AccessRevoked
        verify(lease, manifest)
        count = len(manifest.chunks)
        held = {"task": lease.task_id, "attempts": lease.attempts, "count": count, "digest": manifest.digest}
        told = {
            "gaps": json.dumps([gap.to_json() for gap in manifest.gaps], ensure_ascii=False),
            "verification": json.dumps(manifest.verification.to_json()) if manifest.verification else None,
        }
        if row("sink", "switch", **lease.chunk_set, **held, **told) is None:
            raise errors.Superseded
        waited = wishes["is_behind"] or wishes["published_version"] < lease.version_number
        if wishes["role"] == PipelineRole.SERVING and waited:
            promote(document=Document.objects.get(pk=lease.document_id), version_number=lease.version_number)
        queue.succeed(lease, chunks=count)


def _hold(lease: Lease, *, action: str) -> dict[str, Any]:
    """Lock tenant, document and task in this order, under the fence, and read what people want of the task now.

    Raises `LeaseLost`.
    """
    hold_tenant(lease.tenant_id)
    document = row("sink", "lock_document", document=lease.document_id, tenant=lease.tenant_id)
    queue.fence(lease, action=action)
    wanted = row("sink", "still_wanted", **lease.chunk_set, task=lease.task_id)
    assert document is not None, "a deleted document leaves its row"
    assert wanted is not None, "the fence holds the row"
    return {**document, **wanted}
