"""`manage.py run_index_worker`: makes published versions searchable."""

from __future__ import annotations

import json
import logging
import math
import os
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error

from documents.outages import is_outage
from indexing import pools
from indexing.bulk_worker import BulkWorker
from indexing.lease import LONGEST_LEASE
from indexing.parsers.lockdown import missing_locks
from indexing.shutdown import end_with_parent, on_signals
from indexing.states import Pool
from indexing.supervisor import LOOK, Child, Supervisor
from indexing.worker import Result, Round, Worker

logger = logging.getLogger(__name__)

USAGE = 2  # exit status for an argument that makes no sense
LONGEST_POLL = 86_400.0  # seconds
MOST_PROCESSES = 64
MOST_TASKS = 100  # that one claim hands out
LONGEST_NAME = 150  # characters; the column has room for what `--processes` appends
LAST_WORDS = 5.0  # seconds to give a lease back once the grace is over
MOST_FAILURES = 5  # unasked ends of one process of a drain after which it is given up


class Command(BaseCommand):
    help = (
        "Makes published versions searchable, until SIGTERM or Ctrl-C: these end it once the task at hand is finished or its "
        "lease given back; a second one ends it at once. Standard output gets what the rounds came to."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        mode = parser.add_mutually_exclusive_group()
        mode.add_argument("--once", action="store_true", help="one task; prints IDLE, SUCCEEDED, FAILED or LOST_LEASE")
        mode.add_argument("--drain", action="store_true", help="until nothing is due")
        parser.add_argument("--processes", type=int, default=1, metavar="N", help="number of worker processes")
        parser.add_argument("--poll", type=float, metavar="S", help="seconds between two looks at the queue")
        parser.add_argument("--lease", type=float, metavar="S", help="seconds until an unattended task is taken over")
        parser.add_argument("--name", metavar="X", help="who holds a task, for people; X-1, X-2 … with --processes")
        parser.add_argument(
            "--pool", metavar="NAME", default=str(Pool.ONLINE), help="whose tasks: online, bulk, or a tenant's own pool"
        )
        parser.add_argument(
            "--batch", type=int, metavar="N", help="tasks to take at once, whose texts share requests (for bulk runs)"
        )
        parser.add_argument("--format", choices=["text", "json"], default="text")

    def handle(self, *_: Any, **options: Any) -> None:
        options["poll"] = _seconds(options["poll"], "--poll", settings.KB_POLL_SECONDS, "KB_POLL_SECONDS", LONGEST_POLL)
        options["lease"] = _seconds(
            options["lease"], "--lease", settings.KB_LEASE_SECONDS, "KB_LEASE_SECONDS", LONGEST_LEASE
        )
        _check(options)
        end_with_parent()
        if options["processes"] > 1:
            self._run_processes(options)
        else:
            self._run_here(options)

    def _run_here(self, options: dict[str, Any]) -> None:
        worker = _worker(options)
        ending = Ending(worker, grace=settings.KB_STOP_GRACE_SECONDS, before=partial(self._print_left, worker, options))
        _warn_of_unknown_pool(worker.pool)
        _warn_of_missing_locks()
        logger.info("worker %s: pool %s, lease %g s", worker.name, worker.pool, worker.lease_seconds)
        try:
            with on_signals(ending.told):
                if options["once"]:
                    round_ = worker.run_once()
                    ending.take_over()
                    self._print_round(round_, options)
                else:
                    worker.run(drain=options["drain"])
                    ending.take_over()
                    self._print_counts(worker.counts, options)
        except Error as error:
            if not is_outage(error):
                raise
            raise CommandError(f"The database cannot be used: {str(error).strip()}") from error

    def _run_processes(self, options: dict[str, Any]) -> None:
        """Start this command several times and add up what the children print. They are new processes, not forks: neither
        a database connection nor the embedder's threads survive a fork."""
        base = options["name"] or f"{socket.gethostname()}:{os.getpid()}"
        supervisor = Supervisor(
            [_child(f"{base}-{number}", options) for number in range(1, options["processes"] + 1)],
            most_failures=MOST_FAILURES if options["drain"] else None,
        )
        stop = threading.Event()

        def told(count: int) -> None:
            stop.set()
            if count > 1:
                supervisor.hurry()

        with on_signals(told):
            while not stop.is_set() and supervisor.tend():
                stop.wait(LOOK)
            supervisor.stop(grace=settings.KB_STOP_GRACE_SECONDS + 2 * LAST_WORDS)
        counts: Counter[Result] = Counter()
        for child in supervisor.children:
            for line in child.output.splitlines():
                counts.update({Result(name): count for name, count in json.loads(line).items()})
        self._print_counts(counts, options)
        if options["drain"] and any(child.failures >= MOST_FAILURES for child in supervisor.children):
            raise CommandError("A worker process kept ending; the log says why.")

    def _print_left(self, worker: Worker, options: dict[str, Any], task_id: int | None) -> None:
        """What is printed when the process leaves in the middle of an attempt."""
        if options["once"]:
            self._print_round(Round(Result.LOST_LEASE, task_id), options)
            return
        if task_id is not None:
            worker.counts[Result.LOST_LEASE] += 1
        self._print_counts(worker.counts, options)

    def _print_round(self, round_: Round, options: dict[str, Any]) -> None:
        if options["format"] == "json":
            self.stdout.write(json.dumps({"result": round_.result, "taskId": round_.task_id}))
        else:
            self.stdout.write(round_.result)

    def _print_counts(self, counts: Counter[Result], options: dict[str, Any]) -> None:
        if options["format"] == "json":
            self.stdout.write(json.dumps({result: counts[result] for result in Result}))
        else:
            self.stdout.write(", ".join(f"{result} {counts[result]}" for result in Result))


class Ending:
    """What signals do to a worker. First it claims nothing more, and the attempt ends at its next step. If that takes longer
    than `grace` seconds, or another signal comes, its lease is given back from here and the process ends."""

    def __init__(self, worker: Worker, *, grace: float, before: Callable[[int | None], None]) -> None:
        """`before`: called before the process ends from here, with the task whose lease was given back, if any."""
        self._worker, self._grace, self._before = worker, grace, before
        self._last_word = threading.Lock()  # held, for ever, by the thread that ends the process

    def told(self, count: int) -> None:
        """The signal number `count` has come."""
        if count > 1:
            self._leave()
        logger.info("worker %s: stopping", self._worker.name)
        self._worker.stop.set()
        timer = threading.Timer(self._grace, self._leave)
        timer.daemon = True
        timer.start()

    def take_over(self) -> None:
        """The work has ended by itself: nothing ends the process from here any more."""
        self._last_word.acquire()

    def _leave(self) -> None:
        self._last_word.acquire()
        given_back: list[int | None] = []
        giving = threading.Thread(target=lambda: given_back.append(self._give_back()), daemon=True)
        giving.start()
        giving.join(LAST_WORDS)  # the database may not answer; then the lease runs out
        try:
            self._before(given_back[0] if given_back else None)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:  # nobody may read the output any more
            os._exit(0)  # not sys.exit: the main thread may be in native code and hear nothing

    def _give_back(self) -> int | None:
        lease = self._worker.current
        try:
            return lease.task_id if lease and self._worker.give_back() else None
        except Error:
            logger.warning("worker %s: the lease could not be given back", self._worker.name, exc_info=True)
            return None


def _worker(options: dict[str, Any]) -> Worker:
    common = {
        "name": options["name"],
        "pool": options["pool"],
        "lease_seconds": options["lease"],
        "poll_seconds": options["poll"],
    }
    return BulkWorker(batch=options["batch"], **common) if options["batch"] else Worker(**common)


def _child(name: str, options: dict[str, Any]) -> Child:
    arguments = [sys.executable, str(settings.BASE_DIR / "manage.py"), "run_index_worker", "--format", "json"]
    arguments += ["--name", name, "--pool", options["pool"]]
    arguments += ["--poll", str(options["poll"]), "--lease", str(options["lease"])]
    if options["drain"]:
        arguments.append("--drain")
    if options["batch"]:
        arguments += ["--batch", str(options["batch"])]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = os.environ.get("OMP_NUM_THREADS") or str(max(1, cores // options["processes"]))
    environment = {"OMP_NUM_THREADS": threads}
    return Child(name, arguments, environment=environment, keep_output=True, may_end=options["drain"])


def _seconds(given: float | None, option: str, default: float, setting: str, most: float) -> float:
    value, name = (default, setting) if given is None else (given, option)
    if not math.isfinite(value) or not 0 < value <= most:
        raise CommandError(f"{name} is a number of seconds above 0 and up to {most:.0f}.", returncode=USAGE)
    return value


def _warn_of_missing_locks() -> None:
    """To whoever runs the worker: a site that indexes what strangers upload should know."""
    if missing := missing_locks():
        logger.warning(
            "this machine has no %s: files are read in a process with limits, but what a hostile one could make a parser do is "
            "held back by Python alone (docs/security.md)",
            " and no ".join(missing),
        )


def _warn_of_unknown_pool(pool: str) -> None:
    """It may be about to be given to a tenant, so the worker runs."""
    try:
        known = pools.known_pools()
    except Error:
        return  # the loop tells of an outage
    if pool not in known:
        logger.warning(
            "no tenant has the pool %s (known: %s), so nothing is found in it: correct the name, or give a tenant this pool "
            "in the admin",
            pool,
            ", ".join(known),
        )


def _check(options: dict[str, Any]) -> None:
    name = options["name"]
    if not pools.is_name(options["pool"]):
        raise CommandError(
            "--pool is a name of up to 20 lower-case letters, digits and hyphens that begins with a letter.",
            returncode=USAGE,
        )
    if not 1 <= options["processes"] <= MOST_PROCESSES:
        raise CommandError(f"--processes is a number from 1 to {MOST_PROCESSES}.", returncode=USAGE)
    if options["batch"] is not None and not 1 <= options["batch"] <= MOST_TASKS:
        raise CommandError(f"--batch is a number from 1 to {MOST_TASKS}.", returncode=USAGE)
    if options["once"] and options["batch"]:
        raise CommandError("--once works on one task, so it takes no batch.", returncode=USAGE)
    if options["once"] and options["processes"] > 1:
        raise CommandError("--once works on one task, so it takes one process.", returncode=USAGE)
    if name is not None and not (name.isprintable() and name.strip() and len(name) <= LONGEST_NAME):
        raise CommandError(f"--name is a line of up to {LONGEST_NAME} characters.", returncode=USAGE)
