"""Pipelines for operators: what each is to their tenants, and the moves of its life, each confirmed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.postgres.aggregates import JSONBAgg
from django.db.models import JSONField, Q, QuerySet, Value
from django.db.models.functions import JSONObject
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import URLPattern, path
from django.utils.functional import Promise
from django.utils.html import format_html_join
from django.utils.translation import gettext_lazy as _

from documents.admin.permissions import operates_any
from documents.querysets import OPERATING_ROLES, tenants_where
from indexing import lifecycle
from indexing.admin import pipeline_form, pipeline_moves, pipeline_page
from indexing.admin.badges import role_badge
from indexing.models import Pipeline
from indexing.pipelines import has_vector_index
from indexing.states import PipelineRole

if TYPE_CHECKING:
    PipelineModelAdmin = admin.ModelAdmin[Pipeline]
else:
    PipelineModelAdmin = admin.ModelAdmin


@admin.register(Pipeline)
class PipelineAdmin(PipelineModelAdmin):
    list_display = ["number", "name", "roles", "index", "created_at"]
    list_display_links = ["number", "name"]
    ordering = ["-id"]
    actions = None

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("", wrap(self.changelist_view), name="indexing_pipeline_changelist"),
            path("add/", wrap(self.create), name="indexing_pipeline_add"),
            path("<int:number>/change/", wrap(self.page), name="indexing_pipeline_change"),
            path("<int:number>/<slug:tenant>/<slug:move>/", wrap(self.move), name="indexing_pipeline_move"),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return super().changelist_view(request, {"title": _("Pipelines"), **(extra_context or {})})

    def get_queryset(self, request: HttpRequest) -> QuerySet[Pipeline]:
        """With what each is to the tenants of whoever looks."""
        own = Q(tenants__tenant__in=lifecycle.tenants_managed_by(request.user))
        role = JSONObject(tenant="tenants__tenant__slug", role="tenants__role")
        roles = JSONBAgg(role, filter=own, order_by="tenants__tenant__slug", default=Value([], JSONField()))
        return super().get_queryset(request).annotate(own_roles=roles)

    @admin.display(description="#")
    def number(self, pipeline: Pipeline) -> int:
        return pipeline.pk

    @admin.display(description=_("role in tenants"))
    def roles(self, pipeline: Any) -> str:
        badges = ((one["tenant"], role_badge(PipelineRole(one["role"]))) for one in pipeline.own_roles)
        return format_html_join(" ", "{} {}", badges) or "–"

    @admin.display(description=_("vector index"))
    def index(self, pipeline: Pipeline) -> str | Promise:
        return _("built") if has_vector_index(pipeline) else _("not built")

    def page(self, request: HttpRequest, number: int) -> HttpResponseBase:
        return pipeline_page.show(request, self._found(request, number), self.admin_site.each_context(request))

    def create(self, request: HttpRequest) -> HttpResponseBase:
        if not self.has_add_permission(request):
            raise Http404
        return pipeline_form.create(request, self.admin_site.each_context(request))

    def move(self, request: HttpRequest, number: int, tenant: str, move: str) -> HttpResponseBase:
        pipeline = self._found(request, number)
        home = tenants_where(request.user, OPERATING_ROLES).filter(slug=tenant).first()
        if home is None or move not in pipeline_moves.MOVES:
            raise Http404
        return pipeline_moves.command(request, pipeline, home, move, self.admin_site.each_context(request))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return operates_any(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.is_active and bool(getattr(request.user, "is_superuser", False))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def _found(self, request: HttpRequest, number: int) -> Pipeline:
        pipeline = Pipeline.objects.filter(pk=number).first()
        if pipeline is None or not self.has_view_permission(request):
            raise Http404
        return pipeline
