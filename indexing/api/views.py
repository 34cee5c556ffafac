"""Index tasks, a round of the worker, and the search. Each call reads its request, calls one service, shows the result."""

from __future__ import annotations

from django.conf import settings
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from documents.api.base import ApiView, NoFields, answer, valid
from documents.api.idempotency import idempotent
from documents.errors import NotAllowed, NotFound
from documents.querysets import OPERATING_ROLES, tenants_where
from indexing import tasks
from indexing.api.serializers import (
    AnswerSerializer,
    EventQuerySerializer,
    IndexTaskPageSerializer,
    IndexTaskSerializer,
    PrioritySerializer,
    RoundSerializer,
    SearchQuerySerializer,
    TaskEventPageSerializer,
    TaskQuerySerializer,
)
from indexing.search import search
from indexing.states import TaskState
from indexing.worker import Worker


class IndexTasksView(ApiView):
    @extend_schema(
        summary="Index tasks of a tenant, newest first, for editors and operators",
        operation_id="index_tasks_list",
        parameters=[TaskQuerySerializer],
        responses=IndexTaskPageSerializer,
    )
    def get(self, request: Request) -> Response:
        query = valid(TaskQuerySerializer, request.query_params)
        page, cursor = tasks.list_tasks(
            actor=request.user,
            tenant=query["tenant"],
            state=TaskState(query["state"]) if "state" in query else None,
            document_id=query.get("documentId"),
            limit=query["limit"],
            cursor=query["cursor"],
        )
        return answer(IndexTaskPageSerializer, {"indexTasks": page, "nextCursor": cursor or None})


class IndexTaskView(ApiView):
    @extend_schema(summary="Where the indexing of a version is", responses=IndexTaskSerializer)
    def get(self, request: Request, task_id: int) -> Response:
        return answer(IndexTaskSerializer, tasks.visible_task(actor=request.user, task_id=task_id))

    @extend_schema(
        summary="Give a waiting task another priority, for operators",
        request=PrioritySerializer,
        responses={200: IndexTaskSerializer},
    )
    def patch(self, request: Request, task_id: int) -> Response:
        priority = valid(PrioritySerializer, request.data)["priority"]
        return answer(
            IndexTaskSerializer, tasks.prioritise_task(actor=request.user, task_id=task_id, priority=priority)
        )


class TaskEventsView(ApiView):
    @extend_schema(
        summary="What happened to an index task, newest first: moves, wishes, late writes refused",
        operation_id="index_task_events_list",
        parameters=[EventQuerySerializer],
        responses=TaskEventPageSerializer,
    )
    def get(self, request: Request, task_id: int) -> Response:
        query = valid(EventQuerySerializer, request.query_params)
        page, cursor = tasks.list_events(
            actor=request.user, task_id=task_id, limit=query["limit"], cursor=query["cursor"]
        )
        return answer(TaskEventPageSerializer, {"events": page, "nextCursor": cursor or None})


class RetryView(ApiView):
    @extend_schema(
        summary="Try a dead, cancelled or waiting task again", request=None, responses={200: IndexTaskSerializer}
    )
    @idempotent()
    def post(self, request: Request, task_id: int) -> Response:
        valid(NoFields, request.data)
        return answer(IndexTaskSerializer, tasks.retry_task(actor=request.user, task_id=task_id))


class CancelView(ApiView):
    @extend_schema(
        summary="Cancel a task: at once if it waits, before its next step if it runs",
        request=None,
        responses={200: IndexTaskSerializer},
    )
    @idempotent()
    def post(self, request: Request, task_id: int) -> Response:
        valid(NoFields, request.data)
        return answer(IndexTaskSerializer, tasks.cancel_task(actor=request.user, task_id=task_id))


class RunOnceView(ApiView):
    @extend_schema(
        summary="One round of an index worker, for operators; usually switched off in production",
        request=None,
        responses={200: RoundSerializer},
    )
    # Not in a transaction: a claim is committed at once. A round that is run twice after a crash works on another task.
    @idempotent(atomic=False)
    def post(self, request: Request) -> Response:
        if not settings.KB_WORKER_RUN_ONCE_API:
            raise NotFound(_("Running the worker through the API is switched off here."))
        if not tenants_where(request.user, OPERATING_ROLES).exists():
            raise NotAllowed(_("Only an operator may run the worker."))
        valid(NoFields, request.data)
        return answer(RoundSerializer, Worker().run_once())


class SearchView(ApiView):
    @extend_schema(
        summary="Find what you may read, with citations", parameters=[SearchQuerySerializer], responses=AnswerSerializer
    )
    def get(self, request: Request) -> Response:
        query = valid(SearchQuerySerializer, request.query_params)
        found = search(user=request.user, tenant=query["tenant"], query=query["q"], limit=query["limit"])
        return answer(AnswerSerializer, found)
