"""Pipelines: immutable configurations, which one serves a tenant, and the vector index of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import connections
from django.db.models import Exists, Max, OuterRef

from indexing.identity import config_digest
from indexing.lexical import TOKENIZER_REVISION
from indexing.models import Pipeline, TenantPipeline
from indexing.parsers import PARSER_REVISION
from indexing.providers import default_context_config, default_embedder_config, endpoint_providers
from indexing.splitters import BUDGET_UNIT, SPLITTER_REVISION
from indexing.states import PipelineRole

MAX_VECTOR_INDEX_DIMENSIONS = 2000  # pgvector's limit for HNSW over `vector`; above it the index is over `halfvec`


def default_config() -> dict[str, Any]:
    """The configuration that the settings describe."""
    config = {
        "parser": PARSER_REVISION,
        "splitter": splitter_config(),
        "embedder": default_embedder_config(),
        "lexical": TOKENIZER_REVISION,
    }
    context = default_context_config()
    return {**config, "context": context} if context else config


def of_release(config: Mapping[str, Any]) -> dict[str, Any]:
    """The same choices with the parser, splitter and tokens of this release, which are the only ones that it has."""
    splitter = {**config["splitter"], "revision": SPLITTER_REVISION, "unit": BUDGET_UNIT}
    return {**config, "parser": PARSER_REVISION, "splitter": splitter, "lexical": TOKENIZER_REVISION}


def splitter_config(strategy: str = "") -> dict[str, Any]:
    """The splitter's part of it, of another strategy if one is named. A setting that the strategy does not read is not in it:
    to change it changes nothing."""
    strategy = strategy or settings.KB_SPLITTER_STRATEGY
    config = {
        "strategy": strategy,
        "revision": SPLITTER_REVISION,
        "tokens": settings.KB_CHUNK_TOKENS,
        "unit": BUDGET_UNIT,
    }
    if strategy == "parent-child":
        config["childTokens"] = settings.KB_SPLITTER_CHILD_TOKENS
    elif strategy == "fixed":
        config |= {"characters": settings.KB_SPLITTER_CHARACTERS, "overlap": settings.KB_SPLITTER_OVERLAP}
    return config


def described_pipeline(*, using: str = "default") -> Pipeline | None:
    """The pipeline that the settings describe; None before `migrate` has made it."""
    return Pipeline.objects.using(using).filter(digest=config_digest(default_config())).first()


def ensure_default_pipeline(*, using: str) -> Pipeline:
    """The pipeline that the settings describe, made with its vector index if it is new. For the owner's connection."""
    config = default_config()
    pipeline = described_pipeline(using=using)
    if pipeline is None:
        embedder = config["embedder"]
        last = Pipeline.objects.using(using).aggregate(last=Max("id"))["last"] or 0
        pipeline = Pipeline.objects.using(using).create(
            id=last + 1,
            name=f"{embedder['model']} {embedder['dimensions']}d #{last + 1}",
            digest=config_digest(config),
            config=config,
            dimensions=embedder["dimensions"],
        )
    ensure_vector_index(pipeline_id=pipeline.pk, dimensions=pipeline.dimensions, using=using)
    return pipeline


def ensure_vector_index(*, pipeline_id: int, dimensions: int, using: str) -> None:
    """One partial HNSW index per pipeline, built without blocking writers; one that a crash left invalid is rebuilt."""
    name = vector_index_name(pipeline_id=pipeline_id, dimensions=dimensions)
    expression, operators = vector_expression(dimensions)
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [name])
        found = cursor.fetchone()
        if found == (True,):
            return
        if found:
            cursor.execute(f"DROP INDEX CONCURRENTLY {name}")
        # The graph is built in this much memory, and far more slowly once it is full. No parallel workers: each would have
        # a share of it in the server's shared memory, which containers keep small.
        memory = int(settings.KB_INDEX_BUILD_MEMORY // 1024)
        cursor.execute(f"SET maintenance_work_mem = '{memory}kB'; SET max_parallel_maintenance_workers = 0")
        try:
            cursor.execute(
                f"CREATE INDEX CONCURRENTLY {name} ON chunk_vector USING hnsw (({expression}) {operators}) "
                f"WHERE pipeline_id = {int(pipeline_id)}"
            )
        finally:
            cursor.execute("RESET maintenance_work_mem; RESET max_parallel_maintenance_workers")


def drop_unused_vector_index(pipeline: Pipeline, *, using: str) -> bool:
    """Before many chunks are filled in: writing into a graph costs several times what building it at the end does. An index
    that searches use is left alone, and False returned."""
    if TenantPipeline.objects.filter(pipeline=pipeline, role=PipelineRole.SERVING).exists():
        return False
    name = vector_index_name(pipeline_id=pipeline.pk, dimensions=pipeline.dimensions)
    with connections[using].cursor() as cursor:
        cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
    return True


def has_vector_index(pipeline: Pipeline) -> bool:
    """Whether its index is there and whole."""
    name = vector_index_name(pipeline_id=pipeline.pk, dimensions=pipeline.dimensions)
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [name])
        found: tuple[bool] | None = cursor.fetchone()
    return found == (True,)


def vector_index_name(*, pipeline_id: int, dimensions: int) -> str:
    return f"chunk_vector_hnsw_{int(pipeline_id)}_{int(dimensions)}"


def vector_expression(dimensions: int) -> tuple[str, str]:
    """The indexed expression over `embedding` and its operator class; searches must use the same expression."""
    kind = "vector" if dimensions <= MAX_VECTOR_INDEX_DIMENSIONS else "halfvec"
    return f"embedding::{kind}({int(dimensions)})", f"{kind}_cosine_ops"


def serving_pipeline(tenant_id: int) -> Pipeline | None:
    """The pipeline that searches of this tenant use."""
    serving = (
        TenantPipeline.objects.filter(tenant=tenant_id, role=PipelineRole.SERVING).select_related("pipeline").first()
    )
    return serving.pipeline if serving else None


def pipelines_by_provider() -> dict[str | None, list[Pipeline]]:
    """Pipelines whose model is behind an endpoint, by its provider (None: the settings tell of no such endpoint); those in
    use first, then the newest."""
    providers = endpoint_providers()
    used = Exists(TenantPipeline.objects.filter(pipeline=OuterRef("pk")).exclude(role=PipelineRole.RETIRED))
    found: dict[str | None, list[Pipeline]] = {}
    for pipeline in Pipeline.objects.filter(config__embedder__kind="openai").order_by(used.desc(), "-id"):
        found.setdefault(providers.get(pipeline.config["embedder"].get("endpoint", "")), []).append(pipeline)
    return found


def pipelines_to_fill(tenant_id: int) -> list[tuple[int, PipelineRole]]:
    """Pipelines under which a new version is indexed, the serving one first."""
    rows = TenantPipeline.objects.filter(tenant=tenant_id).exclude(role=PipelineRole.RETIRED)
    found = [(row.pipeline_id, PipelineRole(row.role)) for row in rows]
    return sorted(found, key=lambda item: (item[1] != PipelineRole.SERVING, item[0]))
