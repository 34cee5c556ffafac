"""Keeps a few child processes running, and leaves none behind."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from indexing.shutdown import PARENT

logger = logging.getLogger(__name__)

LONGEST_PAUSE = 60.0  # seconds between two starts of a child that keeps dying
LOOK = 0.1  # seconds between two looks at the children


class Child:
    """A command that is kept running, in a session of its own: Ctrl-C in a terminal reaches only the supervisor, which
    tells each child once. Its process group is killed after it has ended, so what it started ends with it."""

    def __init__(
        self,
        name: str,
        arguments: list[str],
        *,
        environment: Mapping[str, str] | None = None,
        log: Path | None = None,
        keep_output: bool = False,
        may_end: bool = False,
    ) -> None:
        """`log`: a file that its output is appended to; without one, it writes where this process does.
        `keep_output`: its standard output, a few lines, is kept in `output` instead.
        `may_end`: exit status 0 means that it has done its work, not that it is to be started again."""
        self.name, self.log, self.output = name, log, ""
        self.done = False  # ended as it should, or given up
        self.failures = 0  # ends that nobody asked for
        self._arguments, self._keep_output, self._may_end = arguments, keep_output, may_end
        self._environment = {**os.environ, **(environment or {}), PARENT: str(os.getpid())}
        self._process: subprocess.Popen[str] | None = None
        self._started_at = self._due_at = 0.0  # monotonic seconds
        self._pause = 0.5

    @property
    def pid(self) -> int | None:
        """Its process id, or None if it does not run."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start_if_due(self) -> None:
        if self._process is not None or self.done or time.monotonic() < self._due_at:
            return
        log = self.log.open("a") if self.log else None
        try:
            self._process = subprocess.Popen(  # noqa: S603 (commands of ours, no shell)
                self._arguments,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if self._keep_output else log,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        finally:
            if log:
                log.close()
        self._started_at = time.monotonic()

    def signal(self, number: int) -> None:
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):  # PermissionError: macOS, if only zombies are left
                os.killpg(self._process.pid, signal.SIGKILL)

    def collect(self, *, stopping: bool = False) -> None:
        """If it has ended, keep its output and decide whether and when it starts again."""
        if self._process is None or (status := self._process.poll()) is None:
            return
        self.kill()  # what it may have left behind
        if self._process.stdout is not None:
            self.output += self._process.stdout.read()
            self._process.stdout.close()
        self._process = None
        if stopping or (self._may_end and status == 0):
            self.done = True
            return
        self.failures += 1
        lived = time.monotonic() - self._started_at
        self._pause = 1.0 if lived > LONGEST_PAUSE else min(self._pause * 2, LONGEST_PAUSE)
        self._due_at = time.monotonic() + self._pause
        where = f" (see {self.log})" if self.log else ""
        logger.warning("%s ended with status %s%s; it starts again in %.0f s", self.name, status, where, self._pause)


class Supervisor:
    """A set of children. To be used from the main thread: a child's end is tied to the thread that started it
    (`indexing.shutdown.end_with_parent`)."""

    def __init__(self, children: Iterable[Child], *, most_failures: int | None = None) -> None:
        """`most_failures`: a child that ends unasked so often is given up; None for never."""
        self.children = list(children)
        self._most_failures = most_failures

    def tend(self) -> bool:
        """Start what should run and does not; False once every child is done. Call it again and again."""
        for child in self.children:
            child.collect()
            if self._most_failures is not None and child.failures >= self._most_failures:
                child.done = True
            child.start_if_due()
        return not all(child.done for child in self.children)

    def stop(self, *, grace: float) -> None:
        """Ask every child to end, kill what has not ended within `grace` seconds; nothing runs on return."""
        for child in self.children:
            child.signal(signal.SIGTERM)
        deadline = time.monotonic() + grace
        while running := [child for child in self.children if child.pid is not None]:
            if time.monotonic() >= deadline:
                logger.warning("killing %s after %.0f s", ", ".join(child.name for child in running), grace)
                self.kill()
            time.sleep(LOOK)
        for child in self.children:
            child.collect(stopping=True)

    def hurry(self) -> None:
        """A second request to end, for children that do what is most urgent and leave. May come from any thread."""
        for child in self.children:
            child.signal(signal.SIGTERM)

    def kill(self) -> None:
        for child in self.children:
            child.kill()
