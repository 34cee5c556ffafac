"""Chunks that no search reaches leave: sets that were replaced, staged in vain, or made under a pipeline that is retired.

Each step is one short transaction that locks documents against holds, then the sets' tasks, and asks only after that what is to
become of them. Publishes, finishes and searches go on; a task that is tried again waits for the step at most.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction

from documents.locks import hold_tenant
from documents.retention import Stop
from indexing.models import TenantPipeline
from indexing.retention_models import OrphanSet
from indexing.statements import row, rows
from indexing.states import PipelineRole

SETS = 200  # looked at in one step
HOUR, DAY = 3600.0, 86400.0


@dataclass(frozen=True, slots=True)
class Counts:
    """What one step of a clean-up removed. Nothing: nothing is left but what is held."""

    pointers: int
    chunks: int

    def __bool__(self) -> bool:
        return bool(self.pointers or self.chunks)


def count(kind: OrphanSet.Kind, *, hours: float) -> int:
    """How many chunks of orphans left `hours` ago would go. 0 hours: for ever."""
    if not hours:
        return 0
    found = row("retention", "count_chunks", kind=kind.value, seconds=hours * HOUR, cited=_cited())
    assert found is not None, "an aggregate always returns a row"
    chunks: int = found["count"]
    return chunks


def remove(kind: OrphanSet.Kind, *, hours: float, batch: int, stop: Stop) -> int:
    """Remove them, at most `batch` chunks in a transaction; return how many chunks. 0 hours: for ever."""
    removed = 0
    while hours and not stop():
        due = rows("retention", "due_sets", kind=kind.value, seconds=hours * HOUR, limit=SETS)
        if not due:
            break
        looked, chunks = _step(due, batch=batch, seconds=hours * HOUR, retired=False)
        removed += chunks
        if not looked:
            break  # other sweeps, or people who place holds, have all of them
    return removed


def count_retired() -> int:
    """How many chunks are left under pipelines that are retired in their tenant."""
    found = row("retention", "count_retired")
    assert found is not None, "an aggregate always returns a row"
    chunks: int = found["count"]
    return chunks


def sweep_retired(*, batch: int, stop: Stop) -> int:
    """Clean up after every retired pipeline; return how many chunks were removed."""
    removed = 0
    for found in rows("retention", "retired_pipelines"):
        while not stop() and (
            counts := remove_retired(tenant_id=found["tenant_id"], pipeline_id=found["pipeline_id"], batch=batch)
        ):
            removed += counts.chunks
    return removed


def remove_retired(*, tenant_id: int, pipeline_id: int, batch: int) -> Counts:
    """One step of the clean-up after a pipeline that is retired in the tenant: up to `batch` pointers, then up to `batch`
    chunks (those of replaced versions at once, cited ones too: the pipeline that serves has its own). To be called until it
    returns nothing; interrupted, the next call goes on. Nothing happens if the pipeline is not retired, or no longer.
    """
    with transaction.atomic():
        hold_tenant(tenant_id)  # its pipelines stay what they are
        named = {"tenant": tenant_id, "pipeline": pipeline_id}
        with_pointer = rows("retention", "pointers_of_retired", **named, limit=batch)
        documents = _lock_documents([found["document_id"] for found in with_pointer])
        pointers = len(rows("retention", "remove_pointers", **named, documents=documents)) if documents else 0
    with transaction.atomic():
        hold_tenant(tenant_id)
        if not _is_retired(tenant_id, pipeline_id):
            return Counts(pointers, 0)
        due = rows("retention", "due_sets_of_pipeline", **named, limit=SETS)
        _, chunks = _step(due, batch=batch, seconds=0.0, retired=True)
    return Counts(pointers, chunks)


def _is_retired(tenant_id: int, pipeline_id: int) -> bool:
    return TenantPipeline.objects.filter(tenant=tenant_id, pipeline=pipeline_id, role=PipelineRole.RETIRED).exists()


@transaction.atomic
def _step(due: Sequence[dict[str, Any]], *, batch: int, seconds: float, retired: bool) -> tuple[int, int]:
    """How many of the sets were looked at, and how many chunks removed."""
    sets = [found["id"] for found in due]
    named = {"sets": sets, "documents": _lock_documents([found["document_id"] for found in due])}
    rows("retention", "lock_tasks", **named)
    judged = rows("retention", "judge_sets", **named, retired=retired, cited=_cited())
    ids = {
        verdict: [found["id"] for found in judged if found["verdict"] == verdict]
        for verdict in ("gone", "kept", "left")
    }
    found = row("retention", "remove_chunks", sets=ids["left"], limit=batch)
    assert found is not None, "an aggregate always returns a row"
    rows("retention", "settle_sets", sets=ids["left"], gone=ids["gone"], kept=ids["kept"], seconds=seconds)
    return len(judged), found["removed"]


def _lock_documents(documents: Sequence[uuid.UUID]) -> list[uuid.UUID]:
    """Those of which nobody places a hold at this moment."""
    return [found["id"] for found in rows("retention", "lock_documents", documents=sorted(set(documents)))]


def _cited() -> float:
    """For how many seconds a citation keeps what it cites; 0: for ever."""
    return settings.KB_KEEP_CITED_DAYS * DAY
