"""Audit holds: the list of what is held and was, and the two things an operator does: place one, lift one."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.timezone import localtime
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from documents import holds
from documents.admin.permissions import OverseersOnly
from documents.admin.refusals import status_of
from documents.errors import DocumentsError
from documents.hold_models import Hold
from documents.models import Document
from documents.querysets import OVERSEEING_ROLES, tenants_where

if TYPE_CHECKING:
    HoldModelAdmin = admin.ModelAdmin[Hold]
else:
    HoldModelAdmin = admin.ModelAdmin

NEWEST = 50  # versions that the form offers


class HoldForm(forms.Form):
    version_number = forms.TypedChoiceField(label=_("Version"), coerce=int, empty_value=None, required=False)
    reason = forms.CharField(
        label=_("Reason"),
        max_length=holds.MAX_REASON,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Why it must stay, for whoever looks later."),
    )

    def __init__(self, *args: Any, document: Document, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["version_number"]
        assert isinstance(field, forms.ChoiceField)
        numbers = document.versions.order_by("-number").values_list("number", flat=True)[:NEWEST]
        field.choices = [
            ("", _("Every version, those to come too")),
            *((str(number), f"v{number}") for number in numbers),
        ]


@admin.register(Hold)
class HoldAdmin(OverseersOnly, HoldModelAdmin):
    list_display = ["subject", "reason", "placed", "lifted"]
    list_display_links = None
    list_filter = [("lifted_at", admin.EmptyFieldListFilter)]
    list_select_related = ["document"]
    search_fields = ["document__title", "reason"]
    actions = None
    show_full_result_count = False

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("", wrap(self.changelist_view), name="documents_hold_changelist"),
            path("place/<uuid:document_id>/", wrap(self.place), name="documents_hold_place"),
            path("<int:hold_id>/lift/", wrap(self.lift), name="documents_hold_lift"),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Hold]:
        found: QuerySet[Hold] = super().get_queryset(request)
        return found.filter(tenant__in=tenants_where(request.user, OVERSEEING_ROLES))

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return super().changelist_view(request, {"title": _("Audit holds"), **(extra_context or {})})

    @admin.display(description=_("document"))
    def subject(self, hold: Hold) -> str:
        address = reverse("admin:documents_document_change", args=[hold.document_id])
        return format_html('<a href="{}">{}</a> {}', address, hold.document.title, version_words(hold))

    @admin.display(description=_("placed"), ordering="placed_at")
    def placed(self, hold: Hold) -> str:
        return format_html("{} {}", hold.placed_by_name, _clock(hold.placed_at))

    @admin.display(description=_("lifted"), ordering="lifted_at")
    def lifted(self, hold: Hold) -> str:
        if hold.lifted_at is not None:
            return format_html("{} {}", hold.lifted_by_name, _clock(hold.lifted_at))
        address = reverse("admin:documents_hold_lift", args=[hold.pk])
        return format_html('<a class="button" href="{}">{}</a>', address, gettext("Lift"))

    def place(self, request: HttpRequest, document_id: uuid.UUID) -> HttpResponseBase:
        document = Document.objects.overseen_by(request.user).filter(pk=document_id).first()
        if document is None:
            raise Http404
        if not holds.may_hold(request.user, tenant_id=document.tenant_id):
            raise PermissionDenied
        form = HoldForm(request.POST or None, document=document)
        status = 400 if form.is_bound and not form.is_valid() else 200
        if form.is_bound and status == 200:
            try:
                holds.place_hold(
                    actor=request.user,
                    document_id=document_id,
                    reason=form.cleaned_data["reason"],
                    version_number=form.cleaned_data["version_number"],
                )
            except DocumentsError as error:
                form.add_error(None, error.message)
                status = status_of(error)
            else:
                messages.success(request, gettext("It is held: nothing of it is removed until the hold is lifted."))
                return redirect("admin:documents_document_change", document_id)
        return self._page(
            request,
            document,
            title=gettext("Hold “%(title)s”?") % {"title": document.title},
            consequences=[
                gettext("Nothing of it is removed by any rule, not after it was deleted either."),
                gettext("What readers find does not change."),
            ],
            button=gettext("Place the hold"),
            form=form,
            status=status,
        )

    def lift(self, request: HttpRequest, hold_id: int) -> HttpResponseBase:
        hold = self.get_queryset(request).select_related("document").filter(pk=hold_id).first()
        if hold is None:
            raise Http404
        status = 200
        if request.method == "POST":
            try:
                holds.lift_hold(actor=request.user, hold_id=hold_id)
            except DocumentsError as error:
                messages.error(request, error.message)
                status = status_of(error)
            else:
                messages.success(request, gettext("The hold is lifted: the rules apply again."))
                return redirect("admin:documents_hold_changelist")
        return self._page(
            request,
            hold.document,
            title=gettext("Lift the hold on “%(title)s” %(version)s?")
            % {"title": hold.document.title, "version": version_words(hold)},
            consequences=[
                gettext("Reason of the hold: %(reason)s") % {"reason": hold.reason},
                gettext(
                    "Old chunks of it are removed again by the rules; if the document was deleted, all of it is, soon."
                ),
            ],
            button=gettext("Lift the hold"),
            form=None,
            status=status,
        )

    def _page(
        self, request: HttpRequest, document: Document, *, form: HoldForm | None, status: int, **shown: Any
    ) -> HttpResponseBase:
        context = {**self.admin_site.each_context(request), **shown, "document": document, "form": form}
        return TemplateResponse(request, "admin/documents/hold/form.html", context, status=status)


def version_words(hold: Hold) -> str:
    return f"v{hold.version_number}" if hold.version_number else gettext("every version")


def _clock(at: datetime) -> str:
    return date_format(localtime(at), "SHORT_DATETIME_FORMAT")
