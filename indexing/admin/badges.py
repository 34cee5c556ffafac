"""The state of a task, and the role of a pipeline, as a sign, a word and a colour."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.translation import gettext

from indexing.messages import ROLES, state_word
from indexing.models import IndexTask
from indexing.states import PipelineRole, TaskState

SIGNS = {
    TaskState.PENDING: ("…", "unpublished"),
    TaskState.RUNNING: ("↻", "indexing"),
    TaskState.RETRY_WAIT: ("…", "indexing"),
    TaskState.SUCCEEDED: ("✓", "searchable"),
    TaskState.DEAD: ("!", "failed"),
    TaskState.CANCELLED: ("■", "cancelled"),
}

ROLE_SIGNS = {
    PipelineRole.BUILDING: ("…", "indexing"),
    PipelineRole.SERVING: ("✓", "searchable"),
    PipelineRole.STANDBY: ("○", "unpublished"),
    PipelineRole.RETIRED: ("■", "cancelled"),
}


def is_being_cancelled(task: IndexTask) -> bool:
    """A person asked for it, and the worker has not come to its next step."""
    return task.cancel_requested and task.state not in (TaskState.SUCCEEDED, TaskState.DEAD, TaskState.CANCELLED)


def task_badge(task: IndexTask) -> str:
    """Like a document's badge: the word is what a screen reader reads."""
    sign, colour = SIGNS[TaskState(task.state)]
    word = gettext("Cancelling…") if is_being_cancelled(task) else state_word(task.state)
    return badge(colour, sign, word)


def role_badge(role: PipelineRole) -> str:
    sign, colour = ROLE_SIGNS[role]
    return badge(colour, sign, gettext(ROLES[role]))


def badge(colour: str, sign: str, word: str) -> str:
    return format_html(
        '<span class="kb-badge kb-{}"><span class="kb-sign" aria-hidden="true">{}</span> <span>{}</span></span>',
        colour,
        sign,
        word,
    )
