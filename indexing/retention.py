"""What leaves of the index, after how long, and why: chunks that no search reaches, caches, ended tasks, logs.

`RULES` goes to `manage.py sweep` beside the truth's own (`documents.retention`); docs/retention.md tells of each. A setting of
0 keeps its rows for ever. Nothing under audit hold is removed by any rule, and the database refuses most of it to everybody.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.utils import timezone

from documents.retention import Rule, Stop
from indexing import orphans
from indexing.errors import EmbeddingUnavailable
from indexing.models import Pipeline
from indexing.orphans import DAY, Counts, remove_retired
from indexing.parsers import PARSER_REVISION
from indexing.providers import embedder_for
from indexing.retention_models import OrphanSet, RetentionRun
from indexing.statements import row
from indexing.states import PipelineRole

__all__ = ["RULES", "Counts", "is_due", "note_run", "remove_retired"]

Found = dict[str, Any] | None

YOUNGEST_LOG, YOUNGEST_TRAIL = 7.0, 365.0  # days
EVERY = timedelta(hours=20)  # rules that look at whole tables run once a day, whenever the sweep comes by


def is_due(rule: Rule) -> bool:
    """Whether a sweep by the clock should run the rule: always, or once a day for one that looks at whole tables."""
    return rule.each_time or not RetentionRun.objects.filter(pk=rule.name, ended_at__gt=timezone.now() - EVERY).exists()


def note_run(rule: Rule) -> None:
    """A rule that looks at whole tables has looked at all of them."""
    if not rule.each_time:
        RetentionRun.objects.update_or_create(rule=rule.name, defaults={"ended_at": timezone.now()})


def _orphans(name: str, title: str, why: str, setting: str, kind: OrphanSet.Kind) -> Rule:
    def hours() -> float:
        value: float = getattr(settings, setting)
        return value

    return Rule(
        name,
        title,
        why,
        setting,
        lambda: orphans.count(kind, hours=hours()),
        lambda batch, stop: orphans.remove(kind, hours=hours(), batch=batch, stop=stop),
    )


def _aged(
    name: str,
    title: str,
    why: str,
    setting: str,
    count: Callable[[float], Found],
    remove: Callable[[float, int, Stop], int],
    *,
    least: float = 0.0,
) -> Rule:
    """A rule over a whole table, run once a day; `count` and `remove` are told an age in seconds, of at least so many days (the
    owner's functions take nothing younger, sql/schema/)."""

    def seconds() -> float:
        days = float(getattr(settings, setting))
        return max(days, least) * DAY if days else 0.0

    def counted() -> int:
        found = count(seconds()) if seconds() else {"count": 0}
        assert found is not None, "an aggregate always returns a row"
        rows: int = found["count"]
        return rows

    def removed(batch: int, stop: Stop) -> int:
        return remove(seconds(), batch, stop) if seconds() else 0

    return Rule(name, title, why, setting, counted, removed, each_time=False)


def _looking(step: Callable[[float, int], Found], seconds: float, batch: int, stop: Stop) -> int:
    """Look at the entries of a cache that were not used for long, `batch` in a transaction, until none is left."""
    removed = 0
    while not stop():
        found = step(seconds, batch)
        assert found is not None, "the statement always returns a row"
        removed += found["removed"]
        if not found["looked"]:
            break
    return removed


def _walking(step: Callable[[float, int, int], Found], seconds: float, batch: int, stop: Stop) -> int:
    """Walk over a table in the order of its ids, `batch` rows in a transaction, to its end or to rows that are too young."""
    removed, past = 0, 0
    while not stop():
        found = step(seconds, batch, past)
        assert found is not None, "the statement always returns a row"
        removed += found["removed"]
        if found["last"] is None:
            break
        past = found["last"]
    return removed


def _fingerprints() -> list[str] | None:
    """Of the models of all pipelines in use; None if one of them is not known here."""
    used = Pipeline.objects.filter(tenants__role__in=set(PipelineRole) - {PipelineRole.RETIRED}).distinct()
    try:
        return [embedder_for(pipeline.config).fingerprint() for pipeline in used]
    except EmbeddingUnavailable:
        return None


RULES = (
    _orphans(
        "replacedChunks",
        "chunks of replaced versions",
        "readers are served newer ones; what was cited stays longer",
        "KB_KEEP_REPLACED_HOURS",
        OrphanSet.Kind.REPLACED,
    ),
    _orphans(
        "stagedChunks",
        "chunks staged in vain",
        "their task failed or was cancelled, and nobody tried again",
        "KB_KEEP_STAGED_HOURS",
        OrphanSet.Kind.ABANDONED,
    ),
    Rule(
        "retiredPipelines",
        "chunks of retired pipelines",
        "no search can use them, and retired is no way back",
        "",
        orphans.count_retired,
        lambda batch, stop: orphans.sweep_retired(batch=batch, stop=stop),
    ),
    _aged(
        "cachedVectors",
        "cached vectors",
        "no stored chunk has their text, or no pipeline their model",
        "KB_KEEP_CACHES_DAYS",
        lambda seconds: row("retention", "count_vectors", seconds=seconds, fingerprints=_fingerprints()),
        partial(
            _looking,
            lambda seconds, batch: row(
                "retention", "remove_vectors", seconds=seconds, limit=batch, fingerprints=_fingerprints()
            ),
        ),
    ),
    _aged(
        "cachedParses",
        "cached parse results",
        "a newer parser made them old, or newer versions their bytes",
        "KB_KEEP_CACHES_DAYS",
        lambda seconds: row("retention", "count_parses", seconds=seconds, revision=PARSER_REVISION),
        partial(
            _looking,
            lambda seconds, batch: row(
                "retention", "remove_parses", seconds=seconds, limit=batch, revision=PARSER_REVISION
            ),
        ),
    ),
    _aged(
        "cachedSentences",
        "cached sentences about chunks",
        "the last indexing of their document did not use them",
        "KB_KEEP_CACHES_DAYS",
        lambda seconds: row("retention", "count_sentences", seconds=seconds),
        partial(_looking, lambda seconds, batch: row("retention", "remove_sentences", seconds=seconds, limit=batch)),
    ),
    _aged(
        "indexTasks",
        "ended index tasks",
        "they were for older versions, whose chunks have left",
        "KB_KEEP_TASKS_DAYS",
        lambda seconds: row("retention", "count_tasks", seconds=seconds),
        partial(
            _walking,
            lambda seconds, batch, past: row("retention", "forget_tasks", seconds=seconds, limit=batch, past=past),
        ),
        least=YOUNGEST_LOG,
    ),
    _aged(
        "bulkRuns",
        "documents of old bulk runs",
        "what became of them was told long ago",
        "KB_KEEP_EVENTS_DAYS",
        lambda seconds: row("retention", "count_runs", seconds=seconds),
        partial(
            _walking,
            lambda seconds, batch, past: row("retention", "forget_runs", seconds=seconds, limit=batch, past=past),
        ),
        least=YOUNGEST_LOG,
    ),
    _aged(
        "taskEvents",
        "events of ended tasks",
        "what happened so long ago explains nothing any more",
        "KB_KEEP_EVENTS_DAYS",
        lambda seconds: row("retention", "count_events", seconds=seconds),
        partial(
            _walking,
            lambda seconds, batch, past: row("retention", "forget_events", seconds=seconds, limit=batch, past=past),
        ),
        least=YOUNGEST_LOG,
    ),
    _aged(
        "pointerMoves",
        "moves of search pointers",
        "which version readers had so long ago is told by the publications",
        "KB_KEEP_EVENTS_DAYS",
        lambda seconds: row("retention", "count_moves", seconds=seconds),
        partial(
            _walking,
            lambda seconds, batch, past: row("retention", "forget_moves", seconds=seconds, limit=batch, past=past),
        ),
        least=YOUNGEST_LOG,
    ),
    _aged(
        "providerEvents",
        "events of embedding providers",
        "what happened so long ago explains nothing any more",
        "KB_KEEP_EVENTS_DAYS",
        lambda seconds: row("retention", "count_outages", seconds=seconds),
        partial(
            _walking,
            lambda seconds, batch, past: row("retention", "forget_outages", seconds=seconds, limit=batch, past=past),
        ),
        least=YOUNGEST_LOG,
    ),
    _aged(
        "auditEvents",
        "events of the audit trail",
        "somebody decided how long the trail is kept",
        "KB_KEEP_AUDIT_DAYS",
        lambda seconds: row("retention", "count_trail", seconds=seconds),
        partial(
            _walking,
            lambda seconds, batch, past: row("retention", "forget_trail", seconds=seconds, limit=batch, past=past),
        ),
        least=YOUNGEST_TRAIL,
    ),
)
