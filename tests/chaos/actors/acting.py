"""What every actor is: a process with a name, a seed of its own and a ledger, that goes on until SIGTERM.

Run as `python -m tests.chaos.actors.NAME` by `tests.chaos.crew`, with the environment that `stage` reads.
"""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import django
import psycopg

from indexing.shutdown import end_with_parent
from tests.chaos import mutants, pace, plan
from tests.chaos.ledger import Ledger

Answer = TypeVar("Answer")
LONGEST_TURN = 5.0  # seconds between two deeds of an actor
logger = logging.getLogger("chaos.actor")


class Refused(Exception):
    """The product said no; nothing took place."""


class Unknown(Exception):
    """The connection broke: it may or may not have taken place."""


class Stage:
    """One actor's view of the run."""

    def __init__(self, *, name: str, folder: Path, request: plan.Request) -> None:
        self.name, self.request = name, request
        self.rng = random.Random(f"{request.seed} {name}")
        self.ledger = Ledger(folder / f"{name}.ledger", actor=name)
        self.folder = folder
        self.stopped = threading.Event()
        self._people: dict[str, Any] = {}
        self._turn = 0.0
        self._owner: psycopg.Connection[Any] | None = None
        signal.signal(signal.SIGTERM, lambda *_: self.stopped.set())

    def person(self, name: str) -> Any:
        """A user by name."""
        from django.contrib.auth.models import User

        if name not in self._people:
            self._people[name] = self.patiently(lambda: User.objects.get(username=name))
        return self._people[name]

    def command(
        self, action: str, call: Callable[[], Answer], *, told: Callable[[Answer], dict[str, Any]], **intent: Any
    ) -> Answer:
        """Send a command and keep the ledger. Raises `Refused` or `Unknown`."""
        from django.db import connection

        from documents.errors import DocumentsError
        from documents.outages import is_outage

        number = self.ledger.intend(action, **intent)
        try:
            answer = call()
        except DocumentsError as error:
            self.ledger.settle(number, "refused", why=type(error).__name__)
            raise Refused(type(error).__name__) from error
        except Exception as error:
            if not is_outage(error):
                raise
            self.ledger.settle(number, "unknown", why=type(error).__name__)
            connection.close()
            self.stopped.wait(0.1)
            raise Unknown from error
        self.ledger.settle(number, "acknowledged", **told(answer))
        return answer

    def patiently(self, call: Callable[[], Answer]) -> Answer:
        """Do something that may be repeated until the database answers."""
        from django.db import connection

        from documents.outages import is_outage

        while True:
            try:
                return call()
            except Exception as error:
                if not is_outage(error):
                    raise
                connection.close()
                if self.stopped.wait(0.1):
                    raise SystemExit(0) from None

    def ask(self, text: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Rows of a question to the database, as the owner: actors look where it hurts."""
        return self.owned(lambda owner: owner.execute(text, parameters).fetchall())

    def owned(self, call: Callable[[psycopg.Connection[Any]], Answer]) -> Answer:
        """Do something through the owner's connection, again if the database was away."""
        while True:
            try:
                if self._owner is None:
                    self._owner = psycopg.connect(
                        os.environ["CHAOS_OWNER"], autocommit=True, application_name=f"{self.name}-asks"
                    )
                return call(self._owner)
            except psycopg.OperationalError:
                if self._owner is not None:
                    self._owner.close()
                self._owner = None
                if self.stopped.wait(0.1):
                    raise SystemExit(0) from None

    def pause(self, seconds: float) -> None:
        """About so long, or until told to stop."""
        self.stopped.wait(self.rng.uniform(0.5, 1.5) * seconds)

    def every(self, tasks: float) -> None:
        """Until about so many tasks were made since the last time, or for a few seconds: so that a run has the same share of
        everything whatever its length and the machine's speed."""
        text = "SELECT coalesce(max(id), 0) FROM index_task"
        self._turn = max(self._turn, self.ask(text)[0][0] - tasks) + self.rng.uniform(0.5, 1.5) * tasks
        deadline = time.monotonic() + LONGEST_TURN
        while self.ask(text)[0][0] < self._turn and time.monotonic() < deadline and not self.stopped.wait(0.1):
            pass


def act(part: Callable[[Stage], None]) -> None:
    """Play a part: the body of an actor's module."""
    end_with_parent()
    django.setup()
    pace.hurry()
    request = plan.Request(**json.loads(os.environ["CHAOS_REQUEST"]))
    if request.mutant:
        mutants.apply(request.mutant)
    stage = Stage(name=os.environ["CHAOS_NAME"], folder=Path(os.environ["CHAOS_FOLDER"]), request=request)
    try:
        part(stage)
    except SystemExit:
        raise
    except Exception:
        logger.exception("defect in actor %s", stage.name)
        sys.exit(1)
    finally:
        stage.ledger.close()
