"""A refused command as an HTTP status; the sentence goes to the form or the message list."""

from __future__ import annotations

from documents.errors import Conflict, DocumentsError, NotAllowed, NotFound, StorageFailed


def status_of(error: DocumentsError) -> int:
    """The status of the page that shows the refusal with the editor's input."""
    for kind, status in ((NotAllowed, 403), (NotFound, 404), (Conflict, 409), (StorageFailed, 503)):
        if isinstance(error, kind):
            return status
    return 400
