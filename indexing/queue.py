"""The queue: a row in `index_task` per order. Claims are atomic; every later write names its attempt and is refused once
the lease is over. Each function runs in the caller's transaction, or commits at once where the caller has none."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import Error, connection, transaction

from documents.outages import is_outage
from indexing import errors
from indexing.backoff import Verdict
from indexing.lease import Lease
from indexing.statements import row, rows
from indexing.states import Pool, Stage, TaskState, TaskType
from indexing.turns import EVERYWHERE, Place, Turns

logger = logging.getLogger(__name__)

CHANNEL = "index_task"

_EXHAUSTED = (
    "The worker stopped several times while it indexed this version. Retry it, and tell an operator if it goes on."
)


def enqueue(
    *,
    tenant_id: int,
    document_id: uuid.UUID,
    version_number: int,
    pipeline_id: int,
    actor_id: int | None,
    has_readers: bool,
    task_type: TaskType = TaskType.INDEX,
    generation: int = 1,
    pool: str = Pool.ONLINE,
    priority: int = 0,
) -> tuple[int, TaskState]:
    """Order a version's indexing, or find the order there is; one that is dead, cancelled or waiting is reopened."""
    identity: dict[str, Any] = {
        "tenant": tenant_id,
        "document": document_id,
        "version": version_number,
        "pipeline": pipeline_id,
        "task_type": task_type,
        "generation": generation,
    }
    created = row(
        "queue",
        "enqueue",
        **identity,
        pool=pool,
        priority=priority,
        max_failures=settings.KB_MAX_FAILURES,
        readers_requested=has_readers,
        actor=actor_id,
    )
    wake_workers()
    if created is not None:
        return created["id"], TaskState.PENDING
    found = row("queue", "find_order", **identity)
    assert found is not None, "the order was refused because it exists, and orders are never removed"
    state = TaskState(found["state"])
    if (
        state is not TaskState.SUCCEEDED
        and reopen(task_id=found["id"], has_readers=has_readers)
        and (state is not TaskState.RUNNING)
    ):
        state = TaskState.PENDING
    return found["id"], state


def reopen(*, task_id: int, has_readers: bool | None = None) -> bool:
    """Try a dead, cancelled or waiting task again with a new budget; False if it cannot be.

    `has_readers`: whether a publish names readers; None if nobody decided about them.
    """
    wake_workers()
    return row("queue", "reopen", task=task_id, has_readers=has_readers) is not None


def cancel_older(*, document_id: uuid.UUID, version_number: int) -> int:
    """Cancel what waits for versions below `version_number`; return how many."""
    return len(
        rows("queue", "cancel_older", document=document_id, version=version_number, message=str(errors.Superseded()))
    )


def cancel_waiting(*, document_id: uuid.UUID, reason: errors.CancelledError) -> int:
    """Cancel everything that waits for a document; return how many."""
    return len(rows("queue", "cancel_waiting", document=document_id, code=reason.code, message=str(reason)))


def cancel(*, task_id: int) -> bool:
    """A person cancels a task: at once, or before a running attempt's next step. False if it has ended already."""
    return row("queue", "cancel_task", task=task_id, message=str(errors.CancelledByUser())) is not None


def claim(
    *, worker: str, pool: str, lease_seconds: float, paused: Sequence[int] = (), turns: Turns | None = None
) -> Lease | None:
    """Take the next task, or None. Committed on return: no lock is held while it is worked on.

    `paused`: pipelines whose tasks stay where they are, but for those that have waited too long. `turns`: what the worker
    remembers of its last claims.
    """
    leases = claim_many(worker=worker, pool=pool, lease_seconds=lease_seconds, limit=1, paused=paused, turns=turns)
    return leases[0] if leases else None


def claim_many(
    *,
    worker: str,
    pool: str,
    lease_seconds: float,
    limit: int,
    paused: Sequence[int] = (),
    turns: Turns | None = None,
) -> list[Lease]:
    """Take up to `limit` (at most 100) tasks at once; each has a lease of its own, to be renewed, ended or given back."""
    looks = [turns.look(), EVERYWHERE] if turns else [EVERYWHERE]
    for look in looks:
        taken = rows(
            "queue",
            "claim",
            worker=worker,
            pool=pool,
            lease=lease_seconds,
            limit=limit,
            exhausted=_EXHAUSTED,
            paused=list(paused),
            longest_wait=settings.KB_MAX_WAIT_SECONDS,
            **look.parameters,
        )
        if taken:
            break
    places = sorted(
        Place(found.pop("part"), found["tenant_id"], found.pop("priority"), found.pop("fair"), found["id"])
        for found in taken
    )
    if turns:
        turns.took(places)
    return [Lease(task_id=found.pop("id"), worker=worker, **found) for found in taken]


def renew(lease: Lease, *, lease_seconds: float) -> str:
    """Prolong a lease: “renewed”, “busy” (our own transaction holds the row) or “lost”."""
    found = row("queue", "renew", **lease.token, lease=lease_seconds)
    assert found is not None, "the statement always returns a row"
    outcome: str = found["outcome"]
    return outcome


def fence(lease: Lease, *, action: str = "write") -> None:
    """Make this transaction the holder of the lease, for `action`. Raises `LeaseLost`; the caller rolls back."""
    if row("queue", "fence", **lease.token) is None:
        raise errors.LeaseLost(action)


def succeed(lease: Lease, *, chunks: int) -> None:
    """Mark the task done, in the transaction that fenced it. Raises `LeaseLost`; the caller rolls back."""
    if row("queue", "succeed", task=lease.task_id, attempts=lease.attempts, count=chunks) is None:
        raise errors.LeaseLost("finish")


def report(lease: Lease, *, stage: Stage, done: int = 0, total: int = 0) -> None:
    """Say where the work is. Raises `LeaseLost`, or a `CancelledError` or `AccessRevoked` if nobody wants it any more: text of
    a document that was deleted meanwhile, or that nobody may read, is not sent to a provider."""
    found = row("queue", "report", **lease.token, stage=stage, done=done, total=total)
    if found is None:
        raise errors.LeaseLost("report")
    if found["deleted"]:
        raise errors.DocumentDeleted
    if found["withdrawn"]:
        raise errors.DocumentWithdrawn
    if found["cancel_requested"]:
        raise errors.CancelledByUser
    if found["revoked"]:
        raise errors.AccessRevoked


def release(lease: Lease) -> None:
    """Give the lease back, uncharged. Raises `LeaseLost`."""
    if row("queue", "release", **lease.token) is None:
        raise errors.LeaseLost("release")
    wake_workers()


def fail(lease: Lease, *, error: errors.IndexingError, verdict: Verdict) -> None:
    """End the attempt as `verdict` says. Raises `LeaseLost`: then no failure is recorded."""
    ended = row(
        "queue",
        "fail",
        **lease.token,
        state=verdict.state,
        charge=verdict.charge,
        delay=verdict.delay,
        code=error.code,
        message=str(error),
        places=json.dumps(error.places, ensure_ascii=False) if error.places else None,
    )
    if ended is None:
        raise errors.LeaseLost("fail")


def outcome(lease: Lease) -> TaskState | None:
    """How the lease's attempt ended by its own word; None if it did not."""
    found = row("queue", "outcome", **lease.token)
    return TaskState(found["to_state"]) if found else None


def times_ended(lease: Lease, *, code: str) -> int:
    """How often `code` ended earlier attempts of the task since it was last opened."""
    found = row("queue", "times_ended", task=lease.task_id, code=code)
    assert found is not None, "an aggregate always returns a row"
    count: int = found["count"]
    return count


def prioritise(*, task_id: int, priority: int) -> bool:
    """Give a waiting task another priority (lower is sooner); False if it does not wait."""
    wake_workers()
    return row("queue", "prioritise", task=task_id, priority=priority) is not None


def move_waiting(*, tenant_id: int, limit: int) -> int:
    """Move up to `limit` waiting tasks of a tenant into the pool where they belong now; return how many were moved."""
    wake_workers()
    return len(rows("queue", "move_waiting", tenant=tenant_id, limit=limit))


def unattended_pools(*, pools: Sequence[str], seconds: float) -> dict[str, int]:
    """Those of `pools` whose first task has waited for `seconds` while nothing runs there, with how many wait (≤ 1000)."""
    found = rows("queue", "unattended_pools", pools=list(pools), seconds=seconds)
    return {pool["pool"]: pool["waiting"] for pool in found}


def record_refusal(lease: Lease, *, action: str) -> None:
    """Remember a late write that was refused, with the reason that the row gives now, once for an attempt and action.

    In a transaction of its own. Without a database only the log is told: the attempt is over either way.
    """
    try:
        row("queue", "record_refusal", **lease.token, action=action)
    except Error as error:
        if not is_outage(error):
            raise
        logger.warning("task %s: %s was refused, and not noted: %s", lease.task_id, action, str(error).strip())
        connection.close()


def seconds_until_due(*, pool: str, paused: Sequence[int] = ()) -> float | None:
    """When something becomes due by the clock alone, or None if nothing waits for time; `paused` as for `claim`."""
    found = row("queue", "next_due", pool=pool, paused=list(paused))
    return found["seconds"] if found else None


def wake_workers() -> None:
    """Tell sleeping workers after commit. Only a hint: polling finds the task anyway."""
    transaction.on_commit(_notify, robust=True)


def _notify() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, '')", [CHANNEL])
