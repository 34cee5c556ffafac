"""Derived data: pipelines, the queue, chunks with their vectors, search pointers and caches.

Django owns the tables; every statement that writes to queue, chunks and pointers stands in `indexing/sql/`, and the
triggers in `indexing/sql/schema/` refuse what does not hold a live lease.
"""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from pgvector.django import VectorField

from documents.models import Document, Tenant
from indexing.cache_models import EmbeddedText, EmbeddingCache, ParseCache, SituationCache  # noqa: F401  (for Django)
from indexing.freshness_models import ServedPointer, WithheldPointer  # noqa: F401  (for Django)
from indexing.lifecycle_models import (  # noqa: F401  (for Django)
    PipelineEvent,
    PipelineExclusion,
    PipelineGate,
    ShadowQuery,
)
from indexing.provider_models import EmbeddingCanary, EmbeddingProvider, ProviderEvent  # noqa: F401  (for Django)
from indexing.recompute_models import RecomputeItem, RecomputeRun  # noqa: F401  (for Django)
from indexing.retention_models import Citation, OrphanSet, RetentionRun  # noqa: F401  (for Django)
from indexing.states import PipelineRole, Pool, Stage, TaskState, TaskType


def choices(values: type[Any]) -> list[tuple[str, str]]:
    return [(value.value, value.value) for value in values]


class Pipeline(models.Model):
    """One immutable configuration of parser, splitter and embedding model, identified by its digest."""

    id = models.PositiveSmallIntegerField(primary_key=True)
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    config = models.JSONField()
    dimensions = models.PositiveSmallIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "pipeline"
        constraints = [models.UniqueConstraint(fields=["id", "dimensions"], name="pipeline_dimensions")]

    def __str__(self) -> str:
        return self.name


class TenantPipeline(models.Model):
    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="pipelines")
    pipeline = models.ForeignKey(Pipeline, models.PROTECT, related_name="tenants")
    role = models.CharField(max_length=10, choices=choices(PipelineRole))
    changed_by_id = models.BigIntegerField(null=True)
    changed_by_name = models.CharField(max_length=150, default="", db_default="", help_text="who chose this role")
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "tenant_pipeline"
        constraints = [
            models.UniqueConstraint(fields=["tenant", "pipeline"], name="tenant_pipeline_once"),
            models.UniqueConstraint(fields=["tenant"], condition=Q(role="SERVING"), name="tenant_serves_one_pipeline"),
        ]


class IndexTask(models.Model):
    """The durable order “make this version searchable under this pipeline”."""

    # No constraints: a row that its own transaction has changed before (fence, then success) is checked anew against each
    # table it refers to, and workers queue up for the row of their one pipeline. The guard of an insert checks the same once.
    tenant = models.ForeignKey(
        Tenant, models.PROTECT, related_name="+", db_index=False, db_constraint=False, verbose_name=_("tenant")
    )
    document = models.ForeignKey(
        Document,
        models.PROTECT,
        related_name="index_tasks",
        db_index=False,
        db_constraint=False,
        verbose_name=_("document"),
    )
    version_number = models.IntegerField(_("version"))
    pipeline = models.ForeignKey(
        Pipeline, models.PROTECT, related_name="+", db_index=False, db_constraint=False, verbose_name=_("pipeline")
    )
    task_type = models.CharField(_("type"), max_length=10, choices=choices(TaskType), default=TaskType.INDEX)
    generation = models.IntegerField(default=1)
    pool = models.CharField(_("pool"), max_length=20, default=Pool.ONLINE)
    priority = models.SmallIntegerField(_("priority"), default=0, help_text=_("lower is sooner"))
    fair = models.BigIntegerField(default=0, help_text="turn among the tenants' waiting tasks, set at enqueue")
    state = models.CharField(_("state"), max_length=10, choices=choices(TaskState), default=TaskState.PENDING)
    stage = models.CharField(_("stage"), max_length=10, choices=choices(Stage), null=True)
    progress_done = models.IntegerField(default=0)
    progress_total = models.IntegerField(default=0)
    attempts = models.IntegerField(_("attempts"), default=0, help_text=_("the fencing token: never lowered"))
    failures = models.IntegerField(_("failures"), default=0, help_text=_("charged to the budget"))
    max_failures = models.IntegerField()
    readers_requested = models.BooleanField(default=True, help_text="the version had readers when it was published")
    cancel_requested = models.BooleanField(default=False)
    lease_owner = models.CharField(_("worker"), max_length=200, null=True)
    lease_until = models.DateTimeField(_("lease until"), null=True)
    next_attempt_at = models.DateTimeField(_("next attempt"), null=True)
    waiting_since = models.DateTimeField(db_default=Now(), help_text="uncharged waiting is counted from here")
    started_at = models.DateTimeField(_("started"), null=True)
    finished_at = models.DateTimeField(_("finished"), null=True)
    error_code = models.CharField(_("error"), max_length=50, null=True)
    error_message = models.TextField(_("reason"), null=True)
    error_places = models.JSONField(
        null=True, help_text="where the texts at fault stand, if the last failure named any"
    )
    requested_by_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(_("created"), db_default=Now())
    updated_at = models.DateTimeField(_("changed"), db_default=Now())

    class Meta:
        db_table = "index_task"
        verbose_name = _("index task")
        verbose_name_plural = _("index tasks")
        permissions = [("retry_dead_tasks", _("Can retry dead index tasks"))]
        default_permissions = ("view",)
        # What else must hold, the guards say (sql/schema/0005_pools.sql): a CHECK is read anew by every statement.
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "document", "version_number", "task_type", "pipeline", "generation"],
                name="index_task_once",
            ),
        ]
        indexes = [
            # The claim's parts. No index of this table holds what changes while a task runs (lease_until, progress,
            # updated_at, fence_xact): renewals, reports and fences stay HOT.
            models.Index(
                fields=["pool", "priority", "fair", "id"], name="index_task_pending", condition=Q(state="PENDING")
            ),
            models.Index(
                fields=["pool", "next_attempt_at", "id"], name="index_task_retry_wait", condition=Q(state="RETRY_WAIT")
            ),
            models.Index(
                fields=["pool", "tenant", "next_attempt_at", "id"],
                name="index_task_retry_turn",
                condition=Q(state="RETRY_WAIT"),
            ),
            models.Index(fields=["pool", "id"], name="index_task_running", condition=Q(state="RUNNING")),
            # A tenant's last turn, for `fair` at enqueue.
            models.Index(
                fields=["tenant", "pool", "priority", "fair"], name="index_task_turn", condition=Q(state="PENDING")
            ),
            models.Index(fields=["document", "version_number"], name="index_task_of_version"),
            models.Index(fields=["finished_at"], name="index_task_dead", condition=Q(state="DEAD")),
        ]

    def __str__(self) -> str:
        return f"{self.task_type} {self.pk}"


class TenantPool(models.Model):
    """A tenant with a pool of its own: what somebody there waits for goes to the workers of that pool and to no others."""

    tenant = models.OneToOneField(Tenant, models.CASCADE, primary_key=True, related_name="+", verbose_name=_("tenant"))
    pool = models.CharField(
        _("pool"),
        max_length=20,
        help_text=_("lower-case letters, digits and hyphens; start workers with “run_index_worker --pool NAME”"),
    )
    changed_at = models.DateTimeField(_("changed"), db_default=Now())

    class Meta:
        db_table = "tenant_pool"
        verbose_name = _("tenant's own pool")
        verbose_name_plural = _("tenants' own pools")

    def __str__(self) -> str:
        return self.pool


class TaskEvent(models.Model):
    """What happened to a task: by a trigger every move and every wish that a running attempt is told of, by a worker its
    own late writes that were refused.

    Append-only, without foreign keys: it outlives tasks and documents.
    """

    task_id = models.BigIntegerField()
    tenant_id = models.BigIntegerField()
    kind = models.CharField(max_length=10, default="move", help_text="move, wish, or refused (a late write)")
    from_state = models.CharField(max_length=10, null=True)
    to_state = models.CharField(max_length=10, null=True)
    attempts = models.IntegerField()
    worker = models.CharField(max_length=200, null=True)
    stage = models.CharField(max_length=10, choices=choices(Stage), null=True, help_text="where the ended attempt was")
    action = models.CharField(max_length=20, null=True, help_text="which write was refused")
    code = models.CharField(max_length=50, null=True)
    detail = models.TextField(null=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "task_event"
        ordering = ["id"]
        indexes = [models.Index(fields=["task_id", "id"], name="task_event_of_task")]


class Chunk(models.Model):
    """A piece of one version under one pipeline. Invisible until a search pointer includes its generation.

    No foreign keys: the trigger that checks the lease compares tenant, document and pipeline with the task's, once a batch.
    """

    chunk_id = models.UUIDField(help_text="deterministic: see indexing.identity")
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="+", db_index=False, db_constraint=False)
    document = models.ForeignKey(Document, models.PROTECT, related_name="+", db_index=False, db_constraint=False)
    version_number = models.PositiveIntegerField()
    pipeline = models.ForeignKey(Pipeline, models.PROTECT, related_name="+", db_index=False, db_constraint=False)
    generation = models.PositiveIntegerField()
    ordinal = models.PositiveIntegerField()
    text = models.TextField()
    heading_path = models.JSONField()
    locator = models.JSONField()
    tokens = models.PositiveIntegerField()
    embedded_digest = models.CharField(max_length=64, help_text="key of its vector in the embedding cache")
    terms = SearchVectorField(help_text="tokens made by indexing.lexical, not by a text search configuration")
    task_id = models.BigIntegerField(help_text="the task that staged it")
    attempts = models.PositiveIntegerField(help_text="the attempt that staged it")

    class Meta:
        db_table = "chunk"
        constraints = [
            models.UniqueConstraint(
                fields=["document", "pipeline", "version_number", "generation", "ordinal"], name="chunk_ordinal_once"
            ),
            models.UniqueConstraint(fields=["chunk_id", "generation"], name="chunk_identity"),
        ]
        indexes = [
            GinIndex(fields=["terms"], name="chunk_terms"),
            models.Index(fields=["task_id"], name="chunk_of_task"),
        ]


class ChunkVector(models.Model):
    """The vector of a chunk, in a narrow table of its own: beside the text it would be stored out of line, and an exact
    scan would read two to five times as much."""

    chunk = models.OneToOneField(Chunk, models.CASCADE, primary_key=True, related_name="vector", db_constraint=False)
    tenant_id = models.BigIntegerField()
    document_id = models.UUIDField()
    version_number = models.PositiveIntegerField()
    generation = models.PositiveIntegerField()
    pipeline_id = models.PositiveSmallIntegerField()
    dimensions = models.PositiveSmallIntegerField()
    embedding = VectorField()

    class Meta:
        db_table = "chunk_vector"
        indexes = [
            models.Index(
                fields=["document_id", "pipeline_id", "version_number", "generation"], name="chunk_vector_of_set"
            )
        ]


class SearchPointer(models.Model):
    """Which version and generation of a document readers get under a pipeline. Never moves to a lower version."""

    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="+", db_index=False)
    document = models.ForeignKey(Document, models.PROTECT, related_name="search_pointers", db_index=False)
    pipeline = models.ForeignKey(Pipeline, models.PROTECT, related_name="+", db_index=False)
    version_number = models.PositiveIntegerField()
    generation = models.PositiveIntegerField()
    chunk_count = models.PositiveIntegerField()
    manifest_digest = models.CharField(max_length=64)
    gaps = models.JSONField(db_default=[], help_text="parts of the original that could not be read")
    verification = models.JSONField(null=True, help_text="how many chunks were found again at their places")
    task_id = models.BigIntegerField()
    attempts = models.PositiveIntegerField()
    switched_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "search_pointer"
        constraints = [models.UniqueConstraint(fields=["document", "pipeline"], name="search_pointer_once")]
        indexes = [models.Index(fields=["tenant", "pipeline"], name="search_pointer_of_tenant")]


class PointerLog(models.Model):
    """Every move of a search pointer, written by a trigger."""

    tenant_id = models.BigIntegerField()
    document_id = models.UUIDField(db_index=True)
    pipeline_id = models.PositiveSmallIntegerField()
    from_version = models.PositiveIntegerField(null=True)
    from_generation = models.PositiveIntegerField(null=True)
    to_version = models.PositiveIntegerField(null=True)
    to_generation = models.PositiveIntegerField(null=True)
    task_id = models.BigIntegerField()
    attempts = models.PositiveIntegerField()
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "pointer_log"
        ordering = ["id"]


class TermStatistic(models.Model):
    """In how many chunks of a tenant's serving pipeline a term stands. Kept by a scheduled command, never in finish."""

    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="+", db_index=False)
    pipeline = models.ForeignKey(Pipeline, models.CASCADE, related_name="+", db_index=False)
    term = models.TextField()
    chunks = models.PositiveIntegerField()

    class Meta:
        db_table = "term_statistic"
        constraints = [models.UniqueConstraint(fields=["tenant", "pipeline", "term"], name="term_statistic_once")]
