"""The readers' door: the search page of every member, and the page behind a citation's address."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import escape, format_html
from django.utils.http import urlencode
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from documents import downloads
from documents.errors import BeingUpdated, DocumentsError, NotFound
from documents.models import Tenant
from documents.querysets import tenants_where
from indexing import passages
from indexing.citations import permalink
from indexing.lexical import index_tokens, query_tokens
from indexing.messages import locator_words
from indexing.remarks import near_words
from indexing.search import Answer, Hit, search

LIMIT = 10  # hits on the page
SPAN = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ShownHit:
    """A hit ready for the template; `snippet` is escaped, its marks are the only markup in it."""

    title: str
    path: str
    place: str
    snippet: str
    version: str
    freshness: str
    missing: str
    url: str


@never_cache
@login_required
@require_safe
def search_page(request: HttpRequest) -> HttpResponse:
    tenants = list(tenants_where(request.user).order_by("name"))
    tenant, query = _chosen(tenants, request.GET.get("tenant", "")), request.GET.get("q", "").strip()
    context: dict[str, Any] = {"tenants": tenants, "tenant": tenant, "query": query}
    status = 200
    if query and tenant is not None:
        try:
            answer = search(user=request.user, tenant=tenant.slug, query=query, limit=LIMIT)
            context |= _shown(answer, query=query, carried=urlencode({"tenant": tenant.slug, "q": query}))
        except DocumentsError as error:
            context["error"], status = error.message, 404 if isinstance(error, NotFound) else 400
    return render(request, "site/search.html", context, status=status)


@never_cache
@login_required
@require_safe
def passage_page(request: HttpRequest, document_id: uuid.UUID, version_number: int) -> HttpResponse:
    """Tells nothing to whoever is not served the document now, not even whether it exists."""
    span = _span(request.GET.get("span", ""))
    try:
        passage = passages.find(
            user=request.user,
            document_id=document_id,
            version_number=version_number,
            span=span or (0, 0),
            within=_span(request.GET.get("within", "")),
        )
    except NotFound as error:
        raise Http404(_("There is nothing at this address, or you may not see it.")) from error
    carried = urlencode([(name, request.GET[name]) for name in ("tenant", "q") if name in request.GET])

    def neighbour(span: tuple[int, int] | None) -> str:
        link = permalink(document_id=document_id, version_number=version_number, span=span) if span else ""
        return f"{link}&{carried}" if link and carried else link

    context = {
        "passage": passage,
        "previous": neighbour(passage.previous),
        "next": neighbour(passage.next),
        "search": f"{reverse('search')}?{carried}" if carried else reverse("search"),
        "has_query": "q" in request.GET,
        "cited_version": version_number,
        "path": heading_words(passage.title, passage.heading_path),
        "place": locator_words(passage.locator) if passage.locator else "",
        "document_id": document_id,
    }
    if passage.is_withheld:
        context["being_updated"] = BeingUpdated.sentence_of(passage.title)
    replaced = not passage.is_current and not passage.is_withheld
    return render(request, "site/passage.html", context, status=410 if replaced else 200)


@never_cache
@login_required
@require_safe
def original_page(request: HttpRequest, document_id: uuid.UUID, version_number: int) -> HttpResponseBase:
    """The file behind a passage, for whoever is served that version now."""
    try:
        return downloads.original(actor=request.user, document_id=document_id, version_number=version_number)
    except NotFound as error:
        raise Http404 from error
    except DocumentsError as error:
        status = 409 if isinstance(error, BeingUpdated) else 503
        return render(request, "site/unavailable.html", {"error": error.message}, status=status)


def _span(written: str) -> tuple[int, int] | None:
    match = SPAN.fullmatch(written)
    return (int(match[1]), int(match[2])) if match else None


def _chosen(tenants: list[Tenant], slug: str) -> Tenant | None:
    """The tenant asked for, else the first one of the user's."""
    return next((tenant for tenant in tenants if tenant.slug == slug), tenants[0] if tenants else None)


def _shown(answer: Answer, *, query: str, carried: str) -> dict[str, Any]:
    words = set(query_tokens(query))
    return {
        "hits": [_shown_hit(hit, carried) for hit in answer.hits],
        "notices": [notice.message for notice in answer.notices],
        "is_updating": any(notice.code == BeingUpdated.code for notice in answer.notices),
        # There is always something nearest in meaning; a reader should know when that is all there is.
        "nearest_only": bool(answer.hits) and not any(_contains(hit, words) for hit in answer.hits),
        "seconds": answer.took_ms / 1000,
    }


def _contains(hit: Hit, words: set[str]) -> bool:
    """In the text that is shown, or in the titles above it."""
    return bool(hit.marks) or not words.isdisjoint(index_tokens("\n".join((hit.title, *hit.heading_path))))


def _shown_hit(hit: Hit, carried: str) -> ShownHit:
    """`carried` is the query, so that the passage's page leads back to it."""
    return ShownHit(
        title=hit.title,
        path=heading_words(hit.title, hit.heading_path),
        place=locator_words(hit.locator),
        snippet=marked(hit.snippet, hit.marks),
        version=f"v{hit.version_number}",
        freshness=_freshness(hit.freshness),
        missing=" ".join(near_words(hit.gaps, hit.locator)),
        url=f"{hit.permalink}&{carried}",
    )


def _freshness(facts: dict[str, Any]) -> str:
    """Empty where the newest published version is shown."""
    published, searchable = facts["publishedVersion"], facts["searchableVersion"]
    if published is None or published <= searchable:
        return ""
    return _("v%(published)d is published and will be shown here soon") % {"published": published}


def heading_words(title: str, path: tuple[str, ...]) -> str:
    """The headings above, without a first one that only repeats the title."""
    return " › ".join(path[1:] if path[:1] == (title,) else path)


def marked(text: str, marks: tuple[tuple[int, int], ...]) -> str:
    """`text` with its marks as <mark>, everything else escaped."""
    parts, at = [], 0
    for start, end in marks:
        parts += [escape(text[at:start]), format_html("<mark>{}</mark>", text[start:end])]
        at = end
    joined = "".join([*parts, escape(text[at:])])
    return mark_safe(re.sub(r"\n{2,}", "\n", joined))  # noqa: S308 (every part is escaped)
