"""What readers get to see: publish, readers, withdraw, delete. Each command is one transaction with its index orders."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import Error, connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from documents import audit, content
from documents.access import lock_for_change, lock_for_oversight
from documents.errors import (
    Conflict,
    Incomplete,
    InvalidInput,
    NotFound,
    NothingPublished,
    ReadersRequired,
    VersionBehind,
)
from documents.models import Document, DocumentVersion, Publication, ReadRule
from documents.ports import IndexTicket, search_index
from documents.querysets import User
from documents.readers import Reader, copy_rules, replace_rules, resolve

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Published:
    """The answer to a publish: what is in force now and the order that makes it searchable."""

    document: Document
    version_number: int
    ticket: IndexTicket


@transaction.atomic
def publish_version(
    *,
    actor: User,
    document_id: uuid.UUID,
    revision: int | None,
    version_number: int | None = None,
    readers: Sequence[Reader] | None = None,
) -> Published:
    """Bring a version (the latest, if not named) into force for `readers`, and order its indexing in the same transaction.

    `readers`: None keeps those of the version published before; an empty list means nobody.
    Publishing the same version again is allowed: it returns the same order, reopened if it was dead or cancelled.
    Raises what `lock_for_change` raises, `NotFound` for an unknown version, `VersionBehind` for one older than the one
    requested last, `ReadersRequired` if `readers` is None and no version was published before, and `UnknownReader`.
    """
    document = lock_for_change(actor=actor, document_id=document_id, revision=revision)
    version = _version(document, document.latest_version if version_number is None else version_number)
    if version.number < (document.requested_version or 0):
        raise VersionBehind(requestedVersion=document.requested_version)
    rules = _settle_readers(document, version, readers)
    _bring_into_force(document, version, actor)
    ticket = _order(document, actor, rules)
    audit.record(
        document=document,
        actor=actor,
        action="publish",
        version_number=version.number,
        readers=None if readers is None else [reader.as_json() for reader in readers],
    )
    return Published(document, version.number, ticket)


@transaction.atomic
def set_readers(
    *,
    actor: User,
    document_id: uuid.UUID,
    revision: int | None,
    readers: Sequence[Reader],
    version_number: int | None = None,
) -> Document:
    """Replace the readers of the version requested last, which is `version_number` if that is given.

    Whoever is taken off finds nothing from the next query on. Raises what `lock_for_change` raises, `NothingPublished`,
    `UnknownReader`, and `Conflict` for another version's number.
    """
    document = lock_for_change(actor=actor, document_id=document_id, revision=revision)
    if document.requested_version is None:
        raise NothingPublished
    if version_number not in (None, document.requested_version):
        sentence = _(
            "Version %(number)s was asked for since, and only its readers can be changed; nothing was changed."
        )
        raise Conflict(sentence % {"number": document.requested_version}, requestedVersion=document.requested_version)
    version = _version(document, document.requested_version)
    rules = resolve(tenant_id=document.tenant_id, readers=readers)
    replace_rules(version=version, rules=rules)
    _bump(document)
    if rules and document.withdrawn_at is None:
        search_index().readers_restored(document_id=document.pk, version_number=version.number)
    audit.record(
        document=document,
        actor=actor,
        action="set_readers",
        version_number=version.number,
        readers=[reader.as_json() for reader in readers],
    )
    return document


@transaction.atomic
def withdraw_document(*, actor: User, document_id: uuid.UUID, revision: int | None) -> Document:
    """Show readers nothing of this document until its next publish; older text never comes back by itself.

    Raises what `lock_for_change` raises and `NothingPublished`.
    """
    document = lock_for_change(actor=actor, document_id=document_id, revision=revision)
    if document.requested_version is None:
        raise NothingPublished
    if document.withdrawn_at is None:
        document.withdrawn_at = timezone.now()
        _bump(document, "withdrawn_at")
        Publication.objects.filter(document=document, withdrawn_at=None).update(withdrawn_at=document.withdrawn_at)
        cancelled = search_index().withdraw(document_id=document.pk, code="DOCUMENT_WITHDRAWN")
        audit.record(
            document=document,
            actor=actor,
            action="withdraw",
            version_number=document.requested_version,
            cancelled=cancelled,
        )
    return document


@transaction.atomic
def delete_document(*, actor: User, document_id: uuid.UUID, revision: int | None = None) -> Document:
    """Make a document invisible to everybody, finally: no query that starts after this transaction finds it.

    The sweep removes its chunks and files later. Raises what `lock_for_change` raises.
    """
    document = lock_for_change(actor=actor, document_id=document_id, revision=revision)
    document.deleted_at = timezone.now()
    _bump(document, "deleted_at")
    cancelled = search_index().withdraw(document_id=document.pk, code="DOCUMENT_DELETED")
    audit.record(document=document, actor=actor, action="delete", cancelled=cancelled)
    return document


@transaction.atomic
def retry_indexing(*, actor: User, document_id: uuid.UUID) -> IndexTicket:
    """Try again to index the requested version, after it failed or was cancelled; operators may do this too.

    Raises what `lock_for_oversight` raises, `NothingPublished`, and `Conflict` if the document is withdrawn.
    """
    document = lock_for_oversight(actor=actor, document_id=document_id)
    if document.requested_version is None:
        raise NothingPublished
    if document.withdrawn_at is not None:
        raise Conflict(_("The document is withdrawn. Publish it again to index it."))
    ticket = search_index().retry(document=document)
    audit.record(
        document=document,
        actor=actor,
        action="retry",
        version_number=document.requested_version,
        task=ticket.task_id,
    )
    return ticket


@transaction.atomic
def set_staleness(*, actor: User, document_id: uuid.UUID, revision: int | None, staleness: str) -> Document:
    """Choose what readers get while a new version is indexed; holds from the next publish on.

    Raises what `lock_for_change` raises, and `InvalidInput` for a policy that is not known.
    """
    document = lock_for_change(actor=actor, document_id=document_id, revision=revision)
    if staleness not in Document.Staleness:
        raise InvalidInput(_("There is no such policy; nothing was changed."))
    document.staleness = Document.Staleness(staleness)
    _bump(document, "staleness")
    audit.record(document=document, actor=actor, action="set_staleness", staleness=staleness)
    return document


def promote(*, document: Document, version_number: int) -> None:
    """The version is searchable: if it waited for that (`publish_when_ready`), it comes into force. Called by the index's
    finish, in its transaction, with the document locked."""
    if (document.published_version or 0) >= version_number:
        return
    now = timezone.now()
    Document.objects.filter(pk=document.pk).update(published_version=version_number, published_at=now, updated_at=now)
    Publication.objects.filter(document=document, version_number=version_number, published_at=None).update(
        published_at=now
    )


def purge_deleted(*, batch: int = 100, dry_run: bool = False) -> int:
    """Remove what is left of deleted documents: chunks, caches, versions and files; return how many documents.

    The document's row stays as a tombstone without its title, and so does the audit trail. Looks for `batch` documents at a
    time until none is left that could be purged; each is a transaction of its own, and one that fails stops no other:
    `Incomplete` is raised at the end, with how many were `removed`.
    """
    waiting = Document.objects.filter(deleted_at__isnull=False, purged_at=None).order_by("deleted_at")
    if dry_run:
        return waiting.count()
    purged, failed, held = 0, 0, set[uuid.UUID]()
    while some := list(waiting.exclude(pk__in=held).values_list("pk", flat=True)[:batch]):
        for document_id in some:
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
                held.add(document_id)  # a worker or another sweep has it: the next sweep comes back
    if failed:
        sentence = _(
            "%(count)d deleted documents could not be removed; the log says why, and the next sweep tries again."
        )
        raise Incomplete(sentence % {"count": failed}, removed=purged)
    return purged


def _purge(document_id: uuid.UUID) -> bool:
    with transaction.atomic():
        waiting = Document.objects.select_for_update(no_key=True, skip_locked=True).filter(purged_at=None)
        document = waiting.filter(pk=document_id).first()
        if document is None or not search_index().purge(document_id=document_id):
            return False
        used = list(document.versions.values_list("content_id", flat=True))
        document.publications.all().delete()
        document.versions.all().delete()
        content.abandon(used)
        Document.objects.filter(pk=document_id).update(purged_at=timezone.now(), title="(deleted)")
    content.remove_abandoned(used)
    return True


def _version(document: Document, number: int) -> DocumentVersion:
    version = document.versions.filter(number=number).first()
    if version is None:
        raise NotFound(_("The document has no version %(number)s.") % {"number": number})
    return version


def _settle_readers(
    document: Document, version: DocumentVersion, readers: Sequence[Reader] | None
) -> Sequence[ReadRule]:
    """Give `version` its rules: those asked for, or the current ones."""
    if readers is not None:
        rules = resolve(tenant_id=document.tenant_id, readers=readers)
        replace_rules(version=version, rules=rules)
        return rules
    if document.requested_version is None:
        raise ReadersRequired
    if document.requested_version == version.number:
        return list(version.read_rules.all())
    return copy_rules(document=document, from_number=document.requested_version, to=version)


def _bring_into_force(document: Document, version: DocumentVersion, actor: User) -> None:
    now = timezone.now()
    again = document.requested_version == version.number and document.withdrawn_at is None
    waits = document.staleness == Document.Staleness.PUBLISH_WHEN_READY and document.published_version != version.number
    hides_older = document.withdrawn_at is not None or document.staleness == Document.Staleness.WITHHOLD
    document.requested_version = version.number
    if not waits and document.published_version != version.number:
        document.published_version, document.published_at = version.number, now
        # It was asked for before and waited; now the policy is another.
        Publication.objects.filter(document=document, version_number=version.number, published_at=None).update(
            published_at=now
        )
    if hides_older:
        document.serve_from_version = max(document.serve_from_version, version.number)
    document.withdrawn_at = None
    _bump(document, "requested_version", "published_version", "published_at", "serve_from_version", "withdrawn_at")
    if not again:
        Publication.objects.create(
            document=document,
            version_number=version.number,
            requested_by_id=actor.pk,
            published_at=None if waits else now,
        )


def _order(document: Document, actor: User, rules: Sequence[ReadRule]) -> IndexTicket:
    assert document.requested_version is not None
    return search_index().request(
        tenant_id=document.tenant_id,
        document_id=document.pk,
        version_number=document.requested_version,
        actor_id=actor.pk,
        has_readers=bool(rules),
    )


def _bump(document: Document, *changed: str) -> None:
    document.revision += 1
    document.save(update_fields=[*changed, "revision", "updated_at"])
