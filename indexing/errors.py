"""What can go wrong between a published version and its chunks, and what the worker does about it.

The class of an error says what happens next; its code is stable and public; its sentence is for an editor.
Anything that is not an `IndexingError` is a defect: it is logged with its traceback and never wrapped.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from indexing.blocks import Chunk


class Disposition(StrEnum):
    """What the worker does with a failed attempt."""

    PERMANENT = "permanent"  # DEAD at once: trying again cannot help
    TRANSIENT = "transient"  # RETRY_WAIT with backoff; one failure is charged
    THROTTLED = "throttled"  # RETRY_WAIT until the provider allows it; nothing charged
    PROVIDER = "provider"  # RETRY_WAIT: the provider is broken, not the document; nothing charged
    CANCELLED = "cancelled"  # CANCELLED: nobody wants the result any more


class IndexingError(Exception):
    """Indexing failed."""

    code = "INDEXING_FAILED"
    disposition = Disposition.TRANSIENT
    tries: int | None = (
        None  # that may end so, where a transient fault that comes twice is there to stay; others count apart
    )

    def __init__(
        self, detail: str = "", *, retry_after: float | None = None, places: dict[str, Any] | None = None
    ) -> None:
        """`detail` is appended to the class's sentence and must hold no keys, paths or document text.

        `retry_after`: seconds after which the provider allows another try, where it said so. `places`: where in the
        document the texts at fault stand, for its editor (`indexing.messages.places_words`).
        """
        self.places = places
        self.detail = detail
        self.retry_after = retry_after
        super().__init__(f"{self.sentence()} {detail}".strip())

    @classmethod
    def sentence(cls) -> str:
        """What the class says without details, in English; `indexing.messages` translates it."""
        return " ".join((cls.__doc__ or "").split())


def places_of(chunks: Sequence[Chunk], *, count: int, complete: bool) -> dict[str, Any]:
    """What an error's `places` are: those of the first few texts at fault, of `count` (or more, if not `complete`)."""
    first = [
        {"chunk": chunk.ordinal + 1, "headingPath": list(chunk.heading_path), "locator": chunk.locator.to_json()}
        for chunk in chunks
    ]
    return {"count": count, "complete": complete, "first": first}


class PermanentError(IndexingError):
    """The document cannot be indexed as it is."""

    disposition = Disposition.PERMANENT


class FileAtFault(PermanentError):
    """The file must be changed before it can be indexed."""


class UnsupportedDocument(FileAtFault):
    """This type of file cannot be read here. Save it as PDF, DOCX, XLSX, PPTX, HTML or plain text and upload that."""

    code = "UNSUPPORTED_DOCUMENT"


class DocumentCorrupt(FileAtFault):
    """The file is damaged and cannot be opened. Open it in its own program, save it again and upload it as a new version."""

    code = "DOCUMENT_CORRUPT"


class DocumentEncrypted(FileAtFault):
    """The file is protected by a password. Remove the password and upload it as a new version."""

    code = "DOCUMENT_ENCRYPTED"


class DocumentTooLarge(FileAtFault):
    """The file is too large to be indexed. Split it into smaller documents."""

    code = "DOCUMENT_TOO_LARGE"


class NoText(FileAtFault):
    """No text was found in the file. If it is a scan or a picture, upload a sharper one, or a version with recognised text."""

    code = "NO_TEXT"


class AccessRevoked(PermanentError):
    """All read access to this version was removed while it was being indexed. Set readers again to continue."""

    code = "ACCESS_REVOKED"


class EmbeddingInputRejected(PermanentError):
    """The embedding provider refuses this document's text. Tell an operator, or upload a version with other wording."""

    code = "EMBEDDING_INPUT_REJECTED"


class EmbeddingDimensionMismatch(PermanentError):
    """The embedding provider returned vectors of another length than this pipeline's. Tell an operator."""

    code = "EMBEDDING_DIMENSION_MISMATCH"


class TransientError(IndexingError):
    """A passing fault. It is tried again by itself."""

    disposition = Disposition.TRANSIENT


class EmbeddingTimeout(TransientError):
    """The embedding provider did not answer in time."""

    code = "EMBEDDING_TIMEOUT"


class EmbeddingBadResponse(TransientError):
    """The embedding provider's answer does not fit the request."""

    code = "EMBEDDING_BAD_RESPONSE"


class ParseCrashed(TransientError):
    """The parser stopped while reading this file."""

    code = "PARSE_CRASHED"
    tries = 2


class ParseTimeout(TransientError):
    """Reading this file took too long."""

    code = "PARSE_TIMEOUT"
    tries = 2


class StorageUnavailable(TransientError):
    """The stored file could not be read."""

    code = "STORAGE_UNAVAILABLE"


class VerificationFailed(TransientError):
    """What was made from the file did not pass its check: text is not where it should be, or was not stored whole."""

    code = "VERIFICATION_FAILED"
    tries = 2


class ThrottledError(IndexingError):
    """The provider asks for a pause."""

    disposition = Disposition.THROTTLED


class EmbeddingRateLimited(ThrottledError):
    """The embedding provider limits the rate of requests. Indexing goes on when it allows."""

    code = "EMBEDDING_RATE_LIMITED"


class ProviderError(IndexingError):
    """The embedding provider is out of order; the document is not at fault."""

    disposition = Disposition.PROVIDER


class EmbeddingAuth(ProviderError):
    """The embedding provider refuses our key. An operator must check it; the document is not at fault."""

    code = "EMBEDDING_AUTH"


class EmbeddingUnavailable(ProviderError):
    """The embedding provider cannot be reached; the document is not at fault."""

    code = "EMBEDDING_UNAVAILABLE"


class EmbeddingModelChanged(ProviderError):
    """The embedding provider answers with another model than this pipeline's. An operator must check it; the document is
    not at fault."""

    code = "EMBEDDING_MODEL_CHANGED"


class CancelledError(IndexingError):
    """Indexing was cancelled."""

    disposition = Disposition.CANCELLED


class Superseded(CancelledError):
    """A newer version was published."""

    code = "SUPERSEDED"


class DocumentDeleted(CancelledError):
    """The document was deleted."""

    code = "DOCUMENT_DELETED"


class DocumentWithdrawn(CancelledError):
    """The document was withdrawn."""

    code = "DOCUMENT_WITHDRAWN"


class CancelledByUser(CancelledError):
    """Indexing was cancelled by a person. Try again now to index this version."""

    code = "CANCELLED_BY_USER"


class PipelineRetired(CancelledError):
    """The pipeline of this task is no longer in use."""

    code = "PIPELINE_RETIRED"


class LeaseLost(Exception):
    """The lease is over or belongs to another attempt: stop, write nothing, record no failure."""

    def __init__(self, action: str) -> None:
        """`action`: the write that was refused, for the record."""
        self.action = action
        super().__init__(f"{action} was refused: the lease is over")
