"""A whole run, as `make chaos` does it: not long, but hard enough to count."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.environment import ROOT

pytestmark = pytest.mark.slow


def chaos(*arguments: str, timeout: float) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("KB_", "PYTEST_", "DATABASE_"))
    }
    return subprocess.run(
        [sys.executable, "-m", "tests.chaos", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


@pytest.mark.timeout(600)
def test_nothing_breaks() -> None:
    done = chaos("--tasks", "300", "--kills", "30", "--seconds", "360", "--format", "json", timeout=560)
    figures: dict[str, Any] = json.loads(done.stdout)
    assert figures["violations"] == []
    assert not figures["void"], figures["why"]
    assert figures["tasks"] >= 300
    assert figures["kills"] >= 30
    assert figures["textsWastedPerKill"] <= figures["batchSize"]
    assert done.returncode == 0


@pytest.mark.timeout(120)
def test_a_run_without_blows_says_nothing() -> None:
    done = chaos("--tasks", "6", "--kills", "0", "--seconds", "60", "--format", "json", timeout=110)
    figures = json.loads(done.stdout)
    assert figures["violations"] == []
    assert (figures["void"], done.returncode) == (True, 1)


@pytest.mark.parametrize(
    "arguments", [("--tasks", "many"), ("--mutant", "nobody"), ("--seconds", "0"), ("--faults", "2"), ("--kills", "-1")]
)
def test_usage(arguments: tuple[str, ...]) -> None:
    done = chaos(*arguments, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert arguments[0] in done.stderr
