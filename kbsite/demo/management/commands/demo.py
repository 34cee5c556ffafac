"""`manage.py demo`, usually through `make demo`: everything on one machine, with sample documents."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Sequence
from io import StringIO
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, connections

from indexing.shutdown import on_signals
from indexing.supervisor import Supervisor
from kbsite import embedded_postgres
from kbsite.demo import report, samples, services
from kbsite.demo.folder import DataFolder, InUse
from kbsite.demo.people import NameTaken, ensure_people
from kbsite.demo.publishing import Samples, Standing
from kbsite.demo.telling import Guide, Progress

USAGE = 2  # exit status for arguments that make no sense
LOOK = 0.3  # seconds between two looks at processes and documents
SETTLES_WITHIN = 600.0  # seconds after which a run with --exit gives up
STOPPED = "The demo was stopped before it was done. Run it again to go on."


class Command(BaseCommand):
    help = (
        "Start PostgreSQL, web server, worker and scheduler with sample documents, and print where to log in. Ctrl-C stops "
        "everything; the next run goes on where this one stopped."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8000, metavar="N", help="port of the web server (8000)")
        parser.add_argument("--reset", action="store_true", help="remove what earlier runs made, then start")
        parser.add_argument(
            "--exit", action="store_true", help="publish, index and search without a web server, then end"
        )
        parser.add_argument("--format", choices=["text", "json"], default="text", help="of what --exit prints")

    def handle(self, *_: Any, **options: Any) -> None:
        check(options)
        self.manifest, self.folder = samples.load(), DataFolder(settings.DATA_DIR)
        self.progress, self.stop = Progress(), threading.Event()
        with on_signals(lambda _: self.stop.set()):
            try:
                with self.folder.held(cwd=settings.BASE_DIR, embedded=settings.EMBEDDED_POSTGRES):
                    self._run(options)
            except InUse:
                raise CommandError(
                    f"Another demo uses {settings.DATA_DIR}. Stop it first, or set KB_DATA_DIR."
                ) from None
            except NameTaken as error:
                raise CommandError(
                    f"The database of DATABASE_URL has a user “{error}” that the demo did not make. Give it a database of "
                    "its own, or unset DATABASE_URL."
                ) from None
            except PermissionError as error:
                raise CommandError(
                    f"{error.filename} cannot be written to. Set KB_DATA_DIR to another folder."
                ) from error
            except Exception as error:
                if self.stop.is_set() and not isinstance(error, CommandError):
                    # Ctrl-C reaches the programs that make the database too, and their end is no fault.
                    raise CommandError(STOPPED) from error
                raise

    def _run(self, options: dict[str, Any]) -> None:
        if options["reset"]:
            self.progress.say(
                "starting over"
                if self.folder.reset(cwd=settings.BASE_DIR)
                else "no earlier run here; nothing to remove"
            )
        self.folder.prepare()
        self._prepare_database()
        if self.stop.is_set():
            raise CommandError(STOPPED)
        try:
            if options["exit"]:
                self._publish_and_exit(options)
            else:
                self._stay_up(options)
        finally:
            connections.close_all()  # before the server stops
            self.progress.say("stopping")

    def _prepare_database(self) -> None:
        self.progress.say("starting PostgreSQL" if settings.EMBEDDED_POSTGRES else "connecting to PostgreSQL")
        if settings.EMBEDDED_POSTGRES:
            embedded_postgres.ensure_running(settings.DATA_DIR)
        try:
            connections["owner"].ensure_connection()
        except OperationalError as error:
            raise CommandError(f"The database cannot be reached: {str(error).strip()}") from error
        self.progress.say("bringing the database up to date")
        call_command("migrate", interactive=False, verbosity=0, database="owner")

    def _stay_up(self, options: dict[str, Any]) -> None:
        supervisor = Supervisor(services.services(self.folder, port=options["port"]))
        try:
            supervisor.tend()  # the processes start while people and documents are made
            self.progress.say("starting web server, worker and scheduler")
            passwords = ensure_people(self.manifest, passwords=self.folder.passwords)
            url = f"http://{services.HOST}:{options['port']}"
            guide = Guide(url=url, logs=self.folder.own, **passwords)
            documents, up, settled = Samples(self.manifest), False, False
            while not self.stop.wait(LOOK):
                supervisor.tend()
                if not settled:
                    settled = self._advance(documents)
                up = up or services.is_ready(options["port"])
                self.stdout.write(guide.go_on(up=up, settled=settled), ending="")
                self.stdout.flush()
        finally:
            supervisor.stop(grace=settings.KB_STOP_GRACE_SECONDS + 5)

    def _advance(self, documents: Samples) -> bool:
        """Publish what can be published and tell of changes; True once nothing changes any more."""
        standings = documents.advance()
        self.progress.say_changes(standings)
        settled = all(standing.settled for standing in standings)
        if settled:
            self.progress.say("every sample document is settled")
        return settled

    def _publish_and_exit(self, options: dict[str, Any]) -> None:
        seconds = {"database": self.progress.seconds}
        ensure_people(self.manifest, passwords=self.folder.passwords)
        seconds["people"] = self.progress.seconds - sum(seconds.values())
        standings, results = self._drain()
        seconds["index"] = self.progress.seconds - sum(seconds.values())
        self.progress.say("counting the samples' terms, by which the search weighs words")
        call_command("refresh_term_statistics", stdout=StringIO())
        searched = report.search_all(self.manifest)
        seconds["search"] = self.progress.seconds - sum(seconds.values())
        seconds["total"] = self.progress.seconds
        answer = report.as_json(standings=standings, searched=searched, worker_results=results, seconds=seconds)
        if options["format"] == "json":
            self.stdout.write(json.dumps(answer, ensure_ascii=False, indent=2))
        else:
            for document in answer["documents"]:
                state = f"{document['indexState']} {document['errorCode'] or ''}".strip()
                self.stdout.write(f"{document['title']}: {state}, {document['chunks']} chunks")
        wrong = list(report.unexpected(standings, searched))
        for sentence in wrong:
            self.progress.say(f"not as expected: {sentence}")
        if wrong:
            raise CommandError(f"{len(wrong)} things are not as the manifest of the samples expects.")

    def _drain(self) -> tuple[Sequence[Standing], dict[str, int]]:
        """Publish, and let workers drain the queue until every sample is settled; what their rounds came to."""
        documents, results = Samples(self.manifest), Counter({"SUCCEEDED": 0, "FAILED": 0, "IDLE": 0})
        give_up_at = self.progress.seconds + SETTLES_WITHIN
        standings = documents.advance()
        while self.progress.seconds < give_up_at:
            worker = services.drain(self.folder)
            supervisor = Supervisor([worker], most_failures=3)
            try:
                while supervisor.tend():
                    if self.stop.wait(LOOK):
                        raise CommandError(STOPPED)
                    standings = documents.advance()
                    self.progress.say_changes(standings)
            finally:
                supervisor.stop(grace=settings.KB_STOP_GRACE_SECONDS + 5)
            results.update(services.counts(worker))
            standings = documents.advance()
            self.progress.say_changes(standings)
            if all(standing.settled for standing in standings):
                break
        return standings, {name: count for name, count in results.items() if count or name != "LOST_LEASE"}


def check(options: dict[str, Any]) -> None:
    """Everything that can be refused before anything is started."""
    if not settings.DEBUG:
        raise CommandError("The demo is for development machines only: it needs KB_DEBUG=true.")
    if options["format"] == "json" and not options["exit"]:
        raise CommandError("--format json goes with --exit.", returncode=USAGE)
    if options["reset"] and not settings.EMBEDDED_POSTGRES:
        raise CommandError(
            "--reset removes the embedded database only, and DATABASE_URL names another one. Nothing was done."
        )
    if not 1 <= options["port"] <= 65535:
        raise CommandError("--port is a number from 1 to 65535.", returncode=USAGE)
    if not options["exit"] and not services.is_free(options["port"]):
        raise CommandError(
            f'Port {options["port"]} is taken or not ours to use. Choose another one: make demo ARGS="--port 8123"'
        )
