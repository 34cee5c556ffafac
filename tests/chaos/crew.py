"""The processes of a run: each has a place that is filled again when its process has ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.environment import ROOT

GRACE = 15.0  # seconds between SIGTERM and SIGKILL at the end of a run


@dataclass
class Place:
    """What runs here, again and again. `name` is its connections' application_name; each process of a worker has its own
    number behind it."""

    name: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    for_ever: bool = True  # whether it is started again when it ends
    wanted: bool = True
    process: subprocess.Popen[bytes] | None = None
    started: int = 0
    stopped: bool = False  # by SIGSTOP
    statuses: list[int] = field(default_factory=list)

    @property
    def title(self) -> str:
        """What the process that runs now calls itself."""
        return f"{self.name}.{self.started}"

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def tend(self) -> None:
        """Notice an end, and start again if that is wanted."""
        if self.running:
            return
        if self.process is not None:
            self.statuses.append(self.process.returncode)
            self.process, self.stopped = None, False
            if not self.for_ever:
                self.wanted = False
        if self.wanted:
            self._start()

    def _start(self) -> None:
        self.started += 1
        arguments = [argument.replace("{title}", self.title) for argument in self.arguments]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def send(self, number: int) -> bool:
        """Send a signal; False if nothing runs."""
        if self.process is None or self.process.poll() is not None:
            return False
        os.kill(self.process.pid, number)
        if number in (signal.SIGSTOP, signal.SIGCONT):
            self.stopped = number == signal.SIGSTOP
        return True

    def kill(self) -> bool:
        """SIGKILL, and wait until it is gone; False if nothing ran."""
        if not self.send(signal.SIGKILL):
            return False
        assert self.process is not None
        self.process.wait(timeout=30)
        return True


class Crew:
    """All of them, by name."""

    def __init__(self, places: Sequence[Place]) -> None:
        self.places = {place.name: place for place in places}

    def workers(self) -> list[Place]:
        return [place for name, place in self.places.items() if name.startswith("worker")]

    def holder(self, title: str) -> Place | None:
        """The place whose process calls itself so, if it still runs and is not stopped."""
        place = self.places.get(title.rpartition(".")[0])
        return place if place and place.title == title and place.running and not place.stopped else None

    def excused(self) -> list[str]:
        """Names of connections whose process is stopped on purpose."""
        return [place.name for place in self.places.values() if place.stopped]

    def tend(self) -> None:
        for place in self.places.values():
            place.tend()

    def dismiss(self, *names: str) -> None:
        """End these by SIGTERM, and wait for them."""
        chosen = [self.places[name] for name in names]
        for place in chosen:
            place.wanted = False
            if place.stopped:
                place.send(signal.SIGCONT)
            place.send(signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        for place in chosen:
            if place.process is not None:
                with suppress(subprocess.TimeoutExpired):
                    place.process.wait(timeout=max(0.1, deadline - time.monotonic()))
                place.kill()
            place.tend()

    def end(self) -> None:
        """Leave nothing behind."""
        for place in self.places.values():
            place.wanted = False
            if place.process is not None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(place.process.pid, signal.SIGKILL)
                place.process.wait(timeout=30)


def as_environment(**values: object) -> dict[str, str]:
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}
