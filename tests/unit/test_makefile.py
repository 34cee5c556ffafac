"""What a newcomer is told whose machine lacks something, before anything is made."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.environment import ROOT

OLD = "#!/bin/sh\nexit 1\n"  # any question about the version is answered with no
WITHOUT_VENV = """#!/bin/sh
case "$2" in *ensurepip*) exit 1;; esac
"""


def make_venv(folder: Path, **commands: str) -> subprocess.CompletedProcess[str]:
    """Run the step that makes the virtual environment on a machine that has these commands, and the shell."""
    binaries = folder / "bin"
    binaries.mkdir()
    (binaries / "sh").symlink_to(shutil.which("sh") or "/bin/sh")
    for name, script in commands.items():
        (binaries / name).write_text(script)
        (binaries / name).chmod(0o755)
    return subprocess.run(
        [binaries / "sh", ROOT / ".ci" / "python", folder / "venv"],
        env={"PATH": str(binaries)},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("commands", "said"),
    [
        ({}, "No Python from 3.11 on was found."),
        ({"python3": OLD}, "No Python from 3.11 on was found."),
        ({"python3": WITHOUT_VENV}, "python3 cannot make virtual environments."),
    ],
)
def test_one_clear_sentence(tmp_path: Path, commands: dict[str, str], said: str) -> None:
    done = make_venv(tmp_path, **commands)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "venv").exists()


def test_help_names_the_targets() -> None:
    done = subprocess.run(["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert [line.split()[1] for line in done.stdout.splitlines()] == [
        "help",
        "demo",
        "stop",
        "test",
        "lint",
        "format",
        "chaos",
        "race-recompute",
        "bench-queue",
        "bench-pipeline",
        "bench-parsing",
        "peers",
        "clean",
    ]
