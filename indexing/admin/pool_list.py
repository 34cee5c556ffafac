"""Tenants with a pool of their own, for superusers: it decides whose workers do whose work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from documents.admin.permissions import SuperusersOnly
from indexing import pools
from indexing.models import TenantPool
from indexing.states import Pool

if TYPE_CHECKING:
    PoolModelAdmin = admin.ModelAdmin[TenantPool]
    PoolModelForm = forms.ModelForm[TenantPool]
else:
    PoolModelAdmin, PoolModelForm = admin.ModelAdmin, forms.ModelForm


class PoolForm(PoolModelForm):
    def clean_pool(self) -> str:
        pool: str = self.cleaned_data["pool"]
        if not pools.is_name(pool) or pool in set(Pool):
            raise forms.ValidationError(
                _("A pool's name has lower-case letters, digits and hyphens, begins with a letter, and is not taken.")
            )
        return pool


@admin.register(TenantPool)
class TenantPoolAdmin(SuperusersOnly, PoolModelAdmin):
    form = PoolForm
    list_display = ["tenant", "pool", "changed_at"]
    list_select_related = ["tenant"]
    fields = ["tenant", "pool"]
    autocomplete_fields = ["tenant"]

    def get_readonly_fields(self, request: HttpRequest, obj: TenantPool | None = None) -> list[str]:
        return ["tenant"] if obj else []

    def save_model(self, request: HttpRequest, obj: TenantPool, form: Any, change: bool) -> None:
        _say_moved(request, pools.give_own_pool(tenant_id=obj.tenant_id, pool=obj.pool))

    def delete_model(self, request: HttpRequest, obj: TenantPool) -> None:
        _say_moved(request, pools.give_own_pool(tenant_id=obj.tenant_id, pool=Pool.ONLINE))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[TenantPool]) -> None:
        for own in queryset:
            self.delete_model(request, own)


def _say_moved(request: HttpRequest, moved: int) -> None:
    said = ngettext("%(count)d waiting task was moved along.", "%(count)d waiting tasks were moved along.", moved)
    messages.success(request, said % {"count": moved} if moved else gettext("No task waited."))
