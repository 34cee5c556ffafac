"""A document's past: its versions with the time each came into force, and who did what."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as noop

from documents.models import AuditEvent, Document, DocumentVersion, Publication

SHOWN = 20  # rows of each table; the rest on request

ACTIONS = {
    "create": noop("uploaded the document"),
    "add_version": noop("uploaded v%(version)s"),
    "restore": noop("restored v%(restored)s as v%(version)s"),
    "publish": noop("published v%(version)s"),
    "set_readers": noop("changed the readers of v%(version)s"),
    "set_staleness": noop("chose what readers get while a new version is indexed"),
    "too_stale": noop("found that readers were waiting for v%(version)s for longer than is allowed"),
    "fresh_again": noop("found that the wait for v%(version)s was over"),
    "withdraw": noop("withdrew the document"),
    "delete": noop("deleted the document"),
    "retry": noop("asked to index v%(version)s again"),
    "prioritise": noop("gave the indexing of v%(version)s priority %(priority)s"),
    "place_hold": noop("placed an audit hold: %(reason)s"),
    "lift_hold": noop("lifted an audit hold"),
    "cancel_indexing": noop("asked to cancel the indexing of v%(version)s"),
}


@dataclass(frozen=True, slots=True)
class VersionRow:
    version: DocumentVersion
    since: datetime | None  # the last time it came into force
    until: datetime | None  # when that ended; None while it holds
    is_latest: bool


@dataclass(frozen=True, slots=True)
class Entry:
    at: datetime
    actor: str
    words: str


def version_rows(document: Document, *, everything: bool) -> list[VersionRow]:
    """The newest versions first."""
    versions = document.versions.select_related("content", "created_by").order_by("-number")
    shown = list(versions if everything else versions[:SHOWN])
    force = _in_force(document)
    rows = []
    for version in shown:
        since, until = force.get(version.number, (None, None))
        rows.append(VersionRow(version, since, until, is_latest=version.number == document.latest_version))
    return rows


def _in_force(document: Document) -> dict[int, tuple[datetime | None, datetime | None]]:
    """From when until when each version was in force last: until the next one, or the withdrawal or deletion before it."""
    published = Publication.objects.filter(document=document, published_at__isnull=False).order_by(
        "-published_at", "-id"
    )
    force: dict[int, tuple[datetime | None, datetime | None]] = {}
    end = document.deleted_at
    for number, since, withdrawn in published.values_list("version_number", "published_at", "withdrawn_at"):
        force.setdefault(number, (since, min((at for at in (end, withdrawn) if at), default=None)))
        end = since
    return force


def trail(document: Document, *, everything: bool) -> list[Entry]:
    """What was done, newest first."""
    events = AuditEvent.objects.filter(document_id=document.pk)
    return [entry_of(event) for event in (events if everything else events[:SHOWN])]


def has_more(document: Document) -> bool:
    """Whether the page leaves some out unless asked for everything."""
    return document.latest_version > SHOWN or AuditEvent.objects.filter(document_id=document.pk)[SHOWN:].exists()


def last_change(document: Document) -> str:
    """The newest entry as a sentence; empty if there is none."""
    event = AuditEvent.objects.filter(document_id=document.pk).first()
    if event is None:
        return ""
    entry = entry_of(event)
    return gettext("Last change: %(actor)s %(action)s.") % {"actor": entry.actor, "action": entry.words}


def entry_of(event: AuditEvent) -> Entry:
    """An event in words."""
    facts: dict[str, Any] = {
        "version": event.version_number,
        "restored": event.detail.get("restored"),
        "priority": event.detail.get("priority"),
        "reason": event.detail.get("reason"),
    }
    words = ACTIONS.get(event.action)
    return Entry(event.at, event.actor_name or gettext("the system"), gettext(words) % facts if words else event.action)
