"""What a command can be refused for. The sentence says what happened, what is safe and what to do; no HTTP here.

Sentences are in the language of whoever asked; `code` is the same in every language.
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext


class DocumentsError(Exception):
    """The command was refused."""

    code = "refused"

    def __init__(self, message: str | None = None, **facts: Any) -> None:
        """`facts` go into the answer next to the message: values a program needs to go on, such as `currentRevision`."""
        self.message = message or gettext(self.sentence())
        self.facts = facts
        super().__init__(self.message)

    @classmethod
    def sentence(cls) -> str:
        """What the class says where nothing more exact is known, in English."""
        return " ".join((cls.__doc__ or "").split())


class NotFound(DocumentsError):
    """There is no such document, or you may not see it."""

    code = "not_found"


class NotAllowed(DocumentsError):
    """You may not do this in this tenant. Ask its administrator for the editor role."""

    code = "not_allowed"


class InvalidInput(DocumentsError):
    """The request is not understood; nothing was changed."""

    code = "invalid"


class UnsupportedMediaType(InvalidInput):
    """This type of file is not accepted; nothing was stored."""

    code = "unsupported_document"


class FileTooLarge(InvalidInput):
    """The file is over the size limit; nothing was stored."""

    code = "file_too_large"


class UnknownReader(InvalidInput):
    """A reader is not known in this tenant; nothing was changed."""

    code = "unknown_reader"


class ReadersRequired(InvalidInput):
    """Say who may read it, as nothing was published before: a list of readers, where [] means nobody. Nothing was changed."""

    code = "readers_required"


class Conflict(DocumentsError):
    """The document is in another state than the request supposes; nothing was changed."""

    code = "conflict"


class StaleRevision(Conflict):
    """Somebody changed the document since you loaded it; nothing was lost. Reload it and repeat your change."""

    code = "stale_revision"


class VersionBehind(Conflict):
    """A newer version was already published. To go back to old text, restore it as a new version."""

    code = "version_behind"


class NothingPublished(Conflict):
    """No version of this document is published. Publish one first."""

    code = "nothing_published"


class BeingUpdated(Conflict):
    """The document is being updated: its old text is not shown until its new version is searchable. Come back later."""

    code = "being_updated"

    @staticmethod
    def sentence_of(title: str) -> str:
        """The same of a document by its title, which its readers may know."""
        return gettext("“%(title)s” is not shown until its new version is searchable.") % {"title": title}


class DocumentGone(Conflict):
    """The document was deleted. Upload the file as a new document."""

    code = "document_deleted"


class KeyReused(Conflict):
    """This Idempotency-Key was used for a different request. Use a new key for a new request."""

    code = "idempotency_key_reused"


class StillRunning(Conflict):
    """The first request with this Idempotency-Key is still being worked on. Repeat it in a moment."""

    code = "idempotency_in_progress"


class Incomplete(DocumentsError):
    """A part could not be done; the next run tries it again."""

    code = "incomplete"


class StorageFailed(DocumentsError):
    """The file could not be stored; nothing was changed. Try again, and tell an operator if it goes on."""

    code = "storage_failed"
