"""Run what is due by the clock, until told to stop."""

from __future__ import annotations

import sys
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connections

from indexing import schedules
from indexing.shutdown import end_with_parent, on_signals
from indexing.supervisor import LOOK, Child, Supervisor

GRACE = 5.0  # seconds for a running command to end; it goes on where it was at the next turn


class Command(BaseCommand):
    help = "Run the scheduler: registers the schedules of indexing/schedules.py and runs them with django-q2."

    def handle(self, *args: Any, **options: Any) -> None:
        end_with_parent()
        schedules.register()
        connections.close_all()
        # django-q2 in a process group of its own: SIGTERM was seen to leave its workers hanging, so after a grace the whole
        # group is killed. What it runs are commands that may be interrupted anywhere.
        supervisor = Supervisor([Child("qcluster", [sys.executable, str(settings.BASE_DIR / "manage.py"), "qcluster"])])
        stop = threading.Event()
        with on_signals(lambda _: stop.set()):
            while not stop.is_set() and supervisor.tend():
                stop.wait(LOOK)
            supervisor.stop(grace=GRACE)
