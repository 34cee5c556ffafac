"""A worker process that stops dead at a chosen point and says so, for a test to kill it there.

Run as `python -m tests.concurrency.halting_worker POINT`. The product has no such switch: this process replaces functions.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

POINTS = ("PARSE", "SPLIT", "EMBED", "INDEX", "VALIDATE", "STAGED_HALF", "SWITCHED", "COMMITTED")


def halt(point: str) -> None:
    print(f"AT {point}", flush=True)
    time.sleep(3600)


def arrange(point: str) -> None:
    """Make the worker halt at `point`: on reporting a stage, between two staged batches, after the pointer was moved but
    before the commit, after the commit of the finish, or when the second scanned page was kept."""
    from indexing import attempt, cache, queue, sink, statements

    def wrapped(function: Callable[..., Any], *, at: Callable[..., bool], after: bool = False) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            stop = at(*arguments, **options)
            if stop and not after:
                halt(point)
            result = function(*arguments, **options)
            if stop and after:
                halt(point)
            return result

        return call

    if point == "STAGED_HALF":
        sink.STAGE_BATCH = 3
        seen: list[int] = []
        attempt.sink.stage = wrapped(sink.stage, at=lambda *_, **__: bool(seen.append(1)) or len(seen) == 3)
    elif point == "SWITCHED":
        sink.row = wrapped(statements.row, at=lambda _, name, **__: name == "switch", after=True)
    elif point == "SCANNED_TWO":
        kept: list[int] = []
        cache.keep_scan = wrapped(
            cache.keep_scan, at=lambda *_, **__: bool(kept.append(1)) or len(kept) == 2, after=True
        )
    elif point == "COMMITTED":
        attempt.sink.finish = wrapped(sink.finish, at=lambda *_, **__: True, after=True)
    else:
        # The second report of EMBED and INDEX, so that one batch is done.
        reports: list[str] = []

        def reached(*_: Any, stage: str, **__: Any) -> bool:
            reports.append(stage)
            return stage == point and (point not in ("EMBED",) or reports.count(point) == 2)

        queue.report = wrapped(queue.report, at=reached)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")
    import django

    django.setup()
    from indexing.worker import Worker

    arrange(sys.argv[1])
    print(Worker(name="killed", lease_seconds=60).run_once().result, flush=True)


if __name__ == "__main__":
    main()
