"""The page of one task: what it is for, where it stands, and everything that happened to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponseBase, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from documents.admin.history import entry_of
from documents.errors import DocumentsError, NotFound
from documents.models import AuditEvent
from indexing import pauses
from indexing.admin.badges import is_being_cancelled, task_badge
from indexing.messages import POOLS, TYPES, error_sentence, progress_words, state_word
from indexing.models import IndexTask, TaskEvent
from indexing.states import TaskState

EVENTS = 200  # newest events shown


@dataclass(frozen=True, slots=True)
class Event:
    at: datetime
    words: str
    attempt: int | None = None
    worker: str = ""  # or the person
    sentence: str = ""
    refused: bool = False


def show(request: HttpRequest, task: IndexTask, context: dict[str, Any]) -> HttpResponseBase:
    ended = task.state in (TaskState.SUCCEEDED, TaskState.CANCELLED)
    pause = pauses.current() if task.state in (TaskState.PENDING, TaskState.RETRY_WAIT) else None
    context = {
        **context,
        "title": _("Index task %(number)d") % {"number": task.pk},
        "task": task,
        "badge": task_badge(task),
        "type": _(TYPES[task.task_type]),
        "pool": _(POOLS.get(task.pool, task.pool)),
        "cancelling": is_being_cancelled(task),
        "progress": progress_words(task.stage, task.progress_done, task.progress_total),
        "running": task.state == TaskState.RUNNING,
        "sentence": error_sentence(task.error_code, task.error_message, task.error_places),
        "pause": pause.sentence if pause and task.pipeline_id in pause.pipelines else "",
        "can_retry": task.state in (TaskState.DEAD, TaskState.CANCELLED, TaskState.RETRY_WAIT),
        "can_cancel": not ended and not task.cancel_requested,
        "events": _events(task),
    }
    return TemplateResponse(request, "admin/indexing/indextask/page.html", context)


def command(
    request: HttpRequest, task_id: int, run: Callable[..., IndexTask], done: Callable[[IndexTask], str]
) -> HttpResponseBase:
    """Retry or cancel one task, say what was `done`, and go back to where the button stood."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    try:
        task = run(actor=request.user, task_id=task_id)
    except NotFound as error:
        raise Http404 from error
    except DocumentsError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, done(task))
    back = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()}, require_https=request.is_secure()):
        return redirect(back)
    return redirect("admin:indexing_indextask_change", task_id)


def _events(task: IndexTask) -> list[Event]:
    """What the task went through and what people asked of it, newest first."""
    moves = TaskEvent.objects.filter(task_id=task.pk).order_by("-id")[:EVENTS]
    asked = AuditEvent.objects.filter(document_id=task.document_id, detail__task=task.pk)[:EVENTS]
    wishes = [Event(entry.at, entry.words, worker=entry.actor) for entry in map(entry_of, asked)]
    return sorted([*map(_event, moves), *wishes], key=lambda event: event.at, reverse=True)[:EVENTS]


def _event(event: TaskEvent) -> Event:
    refused = event.kind == "refused"
    if refused:
        words = _("A late write was refused: the lease was over.")
    elif event.from_state is None:
        words = _("ordered")
    elif event.from_state == event.to_state:
        words = _("taken over: the lease of the attempt before had ended")
    else:
        words = f"{state_word(event.from_state)} → {state_word(event.to_state or event.from_state)}"
    sentence = "" if refused else error_sentence(event.code)
    return Event(event.at, words, event.attempts, event.worker or "", sentence, refused)
