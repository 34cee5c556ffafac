"""Real child processes on the test database: `manage.py` commands with the database of the test that starts them.

The rows must be committed for another process to see them, so such a test is marked
`@pytest.mark.django_db(transaction=True, databases=["default", "owner"])`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote, urlencode

from django.conf import settings
from django.db import connections

from tests.environment import ROOT


def child_environment(**extra: str) -> dict[str, str]:
    """The environment in which a child uses this test's database through both roles, and this test's files."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment.update(
        DATABASE_URL=database_url("default"),
        DATABASE_OWNER_URL=database_url("owner"),
        KB_DATA_DIR=str(Path(settings.MEDIA_ROOT).parent),
        KB_LOG_LEVEL="INFO",
        PYTHONUNBUFFERED="1",
    )
    environment.update(extra)
    return environment


def database_url(alias: str) -> str:
    """The URL of a test's own connection, as DATABASE_URL takes it; a socket's folder goes into the query."""
    database = connections[alias].settings_dict
    host = database["HOST"] or connections[alias].get_connection_params()["host"]
    user, name = quote(database["USER"], safe=""), quote(database["NAME"], safe="")
    if host.startswith("/"):
        return f"postgresql://{user}@/{name}?{urlencode({'host': host})}"
    secret = f":{quote(database['PASSWORD'], safe='')}" if database["PASSWORD"] else ""
    return f"postgresql://{user}{secret}@{host}:{database['PORT'] or 5432}/{name}"


def spawn(*arguments: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """Start `manage.py` with these arguments, in a process group of its own, with both streams in pipes."""
    return subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), *arguments],
        cwd=ROOT,
        env=child_environment() if env is None else env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def spawn_worker(*arguments: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """Start `manage.py run_index_worker`."""
    return spawn("run_index_worker", *arguments, env=env)


@contextmanager
def worker(*arguments: str, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """A worker that is certainly gone afterwards."""
    process = spawn_worker(*arguments, env=env)
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[str]) -> None:
    """Kill a process that still runs, and release its pipes."""
    if process.poll() is None:
        process.kill()
    if process.stdout is not None and not process.stdout.closed:
        process.communicate(timeout=30)


def children_of(pid: int) -> list[int]:
    """Ids of the running processes below `pid`, at any depth."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue  # it ended while we looked
        if state != "Z":
            parents.setdefault(int(parent), []).append(int(stat.parent.name))
    found: list[int] = []
    waiting: Sequence[int] = [pid]
    while waiting:
        waiting = [child for parent in waiting for child in parents.get(parent, [])]
        found += waiting
    return found


def running(pids: Iterable[int]) -> list[int]:
    """Those of `pids` that have not ended."""
    alive = []
    for pid in pids:
        with suppress(OSError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                alive.append(pid)
    return alive


def wait_until(condition: Callable[[], object], *, seconds: float = 30.0, what: str = "the condition") -> None:
    """Look at something in another process until it is so: for what no event of ours can tell."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come true within {seconds:.0f} seconds"
        time.sleep(0.02)
