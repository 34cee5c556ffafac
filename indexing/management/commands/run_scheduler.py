"""Run what is due by the clock, until told to stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connections

from indexing import schedules
from indexing.shutdown import end_with_parent, on_signals

GRACE = 5.0  # seconds for a running command to end; it goes on where it was at the next turn


class Command(BaseCommand):
    help = "Run the scheduler: registers the schedules of indexing/schedules.py and runs them with django-q2."

    def handle(self, *args: Any, **options: Any) -> None:
        end_with_parent()
        schedules.register()
        connections.close_all()
        # django-q2 in a process group of its own: SIGTERM was seen to leave its workers hanging, so after a grace the whole
        # group is killed. What it runs are commands that may be interrupted anywhere.
        cluster = subprocess.Popen(
            [sys.executable, str(settings.BASE_DIR / "manage.py"), "qcluster"], start_new_session=True
        )

        def stop(_: int) -> None:
            cluster.terminate()
            threading.Timer(GRACE, lambda: _kill_group(cluster.pid)).start()

        with on_signals(stop):
            code = cluster.wait()
        _kill_group(cluster.pid)
        if code not in (0, -signal.SIGTERM, -signal.SIGKILL):
            self.stderr.write(f"The scheduler ended unexpectedly with code {code}.")
            sys.exit(1)


def _kill_group(group: int) -> None:
    """Kill what is left of the group; it may be gone."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return
