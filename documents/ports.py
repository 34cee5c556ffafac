"""What the documents ask of the search index. Bound by the setting KB_SEARCH_INDEX, as an e-mail backend is.

`publish_version` calls it inside its own transaction, so a published version and its index task are written together
or not at all. A signal would fail silently without a receiver; `on_commit` would lose the task with the process.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from django.conf import settings
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from documents.models import Document
    from documents.querysets import DocumentQuerySet


CANCELLED_BY_USER = "CANCELLED_BY_USER"
"""Error code of an order that a person cancelled: FAILED to programs, and no failure to people."""


class IndexState(StrEnum):
    """What an editor sees on a document."""

    UNPUBLISHED = "UNPUBLISHED"  # no version was ever requested
    INDEXING = "INDEXING"  # the requested version is on its way; an older one may be searchable
    SEARCHABLE = "SEARCHABLE"  # readers are served the requested version
    FAILED = "FAILED"  # the requested version will not become searchable without a person
    WITHDRAWN = "WITHDRAWN"  # nothing is shown until the next publish
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class IndexTicket:
    """The order to index a version under the pipeline that serves its tenant."""

    task_id: int
    state: IndexState


class SearchIndex(Protocol):
    """Every method that writes runs in the caller's transaction, after the caller locked the tenant and the document."""

    def prepare_tenant(self, *, tenant_id: int) -> None:
        """A tenant was created: give it a pipeline to serve it."""
        ...

    def request(
        self, *, tenant_id: int, document_id: uuid.UUID, version_number: int, actor_id: int | None, has_readers: bool
    ) -> IndexTicket:
        """Order the indexing of a version; cancel what it supersedes; reopen a dead or cancelled order of the same."""
        ...

    def readers_restored(self, *, document_id: uuid.UUID, version_number: int) -> None:
        """A version has readers again: go on with an order that ended because it had none."""
        ...

    def withdraw(self, *, document_id: uuid.UUID, code: str) -> int:
        """Cancel what waits for a document (`DOCUMENT_DELETED` or `DOCUMENT_WITHDRAWN`); return how many tasks."""
        ...

    def retry(self, *, document: Document) -> IndexTicket:
        """Reopen the dead or cancelled order of the requested version."""
        ...

    def annotate_state(self, documents: DocumentQuerySet) -> DocumentQuerySet:
        """Add `index_state`, `searchable_version`, `index_task_id`, `index_cancel_requested`, `index_error_code`,
        `index_pause` (why it waits for something outside of it, in a sentence of the current language; else empty),
        `index_error_message`, `index_error_places`, `index_gaps` (a list of the parts of the searchable version that could
        not be read; null if nothing is searchable), `index_verification` (of its chunks' places; may be null),
        `index_stage`, `index_progress_done`, `index_progress_total`, `staleness_seconds` (how long readers have been
        served something older than the requested version; null if they are not), `withheld_version` (what they were
        served before and are not until a newer one is searchable; null if that is not so), `behind_seconds` (like
        `staleness_seconds`, withheld or not), `max_staleness` (in seconds; null: none) and `is_too_stale`."""
        ...

    def describe_error(self, *, code: str | None, message: str | None, places: dict[str, Any] | None) -> str:
        """An error in a sentence an editor can act on, in the current language, with the places of the texts at fault if
        any were found; empty without a code."""
        ...

    def describe_text(self, *, gaps: list[dict[str, Any]] | None, verification: dict[str, Any] | None) -> list[str]:
        """What is not in the searchable text, and whether its places are right, in sentences of the current language."""
        ...

    def needs_new_file(self, *, code: str | None) -> bool:
        """Whether an error lies in the file itself, so that trying again cannot help."""
        ...

    def describe_progress(self, *, stage: str | None, done: int, total: int) -> str:
        """Where the indexing of a version is, in words of the current language."""
        ...

    def purge(self, *, document_id: uuid.UUID) -> bool:
        """Remove all derived data of a deleted document; False if some of it is still held by a running worker."""
        ...


@cache
def search_index() -> SearchIndex:
    """The implementation that the settings name."""
    index: SearchIndex = import_string(settings.KB_SEARCH_INDEX)()
    return index
