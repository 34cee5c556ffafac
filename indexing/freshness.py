"""Is what readers find as new as their documents promise? Told once when it no longer is, and once when it is again."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from documents import audit
from documents.locks import moment
from documents.models import Document, StalenessAlert
from indexing.statements import rows

logger = logging.getLogger(__name__)

TOLD_ONE_BY_ONE = 20  # lines of the log; of more, a sum


@dataclass(frozen=True, slots=True)
class Staleness:
    """Readers have been waiting for a version for longer than its document allows."""

    document_id: uuid.UUID
    version_number: int
    behind_since: datetime
    max_seconds: int
    ended_by: str = (
        ""  # searchable, withdrawn, deleted, or changed (what was asked for or allowed); empty while it goes on
    )

    def to_json(self, now: datetime) -> dict[str, Any]:
        return {
            "documentId": str(self.document_id),
            "versionNumber": self.version_number,
            "behindSince": self.behind_since.isoformat(),
            "secondsBehind": round((now - self.behind_since).total_seconds(), 1),
            "maxStalenessSeconds": self.max_seconds,
        }


@dataclass(frozen=True, slots=True)
class Checked:
    raised: tuple[Staleness, ...]  # by this check
    ended: tuple[Staleness, ...]
    too_stale: tuple[Staleness, ...]  # all that go on
    at: datetime


def check() -> Checked:
    """Raise and end alerts, with the log and the documents' audit trails. Two checks at once raise each alert once."""
    with transaction.atomic():
        changes = [
            Staleness(**found) for found in rows("freshness", "check", default=settings.KB_MAX_STALENESS_SECONDS)
        ]
        raised = tuple(change for change in changes if not change.ended_by)
        ended = tuple(change for change in changes if change.ended_by)
        documents = Document.objects.in_bulk([change.document_id for change in changes])
        for change in changes:
            _record(documents[change.document_id], change)
    _tell(raised, ended)
    columns = ("document_id", "version_number", "behind_since", "max_seconds")
    going_on = StalenessAlert.objects.order_by("behind_since", "document").values(*columns)
    return Checked(raised, ended, tuple(Staleness(**alert) for alert in going_on), moment())


def _record(document: Document, change: Staleness) -> None:
    facts: dict[str, Any] = {"behind_since": change.behind_since.isoformat(), "max_seconds": change.max_seconds}
    if change.ended_by:
        facts["ended_by"] = change.ended_by
    action = "fresh_again" if change.ended_by else "too_stale"
    audit.record(document=document, actor=None, action=action, version_number=change.version_number, **facts)


def _tell(raised: tuple[Staleness, ...], ended: tuple[Staleness, ...]) -> None:
    for one in raised[:TOLD_ONE_BY_ONE]:
        logger.error(
            "document %s is too stale: version %d was asked for at %s and is not searchable after %d s",
            one.document_id,
            one.version_number,
            one.behind_since.isoformat(timespec="seconds"),
            one.max_seconds,
        )
    if len(raised) > TOLD_ONE_BY_ONE:
        logger.error("%d more documents are too stale", len(raised) - TOLD_ONE_BY_ONE)
    for one in ended[:TOLD_ONE_BY_ONE]:
        logger.warning("document %s is too stale no longer: %s", one.document_id, one.ended_by)
    if len(ended) > TOLD_ONE_BY_ONE:
        logger.warning("%d more documents are too stale no longer", len(ended) - TOLD_ONE_BY_ONE)
