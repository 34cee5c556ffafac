"""`manage.py recompute`: computes many documents anew under one pipeline, while everything else goes on."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error

from documents.errors import DocumentsError
from documents.models import Tenant
from documents.outages import is_outage
from indexing import queue, recompute
from indexing.engines.base import Crew, Engine, EngineFailed
from indexing.engines.local import LocalEngine
from indexing.recompute import Counts, Plan, Where
from indexing.recompute_models import RecomputeRun
from indexing.shutdown import end_with_parent, on_signals
from indexing.states import Pool
from indexing.worker import Result

FAILED, USAGE, PARTIAL = 1, 2, 3
MOST_PROCESSES = 64
SHORTEST_LOOK, LONGEST_LOOK = 5.0, 30.0  # seconds between two looks at what waits for another try
TELL = 5.0  # seconds between two lines about how far it is
KEYS = "document, media-type, source, indexed-before"


class Command(BaseCommand):
    help = (
        "Compute documents anew under one pipeline: those that are not searchable under it at the version asked for, or all "
        "with --rebuild. What is published or deleted meanwhile is never undone. Exit codes: 0 every document has its "
        "outcome and none failed; 3 some failed, or are not known yet; 1 failed; 2 usage."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--pipeline", type=int, metavar="P", help="under which pipeline (its number)")
        parser.add_argument("--tenant", metavar="T", help="of one tenant (its short name) and no other")
        parser.add_argument(
            "--where",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help=f"only documents that meet this; KEY is one of {KEYS}. Again with the same key: any of them",
        )
        parser.add_argument("--rebuild", action="store_true", help="also what is searchable already")
        parser.add_argument(
            "--shard", default="1/1", metavar="I/N", help="only the I-th of N parts, by a hash of the id"
        )
        parser.add_argument("--resume", type=int, metavar="RUN", help="go on with a run that was interrupted")
        parser.add_argument("--stop", type=int, metavar="RUN", help="end a run: cancel what waits of it")
        parser.add_argument("--dry-run", action="store_true", help="count and estimate, and do nothing")
        parser.add_argument(
            "--engine",
            choices=("local", "ray", "none"),
            default="local",
            help="processes here, Ray actors, or workers that run elsewhere",
        )
        parser.add_argument("--address", metavar="A", help="of a Ray cluster; without it, one is started here")
        parser.add_argument("--processes", type=int, default=1, metavar="N", help="number of workers")
        parser.add_argument("--batch", type=int, metavar="N", help="tasks that a worker takes at once")
        parser.add_argument("--lease", type=float, metavar="S", help="seconds until an unattended task is taken over")
        parser.add_argument("--format", choices=("text", "json"), default="text")

    def handle(self, *_: Any, **options: Any) -> None:
        _check(options)
        end_with_parent()
        try:
            if options["dry_run"]:
                self._print_plan(recompute.plan(**_choice(options), workers=options["processes"]), options)
                return
            if options["stop"] is not None:
                run = recompute.find(options["stop"])
                self._print_counts(run, recompute.stop(run), options)
                return
            engine = _engine(options)  # before anything is written
            run = self._run(options)
            counts = self._work(run, engine, options) if engine else recompute.refresh(run)
        except DocumentsError as error:
            raise CommandError(str(error), returncode=FAILED) from error
        except EngineFailed as error:
            raise CommandError("A worker process kept ending; the log says why.", returncode=FAILED) from error
        except Error as error:
            if not is_outage(error):
                raise
            raise CommandError(f"The database cannot be used: {str(error).strip()}", returncode=FAILED) from error
        self._print_counts(run, counts, options)
        if counts.failed or counts.pending:
            sentence = f"{counts.failed} documents failed, {counts.pending} are pending."
            raise CommandError(f"{sentence} “--resume {run.pk}” goes on.", returncode=PARTIAL)

    def _run(self, options: dict[str, Any]) -> RecomputeRun:
        if options["resume"] is not None:
            return recompute.go_on(recompute.find(options["resume"]))
        run = recompute.start(actor_id=None, **_choice(options))
        if sys.stderr.isatty():
            self.stderr.write(f"run {run.pk}: {recompute.progress(run).total} documents")
        return run

    def _work(self, run: RecomputeRun, engine: Engine, options: dict[str, Any]) -> Counts:
        """Until no order of the run waits any more: some wait for another try, or are held by workers elsewhere."""
        stop = threading.Event()
        crew = Crew(
            workers=options["processes"],
            batch=options["batch"] or settings.KB_BULK_BATCH,
            lease_seconds=options["lease"] or settings.KB_LEASE_SECONDS,
            poll_seconds=settings.KB_POLL_SECONDS,
            name=f"{socket.gethostname()}:{os.getpid()}",
        )
        telling = threading.Thread(target=partial(self._tell, run, stop), daemon=True)
        with on_signals(lambda _count: stop.set()):
            telling.start()
            while not stop.is_set():
                rounds = engine.drain(crew, stop=stop)
                counts = recompute.refresh(run)
                if stop.is_set() or not recompute.has_work(run):
                    break
                # Processes are dear to start: if these found nothing, what waits is held elsewhere, or its provider is out.
                pause = SHORTEST_LOOK if rounds.total() == rounds[Result.IDLE] else 0.0
                due = queue.seconds_until_due(pool=Pool.BULK)
                stop.wait(min(LONGEST_LOOK, max(pause, due or 0.0)))
            stop.set()
        return counts

    def _tell(self, run: RecomputeRun, stop: threading.Event) -> None:
        from django.db import connection

        try:
            while not stop.wait(TELL):
                counts = recompute.refresh(RecomputeRun.objects.get(pk=run.pk), briefly=True)  # for the admin, too
                if sys.stderr.isatty():
                    self.stderr.write(f"run {run.pk}: {counts.total - counts.pending} of {counts.total} documents")
        except Error:
            pass  # the work itself hears of an outage
        finally:
            connection.close()

    def _print_plan(self, plan: Plan, options: dict[str, Any]) -> None:
        if options["format"] == "json":
            self.stdout.write(json.dumps(plan.to_json()))
            return
        lines = [
            f"{plan.documents} documents, {plan.current} searchable at the version asked for, {plan.to_compute} to compute",
            f"texts: {_about(plan.texts)}, to send: {_about(plan.texts_to_send)} ({_about(plan.tokens_to_send)} tokens)",
            f"time: {_about(plan.seconds, ' s')}, cost: {_about(plan.cost)}",
            "by these rates: " + ", ".join(f"{name} {value}" for name, value in plan.rates.items()),
        ]
        self.stdout.write("\n".join(lines))

    def _print_counts(self, run: RecomputeRun, counts: Counts, options: dict[str, Any]) -> None:
        if options["format"] == "json":
            self.stdout.write(json.dumps({"runId": run.pk, "ended": run.ended_at is not None, **counts.to_json()}))
        else:
            told = ", ".join(f"{name} {count}" for name, count in counts.to_json().items())
            self.stdout.write(f"run {run.pk}: {told}")


def _about(value: float | None, unit: str = "") -> str:
    return "not known" if value is None else f"about {value:,.0f}{unit}" if value >= 10 else f"about {value:.3g}{unit}"


def _engine(options: dict[str, Any]) -> Engine | None:
    if options["engine"] == "none":
        return None
    if options["engine"] == "local":
        return LocalEngine()
    from indexing.engines.actors import RayEngine

    try:
        return RayEngine(address=options["address"])
    except ImportError as error:
        sentence = "Ray is not installed: “pip install -r requirements-ray.txt”."
        raise CommandError(sentence, returncode=FAILED) from error


def _choice(options: dict[str, Any]) -> dict[str, Any]:
    """Which documents, as the services want it."""
    tenant_id = None
    if options["tenant"] is not None:
        tenant_id = Tenant.objects.filter(slug=options["tenant"]).values_list("pk", flat=True).first()
        if tenant_id is None:
            raise CommandError(f"There is no tenant {options['tenant']}.", returncode=USAGE)
    return {
        "pipeline_id": options["pipeline"],
        "tenant_id": tenant_id,
        "where": _where(options["where"], options["shard"]),
        "rebuild": options["rebuild"],
    }


def _where(conditions: list[str], shard: str) -> Where:
    found: dict[str, list[str]] = {}
    for condition in conditions:
        key, _, value = condition.partition("=")
        found.setdefault(key, []).append(value)
    if wrong := sorted(set(found) - set(KEYS.split(", "))) or [key for key, values in found.items() if "" in values]:
        raise CommandError(f"--where {wrong[0]}: KEY=VALUE, and KEY is one of {KEYS}.", returncode=USAGE)
    number, _, of = shard.partition("/")
    times = found.get("indexed-before", [])
    if len(times) > 1:
        raise CommandError("--where indexed-before is given once.", returncode=USAGE)
    try:
        return Where(
            documents=tuple(uuid.UUID(value) for value in found.get("document", [])),
            media_types=tuple(found.get("media-type", [])),
            sources=tuple(found.get("source", [])),
            indexed_before=_moment(times[0]) if times else None,
            shard=(int(number), int(of)),
        )
    except (ValueError, DocumentsError) as error:
        raise CommandError(f"--where or --shard: {error}", returncode=USAGE) from error


def _moment(text: str) -> datetime:
    """A date or time of ISO 8601; without a zone, of UTC."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _check(options: dict[str, Any]) -> None:
    refuse: Callable[[str], CommandError] = partial(CommandError, returncode=USAGE)
    named = [name for name in ("pipeline", "resume", "stop") if options[name] is not None]
    if len(named) != 1:
        raise refuse("One of --pipeline, --resume and --stop is needed.")
    if named != ["pipeline"] and (options["where"] or options["tenant"] or options["rebuild"] or options["dry_run"]):
        raise refuse("A run that there is keeps its own choice of documents.")
    if not 1 <= options["processes"] <= MOST_PROCESSES:
        raise refuse(f"--processes is a number from 1 to {MOST_PROCESSES}.")
    if options["batch"] is not None and not 1 <= options["batch"] <= 100:
        raise refuse("--batch is a number from 1 to 100.")
    if options["lease"] is not None and not 0 < options["lease"] <= 600:
        raise refuse("--lease is a number of seconds above 0 and up to 600.")
    if options["address"] and options["engine"] != "ray":
        raise refuse("--address is of a Ray cluster: add --engine ray.")
