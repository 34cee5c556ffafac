"""Is what is published searchable, and whole? Compares the truth with the index, and repairs by ordering what is missing.

A finding is something that nobody works on and nobody was told of: versions that wait, failed or were cancelled are no
findings, editors see them. Looks at some rows at a time, in order; what changes meanwhile is looked at again before it is told.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from django.db import transaction
from django.db.models import Max

from documents.errors import NotFound
from documents.locks import lock_document
from documents.models import ReadRule
from indexing import queue
from indexing.models import IndexTask, Pipeline
from indexing.pipelines import ensure_vector_index, vector_index_name
from indexing.statements import rows
from indexing.states import PipelineRole, TaskType

BATCH = 200  # rows of one look
_FIRST = uuid.UUID(int=0)


class Kind(StrEnum):
    NOT_SERVED = "not_served"  # asked for, not searchable, and nobody is at work
    INCOMPLETE = "incomplete"  # the set that readers get lacks chunks or vectors
    ALTERED = "altered"  # it has all, but not those that were verified
    NO_INDEX = "no_index"  # a pipeline that serves without a vector index, or with half of one


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, where. `task_id` is the order that repairs it, once it was made."""

    kind: Kind
    tenant_id: int | None = None
    document_id: uuid.UUID | None = None
    version_number: int | None = None
    pipeline_id: int | None = None
    detail: str = ""
    task_id: int | None = None
    repaired: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind.value,
            "tenantId": self.tenant_id,
            "documentId": str(self.document_id) if self.document_id else None,
            "versionNumber": self.version_number,
            "pipelineId": self.pipeline_id,
            "detail": self.detail,
            "taskId": self.task_id,
            "repaired": self.repaired,
        }


@dataclass(frozen=True, slots=True)
class Orphans:
    """Chunks that no search reaches: `replaced` by a newer version, or `abandoned` by a task that ended without them."""

    kind: str
    sets: int
    chunks: int


def findings() -> Iterator[Finding]:
    """Everything that is wrong, as it is found."""
    yield from _not_served()
    yield from _damaged()
    yield from _indexes()


def orphans() -> list[Orphans]:
    return [Orphans(found["kind"], found["sets"], found["chunks"]) for found in rows("audit", "orphans")]


def repair(finding: Finding) -> Finding:
    """Order what the finding lacks, or build the index. What has been mended meanwhile is left alone."""
    if finding.kind is Kind.NO_INDEX:
        if finding.pipeline_id is None:
            return finding  # of no pipeline that is known: for a person to look at
        pipeline = Pipeline.objects.get(pk=finding.pipeline_id)
        ensure_vector_index(pipeline_id=pipeline.pk, dimensions=pipeline.dimensions, using="owner")
        return _mended(finding)
    assert finding.document_id is not None
    with transaction.atomic():
        try:
            document = lock_document(finding.document_id)
        except NotFound:
            return finding
        gone = document.deleted_at is not None or document.withdrawn_at is not None
        if gone or document.requested_version != finding.version_number:
            return _mended(finding)  # by a publish, or nobody wants it any more
        return _mended(finding, task_id=_order(finding))


def _order(finding: Finding) -> int:
    """The version's order as it was made at its publish if it is not there; else one for a new generation of the same."""
    assert finding.document_id is not None
    assert finding.tenant_id is not None
    assert finding.version_number is not None
    assert finding.pipeline_id is not None
    orders = IndexTask.objects.filter(
        document=finding.document_id, version_number=finding.version_number, pipeline=finding.pipeline_id
    )
    last = orders.aggregate(last=Max("generation"))["last"]
    readers = ReadRule.objects.filter(document=finding.document_id, version_number=finding.version_number)
    task_id, _ = queue.enqueue(
        tenant_id=finding.tenant_id,
        document_id=finding.document_id,
        version_number=finding.version_number,
        pipeline_id=finding.pipeline_id,
        actor_id=None,
        has_readers=readers.exists(),
        task_type=TaskType.REINDEX if last else TaskType.INDEX,
        generation=last + 1 if last else 1,
    )
    return task_id


def _mended(finding: Finding, *, task_id: int | None = None) -> Finding:
    return replace(finding, task_id=task_id, repaired=True)


def _not_served() -> Iterator[Finding]:
    after = _FIRST
    while found := rows("audit", "unserved", after_document=after, limit=BATCH):
        for item in found:
            served = item["served_version"]
            yield Finding(
                Kind.NOT_SERVED,
                item["tenant_id"],
                item["document_id"],
                item["version_number"],
                item["pipeline_id"],
                f"readers get version {served}" if served else "readers get nothing",
            )
        after = found[-1]["document_id"]


def _damaged() -> Iterator[Finding]:
    after = 0
    while found := _pointers(after, BATCH):
        for item in found:
            kind, detail = _judged(item)
            if kind is not None and not _moved_on(item):
                yield Finding(
                    kind, item["tenant_id"], item["document_id"], item["version_number"], item["pipeline_id"], detail
                )
        after = found[-1]["id"]


def _pointers(after: int, limit: int) -> list[dict[str, Any]]:
    return rows("audit", "pointers", after=after, limit=limit)


def _judged(item: dict[str, Any]) -> tuple[Kind | None, str]:
    if item["deleted"]:
        return None, ""  # invisible; the sweep comes
    count = item["chunk_count"]
    if item["chunks"] != count or item["vectors"] != count:
        return Kind.INCOMPLETE, f"{item['chunks']} chunks and {item['vectors']} vectors of {count}"
    if item["digest"] != item["manifest_digest"]:
        return Kind.ALTERED, "the stored chunks are not those that were verified"
    return None, ""


def _moved_on(item: dict[str, Any]) -> bool:
    """Whether the pointer has moved since it was looked at: the statement saw two moments of a busy index."""
    current = _pointers(item["id"] - 1, 1)
    return not current or current[0]["id"] != item["id"] or _judged(current[0])[0] is None


def _indexes() -> Iterator[Finding]:
    broken = {found["name"] for found in rows("audit", "invalid_indexes")}
    serving = Pipeline.objects.filter(tenants__role=PipelineRole.SERVING).distinct().order_by("id")
    present = {found["name"] for found in rows("audit", "vector_indexes")}
    for pipeline in serving:
        name = vector_index_name(pipeline_id=pipeline.pk, dimensions=pipeline.dimensions)
        if name in broken or name not in present:
            yield Finding(Kind.NO_INDEX, pipeline_id=pipeline.pk, detail="half-built" if name in broken else "missing")
            broken.discard(name)
    for name in sorted(broken):
        yield Finding(Kind.NO_INDEX, detail=f"{name} is half-built: drop it, or run “manage.py migrate”")
