"""Conditional writes of external systems: strictly newer wins, the same again changes nothing, nothing old comes back.

A write is complete: text, title, file name and readers. So what is in force depends on the newest write alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from documents import content, publishing, uploading
from documents.access import editable_tenant
from documents.conditional import Outcome, State, decide
from documents.errors import DocumentGone, InvalidInput, NotAllowed, NotFound
from documents.querysets import EDITING_ROLES, User, tenants_where
from documents.readers import Reader, resolve
from documents.source_models import Source, SourceEntry

AHEAD = timedelta(days=1)  # how far a source's clock may be before ours; a wrong one would shut out all later writes
MAX_KEY = 500  # characters
MAX_CLOCK = 2**63 - 1
_MAKES_A_VERSION = (Outcome.CREATED, Outcome.UPDATED)


@dataclass(frozen=True, slots=True)
class Write:
    """What a source says of one of its documents. Without `data` it is a deletion.

    `updated_at` (aware) or `epoch` is its clock, the other is None. `title`: the file name if empty. `readers`: None for
    those that the source gives to all of its documents.
    """

    key: str
    updated_at: datetime | None = None
    epoch: int | None = None
    data: bytes | None = None
    file_name: str = ""
    title: str = ""
    readers: Sequence[Reader] | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """What a write came to. `published` is there if it made a version; `reason` says why it was a conflict."""

    outcome: Outcome
    entry: SourceEntry | None
    published: publishing.Published | None = None
    reason: str = ""


@transaction.atomic
def create_source(*, actor: User, tenant: str, name: str, clock: str, readers: Sequence[Reader]) -> Source:
    """A source of the tenant `tenant` (its short name); the same one again if it is there already with the same settings.

    Raises `NotFound`, `NotAllowed`, `UnknownReader`, and `InvalidInput` for a name that is none or that has other settings.
    """
    home = editable_tenant(actor=actor, slug=tenant)
    resolve(tenant_id=home.pk, readers=readers)
    named = [reader.as_json() for reader in readers]
    source, made = Source.objects.get_or_create(
        tenant=home, name=name, defaults={"clock": clock, "readers": named, "created_by_id": actor.pk}
    )
    if not made and (source.clock, source.readers) != (clock, named):
        raise InvalidInput(
            _("There is a source “%(name)s” with another clock or other readers; nothing was changed.") % {"name": name}
        )
    return source


def source_of(*, actor: User, source_id: int) -> Source:
    """A source that `actor` may write to. Raises `NotFound` or `NotAllowed`."""
    source = Source.objects.select_related("tenant").filter(pk=source_id).first()
    if source is not None:
        if tenants_where(actor, EDITING_ROLES).filter(pk=source.tenant_id).exists():
            return source
        if tenants_where(actor).filter(pk=source.tenant_id).exists():
            raise NotAllowed
    raise NotFound(_("There is no such source, or you may not see it."))


def sources_of(*, actor: User, tenant: str) -> list[Source]:
    """The sources of a tenant where `actor` is an editor. Raises `NotFound` or `NotAllowed`."""
    return list(editable_tenant(actor=actor, slug=tenant).sources.all())


def entry_of(*, actor: User, source_id: int, key: str) -> SourceEntry:
    """What is known of one document of a source. Raises `NotFound` or `NotAllowed`."""
    source = source_of(actor=actor, source_id=source_id)
    entry = source.entries.select_related("source", "document").filter(key=key).first() if _is_key(key) else None
    if entry is None:
        raise NotFound(_("The source never wrote a document “%(key)s”.") % {"key": key})
    return entry


def apply(*, actor: User, source: Source, write: Write) -> Applied:
    """Do what a write asks for, if it is the newest, and publish what it makes. Not for use inside a transaction.

    `source` is one that `actor` may write to (`source_of`). Raises `InvalidInput` (a bad key, clock, title, file or reader) or
    `StorageFailed`; nothing was changed then.
    """
    state = State(_clock(source, write), _digest(source, write))
    entry = source.entries.filter(key=write.key).first()
    seen = decide(_state(entry), state)
    if not seen.advances:  # nor will it later: clocks only grow
        return _not_the_newest(seen.outcome, entry)
    # Bytes are not stored for a write that changes nothing; whether it does is known for sure only behind the lock.
    upload = _stage(source, write) if seen.outcome in _MAKES_A_VERSION else None
    return _settle(actor, source, write, state, upload) or _settled(actor, source, write, state)


def _settled(actor: User, source: Source, write: Write, state: State) -> Applied:
    """Once more, with the bytes: between the first look and the lock another write changed what this one comes to."""
    applied = _settle(actor, source, write, state, _stage(source, write))
    assert applied is not None, "nothing is missing now"
    return applied


def foresee(*, source: Source, write: Write, states: dict[str, State]) -> Applied:
    """What `apply` would come to; nothing is written. `states`, by key, are those that the writes foreseen before would leave;
    this one's is added. Raises what `apply` raises, except for `StorageFailed`."""
    state = State(_clock(source, write), _digest(source, write))
    entry = source.entries.select_related("document").filter(key=write.key).first()
    decision = decide(states.get(write.key, _state(entry)), state)
    if not decision.advances:
        return _not_the_newest(decision.outcome, entry)
    if decision.outcome in _MAKES_A_VERSION:
        content.check(content=write.data or b"", file_name=_names(write)[1])
        resolve(tenant_id=source.tenant_id, readers=_readers(source, write))
        document = entry.document if entry else None
        if decision.outcome is Outcome.UPDATED and document is not None and document.deleted_at is not None:
            return _gone(entry)
    states[write.key] = state
    return Applied(decision.outcome, entry)


def _stage(source: Source, write: Write) -> uploading.Upload:
    assert write.data is not None
    title, name = _names(write)
    stored = content.stage(tenant=source.tenant, content=write.data, file_name=name)
    return uploading.Upload(stored, file_name=name, title=title)


def _names(write: Write) -> tuple[str, str]:
    """Title and file name. Raises `InvalidInput`."""
    return content.clean_title(write.title or write.file_name), content.clean_file_name(write.file_name)


def keys_known(*, source: Source) -> list[str]:
    """Keys of the documents that a source has now, tombstones left out."""
    return list(source.entries.exclude(digest=None).values_list("key", flat=True))


def clock_of(entry: SourceEntry) -> datetime | int:
    """The clock of the write that counts, as the source tells it."""
    if entry.source.clock == Source.Clock.EPOCH:
        return entry.clock
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=entry.clock)


def _not_the_newest(outcome: Outcome, entry: SourceEntry | None) -> Applied:
    conflict = outcome is Outcome.CONFLICT
    reason = _("The source wrote something else with the same clock; what was written first stays.") if conflict else ""
    return Applied(outcome, entry, reason=reason)


def _gone(entry: SourceEntry | None) -> Applied:
    reason = _("The document was deleted here, which is final. Delete it in the source to let it come again.")
    return Applied(Outcome.CONFLICT, entry, reason=reason)


@transaction.atomic
def _settle(actor: User, source: Source, write: Write, state: State, upload: uploading.Upload | None) -> Applied | None:
    """Decide with the entry locked: its lock comes before those of tenant and document, and nobody takes it later. None where
    the bytes are needed and not there."""
    entry = source.entries.select_for_update(no_key=True).filter(key=write.key).first()
    if entry is None:
        # Two first writes meet here: one inserts, the other waits for it and then finds its row.
        SourceEntry.objects.bulk_create(
            [SourceEntry(source=source, key=write.key, clock=_NEVER)], ignore_conflicts=True
        )
        entry = source.entries.select_for_update(no_key=True).get(key=write.key)
    decision = decide(_state(entry), state)
    if not decision.advances:
        return _not_the_newest(decision.outcome, entry)
    published = None
    try:
        if decision.outcome is Outcome.DELETED and entry.document_id is not None:
            publishing.delete_document(actor=actor, document_id=entry.document_id)
        elif decision.outcome in _MAKES_A_VERSION:
            if upload is None:
                return None
            published = _publish(actor, source, write, entry, decision.outcome, upload)
    except DocumentGone:
        if decision.outcome is not Outcome.DELETED:
            return _gone(entry)
    entry.clock, entry.digest = state.clock, state.digest
    entry.save(update_fields=["clock", "digest", "document", "updated_at"])
    return Applied(decision.outcome, entry, published)


def _publish(
    actor: User, source: Source, write: Write, entry: SourceEntry, outcome: Outcome, upload: uploading.Upload
) -> publishing.Published:
    if outcome is Outcome.CREATED:
        version = uploading.create_from(actor=actor, upload=upload)
        entry.document = version.document
    else:
        assert entry.document_id is not None
        uploading.add_from(actor=actor, document_id=entry.document_id, revision=None, upload=upload)
    assert entry.document_id is not None
    return publishing.publish_version(
        actor=actor, document_id=entry.document_id, revision=None, readers=_readers(source, write)
    )


_NEVER = -(2**63)  # the clock of an entry whose first write is on its way


def _state(entry: SourceEntry | None) -> State | None:
    return None if entry is None or entry.clock == _NEVER else State(entry.clock, entry.digest)


def _readers(source: Source, write: Write) -> list[Reader]:
    if write.readers is not None:
        return list(write.readers)
    return [Reader(reader["type"], reader.get("name", "")) for reader in source.readers]


def _clock(source: Source, write: Write) -> int:
    """Raises `InvalidInput` for a write without the clock that its source goes by, or a key that is none."""
    if not _is_key(write.key):
        raise InvalidInput(_("A key has 1 to 500 characters, none of them invisible; nothing was changed."))
    if source.clock == Source.Clock.EPOCH:
        if write.epoch is None or write.updated_at is not None or not 0 <= write.epoch <= MAX_CLOCK:
            raise InvalidInput(_("This source goes by `versionEpoch`, a whole number from 0; nothing was changed."))
        return write.epoch
    if write.updated_at is None or write.epoch is not None:
        raise InvalidInput(_("This source goes by `sourceUpdatedAt`, a time with its zone; nothing was changed."))
    if write.updated_at > timezone.now() + AHEAD:
        raise InvalidInput(
            _(
                "`sourceUpdatedAt` is more than a day from now, which would shut out all later writes; nothing was changed."
            )
        )
    return (write.updated_at - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)


def _is_key(key: str) -> bool:
    return 0 < len(key) <= MAX_KEY and key.isprintable()


def _digest(source: Source, write: Write) -> str | None:
    """Of all that a write says; None for a deletion."""
    if write.data is None:
        return None
    readers = sorted((reader.type, reader.name) for reader in _readers(source, write))
    whole: list[Any] = [
        hashlib.sha256(write.data).hexdigest(),
        write.file_name,
        write.title or write.file_name,
        readers,
    ]
    return hashlib.sha256(json.dumps(whole).encode("utf-8", "surrogatepass")).hexdigest()
