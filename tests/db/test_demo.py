"""`manage.py demo` as a newcomer runs it: a process with a data folder of its own, the bundled model, real documents."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from kbsite.demo import samples
from tests.environment import ROOT
from tests.processes import children_of, end, running, spawn, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

SECONDS = 300


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="kb-demo-"))  # short: the path of a socket may have some hundred characters
    yield path
    # A run that a failed test has left may still have its server.
    subprocess.run(
        [sys.executable, "-m", "kbsite.demo.janitor", str(path)], stdin=subprocess.DEVNULL, cwd=ROOT, check=True
    )
    shutil.rmtree(path)


def start(folder: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("KB_", "DATABASE_", "PYTEST_"))}
    settings = {"KB_DEBUG": "true", "KB_SECRET_KEY": "only-for-tests", "KB_DATA_DIR": str(folder)}
    return spawn("demo", *arguments, env={**clean, **settings, **environment})


def finish(process: subprocess.Popen[str], *, status: int = 0) -> tuple[str, str]:
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == status, err
    return out, err


@pytest.fixture(scope="module")
def first(folder: Path) -> dict[str, Any]:
    """What the first run prints; the other tests go on from the folder that it leaves."""
    out, _ = finish(start(folder, "--exit", "--format", "json"))
    answer: dict[str, Any] = json.loads(out)
    return answer


@contextmanager
def staying_up(folder: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    process = start(folder, "--port", str(port))
    try:
        wait_until(lambda: is_ready(port) or process.poll() is not None, seconds=60, what="the web server")
        assert process.poll() is None, process.communicate()
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=SECONDS)


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_first_run(first: dict[str, Any]) -> None:
    manifest = samples.load()
    documents = {document["file"]: document for document in first["documents"]}
    superseded = {sample.version_of for sample in manifest.documents}
    expected = [sample for sample in manifest.documents if sample.key not in superseded]

    assert {file: (one["indexState"], one["errorCode"]) for file, one in documents.items()} == {
        sample.file: (sample.expect, sample.expect_code) for sample in expected
    }
    assert all(one["chunks"] > 0 for one in documents.values() if one["indexState"] == "SEARCHABLE")
    policy = documents["travel-allowance-v2.md"]
    assert (policy["publishedVersion"], policy["searchableVersion"]) == (2, 2)
    assert [search["query"] for search in first["searches"]] == [search.query for search in manifest.searches]
    assert first["workerResults"] == {"SUCCEEDED": len(manifest.documents) - 1, "FAILED": 1, "IDLE": 1}
    assert set(first["seconds"]) == {"database", "people", "index", "search", "total"}


def test_hits_say_where(first: dict[str, Any]) -> None:
    for search in first["searches"]:
        for hit in search["hits"]:
            assert set(hit) == {"title", "locator", "snippet"}
            assert hit["snippet"]
            assert hit["locator"]


def test_second_run_goes_on(folder: Path, first: dict[str, Any]) -> None:
    passwords = (folder / "demo" / "passwords.json").read_text()
    out, err = finish(start(folder, "--exit", "--format", "json"))
    again = json.loads(out)
    assert all(line.startswith("[") for line in err.splitlines()), "every line says when"
    assert again["documents"] == first["documents"]
    assert again["workerResults"] == {"SUCCEEDED": 0, "FAILED": 0, "IDLE": 1}
    assert (folder / "demo" / "passwords.json").read_text() == passwords


def test_passwords_are_for_their_owner_alone(folder: Path, first: dict[str, Any]) -> None:
    path = folder / "demo" / "passwords.json"
    assert path.stat().st_mode & 0o077 == 0
    assert set(json.loads(path.read_text())) == {"editor", "reader", "outsider", "operator"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_everything(folder: Path, first: dict[str, Any], port: int, number: int) -> None:
    with staying_up(folder, port) as process:
        started = children_of(process.pid)
        assert len(started) >= 5  # the web server's two, worker, scheduler and the janitor, at least
        process.send_signal(number)
        out, err = finish(process)
    assert f"http://127.0.0.1:{port}/" in out
    assert all(password in out for password in json.loads((folder / "demo" / "passwords.json").read_text()).values())
    assert "Traceback" not in err
    assert_nothing_runs(folder, started)


def test_a_killed_demo_leaves_no_process(folder: Path, first: dict[str, Any], port: int) -> None:
    with staying_up(folder, port) as process:
        started = children_of(process.pid)
        process.kill()
        process.wait(SECONDS)
        wait_until(lambda: not running(started), seconds=40, what="the end of the children")
    assert_nothing_runs(folder, started)


def assert_nothing_runs(folder: Path, started: list[int]) -> None:
    assert running(started) == []
    assert not (folder / "postgres" / "postmaster.pid").exists()


def test_a_child_that_dies_is_replaced(folder: Path, first: dict[str, Any], port: int) -> None:
    with staying_up(folder, port) as process:
        (web,) = web_servers(process.pid)
        os.kill(web, signal.SIGKILL)
        wait_until(lambda: web_servers(process.pid) not in ([], [web]), what="another web server")
        wait_until(lambda: is_ready(port), seconds=60, what="its answer")
        process.terminate()
        _, err = finish(process)
    assert "web ended with status -9" in err
    assert "web.log" in err


def web_servers(parent: int) -> list[int]:
    """The first processes of the web servers that `parent` has started."""
    found = []
    for pid in children_of(parent):
        with suppress(OSError):  # it ended while we looked
            own = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            if own == parent and b"gunicorn" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def test_a_folder_in_use(folder: Path, first: dict[str, Any], port: int) -> None:
    with staying_up(folder, port):
        out, err = finish(start(folder, "--exit"), status=1)
    assert (out, err.strip()) == ("", f"CommandError: Another demo uses {folder}. Stop it first, or set KB_DATA_DIR.")


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        out, err = finish(start(tmp_path / "data", "--port", str(number)), status=1)
    assert out == ""
    assert err.startswith(f"CommandError: Port {number} is taken")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("arguments", "environment", "status", "said"),
    [
        (["--port", "0"], {}, 2, "--port is a number from 1 to 65535"),
        (["--format", "json"], {}, 2, "--format json goes with --exit"),
        (
            ["--exit"],
            {"KB_DEBUG": "false", "DATABASE_URL": "postgresql://kb@db.example/kb"},
            1,
            "development machines only",
        ),
        (
            ["--reset"],
            {"DATABASE_URL": "postgresql://kb@db.example/kb"},
            1,
            "--reset removes the embedded database only",
        ),
    ],
)
def test_refusals(tmp_path: Path, arguments: list[str], environment: dict[str, str], status: int, said: str) -> None:
    out, err = finish(start(tmp_path / "data", *arguments, **environment), status=status)
    assert out == ""
    assert said in err
    assert len(err.strip().splitlines()) == 1
    assert not (tmp_path / "data").exists()


def test_reset_leaves_the_work_of_others(folder: Path, first: dict[str, Any], tmp_path: Path) -> None:
    """It removes what the demo made, and nothing else in the folder; then it makes it again."""
    kept = folder / "mine.txt"
    kept.write_text("mine")
    before = json.loads((folder / "demo" / "passwords.json").read_text())
    process = start(folder, "--reset", "--exit")
    try:
        wait_until(lambda: passwords_of(folder) not in (None, before), seconds=60, what="new passwords")
        process.send_signal(signal.SIGINT)
        _, err = finish(process, status=1)
    finally:
        end(process)
    assert "stopped before it was done" in err
    assert kept.read_text() == "mine"


def passwords_of(folder: Path) -> dict[str, str] | None:
    path = folder / "demo" / "passwords.json"
    return json.loads(path.read_text()) if path.exists() else None
