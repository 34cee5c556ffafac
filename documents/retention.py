"""What leaves, after how long, and why: the rules of the truth. The index adds its own (`indexing.retention`); `manage.py
sweep` runs all. docs/retention.md tells of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from documents import content, purging
from documents.api import idempotency

Stop = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of rows that leave by themselves."""

    name: str  # for programs
    title: str  # what leaves, in the plural
    why: str
    setting: str  # after how long, in settings; empty where it is at once
    count: Callable[[], int]  # how many would leave now
    # (batch, stop) → how many left. In transactions of at most `batch` rows each, `stop` asked between them; what was done
    # stays done. Raises `Incomplete` with how many were `removed` if some could not be.
    remove: Callable[[int, Stop], int]
    each_time: bool = True  # by every sweep; else once a day, as it looks at whole tables


def _count_uploads() -> int:
    return content.orphans().count() + content.marked().count()


# In this order: what a purge could not remove from the storage is tried again, and told of, with the uploads.
RULES = (
    Rule(
        "deletedDocuments",
        "deleted documents",
        "they are invisible since they were deleted; now their text and files leave the disk",
        "",
        lambda: purging.waiting().count(),
        lambda batch, stop: purging.purge_deleted(batch=batch, stop=stop),
    ),
    Rule(
        "stagedUploads",
        "uploads without a version",
        "a crash or a change of mind came between the upload and its version",
        "KB_UPLOAD_GRACE_SECONDS",
        _count_uploads,
        lambda batch, stop: content.sweep(batch=batch, stop=stop),
    ),
    Rule(
        "idempotencyRecords",
        "old idempotency records",
        "nobody repeats a request after so long",
        "KB_IDEMPOTENCY_SECONDS",
        lambda: idempotency.old_records().count(),
        lambda batch, stop: idempotency.sweep(batch=batch, stop=stop),
    ),
)
