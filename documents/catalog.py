"""What may be looked at: documents with their state, their versions, and the originals."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.db.models import Case, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from documents.errors import BeingUpdated, NotAllowed, NotFound
from documents.models import Document, DocumentReader, DocumentVersion, Tenant
from documents.paging import page_of
from documents.ports import IndexState, search_index
from documents.querysets import OVERSEEING_ROLES, DocumentQuerySet, User, tenants_where
from documents.readers import Reader, readers_of


def document_with_state(*, actor: User, document_id: uuid.UUID) -> Document:
    """A document with the annotations of `with_state`. Raises `NotFound`."""
    document = with_state(actor=actor).filter(pk=document_id).first()
    if document is None:
        raise NotFound
    return document


def list_documents(
    *, actor: User, tenant: str, state: IndexState | None = None, limit: int = 50, cursor: str = ""
) -> tuple[Sequence[Document], str]:
    """One page of a tenant's documents that `actor` may see, newest first, and the cursor of the next page (empty after
    the last). Deleted ones only if asked for.

    Raises `NotFound` for a tenant that `actor` does not belong to, `InvalidInput` for a cursor that is none.
    """
    documents = with_state(actor=actor).filter(tenant=_tenant_of(actor, tenant))
    documents = documents.filter(Q(index_state=state)) if state else documents.alive()
    return page_of(documents, limit=limit, cursor=cursor)


def overseen_document(*, actor: User, document_id: uuid.UUID) -> Document:
    """A document of a tenant where `actor` is an editor or operator. Raises `NotFound`, and `NotAllowed` for a reader."""
    document = Document.objects.overseen_by(actor).filter(pk=document_id).first()
    if document is None:
        if Document.objects.readable_by(actor).filter(pk=document_id).exists():
            raise NotAllowed
        raise NotFound
    return document


def overseen_tenant(*, actor: User, slug: str) -> Tenant:
    """A tenant where `actor` is an editor or operator. Raises `NotFound`, and `NotAllowed` for another member."""
    tenant = _tenant_of(actor, slug)
    if not tenants_where(actor, OVERSEEING_ROLES).filter(pk=tenant.pk).exists():
        raise NotAllowed
    return tenant


def readers_shown(*, actor: User, document: Document) -> list[Reader] | None:
    """The readers of the version asked for last. None before the first publish, and for those who only read: whom else a
    document is for is its editors' and operators' to know."""
    if document.requested_version is None or not Document.objects.overseen_by(actor).filter(pk=document.pk).exists():
        return None
    return readers_of(document=document, version_number=document.requested_version)


def versions_of(*, actor: User, document_id: uuid.UUID) -> QuerySet[DocumentVersion]:
    """All versions of a document, newest first, for its editors and operators.

    Raises `NotFound`, and `NotAllowed` for a reader: drafts and old versions are not theirs to see.
    """
    overseen_document(actor=actor, document_id=document_id)
    return DocumentVersion.objects.filter(document=document_id).select_related("content", "created_by")


def original(*, actor: User, document_id: uuid.UUID, version_number: int) -> DocumentVersion:
    """The version whose file `actor` may download: any for an editor or operator, for a reader the one that is served, if
    they may read it. Raises `NotFound` (a deleted document has nothing to download), and `BeingUpdated` for a reader of what
    is held back until a newer version is searchable."""
    document = with_state(actor=actor).alive().filter(pk=document_id).first()
    if document is None:
        raise NotFound
    overseen = Document.objects.overseen_by(actor).filter(pk=document_id).exists()
    if not overseen and not _is_served_to(actor, document, version_number):
        if _is_withheld_from(actor, document) and version_number <= (document.requested_version or 0):
            raise BeingUpdated
        raise NotFound
    version = document.versions.select_related("content").filter(number=version_number).first()
    if version is None:
        raise NotFound(_("The document has no version %(number)s.") % {"number": version_number})
    return version


def with_state(*, actor: User) -> DocumentQuerySet:
    """Documents that `actor` may see, annotated by the search index, with `shown_title`: a reader is shown the title that
    is in force, not that of a draft or of a version that waits until it is searchable. `is_overseen`: `actor` is an editor or
    operator of its tenant."""
    in_force = Coalesce(OuterRef("published_version"), OuterRef("requested_version"))
    published = DocumentVersion.objects.filter(document=OuterRef("pk"), number=in_force)
    shown = Case(
        When(tenant__in=tenants_where(actor, OVERSEEING_ROLES), then=F("title")),
        default=Subquery(published.values("title")[:1]),
    )
    overseen = Case(When(tenant__in=tenants_where(actor, OVERSEEING_ROLES), then=Value(True)), default=Value(False))
    documents = search_index().annotate_state(Document.objects.visible_to(actor))
    return documents.annotate(shown_title=shown, is_overseen=overseen)


def _is_served_to(actor: User, document: Document, version_number: int) -> bool:
    """Readers of the version asked for last are settled by `visible_to`; the served one's own are asked here."""
    readers = DocumentReader.objects.filter(document=document, version_number=version_number, user=actor.pk)
    return bool(document.searchable_version == version_number) and readers.exists()  # type: ignore[attr-defined]


def _is_withheld_from(actor: User, document: Any) -> bool:
    """Whether `actor`, who may read what was asked for last, is among the readers of what is held back."""
    readers = DocumentReader.objects.filter(
        document=document, version_number=document.withheld_version or 0, user=actor.pk
    )
    return readers.exists()


def _tenant_of(actor: User, slug: str) -> Tenant:
    for tenants in (tenants_where(actor), tenants_where(actor, OVERSEEING_ROLES)):  # a superuser is a member of none
        if tenant := tenants.filter(slug=slug).first():
            return tenant
    raise NotFound(_("There is no tenant “%(tenant)s”, or you do not belong to it.") % {"tenant": slug})
