"""Where a document stands, in words, a sign and a colour: what its list, its page and the page's polling show alike."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.html import format_html
from django.utils.timesince import timesince
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as noop

from documents.forms import duration_words
from documents.models import ReadRule
from documents.ports import CANCELLED_BY_USER, IndexState, search_index
from documents.querysets import DocumentQuerySet

# Two looks more than there are states: what a person cancelled did not fail, and what is being cancelled still runs.
CANCELLING, CANCELLED = "CANCELLING", "CANCELLED"

# Each look has a sign and a word beside its colour, so that it can be told without seeing colours.
SIGNS: dict[str, str] = {
    IndexState.UNPUBLISHED: "○",
    IndexState.INDEXING: "↻",
    IndexState.SEARCHABLE: "✓",
    IndexState.FAILED: "!",
    IndexState.WITHDRAWN: "–",
    IndexState.DELETED: "×",
    CANCELLING: "↻",
    CANCELLED: "■",
}
WORDS: dict[str, str] = {
    IndexState.UNPUBLISHED: noop("Not published"),
    IndexState.INDEXING: noop("Indexing"),
    IndexState.SEARCHABLE: noop("Searchable"),
    IndexState.FAILED: noop("Failed"),
    CANCELLED: noop("Cancelled"),
    IndexState.WITHDRAWN: noop("Withdrawn"),
    IndexState.DELETED: noop("Deleted"),
    CANCELLING: noop("Cancelling…"),
}


@dataclass(frozen=True, slots=True)
class Standing:
    """One document as annotated by the search index."""

    state: IndexState
    look: str  # a key of SIGNS and WORDS
    requested: int | None
    published: int | None
    searchable: int | None
    summary: str  # what readers see now, in one sentence
    error: str  # what went wrong and what to do, in one sentence; empty if nothing did
    too_stale: str  # readers have been waiting for longer than was promised, in one sentence; empty if they have not
    progress: str  # what the indexing does now; empty if it does nothing
    remarks: str  # what of the searchable version could not be read; empty if all of it could
    paused: bool  # `error` says for what it waits; trying again does not help
    needs_new_file: bool  # trying again cannot help
    begun: bool  # a worker is at it
    done: int
    total: int
    task_id: int | None

    @classmethod
    def of(cls, document: Any) -> Standing:
        """`document` comes from `with_standing`."""
        index, state = search_index(), IndexState(document.index_state)
        done, total = document.index_progress_done or 0, document.index_progress_total or 0
        indexing, failed = state is IndexState.INDEXING, state is IndexState.FAILED
        look, code = _look(document, state), document.index_error_code
        error = index.describe_error(
            code=code, message=document.index_error_message, places=document.index_error_places
        )
        if indexing and document.index_pause:
            error = document.index_pause
        elif indexing and error:
            error = gettext("The last try failed and is repeated by itself. %(error)s") % {"error": error}
        progress = index.describe_progress(stage=document.index_stage, done=done, total=total)
        if look == CANCELLING:
            error, progress, done, total = "", gettext("The worker stops before its next step."), 0, 0
        return cls(
            state=state,
            look=look,
            requested=document.requested_version,
            published=document.published_version,
            searchable=document.searchable_version,
            summary=_summary(document, state),
            error=error if indexing or failed else "",
            too_stale=_too_stale(document),
            progress=progress if indexing else "",
            remarks=" ".join(index.describe_text(gaps=document.index_gaps, verification=document.index_verification)),
            paused=indexing and bool(document.index_pause),
            needs_new_file=failed and index.needs_new_file(code=code),
            begun=bool(document.index_stage),
            done=done,
            total=total,
            task_id=document.index_task_id,
        )

    @property
    def word(self) -> str:
        return gettext(WORDS[self.look])

    @property
    def sign(self) -> str:
        return SIGNS[self.look]

    @property
    def badge(self) -> str:
        """The sign is hidden from screen readers, which read the word. The page's script finds the parts by their fields."""
        return format_html(
            '<span class="kb-badge kb-{}" data-badge><span class="kb-sign" data-field="sign" aria-hidden="true">{}</span> '
            '<span data-field="word">{}</span></span>',
            self.look.lower(),
            self.sign,
            self.word,
        )

    @property
    def requested_words(self) -> str:
        return version_words(self.requested)

    @property
    def published_words(self) -> str:
        return version_words(self.published)

    @property
    def searchable_words(self) -> str:
        return version_words(self.searchable)

    @property
    def versions_words(self) -> str:
        return f"{self.published_words} / {self.searchable_words}"

    @property
    def is_indexing(self) -> bool:
        return self.state is IndexState.INDEXING

    @property
    def can_cancel(self) -> bool:
        return self.look == IndexState.INDEXING

    @property
    def can_retry(self) -> bool:
        """After a failure that another try can mend, or to go on before the next try is due."""
        waits = self.is_indexing and bool(self.error) and not self.begun and not self.paused
        return waits or (self.state is IndexState.FAILED and not self.needs_new_file)

    def to_json(self) -> dict[str, Any]:
        """What the page's script puts in place: every text ready to be shown."""
        return {
            "state": self.state,
            "look": self.look,
            "word": self.word,
            "sign": self.sign,
            "summary": self.summary,
            "error": self.error,
            "tooStale": self.too_stale,
            "progress": self.progress,
            "remarks": self.remarks,
            "done": self.done,
            "total": self.total,
            "requested": self.requested_words,
            "published": self.published_words,
            "searchable": self.searchable_words,
            "publishedVersion": self.published,
            "searchableVersion": self.searchable,
            "versions": self.versions_words,
            "isIndexing": self.is_indexing,
            "canCancel": self.can_cancel,
            "canRetry": self.can_retry,
            "needsNewFile": self.needs_new_file,
            "isSearchable": self.searchable is not None,
        }


def with_standing(documents: DocumentQuerySet) -> DocumentQuerySet:
    """Annotate what `Standing.of` reads, in the same query."""
    rules = ReadRule.objects.filter(document=OuterRef("pk"), version_number=OuterRef("requested_version"))
    return search_index().annotate_state(documents).annotate(has_readers=Exists(rules))


def looking(documents: QuerySet[Any], look: str) -> QuerySet[Any]:
    """Those of `with_standing` that are shown as `look`, one of WORDS but for CANCELLING."""
    cancelled = Q(index_state=IndexState.FAILED, index_error_code=CANCELLED_BY_USER)
    if look == CANCELLED:
        return documents.filter(cancelled)
    if look == IndexState.FAILED:
        return documents.filter(Q(index_state=look)).exclude(cancelled)
    return documents.filter(Q(index_state=look))


def version_words(number: int | None) -> str:
    return f"v{number}" if number else "–"


def _look(document: Any, state: IndexState) -> str:
    if state is IndexState.INDEXING and document.index_cancel_requested:
        return CANCELLING
    if state is IndexState.FAILED and document.index_error_code == CANCELLED_BY_USER:
        return CANCELLED
    return state


def _summary(document: Any, state: IndexState) -> str:
    facts = {"asked": version_words(document.requested_version), "seen": version_words(document.searchable_version)}
    if state is IndexState.UNPUBLISHED:
        return gettext("Readers find nothing: no version has been published.")
    if state is IndexState.WITHDRAWN:
        return gettext("Readers find nothing until a version is published again.")
    if state is IndexState.DELETED:
        return gettext("Readers find nothing; the document cannot be brought back.")
    if not document.has_readers:
        return gettext("Nobody may read %(asked)s: choose its readers.") % facts
    if state is IndexState.SEARCHABLE:
        return gettext("Readers see %(seen)s, the version in force.") % facts
    if document.withheld_version is not None:
        facts |= {"held": version_words(document.withheld_version), "ago": _ago_seconds(document.behind_seconds)}
        sentence = gettext(
            "%(asked)s was asked for %(ago)s; readers are told that the document is being updated, and %(held)s is not shown."
        )
        return sentence % facts
    if document.searchable_version is None:
        facts["ago"] = _ago(document.published_at) if document.published_at else ""
        if facts["ago"]:
            return gettext("%(asked)s was published %(ago)s; readers find nothing yet.") % facts
        return gettext("%(asked)s is to be published; readers find nothing yet.") % facts
    facts["ago"] = _ago_seconds(document.staleness_seconds)
    if document.published_version != document.requested_version:
        return gettext("%(asked)s was asked for %(ago)s and is not in force yet; readers see %(seen)s.") % facts
    return gettext("%(asked)s was published %(ago)s; readers still see %(seen)s.") % facts


def _ago_seconds(seconds: float | None) -> str:
    return _ago(timezone.now() - timedelta(seconds=float(seconds or 0)))


def _too_stale(document: Any) -> str:
    if not document.is_too_stale:
        return ""
    facts = {
        "asked": version_words(document.requested_version),
        "time": duration_words(document.behind_seconds),
        "allowed": duration_words(document.max_staleness),
    }
    return (
        gettext("Too stale: readers have been waiting for %(asked)s for %(time)s, and %(allowed)s is allowed.") % facts
    )


def _ago(since: datetime) -> str:
    """“3 minutes ago”: one unit is enough to know whether to wait."""
    if timezone.now() - since < timedelta(minutes=1):
        return gettext("just now")
    return gettext("%(time)s ago") % {"time": timesince(since, depth=1)}
