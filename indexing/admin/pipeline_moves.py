"""What an operator can do with a pipeline in a tenant: each asked first, with what follows, then done by one service."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop
from django.utils.translation import ngettext

from documents.errors import DocumentsError
from documents.models import Document, Tenant
from documents.querysets import User
from indexing import gate, lifecycle, recompute
from indexing.errors import IndexingError
from indexing.messages import error_sentence
from indexing.models import Pipeline

MOST_LISTED = 5000  # documents whose orders are made while a browser waits

Do = Callable[[User, Tenant, Pipeline, str], tuple[bool, str]]
"""Returns whether it came out as wished, and what to say."""


@dataclass(frozen=True, slots=True)
class Move:
    question: str
    consequences: tuple[str, ...]
    button: str
    do: Do
    reason: str = ""  # what the field asks for, if it has one
    reason_needed: bool = False
    is_dangerous: bool = False


def command(
    request: HttpRequest, pipeline: Pipeline, tenant: Tenant, name: str, context: dict[str, Any]
) -> HttpResponseBase:
    move = MOVES[name]
    if request.method == "POST":
        try:
            done, said = move.do(request.user, tenant, pipeline, request.POST.get("reason", "").strip())
            messages.add_message(request, messages.SUCCESS if done else messages.WARNING, said)
        except DocumentsError as error:
            messages.error(request, error.message)
        except IndexingError as error:
            messages.error(request, error_sentence(error.code))
        return redirect("admin:indexing_pipeline_change", pipeline.pk)
    facts = {"pipeline": pipeline.name, "tenant": tenant.name}
    return TemplateResponse(
        request,
        "admin/indexing/pipeline/confirm.html",
        {
            **context,
            "title": _(move.question) % facts,
            "pipeline": pipeline,
            "consequences": [_(sentence) for sentence in move.consequences],
            "button": _(move.button),
            "reason": _(move.reason) if move.reason else "",
            "reason_needed": move.reason_needed,
            "is_dangerous": move.is_dangerous,
        },
    )


def _build(actor: User, tenant: Tenant, pipeline: Pipeline, reason: str) -> tuple[bool, str]:
    lifecycle.begin(actor=actor, tenant_id=tenant.pk, pipeline_id=pipeline.pk)
    if Document.objects.alive().filter(tenant=tenant).count() > MOST_LISTED:
        said = _(
            "New versions are indexed under it too. For the others, run “manage.py pipeline build %(id)s --tenant %(tenant)s”."
        )
        return False, said % {"id": pipeline.pk, "tenant": tenant.slug}
    run = recompute.start(actor_id=actor.pk, pipeline_id=pipeline.pk, tenant_id=tenant.pk)
    said = _(
        "New versions are indexed under it too. Run %(run)d fills in the others: it needs a worker on the pool “bulk”."
    )
    return True, said % {"run": run.pk}


def _gate(actor: User, tenant: Tenant, pipeline: Pipeline, reason: str) -> tuple[bool, str]:
    report = gate.examine(actor=actor, tenant_id=tenant.pk, pipeline_id=pipeline.pk)
    if report.passed:
        return True, _("It passed.")
    return False, _("It was examined and has not passed; the page says why.")


def _serve(actor: User, tenant: Tenant, pipeline: Pipeline, reason: str) -> tuple[bool, str]:
    lifecycle.serve(actor=actor, tenant_id=tenant.pk, pipeline_id=pipeline.pk)
    return True, _("Searches use it now; the one before stands by.")


def _roll_back(actor: User, tenant: Tenant, pipeline: Pipeline, reason: str) -> tuple[bool, str]:
    number = lifecycle.roll_back(actor=actor, tenant_id=tenant.pk, hide_behind=reason)
    return True, _("Pipeline %(number)d serves again.") % {"number": number}


def _exclude(actor: User, tenant: Tenant, pipeline: Pipeline, reason: str) -> tuple[bool, str]:
    count = lifecycle.exclude(
        actor=actor, tenant_id=tenant.pk, pipeline_id=pipeline.pk, reason=reason, failed_only=True
    )
    said = ngettext("%(count)d document is left out.", "%(count)d documents are left out.", count)
    return True, said % {"count": count}


def _retire(actor: User, tenant: Tenant, pipeline: Pipeline, reason: str) -> tuple[bool, str]:
    count = lifecycle.retire(actor=actor, tenant_id=tenant.pk, pipeline_id=pipeline.pk)
    said = ngettext(
        "Retired; %(count)d waiting task was cancelled.", "Retired; %(count)d waiting tasks were cancelled.", count
    )
    return True, said % {"count": count}


MOVES: dict[str, Move] = {
    "build": Move(
        noop("Build “%(pipeline)s” for %(tenant)s?"),
        (
            noop("Readers notice nothing: searches go on with the pipeline that serves."),
            noop("Every new version is indexed under both from now on, which costs the provider twice."),
            noop(
                "A bulk run fills in what was published before. Its vector index is built by “manage.py pipeline build”."
            ),
            noop("It can be retired again at any time."),
        ),
        noop("Build"),
        _build,
    ),
    "gate": Move(
        noop("Examine “%(pipeline)s” for %(tenant)s?"),
        (
            noop("It is looked at whether everything is there, and sampled queries are asked of both pipelines."),
            noop("With questions and their answers, use “manage.py pipeline gate --questions”."),
            noop("Nothing is changed but that the result is kept."),
        ),
        noop("Examine"),
        _gate,
    ),
    "serve": Move(
        noop("Let “%(pipeline)s” serve %(tenant)s?"),
        (
            noop(
                "From the next search on readers are answered from it. The one before stands by and is kept up to date."
            ),
            noop("It is refused if a document would be shown older than now, or not at all without being left out."),
            noop("It can be undone at once: roll back."),
        ),
        noop("Let it serve"),
        _serve,
    ),
    "rollback": Move(
        noop("Go back from “%(pipeline)s” in %(tenant)s?"),
        (
            noop("From the next search on the pipeline before it serves again; this one stands by."),
            noop("Nothing older is shown. Without a reason below it is refused while documents are behind there."),
            noop("With a reason, documents that are behind there are not shown until they are indexed there too."),
        ),
        noop("Roll back"),
        _roll_back,
        reason=noop("Reason to go back at once, though documents are behind"),
        is_dangerous=True,
    ),
    "exclude": Move(
        noop("Leave out of “%(pipeline)s” what failed there, for %(tenant)s?"),
        (
            noop("Documents whose indexing failed there no longer keep it from serving."),
            noop("While it serves, readers find nothing of them. Each stands on the page with the reason."),
        ),
        noop("Leave out what failed"),
        _exclude,
        reason=noop("Reason"),
        reason_needed=True,
        is_dangerous=True,
    ),
    "retire": Move(
        noop("Retire “%(pipeline)s” in %(tenant)s?"),
        (
            noop("Nothing more is indexed under it, and what waits for it is cancelled."),
            noop("There is no way back to it but to build it again; its chunks are removed later."),
        ),
        noop("Retire"),
        _retire,
        is_dangerous=True,
    ),
}
