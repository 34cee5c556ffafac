"""The state of a task as a sign, a word and a colour."""

from __future__ import annotations

from django.utils.html import format_html

from indexing.messages import state_word
from indexing.states import TaskState

SIGNS = {
    TaskState.PENDING: ("…", "unpublished"),
    TaskState.RUNNING: ("↻", "indexing"),
    TaskState.RETRY_WAIT: ("…", "indexing"),
    TaskState.SUCCEEDED: ("✓", "searchable"),
    TaskState.DEAD: ("!", "failed"),
    TaskState.CANCELLED: ("–", "withdrawn"),
}


def task_badge(state: str) -> str:
    """Like a document's badge: the word is what a screen reader reads."""
    sign, colour = SIGNS[TaskState(state)]
    return format_html(
        '<span class="kb-badge kb-{}"><span class="kb-sign" aria-hidden="true">{}</span> <span>{}</span></span>',
        colour,
        sign,
        state_word(state),
    )
