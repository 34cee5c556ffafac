"""From inside a parser's process: what a hostile file may want is refused, through Python and as machine code."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from documents.media_types import TEXT
from indexing.parsers import lockdown, sandbox, seccomp
from indexing.parsers.sandbox import parse_in_child

linux = pytest.mark.skipif(
    not seccomp.is_supported(), reason="The locks of the kernel are tested on Linux (x86_64, aarch64) only."
)
MEMORY = 512 * 1024 * 1024


def attempt(deed: str, module: str = "tests.unit.hostile_child") -> str:
    """“done”, or how it failed."""
    before, sandbox.CHILD_MODULE = sandbox.CHILD_MODULE, module
    try:
        return parse_in_child(deed.encode(), TEXT, "x.txt", timeout=60, memory_bytes=MEMORY).text
    finally:
        sandbox.CHILD_MODULE = before


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """A port of this machine that somebody could reach."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text("the site's key")
    return path


def test_no_connection(listening: socket.socket) -> None:
    port = listening.getsockname()[1]
    for deed in (f"python connect {port}", f"python datagram {port}"):
        assert attempt(deed).startswith("PermissionError")
        assert attempt(deed, "tests.unit.unlocked_child") == "done", "the test would notice"
    listening.accept()  # of the one that was let through
    with pytest.raises(BlockingIOError):
        listening.accept()


def test_no_names_and_no_local_sockets() -> None:
    assert attempt("python resolve localhost").startswith("PermissionError")
    assert attempt("python unix /run/postgresql/.s.PGSQL.5432").startswith("PermissionError")


def test_no_other_program() -> None:
    for deed in ("python run", "python system true", "python fork", f"python kill {os.getpid()}"):
        assert attempt(deed).startswith("PermissionError"), deed


def test_no_file_is_written_and_none_of_the_sites_is_read(secret: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    for deed in (f"python write {new}", f"python read {secret}", f"python remove {secret}"):
        assert attempt(deed).startswith("PermissionError"), deed
    for path in (
        f"/proc/{os.getpid()}/environ",
        f"{sandbox._ROOT}/.env",
        f"{sandbox._ROOT}/indexing/../.env",
        "/etc/passwd",
    ):
        assert attempt(f"python read {path}").startswith("PermissionError"), path
    assert not new.exists()
    assert secret.exists()
    assert attempt(f"python read {secret}", "tests.unit.unlocked_child") == "done", "the test would notice"


def test_packages_that_are_installed_elsewhere_can_be_read_but_not_the_sites_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """For the user who runs the worker, say, or where PYTHONPATH says: else every file of such a site would “crash” its parser.
    The path may name the site's own folder and those around it, too."""
    (tmp_path / "installed_elsewhere.py").touch()
    around = [sandbox._ROOT, sandbox._ROOT.parent, Path("/")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, [tmp_path, *around])))
    monkeypatch.setattr(sandbox, "_servers", {})  # those that are started now
    assert attempt("python import installed_elsewhere") == "done"
    for path in (f"{sandbox._ROOT}/README.md", "/etc/passwd"):
        assert attempt(f"python read {path}").startswith("PermissionError"), path
        assert attempt(f"python read {path}", "tests.unit.unlocked_child") == "done", "the test would notice"


@linux
@pytest.mark.parametrize(
    "deed",
    [
        *("socket", "unix", "pair", "fork", "clone3", "exec", "open-how /etc/passwd", f"kill {os.getpid()}", "trace"),
        *(f"limits {os.getpid()}", "rings", "namespace", "memory-file", "bpf"),
        pytest.param(
            "x32", marks=pytest.mark.skipif(os.uname().machine != "x86_64", reason="x86_64 has these numbers")
        ),
    ],
)
def test_no_such_system_call(deed: str) -> None:
    assert attempt(f"machine {deed}").startswith("PermissionError: [Errno 1]")


@linux
def test_the_kernel_lets_no_file_be_written_or_read(secret: Path, tmp_path: Path) -> None:
    for deed in (f"write {tmp_path / 'new'}", f"remove {secret}", f"read {secret}", "read /proc/self/environ"):
        assert attempt(f"machine {deed}").startswith("PermissionError"), deed
    assert attempt(f"machine read {sys.prefix}/pyvenv.cfg") == "done", "modules can still be imported"
    assert attempt(f"machine read {secret}", "tests.unit.unlocked_child") == "done", "the test would notice"


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_is_whole(machine: str) -> None:
    """Every jump of the program lands inside of it, it is as short as the kernel takes, and it ends by refusing."""
    code = seccomp.program(machine)
    assert len(code) % 8 == 0
    assert len(code) // 8 < 4096
    steps = [code[at : at + 8] for at in range(0, len(code), 8)]
    assert all(at + 1 + max(step[2], step[3]) < len(steps) for at, step in enumerate(steps[:-1]))
    assert steps[-1] == seccomp._step(0x06, 0x00050000 | 1)


@linux
def test_a_lock_that_the_machine_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told available is what holds: the tests above were refused by the same two."""
    monkeypatch.setattr(lockdown.landlock, "_CREATE", 9999)  # as a kernel without the call answers
    assert "Landlock" in lockdown.missing_locks()
    monkeypatch.setattr(lockdown.seccomp, "_PR_GET_SECCOMP", 9999)
    assert lockdown.missing_locks() == ["seccomp", "Landlock"]
