"""What readers get to see: publish, readers, withdraw, delete. Each command is one transaction with its index orders."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from documents import audit
from documents.access import lock_for_change, lock_for_oversight
from documents.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    NothingPublished,
    ReadersRequired,
    VersionBehind,
)
from documents.locks import hold_tenant, moment
from documents.models import Document, DocumentVersion, Publication, ReadRule
from documents.ports import IndexTicket, search_index
from documents.querysets import DocumentQuerySet, User
from documents.readers import Reader, copy_rules, replace_rules, resolve

LONGEST_MAXIMUM = 365 * 86400  # seconds that a document may be allowed to be stale
PROMOTED_AT_ONCE = 500  # documents of one transaction


@dataclass(frozen=True, slots=True)
class Published:
    """The answer to a publish: the document with what is in force now, and the order that makes the version searchable."""

    document: Document
    version_number: int
    ticket: IndexTicket

    @property
    def in_force(self) -> bool:
        """False while the version waits until it is searchable (`publish_when_ready`): the one before it goes on."""
        return self.document.published_version == self.version_number


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
    for found in _with_better_news(
        Document.objects.filter(pk=document.pk)
    ):  # it is searchable already: no finish will say so
        promote(document=document, version_number=found.searchable_version)
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
        document.withdrawn_at, document.is_behind = moment(), False
        _bump(document, "withdrawn_at", "is_behind")
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
    document.deleted_at, document.is_behind = moment(), False
    _bump(document, "deleted_at", "is_behind")
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
def set_staleness(
    *,
    actor: User,
    document_id: uuid.UUID,
    revision: int | None,
    staleness: str,
    max_seconds: int | None = None,
    past_maximum: str = Document.PastMaximum.ALERT,
) -> Document:
    """Choose what readers get while a new version is indexed, and for how long at most (None: as the site does).

    The policy holds from the next publish on, the maximum and what happens past it at once. Raises what `lock_for_change`
    raises, and `InvalidInput` for a policy that is not known, a maximum out of range, or text to be withheld after none.
    """
    document = lock_for_change(actor=actor, document_id=document_id, revision=revision)
    if staleness not in Document.Staleness or past_maximum not in Document.PastMaximum:
        raise InvalidInput(_("There is no such policy; nothing was changed."))
    if max_seconds is not None and not 1 <= max_seconds <= LONGEST_MAXIMUM:
        raise InvalidInput(_("The longest staleness is between a second and a year; nothing was changed."))
    if past_maximum == Document.PastMaximum.WITHHOLD and max_seconds is None:
        raise InvalidInput(_("Say after how long text that is too stale is no longer shown; nothing was changed."))
    document.staleness = Document.Staleness(staleness)
    document.max_staleness_seconds = max_seconds
    document.past_maximum = Document.PastMaximum(past_maximum)
    _bump(document, "staleness", "max_staleness_seconds", "past_maximum")
    audit.record(
        document=document,
        actor=actor,
        action="set_staleness",
        staleness=staleness,
        max_seconds=max_seconds,
        past_maximum=past_maximum,
    )
    return document


def promote(*, document: Document, version_number: int) -> bool:
    """The version is searchable: it comes into force if it waited for that (`publish_when_ready`), which the answer tells; and
    if it is the one asked for last, nobody waits for it any more. Called by the index under the pipeline that serves, in the
    transaction that makes it searchable, with the document locked."""
    comes_into_force = (document.published_version or 0) < version_number
    if comes_into_force:
        document.published_version, document.published_at = version_number, moment()
        Publication.objects.filter(document=document, version_number=version_number, published_at=None).update(
            published_at=document.published_at
        )
    if comes_into_force or document.is_behind:
        document.is_behind = version_number < (document.requested_version or 0)
        # Searchable is no change of the document: the list that is sorted by changes would move under an editor's hand.
        changed = ["published_version", "published_at", "updated_at"] if comes_into_force else []
        document.save(update_fields=["is_behind", *changed])
    return comes_into_force


def promote_searchable(*, tenant_id: int) -> int:
    """Bring into force what waited until it is searchable, and is; returns how many versions. For whatever makes versions
    searchable without a finish: another pipeline comes to serve the tenant. Within the caller's transaction if there is one,
    else some at a time."""
    promoted, after = 0, uuid.UUID(int=0)
    while True:
        with transaction.atomic():
            hold_tenant(tenant_id)
            behind = Document.objects.alive().filter(tenant=tenant_id, is_behind=True, pk__gt=after)
            some = list(_with_better_news(behind).order_by("pk").values_list("pk", flat=True)[:PROMOTED_AT_ONCE])
            locked = Document.objects.select_for_update(no_key=True).filter(pk__in=some).order_by("pk").in_bulk()
            for found in _with_better_news(Document.objects.filter(pk__in=locked)):
                promoted += promote(document=locked[found.pk], version_number=found.searchable_version)
        if len(some) < PROMOTED_AT_ONCE:
            return promoted
        after = some[-1]


def _with_better_news(documents: DocumentQuerySet) -> QuerySet[Any]:
    """Those of which readers are served the version asked for last, or one that is not in force."""
    served: Any = search_index().annotate_state(documents)
    waited = Q(published_version=None) | Q(searchable_version__gt=F("published_version"))
    found: QuerySet[Any] = served.filter(
        waited | Q(searchable_version=F("requested_version")), searchable_version__isnull=False
    )
    return found


def hide_until_searchable(*, document_ids: Sequence[uuid.UUID]) -> int:
    """Show nothing of these documents until the version requested last is searchable; returns of how many. For an index that
    comes to be searched with something older of them than readers have seen; their tenant is held by the caller."""
    shown = Document.objects.filter(pk__in=document_ids, serve_from_version__lt=F("requested_version"))
    return shown.update(serve_from_version=F("requested_version"), is_behind=True, updated_at=timezone.now())


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
    now = moment()
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
    document.withdrawn_at, document.is_behind = None, document.is_behind or not again
    changed = (
        "requested_version",
        "published_version",
        "published_at",
        "serve_from_version",
        "withdrawn_at",
        "is_behind",
    )
    _bump(document, *changed)
    if not again:
        Publication.objects.create(
            document=document,
            version_number=version.number,
            requested_by_id=actor.pk,
            requested_at=now,
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
