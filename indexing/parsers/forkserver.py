"""A process that is started once and forked for each file: to start Python and import a parser costs more than most files do.

It reads no file, answers nobody but the one who started it, and imports our own code only. The fork knows nothing of the
files before it; it closes the line to this process, sets its limits and locks, and only then looks at its file. What it may
not do, it may not do to this process either: no signals, no tracing, no memory shared with it. One thing is weaker than with
a process from scratch: all forks of one server have the same addresses. So whoever sees a parser fall over takes a new server
(`retire`), before a file could try out what another one has learned.

The line is a socket with one question and one answer at a time: `start` (with the file and the place for the answer as open
descriptors) is answered by the fork's process id, `end` by how the fork has ended, once it is killed and collected.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

IDLE_SECONDS = 60.0  # after which a server without a fork ends by itself
PATIENCE = 60.0  # seconds for an answer of the server, which may have a parser to import
_LONGEST = 4096  # bytes of a message

Work = Callable[[int, int, Mapping[str, Any]], None]
"""What a fork does: with the file's descriptor, the answer's, and what `start` was told."""


class ServerLost(Exception):
    """The server has ended, by itself or because somebody killed it, or does not answer."""


class ForkServer:
    """The line to a server. Threads may share it; a process that was forked from this one may not."""

    def __init__(self, command: list[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        self._line, theirs = socket.socketpair()
        self._line.settimeout(PATIENCE)
        self._lock = threading.Lock()
        self._forks, self._is_retired = 0, False
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module, no shell
                [*command, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=cwd,
                env=env,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def start(self, source: IO[bytes], told: Mapping[str, Any]) -> Fork:
        """A fork that works on `source`. Raises `ServerLost`."""
        readable, writable = os.pipe()
        try:
            pid = self._asked({"start": told}, [source.fileno(), writable])
        except BaseException:
            os.close(readable)
            raise
        finally:
            os.close(writable)
        return Fork(self, pid, os.fdopen(readable, "rb", buffering=0))

    def end(self, pid: int) -> int | None:
        """Kill a fork's whole process group and collect it; its exit status, negative for a signal, None if nobody knows."""
        try:
            return self._asked({"end": pid}, [])
        except ServerLost:  # its forks have ended with it
            return None

    def retire(self) -> None:
        """End as soon as no fork works any more, at the latest with the last one's end."""
        with self._lock:
            self._is_retired = True
            if not self._forks:
                self._close()

    def _asked(self, question: Mapping[str, Any], descriptors: list[int]) -> int:
        with self._lock:
            try:
                socket.send_fds(self._line, [json.dumps(question).encode() + b"\n"], descriptors)
                answer = self._line.recv(_LONGEST)
            except OSError:
                answer = b""
            if not answer:
                self._close()
                raise ServerLost
            self._forks += 1 if "start" in question else -1
            if self._is_retired and not self._forks:
                self._close()
            return int(answer)

    def _close(self) -> None:
        self._line.close()
        self._process.kill()
        self._process.wait()


@dataclass
class Fork:
    """A fork at work. `stdout` is what it answers; `returncode` is known after its end."""

    server: ForkServer
    pid: int
    stdout: IO[bytes]
    returncode: int | None = None

    def end(self) -> None:
        """Kill what still runs of it, and collect it; once."""
        if not self.stdout.closed:
            self.stdout.close()
            self.returncode = self.server.end(self.pid)


def serve(work: Work, prepare: Callable[[Mapping[str, Any]], None]) -> None:
    """The server: `work` in a fork for each start, until the line is cut. `prepare` is called before, in the server."""
    line = socket.socket(fileno=int(sys.argv[1]))
    line.settimeout(IDLE_SECONDS)
    forks: set[int] = set()
    try:
        while True:
            try:
                message, descriptors, _, _ = socket.recv_fds(line, _LONGEST, 2)
            except TimeoutError:
                if forks:
                    continue
                return
            if not message:
                return
            wish = json.loads(message)
            if "start" in wish:
                prepare(wish["start"])
                pid = _fork(line, descriptors, wish["start"], work)
                forks.add(pid)
                line.sendall(str(pid).encode())
            else:
                forks.discard(wish["end"])
                line.sendall(str(_collected(wish["end"])).encode())
    finally:
        for pid in forks:
            _collected(pid)


def _fork(line: socket.socket, descriptors: list[int], told: Mapping[str, Any], work: Work) -> int:
    pid = os.fork()
    if pid:
        for descriptor in descriptors:
            os.close(descriptor)
        return pid
    try:
        line.close()
        os.setsid()
        source, answer = descriptors
        work(source, answer, told)
    finally:
        os._exit(0)  # whatever happened: the loop above is not the fork's


def _collected(pid: int) -> int:
    """Its own group as long as it is not waited for; it may not have made it yet."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
