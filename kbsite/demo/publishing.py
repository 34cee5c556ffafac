"""Publishes the samples through the services that the API uses, and tells how far each has come."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from django.contrib.auth.models import User

from documents import publishing, uploading
from documents.models import Document, DocumentVersion, Tenant
from documents.ports import IndexState, search_index
from documents.readers import Reader
from kbsite.demo.samples import Manifest, SampleDocument


@dataclass(frozen=True, slots=True)
class Standing:
    """How far one sample is."""

    sample: SampleDocument
    version: DocumentVersion | None  # None: not uploaded yet
    document: Document | None  # with the annotations of `SearchIndex.annotate_state`

    @property
    def state(self) -> str:
        """Of this version, not of a newer one; WAITING before it is published."""
        if self.version is None or self.document is None:
            return "WAITING"
        if (self.document.requested_version or 0) < self.version.number:
            return "WAITING"
        if (_searchable(self.document) or 0) >= self.version.number:
            return IndexState.SEARCHABLE
        return str(self.document.index_state)  # type: ignore[attr-defined]

    @property
    def settled(self) -> bool:
        return self.state not in ("WAITING", IndexState.INDEXING)

    @property
    def error_code(self) -> str | None:
        failed = self.state == IndexState.FAILED and self.document is not None
        return self.document.index_error_code if failed else None  # type: ignore[union-attr]


class Samples:
    """The documents of the manifest in the demo's tenant. A run that was stopped is continued: a sample is recognised by its
    bytes, and each step is taken only if it has not been."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._tenant = Tenant.objects.get(slug=manifest.tenant)
        self._editor = User.objects.get(username="editor")

    def advance(self) -> list[Standing]:
        """Publish what can be published now, and tell where everything is. A second version is published once the first
        is searchable: readers find the old text until the new one can be found."""
        standings: dict[str, Standing] = {}
        for sample in self._manifest.documents:
            before = standings[sample.version_of] if sample.version_of else None
            standing = self._standing(sample, before)
            if standing.state == "WAITING" and (before is None or before.state == IndexState.SEARCHABLE):
                self._publish(sample, standing.version or self._upload(sample, before))
                standing = self._standing(sample, before)
            standings[sample.key] = standing
        return list(standings.values())

    def _standing(self, sample: SampleDocument, before: Standing | None) -> Standing:
        digest = hashlib.sha256(sample.content()).hexdigest()
        versions = DocumentVersion.objects.filter(
            tenant=self._tenant, content__sha256=digest, file_name=sample.file, document__deleted_at=None
        )
        if before is not None:
            versions = versions.filter(document=before.document)
        version = versions.order_by("number", "id").first()
        if version is None:
            return Standing(sample, None, None)
        document = search_index().annotate_state(Document.objects.filter(pk=version.document_id)).get()
        return Standing(sample, version, document)

    def _upload(self, sample: SampleDocument, before: Standing | None) -> DocumentVersion:
        data, name = sample.content(), sample.file
        if before is None:
            return uploading.create_document(
                actor=self._editor, tenant=self._tenant.slug, title=sample.title, data=data, file_name=name
            )
        assert before.version is not None, "it is searchable"
        return uploading.add_version(
            actor=self._editor, document_id=before.version.document_id, revision=None, data=data, file_name=name
        )

    def _publish(self, sample: SampleDocument, version: DocumentVersion) -> None:
        publishing.publish_version(
            actor=self._editor,
            document_id=version.document_id,
            revision=None,
            version_number=version.number,
            readers=[Reader(reader.type, reader.name or "") for reader in sample.readers],
        )


def _searchable(document: Document) -> int | None:
    number: int | None = document.searchable_version  # type: ignore[attr-defined]
    return number
