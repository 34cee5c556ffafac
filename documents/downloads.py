"""The file of a version as it was uploaded; never shown inside the site, always saved."""

from __future__ import annotations

import io
import uuid

from django.http import FileResponse

from documents import catalog, content
from documents.querysets import User


def original(*, actor: User, document_id: uuid.UUID, version_number: int) -> FileResponse:
    """The answer to a download. Raises what `catalog.original` and `content.read` raise."""
    version = catalog.original(actor=actor, document_id=document_id, version_number=version_number)
    data = io.BytesIO(content.read(version.content))
    response = FileResponse(data, as_attachment=True, filename=version.file_name, content_type=version.media_type)
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return response
