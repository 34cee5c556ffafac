"""Audit holds: an operator keeps a document, or one version of it, from being removed, and says why."""

from __future__ import annotations

import uuid

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from documents import audit, catalog
from documents.errors import Conflict, InvalidInput, NotAllowed, NotFound
from documents.hold_models import Hold
from documents.locks import hold_tenant
from documents.models import Document
from documents.querysets import OPERATING_ROLES, DocumentQuerySet, User, tenants_where

MAX_REASON = 1000  # characters


@transaction.atomic
def place_hold(*, actor: User, document_id: uuid.UUID, reason: str, version_number: int | None = None) -> Hold:
    """Keep everything of a document, or of one version, until the hold is lifted. A deleted one too, as long as it is not
    purged: it stays invisible, and its bytes stay.

    Waits for whoever removes something of it at this moment. Raises `NotFound`, `NotAllowed`, `InvalidInput` for a reason
    that is none, and `Conflict` if the document was purged.
    """
    reason = _clean(reason)
    document = _lock(actor=actor, document_id=document_id)
    if document.purged_at is not None:
        raise Conflict(_("The document was removed already; there is nothing left to hold."))
    if version_number is not None and not document.versions.filter(number=version_number).exists():
        raise NotFound(_("The document has no version %(number)s.") % {"number": version_number})
    hold = Hold.objects.create(
        tenant_id=document.tenant_id,
        document=document,
        version_number=version_number,
        reason=reason,
        placed_by_id=actor.pk,
        placed_by_name=actor.get_username(),
    )
    audit.record(
        document=document, actor=actor, action="place_hold", version_number=version_number, hold=hold.pk, reason=reason
    )
    return hold


@transaction.atomic
def lift_hold(*, actor: User, hold_id: int) -> Hold:
    """End a hold; from now on the rules apply again. Raises `NotFound`, `NotAllowed`, and `Conflict` if it was lifted."""
    document_id = Hold.objects.filter(pk=hold_id).values_list("document_id", flat=True).first()
    if document_id is None:
        raise NotFound(_("There is no such hold, or you may not see it."))
    document = _lock(actor=actor, document_id=document_id)
    hold = Hold.objects.get(pk=hold_id)
    if hold.lifted_at is not None:
        raise Conflict(_("The hold was lifted already."))
    hold.lifted_by_id, hold.lifted_by_name, hold.lifted_at = actor.pk, actor.get_username(), timezone.now()
    hold.save(update_fields=["lifted_by_id", "lifted_by_name", "lifted_at"])
    audit.record(document=document, actor=actor, action="lift_hold", version_number=hold.version_number, hold=hold.pk)
    return hold


def holds_of(*, actor: User, document_id: uuid.UUID) -> QuerySet[Hold]:
    """All holds of a document, the newest first, for its editors and operators. Raises what `overseen_document` raises."""
    return Hold.objects.filter(document=catalog.overseen_document(actor=actor, document_id=document_id))


def without_held(documents: DocumentQuerySet) -> DocumentQuerySet:
    """Those of which no part is held."""
    return documents.exclude(Exists(Hold.objects.filter(document=OuterRef("pk"), lifted_at=None)))


def may_hold(actor: User, *, tenant_id: int) -> bool:
    """Whether `actor` is an operator of the tenant."""
    return tenants_where(actor, OPERATING_ROLES).filter(pk=tenant_id).exists()


def _lock(*, actor: User, document_id: uuid.UUID) -> Document:
    """Lock the tenant (shared) and then the document, for an operator. FOR UPDATE: a sweep that removes chunks of it holds it
    FOR KEY SHARE, which delays no publish and no finish."""
    catalog.overseen_document(actor=actor, document_id=document_id)
    tenant_id = Document.objects.values_list("tenant_id", flat=True).get(pk=document_id)
    if not may_hold(actor, tenant_id=tenant_id):
        raise NotAllowed(_("Only an operator of the tenant may place or lift an audit hold."))
    hold_tenant(tenant_id)
    return Document.objects.select_for_update().get(pk=document_id)


def _clean(reason: str) -> str:
    reason = " ".join(reason.encode("utf-8", "ignore").decode().replace("\x00", " ").split())
    if not reason:
        raise InvalidInput(_("Say why it is held; nothing was changed."))
    if len(reason) > MAX_REASON:
        raise InvalidInput(_("The reason is longer than 1000 characters; nothing was changed. Shorten it."))
    return reason
