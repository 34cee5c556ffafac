"""The trail of who did what to a document."""

from __future__ import annotations

from typing import Any

from documents.models import AuditEvent, Document
from documents.querysets import User


def record(
    *, document: Document, actor: User | None, action: str, version_number: int | None = None, **detail: Any
) -> None:
    """Append one event, in the transaction of the command that it tells of."""
    AuditEvent.objects.create(
        tenant_id=document.tenant_id,
        document_id=document.pk,
        action=action,
        version_number=version_number,
        revision=document.revision,
        actor_id=actor.pk if actor else None,
        actor_name=actor.get_username() if actor else "",
        detail=detail,
    )
