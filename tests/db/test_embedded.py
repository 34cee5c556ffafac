"""The embedded server: what starts it says so, and what only borrows it stops it again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from documents.management.commands.migrate import Command as Migrate
from kbsite import embedded_postgres
from kbsite.demo.folder import DataFolder
from tests import checks
from tests.environment import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="kb-own-"))  # short: the path of a socket may have some hundred characters
    yield path
    embedded_postgres.stop(path)
    shutil.rmtree(path)


def manage(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("KB_", "DATABASE_"))}
    own = {"KB_DEBUG": "true", "KB_SECRET_KEY": "only-for-tests", "KB_DATA_DIR": str(folder)}
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(command, env={**clean, **own, **environment}, capture_output=True, text=True)


def test_dbshell_finds_its_server_and_says_that_it_keeps_running(folder: Path) -> None:
    shell = ("dbshell", "--", "-tAc", "SELECT current_user")
    first, second = manage(folder, *shell), manage(folder, *shell, PATH="/nowhere")  # without a psql of the machine
    assert first.stdout == second.stdout == "kb_app\n", first.stderr
    assert f"PostgreSQL was started in {folder} and keeps running" in first.stderr
    assert "make stop" in first.stderr
    assert second.stderr == ""
    assert embedded_postgres.is_running(folder)


def test_it_can_be_stopped(folder: Path) -> None:
    manage(folder, "dbshell", "--", "-c", "SELECT 1")
    with DataFolder(folder).held(cwd=ROOT, embedded=False):
        refused = manage(folder, "stop_postgres")
    assert (refused.returncode, "The demo is running" in refused.stderr) == (1, True)
    assert manage(folder, "stop_postgres").stdout == f"PostgreSQL in {folder} was stopped.\n"
    assert not embedded_postgres.is_running(folder)
    assert manage(folder, "stop_postgres").stdout == f"No PostgreSQL runs in {folder}.\n"


def test_a_server_of_somebody_else_is_left_alone(folder: Path) -> None:
    answer = manage(folder, "stop_postgres", DATABASE_URL="postgresql://kb@db.example/kb")
    assert (answer.returncode, "Nothing was stopped" in answer.stderr) == (1, True)


def test_the_checks_of_lint_stop_what_they_started(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "DATA", folder)
    monkeypatch.setattr(checks, "COMMANDS", ((checks.DEVELOPMENT, ("check", "--no-such-option")),))
    manage(folder, "stop_postgres")
    with pytest.raises(SystemExit):
        checks.main()
    assert not embedded_postgres.is_running(folder)


def test_a_file_that_a_crash_has_left_is_no_server(tmp_path: Path) -> None:
    assert not embedded_postgres.is_running(tmp_path)
    (tmp_path / "postgres").mkdir()
    for left in ("", "no number\n", "4194305\n"):  # beyond the largest process number
        (tmp_path / "postgres" / "postmaster.pid").write_text(left)
        assert not embedded_postgres.is_running(tmp_path)


def test_the_help_of_migrate_names_the_role_it_uses() -> None:
    parser = Migrate().create_parser("manage.py", "migrate")
    assert 'Defaults to "owner"' in " ".join(parser.format_help().split())
    assert parser.parse_args([]).database == "owner"


def test_another_users_server_does_not_keep_ours_from_starting(tmp_path: Path) -> None:
    """The wheel's lock is one file for the whole machine, which a second user cannot open; ours is in the data folder."""
    (tmp_path / ".lockfile").mkdir()  # as little to be opened as somebody else's file, for root too
    path = Path(tempfile.mkdtemp(prefix="kb-own-"))
    try:
        answer = manage(
            path, "dbshell", "--", "-tAc", "SELECT 1", TMPDIR=str(tmp_path), XDG_RUNTIME_DIR=str(tmp_path / "none")
        )
        assert answer.stdout == "1\n", answer.stderr
    finally:
        embedded_postgres.stop(path)
        shutil.rmtree(path)


def restart_immediately(folder: Path) -> None:
    """Stop a server as a crash would, and start it again, behind the back of whoever has a handle on it."""
    server = embedded_postgres._server(folder)
    command = [
        Path(server.bin_path) / "pg_ctl",
        "-D",
        server.pgdata,
        "-l",
        server.log,
        "-m",
        "immediate",
        "-w",
        "restart",
    ]
    quiet = subprocess.DEVNULL
    subprocess.run(command, user=server.system_user, check=True, stdout=quiet, stderr=quiet, cwd="/", timeout=60)


def test_a_server_that_somebody_restarted_is_stopped_all_the_same(folder: Path) -> None:
    embedded_postgres.ensure_running(folder)
    restart_immediately(folder)
    assert embedded_postgres.stop(folder)
    assert not embedded_postgres.is_running(folder)
