"""What people may do with index tasks: look, try again, cancel. Editors and operators of the task's tenant only."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _

from documents import audit, catalog, publishing
from documents.access import lock_for_oversight
from documents.errors import Conflict, InvalidInput, NotAllowed, NotFound
from documents.models import Document
from documents.paging import page_of
from documents.ports import search_index
from documents.querysets import OPERATING_ROLES, User, tenants_where
from indexing import queue
from indexing.models import IndexTask, SearchPointer, TaskEvent
from indexing.states import TaskState

SOONEST, LATEST = -100, 100  # priorities that people may give; a publish has 0
FRONT, BACK = -10, 10


def list_tasks(
    *,
    actor: User,
    tenant: str,
    state: TaskState | None = None,
    document_id: uuid.UUID | None = None,
    limit: int = 50,
    cursor: str = "",
) -> tuple[Sequence[IndexTask], str]:
    """One page of a tenant's tasks, newest first, and the cursor of the next page (empty after the last).

    Raises what `overseen_tenant` raises, and `InvalidInput` for a cursor that is none.
    """
    found = (
        with_gaps(IndexTask.objects.all())
        .filter(tenant=catalog.overseen_tenant(actor=actor, slug=tenant))
        .select_related("pipeline")
    )
    if state is not None:
        found = found.filter(state=state)
    if document_id is not None:
        found = found.filter(document=document_id)
    return page_of(found, limit=limit, cursor=cursor)


def visible_task(*, actor: User, task_id: int) -> IndexTask:
    """A task of a tenant where `actor` is an editor or operator. Raises `NotFound`."""
    overseen = Document.objects.overseen_by(actor)
    task = (
        with_gaps(IndexTask.objects.all()).select_related("pipeline").filter(pk=task_id, document__in=overseen).first()
    )
    if task is None:
        raise NotFound(_("There is no such index task, or you may not see it."))
    return task


def list_events(*, actor: User, task_id: int, limit: int = 50, cursor: str = "") -> tuple[Sequence[TaskEvent], str]:
    """One page of what happened to a task, newest first, and the cursor of the next page (empty after the last).

    Raises `NotFound`, and `InvalidInput` for a cursor that is none.
    """
    task = visible_task(actor=actor, task_id=task_id)
    return page_of(TaskEvent.objects.filter(task_id=task.pk), limit=limit, cursor=cursor, moment="at")


@transaction.atomic
def retry_task(*, actor: User, task_id: int) -> IndexTask:
    """Try a dead, cancelled or waiting task again with a new budget.

    Raises `NotFound`, what `publishing.retry_indexing` raises, and `Conflict` for a task that has succeeded or whose version
    is not the one requested last.
    """
    task = visible_task(actor=actor, task_id=task_id)
    document = lock_for_oversight(actor=actor, document_id=task.document_id)
    if task.version_number != document.requested_version:
        raise Conflict(_("This task is for a version that is no longer the requested one. Retry that one's task."))
    if task_id == _order_of(document):
        publishing.retry_indexing(actor=actor, document_id=task.document_id)
    else:  # of a pipeline that does not serve yet or no longer: nothing the document's own state tells of
        _reopen(task, document, actor)
    return visible_task(actor=actor, task_id=task_id)


@transaction.atomic
def cancel_task(*, actor: User, task_id: int) -> IndexTask:
    """Cancel a task: at once if it waits, before its next step if it runs.

    Raises `NotFound`, what `lock_for_oversight` raises, and `Conflict` if it has ended already.
    """
    task = visible_task(actor=actor, task_id=task_id)
    document = lock_for_oversight(actor=actor, document_id=task.document_id)
    if not queue.cancel(task_id=task_id):
        raise Conflict(_("The index task has ended already; there is nothing to cancel."))
    audit.record(
        document=document, actor=actor, action="cancel_indexing", version_number=task.version_number, task=task_id
    )
    return visible_task(actor=actor, task_id=task_id)


@transaction.atomic
def prioritise_task(*, actor: User, task_id: int, priority: int) -> IndexTask:
    """Give a waiting task another priority; for the operators of its tenant, since priorities go across tenants.

    Raises `NotFound`, `NotAllowed`, what `lock_for_oversight` raises, `InvalidInput` for a priority out of range, and
    `Conflict` if the task does not wait.
    """
    task = visible_task(actor=actor, task_id=task_id)
    if not tenants_where(actor, OPERATING_ROLES).filter(pk=task.tenant_id).exists():
        raise NotAllowed(_("Only an operator of the tenant may change a task's priority."))
    if not SOONEST <= priority <= LATEST:
        raise InvalidInput(
            _("A priority is a number from %(first)d to %(last)d; lower is sooner.")
            % {"first": SOONEST, "last": LATEST}
        )
    document = lock_for_oversight(actor=actor, document_id=task.document_id)
    if not queue.prioritise(task_id=task_id, priority=priority):
        raise Conflict(_("The index task runs or has ended; its priority changes nothing any more."))
    audit.record(
        document=document,
        actor=actor,
        action="prioritise",
        version_number=task.version_number,
        task=task_id,
        priority=priority,
        before=task.priority,
    )
    return visible_task(actor=actor, task_id=task_id)


def with_gaps(tasks: QuerySet[IndexTask]) -> QuerySet[IndexTask]:
    """With what the task's own pointer says of the text; null unless readers are served what this task made."""
    pointer = SearchPointer.objects.filter(
        document=OuterRef("document"), pipeline=OuterRef("pipeline"), task_id=OuterRef("pk")
    )
    return tasks.annotate(gaps=Subquery(pointer.values("gaps")), verification=Subquery(pointer.values("verification")))


def _order_of(document: Document) -> int | None:
    """The task that decides whether readers get the requested version."""
    annotated: Any = search_index().annotate_state(Document.objects.filter(pk=document.pk)).get()
    order: int | None = annotated.index_task_id
    return order


def _reopen(task: IndexTask, document: Document, actor: User) -> None:
    if document.withdrawn_at is not None:
        raise Conflict(_("The document is withdrawn. Publish it again to index it."))
    if not queue.reopen(task_id=task.pk):
        raise Conflict(_("The index task has ended and cannot be tried again. Publish the version again."))
    audit.record(document=document, actor=actor, action="retry", version_number=task.version_number, task=task.pk)
