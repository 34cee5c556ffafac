"""External systems that write documents: what each is, and how much it has here. They are made by the API or a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Count, Max, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from documents.admin.permissions import OverseersOnly
from documents.querysets import OVERSEEING_ROLES, tenants_where
from documents.source_models import Source

if TYPE_CHECKING:
    SourceModelAdmin = admin.ModelAdmin[Source]
else:
    SourceModelAdmin = admin.ModelAdmin


@admin.register(Source)
class SourceAdmin(OverseersOnly, SourceModelAdmin):
    list_display = ["name", "tenant", "clock", "documents", "tombstones", "last_write"]
    list_select_related = ["tenant"]
    search_fields = ["name"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Source]:
        mine = tenants_where(request.user, OVERSEEING_ROLES)
        sources: QuerySet[Source] = super().get_queryset(request).filter(tenant__in=mine)
        return sources.annotate(
            documents=Count("entries", filter=Q(entries__digest__isnull=False)),
            tombstones=Count("entries", filter=Q(entries__digest=None)),
            last_write=Max("entries__updated_at"),
        )

    @admin.display(description=_("documents"), ordering="documents")
    def documents(self, source: Any) -> int:
        count: int = source.documents
        return count

    @admin.display(description=_("deleted"), ordering="tombstones")
    def tombstones(self, source: Any) -> int:
        count: int = source.tombstones
        return count

    @admin.display(description=_("last write"), ordering="last_write")
    def last_write(self, source: Any) -> Any:
        return source.last_write
