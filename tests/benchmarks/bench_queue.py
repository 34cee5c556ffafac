"""How fast is the queue, and what is claiming worth at a million? Beside a plain script, in turns, in one run.

A life cycle is a claim and a fenced finish, with the triggers and the event log on, as the application's role, from one and
from four processes. Only the trigger that asks a success for its search pointer is off, since these tasks have no chunks;
`wholeFinish` is `sink.finish` of small documents with everything on. A backlog is filled up again after each round. Then a
transaction is held open while tasks go through, and the claim is timed at growing numbers of them.

Run: `make bench-queue ARGS="--format json"`, with `--full` for a million waiting and a million finished tasks (20 minutes).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import psycopg

from tests.benchmarks import queue_load, queue_snapshot
from tests.benchmarks.own_database import own_database
from tests.benchmarks.queue_crew import Crew, p

SIDES = ("plain", "one", "ten")
WORKERS = (1, 4)


def at_backlog(crew: Crew, superuser: psycopg.Connection[Any], options: argparse.Namespace) -> dict[str, Any]:
    """All sides in turns, each first in its turn; medians of the rounds."""
    result: dict[str, Any] = {}
    for commit in ("off", "on"):
        for workers in WORKERS:
            rates, claims = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
            for side in SIDES:
                crew.round(side, workers=workers, cycles=80, commit=commit)  # plans and caches
            for turn in range(options.rounds):
                for side in SIDES[turn % 3 :] + SIDES[: turn % 3]:
                    rate, took = crew.round(side, workers=workers, cycles=options.cycles, commit=commit)
                    rates[side].append(rate)
                    claims[side] += took
                queue_load.fill(superuser, "PENDING", 2 * options.cycles)
            medians = {side: statistics.median(values) for side, values in rates.items()}
            result[f"{workers} workers, synchronous_commit {commit}"] = {
                "cyclesPerSecond": {side: round(rate) for side, rate in medians.items()},
                "ratioOneAtATime": round(medians["one"] / medians["plain"], 2),
                "ratioTen": round(medians["ten"] / medians["plain"], 2),
                "claimP50Ms": {side: p(claims[side], 0.5) for side in SIDES},
                "claimP95Ms": {side: p(claims[side], 0.95) for side in SIDES},
            }
    return result


def claim_by_backlog(
    crew: Crew, superuser: psycopg.Connection[Any], host: str, options: argparse.Namespace
) -> dict[str, float]:
    """The claim at the largest backlog and at 1,000 in a database beside it, in turns: a change of load meets both."""
    small = Crew(host, 1, database="kb_small")
    with psycopg.connect(host=host, user="postgres", dbname="kb_small", autocommit=True) as other:
        queue_load.fill(other, "PENDING", 1_000)
        times = defaultdict[str, list[float]](list)
        for _ in range(10 * options.rounds):
            for name, side, connection in (("largest", crew, superuser), ("small", small, other)):
                times[name] += side.round("one", workers=1, cycles=100, commit="off")[1]
                queue_load.fill_tasks(connection, "PENDING", 100)
    small.end()
    largest, at_1000 = p(times["largest"], 0.5), p(times["small"], 0.5)
    return {"largestP50Ms": largest, "at1000P50Ms": at_1000, "growth": round(largest / at_1000, 2)}


def with_old_snapshot(crew: Crew, superuser: psycopg.Connection[Any], host: str, churn: int) -> dict[str, Any]:
    """Claim times before, while and after a transaction is held open, by the tasks that went through since it began."""
    step = churn // 4
    queue_load.fill(superuser, "PENDING", 2 * churn)
    superuser.execute("VACUUM ANALYZE")

    def measure() -> dict[str, float]:
        found = dict[str, float]()
        for side in ("plain", "one"):
            took = crew.round(side, workers=1, cycles=300, commit="off")[1]
            found |= {f"{side}P50Ms": p(took, 0.5), f"{side}P95Ms": p(took, 0.95)}
        return found

    result: dict[str, Any] = {"before": measure()}
    with psycopg.connect(host=host, user="kb_owner", dbname="kb") as holder:
        holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        holder.execute("SELECT count(*) FROM (SELECT 1 FROM index_task LIMIT 1) t")
        for number in range(1, 5):
            for side in ("plain", "one"):
                crew.round(side, workers=4, cycles=step, commit="off")
            result[f"after {number * step} cycles"] = measure()
    superuser.execute("VACUUM ANALYZE")
    result["closed and vacuumed"] = measure()
    last = f"after {4 * step} cycles"
    for side in ("plain", "one"):
        result[f"{side}Growth"] = round(result[last][f"{side}P50Ms"] / result["before"][f"{side}P50Ms"], 2)
    return result


def whole_finish(count: int) -> dict[str, Any]:
    """`sink.finish` of documents of four chunks: locks, wishes, digest over what is stored, pointer, success, logs."""
    from indexing import queue, sink
    from tests.db.staging import stage
    from tests.factories import make_world

    world = make_world("whole")
    took = list[float]()
    for number in range(count):
        world.publish(world.upload(f"# Text {number}\n\nWords."))
        lease = queue.claim(worker="bench", pool="online", lease_seconds=60)
        assert lease is not None
        manifest = stage(lease, [f"{number} {part}" for part in "abcd"])
        began = time.perf_counter()
        sink.finish(lease, manifest)
        took.append(time.perf_counter() - began)
    return {
        "documents": count,
        "p50Ms": p(took, 0.5),
        "p95Ms": p(took, 0.95),
        "perSecond": round(1 / statistics.median(took)),
    }


def measure(options: argparse.Namespace) -> dict[str, Any]:
    from django.conf import settings
    from django.core.management import call_command

    from kbsite import embedded_postgres

    call_command("migrate", verbosity=0)
    host = embedded_postgres.ensure_running(Path(settings.DATA_DIR))
    if options.snapshot_minutes:
        return queue_snapshot.run(options, host)
    report: dict[str, Any] = {"wholeFinish": whole_finish(options.documents), "backlogs": {}}
    with psycopg.connect(host=host, user="postgres", dbname="kb") as preparing:
        preparing.execute(queue_load.BARE)
        preparing.execute("ALTER TABLE index_task DISABLE TRIGGER index_task_success_guard")
    queue_load.copy_database(host, "kb_small")
    superuser = psycopg.connect(host=host, user="postgres", dbname="kb", autocommit=True)
    crew = Crew(host, max(WORKERS))
    present = 0
    for pending, done in [(1_000, 0), (100_000, 0)] + ([(1_000_000, 1_000_000)] if options.full else []):
        began = time.monotonic()
        queue_load.fill(superuser, "PENDING", pending - present)
        if done:
            queue_load.fill(superuser, "SUCCEEDED", done)
        superuser.execute("VACUUM ANALYZE")
        say(f"{pending} pending, {done} finished: filled in {time.monotonic() - began:.0f} s")
        present = pending
        report["backlogs"][f"{pending} pending, {done} finished"] = at_backlog(crew, superuser, options)
    report["claimByBacklog"] = claim_by_backlog(crew, superuser, host, options)
    say("holding a transaction open")
    report["oldSnapshot"] = with_old_snapshot(crew, superuser, host, options.churn)
    crew.end()
    superuser.close()
    return report


def say(words: str) -> None:
    if sys.stderr.isatty():
        print(words, file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="also a million waiting and a million finished tasks")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cycles", type=int, default=400, help="life cycles of a round, all workers together")
    parser.add_argument("--churn", type=int, default=20_000, help="tasks that go through while a transaction is open")
    parser.add_argument("--documents", type=int, default=100, help="of the whole finish")
    parser.add_argument(
        "--snapshot-minutes",
        type=float,
        help="instead: hold a transaction open for so long under load (queue_snapshot.py)",
    )
    parser.add_argument(
        "--against", choices=queue_snapshot.AGAINST, default="no-snapshot", help="what to compare it with"
    )
    parser.add_argument("--format", choices=["text", "json"], default="text")
    options = parser.parse_args()
    with own_database():
        report = measure(options)
    print(json.dumps(report, indent=None if options.format == "json" else 2))


if __name__ == "__main__":
    main()
