"""What superusers keep: tenants, members, reader groups and API keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from documents import tenants
from documents.admin.permissions import SuperusersOnly
from documents.api import keys
from documents.models import ApiKey, Membership, ReaderGroup, Tenant

if TYPE_CHECKING:
    TenantModelAdmin = admin.ModelAdmin[Tenant]
    MembershipModelAdmin = admin.ModelAdmin[Membership]
    ReaderGroupModelAdmin = admin.ModelAdmin[ReaderGroup]
    ApiKeyModelAdmin = admin.ModelAdmin[ApiKey]
    ReaderGroupModelForm = forms.ModelForm[ReaderGroup]
else:
    TenantModelAdmin = MembershipModelAdmin = ReaderGroupModelAdmin = ApiKeyModelAdmin = admin.ModelAdmin
    ReaderGroupModelForm = forms.ModelForm


@admin.register(Tenant)
class TenantAdmin(SuperusersOnly, TenantModelAdmin):
    list_display = ["name", "slug", "created_at"]
    search_fields = ["name", "slug"]
    fields = ["name", "slug"]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # its documents, their history and the queue refer to it

    def save_model(self, request: HttpRequest, obj: Tenant, form: Any, change: bool) -> None:
        if change:
            obj.save(update_fields=["name", "slug"])
            return
        created = tenants.create_tenant(slug=obj.slug, name=obj.name)
        obj.pk, obj.created_at = created.pk, created.created_at


@admin.register(Membership)
class MembershipAdmin(SuperusersOnly, MembershipModelAdmin):
    list_display = ["user", "tenant", "role"]
    list_filter = ["tenant", "role"]
    list_select_related = ["user", "tenant"]
    search_fields = ["user__username", "user__first_name", "user__last_name", "tenant__name"]
    autocomplete_fields = ["user", "tenant"]

    def get_readonly_fields(self, request: HttpRequest, obj: Membership | None = None) -> list[str]:
        # The rules and groups that name a member belong to the tenant: a move would carry them along.
        return ["user", "tenant"] if obj else []


class ReaderGroupForm(ReaderGroupModelForm):
    class Meta:
        model = ReaderGroup
        fields = ["tenant", "name", "members"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        tenant = cleaned.get("tenant") or self.instance.tenant
        strangers = [member for member in cleaned.get("members", ()) if member.tenant_id != tenant.pk]
        if strangers:
            names = ", ".join(str(member) for member in strangers)
            self.add_error("members", gettext("Not members of this tenant: %(names)s.") % {"names": names})
        return cleaned


@admin.register(ReaderGroup)
class ReaderGroupAdmin(SuperusersOnly, ReaderGroupModelAdmin):
    form = ReaderGroupForm
    list_display = ["name", "tenant"]
    list_filter = ["tenant"]
    list_select_related = ["tenant"]
    search_fields = ["name"]
    filter_horizontal = ["members"]

    def get_readonly_fields(self, request: HttpRequest, obj: ReaderGroup | None = None) -> list[str]:
        return ["tenant"] if obj else []

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs["queryset"] = Membership.objects.select_related("user", "tenant").order_by(
            "tenant__slug", "user__username"
        )
        return super().formfield_for_manytomany(db_field, request, **kwargs)


class NewApiKeyForm(forms.Form):
    user = forms.ModelChoiceField(label=_("User"), queryset=User.objects.filter(is_active=True).order_by("username"))
    name = forms.CharField(label=_("Name"), max_length=100, required=False, help_text=_("What the key is for."))


@admin.register(ApiKey)
class ApiKeyAdmin(SuperusersOnly, ApiKeyModelAdmin):
    """Keys are made and revoked, never edited; only the page that makes one shows it."""

    list_display = ["shown_prefix", "name", "user", "created_at", "last_used_at", "revoked_at"]
    list_filter = [("revoked_at", admin.EmptyFieldListFilter)]
    list_select_related = ["user"]
    search_fields = ["name", "user__username", "prefix"]
    list_display_links = None
    actions = ["revoke_keys"]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description=_("key"), ordering="prefix")
    def shown_prefix(self, key: ApiKey) -> str:
        return f"{key.prefix}…"

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form, key = NewApiKeyForm(request.POST or None), None
        if request.method == "POST" and form.is_valid():
            key = keys.create_api_key(user=form.cleaned_data["user"], name=form.cleaned_data["name"])
        title = gettext("New API key")
        context = {**self.admin_site.each_context(request), "title": title, "form": form, "key": key}
        return TemplateResponse(request, "admin/documents/apikey/add.html", context)

    @admin.action(description=_("Revoke the selected keys"))
    def revoke_keys(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> HttpResponseBase | None:
        valid = list(queryset.filter(revoked_at=None))
        with transaction.atomic():  # all or none: what is said of a failure must be true
            for key in valid:
                keys.revoke(key)
        messages.success(request, gettext("Keys revoked: %(count)d.") % {"count": len(valid)})
        return None
