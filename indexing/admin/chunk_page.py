"""The text that readers find of a document: the chunks of its searchable version, in their order."""

from __future__ import annotations

import uuid
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponseBase
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from documents.models import Document
from indexing.messages import locator_words
from indexing.models import Chunk, SearchPointer
from indexing.states import PipelineRole

PER_PAGE = 25


def show(request: HttpRequest, document_id: uuid.UUID, context: dict[str, Any]) -> HttpResponseBase:
    document = Document.objects.overseen_by(request.user).alive().filter(pk=document_id).first()
    if document is None:
        raise Http404
    pointer = SearchPointer.objects.filter(
        document=document,
        version_number__gte=document.serve_from_version,
        pipeline__tenants__tenant=document.tenant_id,
        pipeline__tenants__role=PipelineRole.SERVING,
    ).first()
    shown = pointer if document.withdrawn_at is None else None
    chunks = Chunk.objects.none()
    if shown is not None:
        chunks = Chunk.objects.filter(
            document=document,
            pipeline=shown.pipeline_id,
            version_number=shown.version_number,
            generation=shown.generation,
        )
    page = Paginator(chunks.defer("terms").order_by("ordinal"), PER_PAGE).get_page(request.GET.get("p"))
    context = {
        **context,
        "title": _("Searchable text of “%(title)s”") % {"title": document.title},
        "document": document,
        "version_number": shown.version_number if shown else None,
        "page": page,
        "chunks": [(chunk, locator_words(chunk.locator)) for chunk in page],
    }
    return TemplateResponse(request, "admin/indexing/indextask/chunks.html", context)
