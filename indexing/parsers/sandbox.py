"""Parse a file in a child process with limits: files are untrusted, and parsers loop, explode and crash.

The child also keeps the caller's threads alive: a parser may hold Python's global lock for minutes. It is started with
`subprocess`, without code between fork and exec, so that any thread of any process may call this.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from indexing.blocks import ParsedDocument
from indexing.errors import IndexingError, ParseCrashed, ParseTimeout
from indexing.parsers import limits

CHILD_MODULE = "indexing.parsers.child"

_ROOT = Path(__file__).resolve().parents[2]
# With what says where Python's packages are: the child needs the same ones.
_KEPT_ENVIRONMENT = (
    *("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "VIRTUAL_ENV", "LD_LIBRARY_PATH"),
    *("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE"),
)
_READ_BYTES = 1024 * 1024


def parse_in_child(
    content: bytes, media_type: str, file_name: str, *, timeout: float, memory_bytes: int
) -> ParsedDocument:
    """`indexing.parsers.parse`, within `timeout` seconds and `memory_bytes` of address space.

    Raises what `parse` raises, `ParseTimeout` when time is up, `ParseCrashed` when the child ends without an answer.
    Messages hold no traceback and no text of the document.
    """
    deadline = time.monotonic() + timeout
    with tempfile.TemporaryFile() as source:
        source.write(file_name.replace("\n", " ").encode("utf-8", "replace") + b"\n")
        source.write(content)
        source.seek(0)
        child = _start(source, media_type, memory_bytes, math.ceil(timeout))
        try:
            answer = _read_all(child, deadline)
        except TimeoutError:
            raise _timeout(timeout) from None
        finally:
            _end(child)
    if child.returncode == -signal.SIGXCPU:
        raise _timeout(timeout)
    return _result(answer)


def _timeout(seconds: float) -> ParseTimeout:
    return ParseTimeout(limits.SECONDS % {"limit": f"{math.ceil(seconds):,}"})


def _start(source: IO[bytes], media_type: str, memory_bytes: int, cpu_seconds: int) -> subprocess.Popen[bytes]:
    """In a process group of its own, with nothing secret in its environment."""
    environment = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
    arguments = [media_type, str(memory_bytes), str(cpu_seconds), str(os.getpid())]
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module, no shell
        [sys.executable, "-m", CHILD_MODULE, *arguments],
        stdin=source,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=_ROOT,
        env=environment,
        start_new_session=True,
    )


def _read_all(child: subprocess.Popen[bytes], deadline: float) -> bytearray:
    """What the child writes until it closes its end. Raises `TimeoutError` or `ParseCrashed`."""
    assert child.stdout is not None
    answer = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not selector.select(remaining):
                raise TimeoutError
            part = os.read(child.stdout.fileno(), _READ_BYTES)
            if not part:
                return answer
            answer += part
            if len(answer) > limits.ANSWER_BYTES:  # a child that has gone wrong must not fill the memory
                raise ParseCrashed()


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill the child's whole group, which is its own as long as it is not waited for, and collect it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # all of it has ended
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if child.stdout is not None:
        child.stdout.close()


def _result(answer: bytearray) -> ParsedDocument:
    try:
        data = json.loads(answer)
    except ValueError:
        raise ParseCrashed() from None
    if "document" in data:
        return ParsedDocument.from_json(data["document"])
    error = data["error"]
    known = {kind.code: kind for kind in _kinds(IndexingError)}
    raise known.get(error["code"], ParseCrashed)(error["detail"])


def _kinds(base: type[IndexingError]) -> Iterator[type[IndexingError]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)
