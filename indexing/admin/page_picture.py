"""A page of an original as a picture: drawn when it is looked at, in the locked process, few at a time."""

from __future__ import annotations

import threading
import uuid
from functools import lru_cache

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse

from documents import catalog, content
from documents.errors import NotFound, StorageFailed
from documents.models import DocumentVersion, StoredContent
from documents.querysets import User
from indexing.errors import IndexingError
from indexing.parsers.sandbox import render_in_child
from indexing.rendering import Picture

SECONDS = 60.0  # for one page: somebody waits for it, and the machine may be busy
AT_ONCE = 2  # processes that draw, for each process of the site
WAIT_SECONDS = 10.0  # for one of them
KEPT = 16  # pictures, each 100 to 500 kB: the page that names a picture asks for its size first
CACHE_SECONDS = 3600  # in the browser of whoever looked

_drawing = threading.BoundedSemaphore(AT_ONCE)


def show(request: HttpRequest, document_id: uuid.UUID, version_number: int, page: int) -> HttpResponse:
    """The picture alone, for whoever may download the file."""
    version = version_for(request.user, document_id, version_number)
    picture = draw(version, page)
    if picture is None:
        raise Http404
    response = HttpResponse(picture.png, content_type="image/png")
    response["Cache-Control"] = f"private, max-age={CACHE_SECONDS}"
    return response


def version_for(actor: User, document_id: uuid.UUID, version_number: int) -> DocumentVersion:
    """The version, if `actor` may download its file. Raises `Http404`."""
    try:
        return catalog.original(actor=actor, document_id=document_id, version_number=version_number)
    except NotFound as error:
        raise Http404 from error


def draw(version: DocumentVersion, page: int) -> Picture | None:
    """None where the page cannot be drawn, or too many are being drawn now."""
    try:
        return _drawn(version.content_id, version.media_type, page)
    except (IndexingError, StorageFailed, TimeoutError):
        return None


@lru_cache(maxsize=KEPT)
def _drawn(content_id: int, media_type: str, page: int) -> Picture:
    if not _drawing.acquire(timeout=WAIT_SECONDS):
        raise TimeoutError
    try:
        data = content.read(StoredContent.objects.get(pk=content_id))
        return render_in_child(data, media_type, page=page, timeout=SECONDS, memory_bytes=settings.KB_PARSE_MEMORY)
    finally:
        _drawing.release()
