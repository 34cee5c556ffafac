"""The search index as `documents` sees it. Bound by KB_SEARCH_INDEX."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db.models import Case, Exists, F, FloatField, Func, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext as _

from documents.errors import Conflict
from documents.models import Document, Publication, ReadRule
from documents.ports import IndexState, IndexTicket
from documents.querysets import DocumentQuerySet
from indexing import messages, pauses, queue, remarks
from indexing.errors import AccessRevoked, DocumentDeleted, DocumentWithdrawn
from indexing.freshness_models import ServedPointer, WithheldPointer
from indexing.models import IndexTask, Pipeline, SearchPointer, TenantPipeline
from indexing.pipelines import described_pipeline, pipelines_to_fill
from indexing.statements import row, rows
from indexing.states import PipelineRole, TaskState

UNSEEN_PRIORITY = 10
"""Of orders under pipelines that do not serve: behind everything that a reader waits for."""

_CANCELLATIONS = {error.code: error for error in (DocumentDeleted, DocumentWithdrawn)}


class PostgresSearchIndex:
    """Implements `documents.ports.SearchIndex` with tables beside the documents'."""

    def prepare_tenant(self, *, tenant_id: int) -> None:
        pipeline = described_pipeline() or Pipeline.objects.order_by("-id").first()
        if pipeline is None:
            raise Conflict(_("There is no pipeline yet. Run “manage.py migrate” first."))
        TenantPipeline.objects.create(tenant_id=tenant_id, pipeline=pipeline, role=PipelineRole.SERVING)

    def request(
        self, *, tenant_id: int, document_id: uuid.UUID, version_number: int, actor_id: int | None, has_readers: bool
    ) -> IndexTicket:
        fill = pipelines_to_fill(tenant_id)
        if not fill or fill[0][1] is not PipelineRole.SERVING:
            raise Conflict(_("This tenant has no pipeline to serve it; nothing was published. Tell an operator."))
        queue.cancel_older(document_id=document_id, version_number=version_number)
        orders = [
            queue.enqueue(
                tenant_id=tenant_id,
                document_id=document_id,
                version_number=version_number,
                pipeline_id=pipeline_id,
                actor_id=actor_id,
                has_readers=has_readers,
                priority=0 if role is PipelineRole.SERVING else UNSEEN_PRIORITY,
            )
            for pipeline_id, role in fill
        ]
        task_id, state = orders[0]
        return IndexTicket(task_id, _index_state(state))

    def readers_restored(self, *, document_id: uuid.UUID, version_number: int) -> None:
        stopped = IndexTask.objects.filter(
            document=document_id, version_number=version_number, state=TaskState.DEAD, error_code=AccessRevoked.code
        )
        for task_id in stopped.order_by("id").values_list("id", flat=True):
            queue.reopen(task_id=task_id)

    def withdraw(self, *, document_id: uuid.UUID, code: str) -> int:
        return queue.cancel_waiting(document_id=document_id, reason=_CANCELLATIONS[code]())

    def retry(self, *, document: Document) -> IndexTicket:
        tasks = _orders_of_requested(document.tenant_id, document.pk, document.requested_version)
        task = tasks.order_by("-id").first()
        if task is None:
            raise Conflict(_("There is no index task for the requested version. Publish it again."))
        if task.state == TaskState.SUCCEEDED or not queue.reopen(task_id=task.pk):
            raise Conflict(_("The index task has ended and cannot be tried again. Publish the version again."))
        state = TaskState.RUNNING if task.state == TaskState.RUNNING else TaskState.PENDING
        return IndexTicket(task.pk, _index_state(state))

    def annotate_state(self, documents: DocumentQuerySet) -> DocumentQuerySet:
        task = _orders_of_requested(OuterRef("tenant"), OuterRef("pk"), OuterRef("requested_version")).order_by("-id")
        pointer = SearchPointer.objects.filter(
            document=OuterRef("pk"),
            pipeline__tenants__tenant=OuterRef("tenant"),
            pipeline__tenants__role=PipelineRole.SERVING,
        )
        # Counted from the first version that readers have not got, however many followed it.
        asked = Publication.objects.filter(
            document=OuterRef("pk"), version_number__gt=OuterRef("_pointer"), withdrawn_at=None
        )
        held = [
            When(
                _task_state__in=[TaskState.PENDING, TaskState.RETRY_WAIT],
                _task_pipeline__in=pause.pipelines,
                then=Value(pause.sentence),
            )
            for pause in pauses.current()
        ]
        served = Q(searchable_version__isnull=False)
        annotated = documents.annotate(
            _pointer=Subquery(pointer.values("version_number")[:1]),
            searchable_version=Subquery(_of_serving(ServedPointer).values("version_number")[:1]),
            withheld_version=Subquery(_of_serving(WithheldPointer).values("version_number")[:1]),
            _gaps=Subquery(pointer.values("gaps")[:1]),
            _verification=Subquery(pointer.values("verification")[:1]),
            _task_state=Subquery(task.values("state")[:1]),
            _task_pipeline=Subquery(task.values("pipeline")[:1]),
            index_task_id=Subquery(task.values("id")[:1]),
            index_cancel_requested=Subquery(task.values("cancel_requested")[:1]),
            index_error_code=Subquery(task.values("error_code")[:1]),
            index_error_message=Subquery(task.values("error_message")[:1]),
            index_error_places=Subquery(task.values("error_places")[:1]),
            index_stage=Subquery(task.values("stage")[:1]),
            index_progress_done=Subquery(task.values("progress_done")[:1]),
            index_progress_total=Subquery(task.values("progress_total")[:1]),
            _asked_at=Subquery(asked.order_by("requested_at").values("requested_at")[:1]),
        )
        annotated = annotated.annotate(
            index_pause=Case(*held, default=Value("")),
            index_gaps=Case(When(served, then=F("_gaps")), default=None),
            index_verification=Case(When(served, then=F("_verification")), default=None),
            index_state=Case(
                When(deleted_at__isnull=False, then=Value(IndexState.DELETED)),
                When(withdrawn_at__isnull=False, then=Value(IndexState.WITHDRAWN)),
                When(requested_version=None, then=Value(IndexState.UNPUBLISHED)),
                When(_pointer=F("requested_version"), then=Value(IndexState.SEARCHABLE)),
                When(_task_state__in=[TaskState.DEAD, TaskState.CANCELLED], then=Value(IndexState.FAILED)),
                When(_task_state=None, then=Value(IndexState.FAILED)),
                default=Value(IndexState.INDEXING),
            ),
        )
        readers = ReadRule.objects.filter(document=OuterRef("pk"), version_number=OuterRef("requested_version"))
        behind = Q(
            Exists(readers),  # else nobody waits
            is_behind=True,
            withdrawn_at=None,
            deleted_at=None,
            _pointer__lt=F("requested_version"),
        )
        age = Func(
            CombinedExpression(Now(), "-", F("_asked_at")),
            function="EXTRACT",
            template="%(function)s(EPOCH FROM %(expressions)s)",
        )
        annotated = annotated.annotate(
            behind_seconds=Case(When(behind, then=age), default=None, output_field=FloatField()),
            max_staleness=Coalesce("max_staleness_seconds", Value(settings.KB_MAX_STALENESS_SECONDS or None)),
        )
        return annotated.annotate(
            staleness_seconds=Case(When(served, then=F("behind_seconds")), default=None),
            is_too_stale=Case(When(behind_seconds__gt=F("max_staleness"), then=Value(True)), default=Value(False)),
        )

    def describe_error(self, *, code: str | None, message: str | None, places: dict[str, Any] | None) -> str:
        return messages.error_sentence(code, message, places)

    def describe_text(self, *, gaps: list[dict[str, Any]] | None, verification: dict[str, Any] | None) -> list[str]:
        return remarks.text_remarks(gaps or [], verification)

    def needs_new_file(self, *, code: str | None) -> bool:
        return code in messages.FAULTS_OF_THE_FILE

    def describe_progress(self, *, stage: str | None, done: int, total: int) -> str:
        return messages.progress_words(stage, done, total)

    def purge(self, *, document_id: uuid.UUID) -> bool:
        rows("sink", "end_abandoned", document=document_id, message=str(DocumentDeleted()))
        if row("sink", "running_tasks", document=document_id) is not None:
            return False
        tenant_id = Document.objects.values_list("tenant_id", flat=True).get(pk=document_id)
        rows("sink", "forget_places", document=document_id)
        rows("sink", "purge_pointers", document=document_id)
        rows("sink", "purge_chunks", document=document_id)
        rows("sink", "purge_vectors_cache", document=document_id, tenant=tenant_id)
        rows("sink", "purge_sentences", document=document_id)
        rows("sink", "purge_parse_cache", document=document_id)
        return True


def _of_serving(pointers: type[ServedPointer] | type[WithheldPointer]) -> QuerySet[Any]:
    """Those of a document under the pipeline that serves its tenant."""
    serving = TenantPipeline.objects.filter(tenant=OuterRef(OuterRef("tenant")), role=PipelineRole.SERVING)
    return pointers.objects.filter(document_id=OuterRef("pk"), pipeline_id__in=serving.values("pipeline"))


def _orders_of_requested(tenant: Any, document: Any, version: Any) -> QuerySet[IndexTask]:
    """Orders of one version under the pipeline that serves its tenant, a bulk run's too: what it filled in serves now."""
    return IndexTask.objects.filter(
        document=document,
        version_number=version,
        pipeline__tenants__tenant=tenant,
        pipeline__tenants__role=PipelineRole.SERVING,
    )


def _index_state(state: TaskState) -> IndexState:
    if state is TaskState.SUCCEEDED:
        return IndexState.SEARCHABLE
    return IndexState.FAILED if state in (TaskState.DEAD, TaskState.CANCELLED) else IndexState.INDEXING
