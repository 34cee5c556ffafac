"""What a task went through: its attempts with their refused late writes, and between them what moved it and what people did."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Q

from documents.models import AuditEvent
from indexing.models import IndexTask, TaskEvent
from indexing.states import TaskState

SHOWN = 400  # newest events that are looked at

DECISIONS = ("publish", "withdraw", "set_readers")
"""What people do with a version, or a later one, that decides about a task for it."""


@dataclass(slots=True)
class Attempt:
    """From a claim to its end, by its own word or by a lease that ran out; without an end it runs."""

    at: datetime
    number: int
    worker: str
    ended_at: datetime | None = None
    end: str = ""  # the state that it led to; RUNNING: another attempt took over
    code: str | None = None
    stage: str | None = None  # where it was last
    asked_to_stop: datetime | None = None
    refused: list[TaskEvent] = field(default_factory=list)

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it runs."""
        return (self.ended_at - self.at).total_seconds() if self.ended_at else None


def timeline_of(task: IndexTask) -> list[Attempt | TaskEvent | AuditEvent]:
    """Newest first: attempts, moves between them, and people's decisions."""
    events = reversed(TaskEvent.objects.filter(task_id=task.pk).order_by("-id")[:SHOWN])
    told = _told(events)
    for entry in told:
        if isinstance(entry, Attempt) and entry.ended_at is None and entry.number == task.attempts:
            entry.stage = task.stage
    return sorted([*told, *_decisions(task)], key=lambda entry: entry.at, reverse=True)


def _told(events: Iterable[TaskEvent]) -> list[Attempt | TaskEvent]:
    attempts: dict[int, Attempt] = {}
    between: list[TaskEvent] = []
    for event in events:
        number = event.attempts
        if event.kind == "refused" and number in attempts:
            attempts[number].refused.append(event)
        elif event.kind == "wish" and number in attempts:
            attempts[number].asked_to_stop = event.at if event.code == "CANCEL_REQUESTED" else None
        elif event.kind == "move" and TaskState.RUNNING in (event.from_state, event.to_state):
            over = number - 1 if event.to_state == TaskState.RUNNING else number
            if event.from_state == TaskState.RUNNING and over in attempts:
                ended = attempts[over]
                ended.ended_at, ended.end, ended.code, ended.stage = (
                    event.at,
                    event.to_state or "",
                    event.code,
                    event.stage,
                )
            if event.to_state == TaskState.RUNNING:
                attempts[number] = Attempt(event.at, number, event.worker or "")
        else:
            between.append(event)
    return [*attempts.values(), *between]


def _decisions(task: IndexTask) -> Iterable[AuditEvent]:
    about = (
        Q(action__in=DECISIONS, version_number__gte=task.version_number) | Q(action="delete") | Q(detail__task=task.pk)
    )
    return AuditEvent.objects.filter(about, document_id=task.document_id)[:SHOWN]
