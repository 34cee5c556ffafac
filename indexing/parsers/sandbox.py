"""Read a file in a child process with limits: files are untrusted, and parsers loop, explode and crash.

The child also keeps the caller's threads alive: a parser may hold Python's global lock for minutes. It is a fork of a server
that this process starts with its first file (`indexing.parsers.forkserver`); any thread of any process may call this.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import selectors
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

from indexing.blocks import ParsedDocument
from indexing.errors import IndexingError, ParseCrashed, ParseTimeout
from indexing.parsers import limits
from indexing.parsers.forkserver import Fork, ForkServer, ServerLost
from indexing.parsers.scans import ScannedPage
from indexing.rendering import Picture
from indexing.verification import Claim, Verification, is_plain, verify

CHILD_MODULE = "indexing.parsers.child"
Answer = TypeVar("Answer")

_servers: dict[tuple[int, str], ForkServer] = {}  # by process and module
_servers_lock = threading.Lock()
_ROOT = Path(__file__).resolve().parents[2]
# With what says where Python's packages are: the child needs the same ones.
_KEPT_ENVIRONMENT = (
    *("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "VIRTUAL_ENV", "LD_LIBRARY_PATH"),
    *("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE"),
)
# Where a library wants threads, it would be refused them, and some end the process for it.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
_READ_BYTES = 1024 * 1024


def parse_in_child(
    content: bytes,
    media_type: str,
    file_name: str,
    *,
    timeout: float,
    memory_bytes: int,
    known_scans: Sequence[ScannedPage] = (),
    keep_scan: Callable[[ScannedPage], None] = lambda _: None,
) -> ParsedDocument:
    """`indexing.parsers.parse`, within `memory_bytes` of address space and `timeout` seconds, which every scanned page that is
    read gives anew. `known_scans` are not read again; each other one is handed to `keep_scan` at once.

    Raises what `parse` and `keep_scan` raise, `ParseTimeout` when time is up, `ParseCrashed` when the child ends without an
    answer. Messages hold no traceback and no text of the document.
    """

    def hear(scan: dict[str, Any]) -> None:
        keep_scan(_as_promised(ScannedPage.from_json, scan))

    wish = {
        "fileName": file_name.replace("\n", " "),
        "scans": [page.to_json() for page in known_scans],
    }
    return _asked(
        "parse",
        wish,
        ParsedDocument.from_json,
        content,
        media_type,
        timeout=timeout,
        memory_bytes=memory_bytes,
        hear=hear,
    )


def verify_apart(
    content: bytes,
    media_type: str,
    claims: Sequence[Claim],
    *,
    timeout: float,
    memory_bytes: int,
    checkpoint: Callable[[], None] = lambda: None,
) -> Verification:
    """`indexing.verification.verify`, likewise; in this process where that needs no parser (a process costs 0.2 seconds).

    A second reader that gives up says nothing against the first: its chunks are not checkable. Raises what `checkpoint`
    raises, which is called between chunks.
    """
    if is_plain(content, media_type):
        return verify(content, media_type, claims, checkpoint=checkpoint)
    checkpoint()
    wish = {"claims": [claim.to_json() for claim in claims]}
    try:
        return _asked(
            "verify", wish, Verification.from_json, content, media_type, timeout=timeout, memory_bytes=memory_bytes
        )
    except (ParseCrashed, ParseTimeout):
        return Verification(not_checkable=len(claims))


def render_in_child(content: bytes, media_type: str, *, page: int, timeout: float, memory_bytes: int) -> Picture:
    """`indexing.rendering.render`, likewise. Raises what it raises, `ParseTimeout` or `ParseCrashed`."""
    wish = {"page": page}
    return _asked("render", wish, Picture.from_json, content, media_type, timeout=timeout, memory_bytes=memory_bytes)


def _asked(
    verb: str,
    wish: dict[str, Any],
    understand: Callable[[dict[str, Any]], Answer],
    content: bytes,
    media_type: str,
    *,
    timeout: float,
    memory_bytes: int,
    hear: Callable[[dict[str, Any]], None] = lambda _: None,
) -> Answer:
    """The child's answer to a wish. What it tells before goes to `hear`, and gives it the time anew."""
    with tempfile.TemporaryFile() as source:
        source.write(json.dumps(wish).encode() + b"\n")
        source.write(content)
        source.seek(0)
        child = _start(source, verb, media_type, memory_bytes, math.ceil(timeout))
        try:
            return _result(_last_word(child, timeout, hear), understand)
        except (ParseCrashed, ParseTimeout):
            # Whatever the file found out by that: the next one finds other addresses.
            _take_another_than(child.server)
            raise
        finally:
            child.end()


def _last_word(child: Fork, timeout: float, hear: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The answer, after all that it tells before. Raises `ParseTimeout` or `ParseCrashed` if there is none."""
    told = 0
    try:
        for line in _lines(child, timeout):
            answer = _understood(line)
            if "scan" not in answer:
                return answer
            told += 1
            if told > limits.SCANNED_PAGES:  # a child that has gone wrong must not live for ever
                raise ParseCrashed()
            _allow(child, math.ceil(timeout) * (told + 1))
            hear(answer["scan"])
    except TimeoutError:
        raise _timeout(timeout) from None
    child.end()
    raise _timeout(timeout) if child.returncode == -signal.SIGXCPU else ParseCrashed()


def _timeout(seconds: float) -> ParseTimeout:
    return ParseTimeout(limits.SECONDS % {"limit": f"{math.ceil(seconds):,}"})


def _start(source: IO[bytes], verb: str, media_type: str, memory_bytes: int, cpu_seconds: int) -> Fork:
    """In a process group of its own, with nothing secret in its environment. Raises `ParseCrashed` if there is no starting."""
    told = {"verb": verb, "mediaType": media_type, "memoryBytes": memory_bytes, "cpuSeconds": cpu_seconds}
    for _ in range(2):  # the server may have ended because nothing was to be done
        server = _server()
        try:
            return server.start(source, told)
        except ServerLost:
            _take_another_than(server)
    raise ParseCrashed()


def _server() -> ForkServer:
    """This process's server: one that it inherited would answer its parent, too."""
    key = (os.getpid(), CHILD_MODULE)
    with _servers_lock:
        if key not in _servers:
            kept = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
            _servers[key] = ForkServer([sys.executable, "-m", CHILD_MODULE], cwd=_ROOT, env={**kept, **_ONE_THREAD})
        return _servers[key]


def _take_another_than(server: ForkServer) -> None:
    with _servers_lock:
        for key in [key for key, known in _servers.items() if known is server]:
            del _servers[key]
    server.retire()


def _lines(child: Fork, timeout: float) -> Iterator[bytes]:
    """What the child writes until it closes its end. Raises `TimeoutError` when no line comes in `timeout` seconds, or
    `ParseCrashed`."""
    written, whole = bytearray(), 0
    deadline = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not selector.select(remaining):
                raise TimeoutError
            part = os.read(child.stdout.fileno(), _READ_BYTES)
            if not part:
                return
            whole += len(part)
            if whole > limits.ANSWER_BYTES:  # a child that has gone wrong must not fill the memory
                raise ParseCrashed()
            written += part
            if b"\n" in part:
                *lines, rest = written.split(b"\n")
                written = rest
                for line in lines:
                    yield bytes(line)
                deadline = time.monotonic() + timeout


def _allow(child: Fork, cpu_seconds: int) -> None:
    """Raise the child's limit of processor time, which it cannot do itself."""
    if hasattr(resource, "prlimit"):
        with contextlib.suppress(ProcessLookupError):
            _, most = resource.prlimit(child.pid, resource.RLIMIT_CPU)
            resource.prlimit(child.pid, resource.RLIMIT_CPU, (min(cpu_seconds, most), most))


def _understood(line: bytes) -> dict[str, Any]:
    """Raises `ParseCrashed` for what is no JSON object: the child has gone wrong."""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        raise ParseCrashed() from None
    if not isinstance(answer, dict):
        raise ParseCrashed()
    return answer


def _result(answer: dict[str, Any], understand: Callable[[dict[str, Any]], Answer]) -> Answer:
    if "error" not in answer:
        return _as_promised(lambda whole: understand(*whole.values()), answer)
    code, detail = _as_promised(lambda error: (str(error["code"]), str(error["detail"])), answer["error"])
    known = {kind.code: kind for kind in _kinds(IndexingError)}
    raise known.get(code, ParseCrashed)(detail)


def _as_promised(understand: Callable[[Any], Answer], answer: Any) -> Answer:
    """What `understand` makes of an answer. Raises `ParseCrashed` where it is not what the child was to say."""
    try:
        return understand(answer)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError):
        raise ParseCrashed() from None


def _kinds(base: type[IndexingError]) -> Iterator[type[IndexingError]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)
