"""What is left of deleted documents leaves: chunks, caches, versions, files."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable

from django.db import Error, connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from documents import content
from documents.errors import Incomplete
from documents.holds import without_held
from documents.models import Document
from documents.ports import search_index
from documents.querysets import DocumentQuerySet

logger = logging.getLogger(__name__)


def waiting() -> DocumentQuerySet:
    """Deleted documents whose rest is still there and that nobody holds."""
    return without_held(Document.objects.filter(deleted_at__isnull=False, purged_at=None))


def purge_deleted(*, batch: int = 100, stop: Callable[[], bool] = lambda: False) -> int:
    """Remove what is left of deleted documents: chunks, caches, versions and files; return how many documents.

    The document's row stays as a tombstone without its title, and so does the audit trail; one under audit hold stays as it
    is. Looks for `batch` documents at a time until none is left that could be purged, or `stop` says so; each is a
    transaction of its own, and one that fails stops no other: `Incomplete` is raised at the end, with how many were `removed`.
    """
    purged, failed, passed_over = 0, 0, set[uuid.UUID]()
    oldest = waiting().order_by("deleted_at").values_list("pk", flat=True)
    while not stop() and (some := list(oldest.exclude(pk__in=passed_over)[:batch])):
        for document_id in some:
            if stop():
                break
            try:
                done = _purge(document_id)
            except Error:
                if not connection.is_usable():
                    raise  # it is not the document
                logger.exception("document %s could not be purged", document_id)
                failed, done = failed + 1, False
            if done:
                purged += 1
            else:
                passed_over.add(document_id)  # a worker or another sweep has it: the next sweep comes back
    if failed:
        sentence = _(
            "%(count)d deleted documents could not be removed; the log says why, and the next sweep tries again."
        )
        raise Incomplete(sentence % {"count": failed}, removed=purged)
    return purged


def _purge(document_id: uuid.UUID) -> bool:
    with transaction.atomic():
        unpurged = Document.objects.select_for_update(no_key=True, skip_locked=True).filter(purged_at=None)
        document = unpurged.filter(pk=document_id).first()
        if document is None or document.holds.filter(lifted_at=None).exists():
            return False
        if not search_index().purge(document_id=document_id):
            return False
        used = list(document.versions.values_list("content_id", flat=True))
        document.publications.all().delete()
        document.versions.all().delete()
        content.abandon(used)
        Document.objects.filter(pk=document_id).update(purged_at=timezone.now(), title="(deleted)")
    content.remove_abandoned(used)
    return True
