"""What readers find of a document beside the original: left a page of the file or the text, right the chunks made of it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from documents.models import Document, DocumentVersion
from indexing import cache
from indexing.admin import page_picture
from indexing.blocks import ParsedDocument
from indexing.locators import Locator
from indexing.messages import locator_words
from indexing.models import Chunk, SearchPointer
from indexing.remarks import gaps_words, left_out_words, verification_words
from indexing.rendering import DRAWN, Picture
from indexing.side_by_side import Grid, Mark, Placed, Segment, marks, parts
from indexing.states import PipelineRole

PER_PAGE = 25  # chunks, where the file has no pages
MOST_MARKED = 200  # chunks of one page
MOST_TEXT = 200_000  # code points beside them
LEFT_OUT = 50  # texts


@dataclass(frozen=True, slots=True)
class Original:
    """What stands on the left: one page of the file with marks on it, or the text in pieces, its tables as tables."""

    picture: Picture | None = None
    url: str = ""
    marks: Sequence[Mark] = ()
    parts: Sequence[Segment | Grid] = ()


def show(request: HttpRequest, document_id: uuid.UUID, context: dict[str, Any]) -> HttpResponseBase:
    document = Document.objects.overseen_by(request.user).alive().filter(pk=document_id).first()
    if document is None:
        raise Http404
    context |= {"title": _("Searchable text of “%(title)s”") % {"title": document.title}, "document": document}
    pointer = _pointer(document)
    if pointer is None:
        return TemplateResponse(request, "admin/indexing/indextask/chunks.html", context)
    version = page_picture.version_for(request.user, document_id, pointer.version_number)
    parsed = cache.find_parsed(
        tenant_id=document.tenant_id, content_digest=version.content.sha256, media_type=version.media_type
    )
    chunks = _chunks(pointer)
    asked = request.GET.get("p")
    page: Any  # of numbers of pages, or of chunks
    if version.media_type in DRAWN:
        page = Paginator(range(1, _pages(parsed, chunks) + 1), 1).get_page(asked)
        shown = list(_on_page(chunks, page.number)[:MOST_MARKED])
        original = _drawn(version, page.number, shown)
    else:
        page = Paginator(chunks, PER_PAGE).get_page(asked)
        shown = list(page)
        original = _text(parsed, shown)
    failed = set((pointer.verification or {}).get("failed", ()))
    context |= {
        "version_number": pointer.version_number,
        "count": pointer.chunk_count,
        "page": page,
        "is_drawn": version.media_type in DRAWN,
        "original": original,
        "chunks": [(chunk, locator_words(chunk.locator), chunk.ordinal in failed) for chunk in shown],
        "gaps": gaps_words(pointer.gaps),
        "places": verification_words(pointer.verification) if pointer.verification else "",
        "left_out": [(left_out_words(item), item.text) for item in parsed.left_out[:LEFT_OUT]] if parsed else [],
    }
    return TemplateResponse(request, "admin/indexing/indextask/chunks.html", context)


def _pointer(document: Document) -> SearchPointer | None:
    """The set of chunks that readers are served, if they are served anything."""
    if document.withdrawn_at is not None:
        return None
    return SearchPointer.objects.filter(
        document=document,
        version_number__gte=document.serve_from_version,
        pipeline__tenants__tenant=document.tenant_id,
        pipeline__tenants__role=PipelineRole.SERVING,
    ).first()


def _chunks(pointer: SearchPointer) -> QuerySet[Chunk]:
    chunks = Chunk.objects.filter(
        document=pointer.document_id,
        pipeline=pointer.pipeline_id,
        version_number=pointer.version_number,
        generation=pointer.generation,
    )
    return chunks.defer("terms").order_by("ordinal")


def _on_page(chunks: QuerySet[Chunk], page: int) -> QuerySet[Chunk]:
    goes_on = Q(locator__page__lte=page, locator__pageEnd__gte=page)
    return chunks.filter(Q(locator__page=page) | goes_on)


def _pages(parsed: ParsedDocument | None, chunks: QuerySet[Chunk]) -> int:
    """Of the file; where what was parsed was swept, those up to the last with text."""
    if parsed is not None and parsed.pages:
        return parsed.pages
    last = chunks.reverse().first()
    return (last.locator.get("pageEnd") or last.locator.get("page") or 1) if last else 1


def _drawn(version: DocumentVersion, page: int, shown: Sequence[Chunk]) -> Original:
    picture = page_picture.draw(version, page)
    if picture is None:
        return Original()
    url = reverse("admin:indexing_page_picture", args=[version.document_id, version.number, page])
    found = marks(map(_placed, shown), page=page, width=picture.width, height=picture.height)
    return Original(picture, url, found)


def _text(parsed: ParsedDocument | None, shown: Sequence[Chunk]) -> Original:
    placed = [_placed(chunk) for chunk in shown]
    if parsed is None or not placed:
        return Original()
    start = min(locator.span[0] for _, locator in placed)
    end = min(max(locator.span[1] for _, locator in placed), start + MOST_TEXT)
    above = [block.locator.span[0] for block in parsed.blocks if block.locator.span[0] < start]
    if len(placed) and shown[0].ordinal == 0:
        start = 0
    elif above:
        start = min(start, max(above))  # a heading is in no chunk
    return Original(parts=parts(parsed, placed, start=start, end=end))


def _placed(chunk: Chunk) -> Placed:
    return chunk.ordinal, Locator.from_json(chunk.locator)
