"""Tools that read documents, each in a process of its own with limits of memory and time, which it keeps between files.

`python parsing_peers.py TOOL BYTES` is that process: it needs nothing but the standard library and the tool. It reads a path
a line and answers a line of JSON. Nothing is fetched: what asks for a proxy finds none.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import resource
import selectors
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

Convert = Callable[[str], str]
"""A file's path in, Markdown out."""

START_SECONDS = 120.0  # importing a tool, the first time
_ROOT = Path(__file__).resolve().parents[2]
_NO_PROXY = "http://127.0.0.1:9/"


def kb() -> Convert:
    """Our parsers, without their locked process: what of the time is reading."""
    from documents.media_types import detect
    from indexing.parsers import parse

    def convert(path: str) -> str:
        content = Path(path).read_bytes()
        parse(content, detect(content, path), Path(path).name)
        return ""

    return convert


def markitdown() -> Convert:
    from markitdown import MarkItDown

    tool = MarkItDown(enable_plugins=False)
    return lambda path: tool.convert(path).markdown


def kreuzberg() -> Convert:
    from kreuzberg import ExtractionConfig, extract_file_sync

    config = ExtractionConfig(use_cache=False, output_format="markdown")
    return lambda path: extract_file_sync(path, config=config).content


def docling() -> Convert:
    """Only where it needs no model: it would download those for PDF and pictures."""
    from docling.datamodel.base_models import InputFormat
    from docling.document_converter import DocumentConverter

    tool = DocumentConverter([kind for kind in InputFormat if kind not in (InputFormat.PDF, InputFormat.IMAGE)])
    return lambda path: tool.convert(path).document.export_to_markdown()


TOOLS: dict[str, Callable[[], Convert]] = {
    "kb": kb,
    "markitdown": markitdown,
    "kreuzberg": kreuzberg,
    "docling": docling,
}


@dataclass
class Peer:
    """A tool's process, as it is seen from outside. `absent` says why there is none."""

    name: str
    python: Path
    memory_bytes: int
    version: str = ""
    absent: str = ""
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def start(self) -> None:
        if not self.python.exists():
            self.absent = "not installed: run `make peers`"
            return
        environment = os.environ | dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), _NO_PROXY)
        # One thread where ours has one: what is compared is work, not processors.
        environment |= {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "PYTHONPATH": str(_ROOT)}
        self._process = subprocess.Popen(
            [self.python, __file__, self.name, str(self.memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_ROOT,
            env=environment,
            start_new_session=True,
        )
        answer = self._answer(START_SECONDS)
        self.version = answer.get("version", "")
        self.absent = answer.get("absent", "" if self.version else answer.get("code", ""))
        if self.absent:
            self.end()

    def read(self, path: Path, seconds: float) -> dict[str, Any]:
        """{"seconds", "markdown"}, or {"code"}: the name of its error, TIMEOUT or CRASHED."""
        if self._process is None:
            self.start()
        if self._process is None:
            return {"code": "ABSENT"}
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(os.fsencode(path) + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self.end()
            return {"code": "CRASHED"}
        return self._answer(seconds)

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()
            self._process = None

    def _answer(self, seconds: float) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        line, deadline = bytearray(), time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    self.end()
                    return {"code": "TIMEOUT"}
                part = os.read(self._process.stdout.fileno(), 1 << 20)
                if not part:
                    self.end()
                    return {"code": "CRASHED"}
                line += part
        result: dict[str, Any] = json.loads(line)
        return result


def main() -> None:
    name, memory_bytes = sys.argv[1], int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    answer = _own_the_answer()
    try:
        convert = TOOLS[name]()
    except ImportError as error:
        _say(answer, {"absent": f"not installed ({error})"})
        return
    _say(answer, {"version": "this" if name == "kb" else importlib.metadata.version(name)})
    for line in sys.stdin:
        path, began = line.rstrip("\n"), time.perf_counter()
        try:
            markdown = convert(path)
        except BaseException as error:  # its defects are results too
            _say(
                answer,
                {"code": getattr(error, "code", None) or type(error).__name__, "seconds": time.perf_counter() - began},
            )
            continue
        _say(answer, {"seconds": time.perf_counter() - began, "markdown": markdown})


def _own_the_answer() -> IO[str]:
    """What tools print goes nowhere."""
    answer = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", errors="surrogatepass")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return answer


def _say(answer: IO[str], said: dict[str, Any]) -> None:
    answer.write(json.dumps(said) + "\n")
    answer.flush()


if __name__ == "__main__":
    main()
