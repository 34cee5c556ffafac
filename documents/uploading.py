"""New content: a new document, a new version of one, or an old version brought back as a new one."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db import transaction
from django.utils.translation import gettext as _

from documents import audit, content
from documents.access import editable_tenant, lock_for_change
from documents.errors import NotFound
from documents.models import Document, DocumentVersion, StoredContent
from documents.querysets import User


@dataclass(frozen=True, slots=True)
class Upload:
    """A checked file whose bytes are staged. Without a version that uses it, the sweep removes it."""

    stored: StoredContent
    file_name: str
    title: str | None


def create_document(*, actor: User, tenant: str, title: str, data: bytes, file_name: str) -> DocumentVersion:
    """A document with its first version, not yet published. Raises what `stage_first` raises."""
    upload = stage_first(actor=actor, tenant=tenant, title=title, data=data, file_name=file_name)
    return create_from(actor=actor, upload=upload)


def add_version(
    *, actor: User, document_id: uuid.UUID, revision: int | None, data: bytes, file_name: str, title: str | None = None
) -> DocumentVersion:
    """A new, unpublished version of a document; what readers see does not change. Raises what `stage_next` raises."""
    upload = stage_next(
        actor=actor, document_id=document_id, revision=revision, data=data, file_name=file_name, title=title
    )
    return add_from(actor=actor, document_id=document_id, revision=revision, upload=upload)


def stage_first(*, actor: User, tenant: str, title: str, data: bytes, file_name: str) -> Upload:
    """Check and stage the file of a new document. Not for use inside a transaction: the sweep must find the row if the
    document is not made.

    Raises `NotFound`/`NotAllowed` for the tenant (by its short name) and what `content.stage` raises for the file.
    """
    home = editable_tenant(actor=actor, slug=tenant)
    title = content.clean_title(title)
    file_name = content.clean_file_name(file_name)
    return Upload(content.stage(tenant=home, content=data, file_name=file_name), file_name, title)


def stage_next(
    *, actor: User, document_id: uuid.UUID, revision: int | None, data: bytes, file_name: str, title: str | None = None
) -> Upload:
    """Check and stage the file of a document's next version; as `stage_first`, not inside a transaction.

    Raises what `lock_for_change` raises for the document and what `content.stage` raises for the file.
    """
    file_name = content.clean_file_name(file_name)
    title = None if title is None else content.clean_title(title)
    with transaction.atomic():  # refuse early, before the bytes are kept
        tenant = lock_for_change(actor=actor, document_id=document_id, revision=revision).tenant
    return Upload(content.stage(tenant=tenant, content=data, file_name=file_name), file_name, title)


@transaction.atomic
def create_from(*, actor: User, upload: Upload) -> DocumentVersion:
    """The document of an upload made by `stage_first`, in the upload's tenant."""
    document = Document.objects.create(tenant=upload.stored.tenant, title=upload.title or "", created_by_id=actor.pk)
    version = _append(document=document, actor=actor, stored=upload.stored, file_name=upload.file_name)
    audit.record(document=document, actor=actor, action="create", version_number=version.number)
    return version


@transaction.atomic
def add_from(*, actor: User, document_id: uuid.UUID, revision: int | None, upload: Upload) -> DocumentVersion:
    """The version of an upload made by `stage_next`. Raises what `lock_for_change` raises."""
    document = lock_for_change(actor=actor, document_id=document_id, revision=revision)
    document.title = upload.title or document.title
    version = _append(document=document, actor=actor, stored=upload.stored, file_name=upload.file_name)
    audit.record(document=document, actor=actor, action="add_version", version_number=version.number)
    return version


@transaction.atomic
def restore_version(
    *, actor: User, document_id: uuid.UUID, revision: int | None, version_number: int
) -> DocumentVersion:
    """A new version with the bytes of an old one. Publishing it is a decision of its own.

    Raises what `lock_for_change` raises, and `NotFound` for an unknown version.
    """
    document = lock_for_change(actor=actor, document_id=document_id, revision=revision)
    old = document.versions.select_related("content").filter(number=version_number).first()
    if old is None:
        raise NotFound(_("The document has no version %(number)s.") % {"number": version_number})
    version = _append(
        document=document, actor=actor, stored=old.content, file_name=old.file_name, restored_from=old.number
    )
    audit.record(document=document, actor=actor, action="restore", version_number=version.number, restored=old.number)
    return version


def _append(
    *,
    document: Document,
    actor: User,
    stored: StoredContent,
    file_name: str,
    restored_from: int | None = None,
) -> DocumentVersion:
    """Number the next version; the caller holds the document's lock (or has just created it)."""
    if restored_from is None:
        content.confirm(stored)
    document.latest_version += 1
    if document.latest_version > 1:
        document.revision += 1
    document.save(update_fields=["latest_version", "revision", "title", "updated_at"])
    return DocumentVersion.objects.create(
        document=document,
        tenant_id=document.tenant_id,
        number=document.latest_version,
        title=document.title,
        file_name=file_name,
        media_type=stored.media_type,
        content=stored,
        restored_from=restored_from,
        created_by_id=actor.pk,
    )
