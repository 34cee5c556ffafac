"""One process that is forked for each file: what a file may learn of it, and what happens when either dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from documents.media_types import TEXT
from indexing.errors import ParseCrashed, ParseTimeout
from indexing.parsers import forkserver, sandbox
from indexing.parsers.sandbox import parse_in_child
from tests.processes import running, wait_until


@pytest.fixture(autouse=True)
def _own_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sandbox, "CHILD_MODULE", "tests.unit.hostile_child")
    servers: dict[tuple[int, str], forkserver.ForkServer] = {}
    monkeypatch.setattr(sandbox, "_servers", servers)
    yield
    for server in servers.values():
        server.retire()


def run(deed: str, *, timeout: float = 60.0) -> str:
    return parse_in_child(deed.encode(), TEXT, "x.txt", timeout=timeout, memory_bytes=512 * 1024**2).text


def server() -> int:
    return int(run("parent"))


def test_files_share_a_server_and_nothing_else() -> None:
    first = server()
    assert run("remember the first file") == "nothing"
    assert run("remember the second file") == "nothing"
    assert server() == first


def test_a_fork_has_its_file_and_its_answer_and_no_line_to_the_server() -> None:
    """Both are in the three that every process has, and one more: the file is closed once it is read."""
    assert run("descriptors") == run("descriptors")
    assert len(run("descriptors").split()) == 4


@pytest.mark.parametrize("deed", ["abort", "exit 3", "sleep"])
def test_after_one_that_fell_over_comes_another_server(deed: str) -> None:
    first = server()
    with pytest.raises((ParseCrashed, ParseTimeout)):
        run(deed, timeout=2.0 if deed == "sleep" else 60.0)
    assert server() != first
    assert not running([first])


def test_a_server_that_was_killed_is_replaced() -> None:
    first = server()
    os.kill(first, signal.SIGKILL)
    assert server() != first


def test_a_server_without_work_ends_and_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    first = server()
    (line,) = (known._line for known in sandbox._servers.values())
    line.shutdown(1)  # as at the end of the process that started it
    wait_until(lambda: not running([first]), what="the server's end")
    assert server() != first


def test_a_server_goes_only_when_its_last_fork_has_gone() -> None:
    known = sandbox._server()
    with open(os.devnull, "rb") as nothing:
        told = {"verb": "parse", "mediaType": TEXT, "memoryBytes": 512 * 1024**2, "cpuSeconds": 60}
        fork = known.start(nothing, told)
    known.retire()
    assert known._process.poll() is None
    fork.end()
    assert known._process.poll() is not None
