"""The page of one document: where it stands, its versions, and a form for each thing an editor may do."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import (
    Http404,
    HttpRequest,
    HttpResponseBase,
    HttpResponseNotAllowed,
)
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from documents import downloads, holds
from documents.admin.commands import COMMANDS, Command
from documents.admin.history import has_more, last_change, trail, version_rows
from documents.admin.refusals import status_of
from documents.admin.standing import Standing, with_standing
from documents.errors import DocumentsError, NotFound, StaleRevision
from documents.forms import CommandForm
from documents.models import Document
from documents.readers import readers_of

PAGE = "admin:documents_document_change"
Forms = dict[str, CommandForm]


def show(
    request: HttpRequest, document: Any, context: dict[str, Any], *, forms: Forms | None = None, status: int = 200
) -> HttpResponseBase:
    """The whole page; `forms` replace the fresh ones, with what was entered and why it was refused."""
    editable = Document.objects.editable_by(request.user).filter(pk=document.pk, deleted_at=None).exists()
    fresh = {name: _form(name, document) for name in COMMANDS} if editable else {}
    context = {
        **context,
        "title": document.title,
        "document": document,
        "standing": Standing.of(document),
        "editable": editable,
        "holds": document.holds.filter(lifted_at=None),
        "may_hold": holds.may_hold(request.user, tenant_id=document.tenant_id) and document.purged_at is None,
        "forms": {**fresh, **(forms or {})},
        "readers": readers_of(document=document, version_number=document.requested_version or 0),
        "versions": version_rows(document, everything="all" in request.GET),
        "trail": trail(document, everything="all" in request.GET),
        "has_more": "all" not in request.GET and has_more(document),
    }
    return TemplateResponse(request, "admin/documents/document/page.html", context, status=status)


def original(request: HttpRequest, document: Document, number: int) -> HttpResponseBase:
    """The file of a version as it was uploaded."""
    try:
        return downloads.original(actor=request.user, document_id=document.pk, version_number=number)
    except NotFound as error:
        raise Http404 from error
    except DocumentsError as error:
        messages.error(request, error.message)
        return redirect(PAGE, document.pk)


def command(request: HttpRequest, document: Any, name: str, context: dict[str, Any]) -> HttpResponseBase:
    """Run a command and go back to the page, or show the page with the input and the reason of the refusal."""
    wanted = COMMANDS[name]
    if request.method == "GET" and wanted.confirmation is not None:
        return _confirm(request, document, name, context, _form(name, document))
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    form = _form(name, document, request.POST, request.FILES)
    if not form.is_valid():
        return _refused(request, document, name, context, form, status=400)
    try:
        done = wanted.run(request.user, document, form)
    except DocumentsError as error:
        document = with_standing(Document.objects.filter(pk=document.pk).select_related("tenant")).get()
        if isinstance(error, StaleRevision):
            form = form.on_revision_of(document, reason=_stale(document, form))
        else:
            form.add_error(None, error.message)
        return _refused(request, document, name, context, form, status=status_of(error))
    messages.success(request, done)
    return redirect("admin:documents_document_changelist") if wanted.leaves else redirect(PAGE, document.pk)


def _form(name: str, document: Document, *entered: Any) -> CommandForm:
    return COMMANDS[name].form(*entered, document=document, auto_id=f"{name}_%s")


def _refused(
    request: HttpRequest, document: Any, name: str, context: dict[str, Any], form: CommandForm, *, status: int
) -> HttpResponseBase:
    if COMMANDS[name].confirmation is not None:
        return _confirm(request, document, name, context, form, status=status)
    reasons = [str(reason) for reason in form.non_field_errors()]
    for reason in reasons or [_("Nothing was changed. Correct what is marked below.")]:
        messages.error(request, reason)
    return show(request, document, context, forms={name: form}, status=status)


def _confirm(
    request: HttpRequest,
    document: Document,
    name: str,
    context: dict[str, Any],
    form: CommandForm,
    *,
    status: int = 200,
) -> HttpResponseBase:
    wanted: Command = COMMANDS[name]
    assert wanted.confirmation is not None
    context = {
        **context,
        "title": _(wanted.confirmation.question) % {"title": document.title},
        "document": document,
        "consequences": [_(sentence) for sentence in wanted.confirmation.consequences],
        "button": _(wanted.confirmation.button),
        "danger": wanted.confirmation.danger,
        "form": form,
        "action": reverse(f"admin:documents_document_{name}", args=[document.pk]),
    }
    return TemplateResponse(request, "admin/documents/document/confirm.html", context, status=status)


def _stale(document: Document, form: CommandForm) -> str:
    """Who changed what meanwhile. The page behind the sentence shows the present state."""
    sentences = [
        _("The document was changed since you loaded this page; nothing was lost."),
        last_change(document),
        _("Your input is kept below: check it against the present state and send it again."),
        _("Choose the file again: a browser forgets it.") if form.files else "",
    ]
    return " ".join(sentence for sentence in sentences if sentence)
