"""The process in which files are read: `python -m indexing.parsers.child`. See `indexing.parsers.sandbox`.

It is forked for each file (`indexing.parsers.forkserver`). A fork reads a line of JSON, the rest of the wish, and the file's
content. It answers in lines of JSON: while parsing `{"scan": …}` for each scanned page as soon as it is read, at the end the
verb's answer or `{"error": {"code", "detail"}}`. It tells nothing else: no traceback, which could quote the document.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import IO, Any

from indexing.errors import IndexingError, ParseCrashed
from indexing.parsers import limits, module_of, parse
from indexing.parsers.forkserver import serve
from indexing.parsers.lockdown import lock_down
from indexing.parsers.scans import ScannedPage, Scans

_PR_SET_PDEATHSIG = 1


def main() -> None:
    serve(partial(work, os.getpid()), prepare)


def prepare(told: Mapping[str, Any]) -> None:
    """In the server: import what the fork will need, so that the next ones have it."""
    module = "indexing.verification" if told["verb"] == "verify" else module_of(told["mediaType"])
    if module and module not in sys.modules:
        with contextlib.suppress(ImportError):  # the fork tells
            import_module(module)
        gc.freeze()  # a collection in a fork would copy the memory that it shares


def work(parent: int, source: int, answer: int, told: Mapping[str, Any]) -> None:
    """In the fork: one file, behind its limits and locks."""
    die_with(parent)
    limit(told["memoryBytes"], told["cpuSeconds"])
    lock_down(with_fonts=told["verb"] == "render")
    with os.fdopen(source, "rb") as file:
        head, _, content = file.read().partition(b"\n")
    with os.fdopen(answer, "wb") as stream:
        stream.write(_result(told["verb"], content, told["mediaType"], json.loads(head), stream))


def parsed(content: bytes, media_type: str, wish: dict[str, Any], stream: IO[bytes]) -> dict[str, object]:
    known = {page.number: page for page in map(ScannedPage.from_json, wish["scans"])}

    def report(page: ScannedPage) -> None:
        stream.write(_json({"scan": page.to_json()}))
        stream.flush()

    return {"document": parse(content, media_type, wish["fileName"], Scans(known, report)).to_json()}


def verified(content: bytes, media_type: str, wish: dict[str, Any], stream: IO[bytes]) -> dict[str, object]:
    from indexing.verification import Claim, verify

    return {"verification": verify(content, media_type, [Claim.from_json(claim) for claim in wish["claims"]]).to_json()}


def rendered(content: bytes, media_type: str, wish: dict[str, Any], stream: IO[bytes]) -> dict[str, object]:
    from indexing.rendering import render

    return {"picture": render(content, media_type, page=wish["page"]).to_json()}


VERBS: dict[str, Callable[[bytes, str, dict[str, Any], IO[bytes]], dict[str, object]]] = {
    "parse": parsed,
    "verify": verified,
    "render": rendered,
}


def die_with(parent: int) -> None:
    """Be killed when the parent ends (Linux; elsewhere the limits have to do)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before it could be noticed
            os._exit(1)


def limit(memory_bytes: int, cpu_seconds: int) -> None:
    """Set by the process itself, before it sees its file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # At the first limit comes a signal that tells the parent why, at the second one that could mean anything. The first is
    # raised by the parent for each scanned page, where systems can do that.
    most = cpu_seconds * (limits.SCANNED_PAGES + 1)
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds if hasattr(resource, "prlimit") else most, most + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    for kind, value in (
        (resource.RLIMIT_NOFILE, limits.FILE_DESCRIPTORS),
        (resource.RLIMIT_FSIZE, limits.FILE_BYTES),
        (resource.RLIMIT_NPROC, limits.PROCESSES),
    ):
        resource.setrlimit(kind, (value, value))


def _result(verb: str, content: bytes, media_type: str, wish: dict[str, Any], stream: IO[bytes]) -> bytes:
    try:
        answer = _json(VERBS[verb](content, media_type, wish, stream))
        if len(answer) > limits.ANSWER_BYTES:
            raise limits.CHARACTERS.exceeded()
        return answer
    except IndexingError as error:
        code, detail = error.code, error.detail
    except MemoryError:
        allowed = resource.getrlimit(resource.RLIMIT_AS)[0] // 1024**2
        code, detail = ParseCrashed.code, limits.MEMORY % {"limit": f"{allowed:,}"}
    except Exception as error:
        # A defect of a parser. Its class is told, its message is not: it may quote the document.
        code, detail = ParseCrashed.code, f"({type(error).__name__})"
    return _json({"error": {"code": code, "detail": detail}})


def _json(answer: dict[str, object]) -> bytes:
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


if __name__ == "__main__":
    main()
