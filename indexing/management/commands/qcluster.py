"""django-q2's own command, ended with the process that started it: its processes would outlive a killed scheduler."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Any

from django_q.management.commands import qcluster

from indexing.shutdown import end_with_parent


class Command(qcluster.Command):  # type: ignore[misc]
    def handle(self, *args: Any, **options: Any) -> None:
        # Not by SIGTERM: the kernel sends one for each thread of the killed parent, and django-q2's handler, interrupted by
        # itself, waits for a lock that it holds.
        signal.signal(signal.SIGUSR1, _kill_group)
        end_with_parent(by=signal.SIGUSR1)
        super().handle(*args, **options)


def _kill_group(number: int, frame: FrameType | None) -> None:
    """End this cluster with all its processes: a supervisor starts it in a group of its own, and what it runs are commands
    that may be interrupted anywhere."""
    os.killpg(0, signal.SIGKILL)
