"""Bulk runs: compute many documents anew under one pipeline, by the same protocol as everything else.

A run is a list of documents, each with an order in the pool `bulk` and, in the end, an outcome. Any worker on that pool
carries it on; the rule that no pointer goes back is in the finish of each order, not here.

Whoever calls these services has made sure that the actor may: they are for operators of the whole site.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from documents.errors import NotFound
from documents.locks import hold_tenant
from documents.models import Document
from indexing import queue
from indexing.identity import config_digest
from indexing.recompute_list import FIRST, Where, check_pipeline, pages
from indexing.recompute_models import RecomputeRun
from indexing.recompute_plan import Plan, plan
from indexing.statements import row, rows
from indexing.states import ItemOutcome

__all__ = [
    "BATCH",
    "Counts",
    "Plan",
    "Where",
    "find",
    "go_on",
    "has_work",
    "plan",
    "progress",
    "refresh",
    "start",
    "stop",
]

MOST_BRIEF = 10  # thousands of documents
BATCH = 200  # documents locked and ordered in one transaction: a publish of one of them waits for that long


@dataclass(frozen=True, slots=True)
class Counts:
    """Documents of a run by outcome."""

    pending: int = 0
    applied: int = 0
    skipped_newer: int = 0
    deleted: int = 0
    failed: int = 0
    current: int = 0  # of `applied`: nothing was left to do

    @property
    def total(self) -> int:
        return self.pending + self.applied + self.skipped_newer + self.deleted + self.failed

    def to_json(self) -> dict[str, int]:
        return {
            "total": self.total,
            "pending": self.pending,
            "applied": self.applied,
            "skippedNewer": self.skipped_newer,
            "deleted": self.deleted,
            "failed": self.failed,
            "current": self.current,
        }


def start(
    *,
    actor_id: int | None,
    pipeline_id: int,
    tenant_id: int | None = None,
    where: Where | None = None,
    rebuild: bool = False,
) -> RecomputeRun:
    """Open a run and make its list with the orders, in bounded batches; one that was interrupted goes on, and one that is
    open already is not opened again. `tenant_id`: None for every tenant that has the pipeline.

    `rebuild`: also what is searchable at its requested version, as a new generation.
    Raises `NotFound`, and `Conflict` for a pipeline under which nothing is indexed (any more).
    """
    where = where or Where()
    run = _open(actor_id=actor_id, pipeline_id=pipeline_id, tenant_id=tenant_id, where=where, rebuild=rebuild)
    return go_on(run)


def go_on(run: RecomputeRun) -> RecomputeRun:
    """Make the rest of a run's list; nothing if it is complete, or was stopped."""
    where = Where.from_json(run.chosen)
    for last, listed in pages(
        pipeline_id=run.pipeline_id, tenant_id=run.tenant_id, where=where, after=run.listed_to or FIRST
    ):
        some = [item.document_id for item in listed]
        batches = [some[first : first + BATCH] for first in range(0, len(some), BATCH)] or [[]]
        ends = [*(batch[-1] for batch in batches[:-1]), last]
        if not all(_order(run, batch, up_to=end) for batch, end in zip(batches, ends, strict=True)):
            break  # stopped, or somebody else has made the whole list
    else:
        _order(run, [], up_to=None)
    run.refresh_from_db()
    return run


def progress(run: RecomputeRun) -> Counts:
    """How many documents came to which outcome, as of the last `refresh`."""
    found: dict[str, int] = dict.fromkeys(ItemOutcome, 0)
    current = 0
    for item in rows("recompute", "counts", run=run.pk):
        found[item["outcome"]] += item["count"]
        current += item["count"] if item["current"] else 0
    return Counts(**found, current=current)


def refresh(run: RecomputeRun, *, briefly: bool = False) -> Counts:
    """Enter what became of the documents since, and end the run if that is known of all. Failures are looked at again: their
    tasks may have been tried anew. `briefly`: some thousands of the pending ones, and no further than to a thousand of which
    none has ended: orders are worked off about as they were listed, so that this tells nearly all, for any run in a moment."""
    for outcome in (ItemOutcome.PENDING,) if briefly else (ItemOutcome.PENDING, ItemOutcome.FAILED):
        after = 0
        for number in itertools.count(1):
            found = row("recompute", "settle", run=run.pk, outcome=outcome, after=after)
            assert found is not None, "the statement always returns a row"
            if found["last"] is None or (briefly and (not found["changed"] or number == MOST_BRIEF)):
                break
            after = found["last"]
    row("recompute", "end", run=run.pk)
    run.refresh_from_db()
    return progress(run)


def has_work(run: RecomputeRun) -> bool:
    """Whether orders of the run wait or are worked on, those that somebody else made for the same versions apart."""
    return next(_orders(run), None) is not None


def stop(run: RecomputeRun) -> Counts:
    """List no more, and cancel the orders of the run that have not ended (another run that joined one loses it, too)."""
    row("recompute", "stop", run=run.pk)
    for task_id in _orders(run):
        queue.cancel(task_id=task_id)
    return refresh(run)


def _orders(run: RecomputeRun) -> Iterator[int]:
    after = 0
    while some := rows("recompute", "orders", run=run.pk, after=after):
        yield from (item["task_id"] for item in some)
        after = some[-1]["id"]


def find(run_id: int) -> RecomputeRun:
    """Raises `NotFound`."""
    run = RecomputeRun.objects.filter(pk=run_id).first()
    if run is None:
        raise NotFound(_("There is no run %(number)s.") % {"number": run_id})
    return run


def _open(
    *, actor_id: int | None, pipeline_id: int, tenant_id: int | None, where: Where, rebuild: bool
) -> RecomputeRun:
    check_pipeline(pipeline_id=pipeline_id, tenant_id=tenant_id)
    chosen = where.to_json()
    digest = config_digest({"pipeline": pipeline_id, "tenant": tenant_id, "chosen": chosen, "rebuild": rebuild})
    is_open = RecomputeRun.objects.filter(digest=digest, ended_at=None, stopped_at=None)
    if (run := is_open.first()) is not None:
        return run
    name = User.objects.filter(pk=actor_id or 0).values_list("username", flat=True).first() or ""
    try:
        with transaction.atomic():
            return RecomputeRun.objects.create(
                pipeline_id=pipeline_id,
                tenant_id=tenant_id,
                chosen=chosen,
                rebuild=rebuild,
                digest=digest,
                actor_id=actor_id,
                actor_name=name,
            )
    except IntegrityError:
        if (run := is_open.first()) is None:
            raise
        return run  # somebody else opened it at the same moment


@transaction.atomic
def _order(run: RecomputeRun, documents: Sequence[uuid.UUID], *, up_to: uuid.UUID | None) -> bool:
    """List some documents with their orders, and note that the list is made `up_to` there (None: to its end); False if there
    is no more to list.

    Locks in the order run, tenants, documents, tasks: what is published, deleted or purged meanwhile waits, or is seen.
    """
    held = row("recompute", "lock_run", run=run.pk)
    if held is None:
        return False
    if up_to is not None and (held["listed_to"] or FIRST) >= up_to:
        return True  # another process makes the same list
    tenants = Document.objects.filter(pk__in=documents).order_by("tenant_id").values_list("tenant_id", flat=True)
    for tenant_id in tenants.distinct():
        hold_tenant(tenant_id)
    rows("recompute", "lock_documents", documents=list(documents))
    listed = rows(
        "recompute",
        "order",
        run=run.pk,
        pipeline=run.pipeline_id,
        rebuild=run.rebuild,
        documents=list(documents),
        actor=run.actor_id,
        max_failures=settings.KB_MAX_FAILURES,
    )
    for item in listed:
        if item["ended"]:
            queue.reopen(task_id=item["task_id"])
    row("recompute", "listed", run=run.pk, document=up_to, complete=up_to is None)
    queue.wake_workers()
    return True
