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
from indexing.messages import (
    POOLS,
    TYPES,
    duration_words,
    error_sentence,
    event_sentence,
    progress_words,
    refusal_words,
    stage_word,
    state_word,
)
from indexing.models import IndexTask, TaskEvent
from indexing.remarks import text_remarks, verification_words
from indexing.states import TaskState
from indexing.timeline import Attempt, timeline_of


@dataclass(frozen=True, slots=True)
class Entry:
    """One attempt, or something that happened between two, in words."""

    at: datetime
    words: str
    who: str = ""  # the worker, or the person
    sentence: str = ""
    attempt: int | None = None
    ended_at: datetime | None = None
    stage: str = ""
    took: str = ""
    asked_to_stop: datetime | None = None
    refused: tuple[tuple[datetime, str], ...] = ()


def show(request: HttpRequest, task: IndexTask, context: dict[str, Any]) -> HttpResponseBase:
    ended = task.state in (TaskState.SUCCEEDED, TaskState.CANCELLED)
    held = pauses.current() if task.state in (TaskState.PENDING, TaskState.RETRY_WAIT) else []
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
        "remarks": text_remarks(task.gaps or [], None),  # type: ignore[attr-defined]  # annotated
        "places": verification_words(task.verification) if task.verification else "",  # type: ignore[attr-defined]
        "pause": next((pause.sentence for pause in held if task.pipeline_id in pause.pipelines), ""),
        "can_retry": task.state in (TaskState.DEAD, TaskState.CANCELLED, TaskState.RETRY_WAIT),
        "can_cancel": not ended and not task.cancel_requested,
        "entries": list(map(_entry, timeline_of(task))),
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


def _entry(told: Attempt | TaskEvent | AuditEvent) -> Entry:
    if isinstance(told, Attempt):
        return _attempt(told)
    if isinstance(told, AuditEvent):
        done = entry_of(told)
        return Entry(done.at, done.words, done.actor)
    if told.kind == "refused":  # of an attempt that lies too far back to be shown
        return Entry(told.at, refusal_words(told.action, told.code, told.detail), told.worker or "")
    if told.from_state is None:
        return Entry(told.at, _("ordered"))
    words = f"{state_word(told.from_state)} → {state_word(told.to_state or told.from_state)}"
    return Entry(told.at, words, sentence=event_sentence(told.code))


def _attempt(attempt: Attempt) -> Entry:
    if attempt.ended_at is None:
        words = state_word(TaskState.RUNNING)
    elif attempt.end == TaskState.RUNNING:
        words = _("Lease lost")
    elif attempt.end == TaskState.PENDING:
        words = _("Given back")
    else:
        words = state_word(attempt.end)
    return Entry(
        attempt.at,
        words,
        attempt.worker,
        event_sentence(attempt.code or ("LEASE_EXPIRED" if attempt.end == TaskState.RUNNING else None)),
        attempt.number,
        attempt.ended_at,
        stage_word(attempt.stage),
        duration_words(attempt.seconds) if attempt.seconds is not None else "",
        attempt.asked_to_stop,
        tuple((event.at, refusal_words(event.action, event.code, event.detail)) for event in attempt.refused),
    )
