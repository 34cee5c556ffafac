"""Filters of the document and task lists. The choices themselves show nothing of other tenants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from documents.admin.standing import CANCELLING, WORDS, looking
from documents.querysets import OVERSEEING_ROLES, tenants_where


class TenantFilter(admin.SimpleListFilter):
    """Shown only to those who oversee several tenants."""

    title = _("tenant")
    parameter_name = "tenant"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return list(tenants_where(request.user, OVERSEEING_ROLES).values_list("slug", "name"))

    def has_output(self) -> bool:
        return len(self.lookup_choices) > 1

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(tenant__slug=self.value()) if self.value() else queryset


class FreshnessFilter(admin.SimpleListFilter):
    """Documents whose readers wait for longer than was promised."""

    title = _("freshness")
    parameter_name = "freshness"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("too_stale", gettext("Too stale"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        # (`is_behind` is implied, and has an index.)
        return queryset.filter(Q(is_behind=True, is_too_stale=True)) if self.value() else queryset


class StateFilter(admin.SimpleListFilter):
    """Where documents stand. Those that are deleted are shown on request."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        words = [(look, gettext(word)) for look, word in WORDS.items() if look != CANCELLING]
        return [*words, ("all", gettext("All documents"))]

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        for number, choice in enumerate(super().choices(changelist)):
            yield {**choice, "display": gettext("Not deleted")} if number == 0 else choice

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "all":
            return queryset
        look = self.value()
        return looking(queryset, look) if look else queryset.filter(deleted_at=None)
