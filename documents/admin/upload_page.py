"""A new document: choose the tenant and a file."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from documents import uploading
from documents.admin.refusals import status_of
from documents.errors import DocumentsError
from documents.forms import NewDocumentForm, read_upload
from documents.querysets import EDITING_ROLES, tenants_where


def show(request: HttpRequest, context: dict[str, Any]) -> HttpResponseBase:
    if not tenants_where(request.user, EDITING_ROLES).exists():
        raise PermissionDenied
    form = NewDocumentForm(request.POST or None, request.FILES or None, user=request.user)
    status = 400 if form.is_bound and not form.is_valid() else 200
    if form.is_bound and status == 200:
        upload = form.cleaned_data["file"]
        try:
            version = uploading.create_document(
                actor=request.user,
                tenant=form.cleaned_data["tenant"],
                title=form.chosen_title,
                data=read_upload(upload),
                file_name=upload.name,
            )
        except DocumentsError as error:
            form.add_error(None, error.message)
            status = status_of(error)
        else:
            messages.success(request, _("The document was uploaded. Publish it to make it searchable."))
            return redirect("admin:documents_document_change", version.document_id)
    context = {**context, "title": _("Upload a document"), "form": form}
    return TemplateResponse(request, "admin/documents/document/upload.html", context, status=status)
