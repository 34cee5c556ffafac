"""Doors to the rows: each finds a row that the actor may use for what they want, or raises."""

from __future__ import annotations

import uuid

from django.utils.translation import gettext as _

from documents.errors import DocumentGone, NotAllowed, NotFound, StaleRevision
from documents.locks import lock_document
from documents.models import Document, Tenant
from documents.querysets import EDITING_ROLES, DocumentQuerySet, User, tenants_where


def editable_tenant(*, actor: User, slug: str) -> Tenant:
    """The tenant `slug`, if `actor` is an editor there. A tenant they do not belong to does not exist for them."""
    if slug.isprintable():  # else it is no text that the database could look for
        tenant = tenants_where(actor, EDITING_ROLES).filter(slug=slug).first()
        if tenant is not None:
            return tenant
        if tenants_where(actor).filter(slug=slug).exists():
            raise NotAllowed
    raise NotFound(_("There is no tenant “%(tenant)s”, or you do not belong to it.") % {"tenant": slug})


def lock_for_change(*, actor: User, document_id: uuid.UUID, revision: int | None) -> Document:
    """Lock a document for a command of `actor`, made with `revision` in view (None: whatever it is now).

    Raises `NotFound`, `NotAllowed`, `DocumentGone` or `StaleRevision`.
    """
    document = _lock(actor=actor, document_id=document_id, permitted=Document.objects.editable_by(actor))
    if revision is not None and revision != document.revision:
        raise StaleRevision(currentRevision=document.revision)
    return document


def lock_for_oversight(*, actor: User, document_id: uuid.UUID) -> Document:
    """Lock a document to retry or cancel its indexing, which its tenant's operators may do too.

    Raises `NotFound`, `NotAllowed` or `DocumentGone`.
    """
    return _lock(actor=actor, document_id=document_id, permitted=Document.objects.overseen_by(actor))


def _lock(*, actor: User, document_id: uuid.UUID, permitted: DocumentQuerySet) -> Document:
    document = lock_document(document_id)
    if not permitted.filter(pk=document_id).exists():
        if Document.objects.visible_to(actor).filter(pk=document_id).exists():
            raise NotAllowed
        raise NotFound
    if document.deleted_at is not None:
        raise DocumentGone
    return document
