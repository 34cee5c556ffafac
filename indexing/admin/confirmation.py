"""What is asked before tasks are cancelled or tried again: what will happen, what readers see meanwhile, what stays so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop

from documents.models import Document
from documents.ports import search_index
from indexing.models import IndexTask

CONFIRMED = "confirmed"
NAMED = 20  # tasks


@dataclass(frozen=True, slots=True)
class Confirmation:
    question: str
    of_many: str
    consequences: tuple[str, ...]
    button: str


CANCEL = Confirmation(
    noop("Cancel the indexing of “%(title)s” v%(number)d?"),
    noop("Cancel these tasks?"),
    (
        noop("A task that waits is cancelled at once. A running one stops before its next step; what it sent is paid."),
        noop("What was computed is kept, and no late worker can bring the version to readers."),
        noop("It can be taken back: try again, or publish the version again."),
    ),
    noop("Cancel indexing"),
)
RETRY = Confirmation(
    noop("Try to index “%(title)s” v%(number)d again?"),
    noop("Try these tasks again?"),
    (
        noop("The failures counted so far are forgotten for good; the attempts go on counting."),
        noop("What was computed before is not computed again."),
        noop("It can be cancelled again at any time."),
    ),
    noop("Try again now"),
)


def ask(request: HttpRequest, task: IndexTask, wanted: Confirmation, context: dict[str, Any]) -> HttpResponseBase:
    """The page before one task is cancelled or tried again."""
    facts = {"title": task.document.title, "number": task.version_number}
    back = request.GET.get("next", "")
    return _page(
        request,
        wanted,
        {
            **context,
            "title": _(wanted.question) % facts,
            "consequences": [_meanwhile(task), *map(_, wanted.consequences)],
            "hidden": [("next", back)] if back else [],
            "back": reverse("admin:indexing_indextask_change", args=[task.pk]),
        },
    )


def ask_for_many(
    request: HttpRequest, chosen: QuerySet[IndexTask], action: str, wanted: Confirmation, context: dict[str, Any]
) -> HttpResponseBase | None:
    """The page before a bulk action; None once it was confirmed."""
    if CONFIRMED in request.POST:
        return None
    named = chosen.select_related("document").order_by("id")[:NAMED]
    picked = [(ACTION_CHECKBOX_NAME, number) for number in request.POST.getlist(ACTION_CHECKBOX_NAME)]
    across = request.POST.get("select_across", "0")
    return _page(
        request,
        wanted,
        {
            **context,
            "title": _(wanted.of_many),
            "tasks": named,
            "more": max(chosen.count() - NAMED, 0),
            "consequences": [
                _("Readers go on finding what they find now."),
                *map(_, wanted.consequences),
                _("Each task is decided by itself: you are told how many were done, and why any was refused."),
            ],
            "hidden": [("action", action), ("select_across", across), (CONFIRMED, "yes"), *picked],
            "back": reverse("admin:indexing_indextask_changelist"),
        },
    )


def _page(request: HttpRequest, wanted: Confirmation, context: dict[str, Any]) -> HttpResponseBase:
    return TemplateResponse(request, "admin/indexing/indextask/confirm.html", {**context, "button": _(wanted.button)})


def _meanwhile(task: IndexTask) -> str:
    """What readers see until the version is searchable."""
    document: Any = search_index().annotate_state(Document.objects.filter(pk=task.document_id)).get()
    if document.searchable_version is None:
        return _("Readers find nothing of this document until it is indexed.")
    return _("Readers go on finding v%(number)d until then.") % {"number": document.searchable_version}
