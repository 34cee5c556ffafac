"""The list of documents, and the addresses of everything an editor does with one."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from documents.admin import document_page, upload_page
from documents.admin.commands import COMMANDS
from documents.admin.filters import FreshnessFilter, StateFilter, TenantFilter
from documents.admin.permissions import OverseersOnly
from documents.admin.standing import CANCELLED, Standing, with_standing
from documents.models import Document
from documents.querysets import EDITING_ROLES, OVERSEEING_ROLES, tenants_where

if TYPE_CHECKING:
    DocumentModelAdmin = admin.ModelAdmin[Document]
else:
    DocumentModelAdmin = admin.ModelAdmin


@admin.register(Document)
class DocumentAdmin(OverseersOnly, DocumentModelAdmin):
    """Reads through `overseen_by`, writes through the services: none of Django's forms for the model is reachable."""

    list_display = ["title", "tenant", "state", "versions", "what_readers_see", "updated_at"]
    list_filter = [StateFilter, FreshnessFilter, TenantFilter]
    list_per_page = 50
    list_select_related = ["tenant"]
    search_fields = ["title"]
    search_help_text = _("Search by title")
    show_facets = admin.ShowFacets.NEVER  # each would count by state once more
    show_full_result_count = False
    actions = None
    change_list_template = "admin/documents/document/list.html"

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        one = "<uuid:document_id>"
        return [
            path("", wrap(self.changelist_view), name="documents_document_changelist"),
            path("add/", wrap(self.upload), name="documents_document_add"),
            path(f"{one}/change/", wrap(self.page), name="documents_document_change"),
            path("states/", wrap(self.states), name="documents_document_states"),
            path(f"{one}/versions/<int:number>/file/", wrap(self.original), name="documents_document_original"),
            *(
                path(f"{one}/{name}/", wrap(self.command), {"name": name}, name=f"documents_document_{name}")
                for name in COMMANDS
            ),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        return with_standing(Document.objects.overseen_by(request.user))

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """Without the tenant for those who oversee a single one."""
        several = len(tenants_where(request.user, OVERSEEING_ROLES)[:2]) > 1
        return [column for column in self.list_display if several or column != "tenant"]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return super().changelist_view(request, {"title": _("Documents"), **(extra_context or {})})

    def has_add_permission(self, request: HttpRequest) -> bool:
        return tenants_where(request.user, EDITING_ROLES).exists()

    @admin.display(description=_("state"))
    def state(self, document: Document) -> str:
        standing = Standing.of(document)
        mark = '<span data-document="{}" data-state="{}">{}</span>'
        return format_html(mark, document.pk, standing.state, standing.badge)

    @admin.display(description=_("published / searchable"))
    def versions(self, document: Document) -> str:
        label, words = gettext("published / searchable"), Standing.of(document).versions_words
        return format_html('<span class="kb-label">{}</span> <span data-field="versions">{}</span>', label, words)

    @admin.display(description=_("what readers see"))
    def what_readers_see(self, document: Document) -> str:
        standing = Standing.of(document)
        return format_html(
            '<span data-field="summary">{}</span> <span class="kb-error" data-field="tooStale">{}</span> '
            '<span class="{}" data-field="error">{}</span>',
            standing.summary,
            standing.too_stale,
            "kb-hint" if standing.look == CANCELLED else "kb-error",
            standing.error,
        )

    def upload(self, request: HttpRequest) -> HttpResponseBase:
        return upload_page.show(request, self.admin_site.each_context(request))

    def page(self, request: HttpRequest, document_id: uuid.UUID) -> HttpResponseBase:
        return document_page.show(request, self._document(request, document_id), self.admin_site.each_context(request))

    def states(self, request: HttpRequest) -> HttpResponseBase:
        """Where the named documents stand: what the list and the page ask for while versions are being indexed."""
        try:
            named = [uuid.UUID(name) for name in request.GET.getlist("id")[: self.list_per_page]]
        except ValueError:
            named = []
        found = self.get_queryset(request).filter(pk__in=named)
        return JsonResponse({str(document.pk): Standing.of(document).to_json() for document in found})

    def original(self, request: HttpRequest, document_id: uuid.UUID, number: int) -> HttpResponseBase:
        return document_page.original(request, self._document(request, document_id), number)

    def command(self, request: HttpRequest, document_id: uuid.UUID, name: str) -> HttpResponseBase:
        document = self._document(request, document_id)
        return document_page.command(request, document, name, self.admin_site.each_context(request))

    def _document(self, request: HttpRequest, document_id: uuid.UUID) -> Any:
        document = self.get_queryset(request).filter(pk=document_id).select_related("tenant").first()
        if document is None:
            raise Http404
        return document
