"""The life of an index task. Pure; the database enforces the same moves (sql/schema/), and a test compares."""

from __future__ import annotations

from enum import StrEnum


class TaskState(StrEnum):
    PENDING = "PENDING"
    """Waits for a worker. A claim makes it RUNNING; delete, supersede, withdraw or a person CANCELLED."""

    RUNNING = "RUNNING"
    """One worker holds a lease until `lease_until`. It ends the attempt as SUCCEEDED, RETRY_WAIT, DEAD or CANCELLED, or
    gives it back (PENDING). Once the lease is over, a claim takes the task over (RUNNING, attempts + 1) or, with the
    failure budget spent, makes it DEAD."""

    RETRY_WAIT = "RETRY_WAIT"
    """A passing fault; due at `next_attempt_at`. A claim makes it RUNNING; CANCELLED as for PENDING; a retry by a person
    makes it PENDING at once."""

    SUCCEEDED = "SUCCEEDED"
    """The search pointer was moved in the same transaction. Final."""

    DEAD = "DEAD"
    """Will not be tried again by itself. Reopened (PENDING) by a retry or by publishing the version again; CANCELLED by
    delete, supersede or withdraw."""

    CANCELLED = "CANCELLED"
    """Nobody wants the result; the code says why. Reopened (PENDING) when the version is published again or retried."""


MOVES: dict[TaskState, frozenset[TaskState]] = {
    TaskState.PENDING: frozenset({TaskState.RUNNING, TaskState.CANCELLED}),
    TaskState.RUNNING: frozenset(TaskState),
    TaskState.RETRY_WAIT: frozenset({TaskState.RUNNING, TaskState.CANCELLED, TaskState.PENDING}),
    TaskState.SUCCEEDED: frozenset(),
    TaskState.DEAD: frozenset({TaskState.PENDING, TaskState.CANCELLED}),
    TaskState.CANCELLED: frozenset({TaskState.PENDING}),
}

WAITING = (TaskState.PENDING, TaskState.RETRY_WAIT, TaskState.DEAD)
"""States from which delete, supersede, withdraw or a person cancels without asking a worker."""


class TaskType(StrEnum):
    INDEX = "INDEX"  # a version was published
    REINDEX = "REINDEX"  # a deliberate rebuild of one version, as a new generation
    RECOMPUTE = "RECOMPUTE"  # part of a bulk run


class Pool(StrEnum):
    ONLINE = "online"  # somebody waits for it
    BULK = "bulk"  # recompute runs; only workers started for it take these


class Stage(StrEnum):
    """Where a running task is; progress counts work within the stage."""

    PARSE = "PARSE"
    SPLIT = "SPLIT"
    EMBED = "EMBED"
    INDEX = "INDEX"
    VALIDATE = "VALIDATE"


class PipelineRole(StrEnum):
    """What a pipeline is to a tenant. Exactly one is SERVING."""

    BUILDING = "BUILDING"  # new versions are indexed under it too, old ones are filled in
    SERVING = "SERVING"  # searches use it
    STANDBY = "STANDBY"  # still kept up to date: the way back
    RETIRED = "RETIRED"  # nothing is indexed under it any more


class ItemOutcome(StrEnum):
    """What became of one document of a bulk run."""

    PENDING = "pending"  # its task waits or runs
    APPLIED = "applied"  # the index has the version that the run was to compute, or had it already
    SKIPPED_NEWER = "skipped_newer"  # a newer version was asked for meanwhile, and is not undone
    DELETED = "deleted"  # the document was deleted or withdrawn; the reason tells which
    FAILED = "failed"  # its task ended without a result, for the reason told. Not final: it may be tried again
