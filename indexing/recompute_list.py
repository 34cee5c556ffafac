"""Which documents a bulk run is about, in order of their ids: the same list is made for a run and counted for a plan."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from documents.errors import Conflict, InvalidInput, NotFound
from documents.models import Tenant
from indexing.models import Pipeline, TenantPipeline
from indexing.statements import rows
from indexing.states import PipelineRole

FIRST = uuid.UUID(int=0)


@dataclass(frozen=True, slots=True)
class Where:
    """What narrows a run down, beside its pipeline and tenant: a document must meet all that are given.

    `indexed_before` (aware): readers got what the pipeline has of it before that, or have nothing under it.
    `shard` i of n (from 1) takes the documents whose id hashes to it: for several machines that each make their own list.
    """

    documents: tuple[uuid.UUID, ...] = ()
    media_types: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()  # names of sources that external systems write through
    indexed_before: datetime | None = None
    shard: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        number, of = self.shard
        if not 1 <= number <= of <= 1000:
            raise InvalidInput(_("A shard is i/n, with i from 1 to n and n up to 1000."))
        if self.indexed_before is not None and self.indexed_before.tzinfo is None:
            raise InvalidInput(_("A time needs its time zone."))

    def to_json(self) -> dict[str, Any]:
        return {
            "documents": [str(document) for document in self.documents],
            "mediaTypes": list(self.media_types),
            "sources": list(self.sources),
            "indexedBefore": self.indexed_before.isoformat() if self.indexed_before else None,
            "shard": list(self.shard),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Where:
        number, of = data["shard"]
        return cls(
            documents=tuple(uuid.UUID(document) for document in data["documents"]),
            media_types=tuple(data["mediaTypes"]),
            sources=tuple(data["sources"]),
            indexed_before=datetime.fromisoformat(data["indexedBefore"]) if data["indexedBefore"] else None,
            shard=(number, of),
        )

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            "only_documents": list(self.documents) or None,
            "media_types": list(self.media_types) or None,
            "sources": list(self.sources) or None,
            "indexed_before": self.indexed_before,
            "shard": self.shard[0],
            "shards": self.shard[1],
        }


@dataclass(frozen=True, slots=True)
class Listed:
    """One document that belongs to a run."""

    document_id: uuid.UUID
    tenant_id: int
    version_number: int
    is_current: bool  # readers can be given its requested version already
    chunks: int | None  # of what readers get now; None if nothing is known


def pages(
    *, pipeline_id: int, tenant_id: int | None, where: Where, after: uuid.UUID = FIRST
) -> Iterator[tuple[uuid.UUID, list[Listed]]]:
    """The documents that belong to a run, in order of their ids, a page at a time, and how far each page reaches."""
    while found := rows(
        "recompute", "page", after_document=after, pipeline=pipeline_id, tenant=tenant_id, **where.parameters
    ):
        after = found[-1]["document_id"]
        yield (
            after,
            [
                Listed(
                    item["document_id"],
                    item["tenant_id"],
                    item["version_number"],
                    (item["pointer_version"] or 0) >= item["version_number"],
                    item["chunks"],
                )
                for item in found
                if item["belongs"]
            ],
        )


def check_pipeline(*, pipeline_id: int, tenant_id: int | None) -> Pipeline:
    """The pipeline of a run. Raises `NotFound`, and `Conflict` for one under which nothing is indexed."""
    pipeline = Pipeline.objects.filter(pk=pipeline_id).first()
    if pipeline is None:
        raise NotFound(_("There is no pipeline %(number)s.") % {"number": pipeline_id})
    if tenant_id is not None and not Tenant.objects.filter(pk=tenant_id).exists():
        raise NotFound(_("There is no such tenant."))
    used = TenantPipeline.objects.filter(pipeline=pipeline).exclude(role=PipelineRole.RETIRED)
    if tenant_id is not None:
        used = used.filter(tenant=tenant_id)
    if not used.exists():
        raise Conflict(_("Nothing is indexed under this pipeline: build it for a tenant first."))
    return pipeline
