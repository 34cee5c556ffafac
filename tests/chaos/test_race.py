"""A small race, as `make race-recompute` runs it, and one without the rule that it is about."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.environment import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def race(*arguments: str) -> tuple[int, dict[str, Any]]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("KB_", "PYTEST_", "DATABASE_"))
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.chaos.race", "--format", "json", "--seconds", "240", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=580,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize(
    "engine",
    [
        "local",
        pytest.param(
            "ray",
            marks=[
                pytest.mark.ray,
                pytest.mark.skipif(
                    importlib.util.find_spec("ray") is None,
                    reason="Ray is not installed: pip install -r requirements-ray.txt",
                ),
            ],
        ),
    ],
)
def test_nothing_older_is_ever_shown(engine: str) -> None:
    code, figures = race("--documents", "40", "--updates", "25", "--kills", "4", "--engine", engine)
    assert figures["violations"] == []
    assert (code, figures["olderTextsSeen"], figures["pointersMovedBack"]) == (0, 0, 0)
    assert sum(figures["kills"].values()) > 0
    assert figures["switches"] > 0
    assert figures["hits"] > 0
    everything, back_fill = figures["outcomes"]["1"], figures["outcomes"]["2"]
    assert (everything["total"], everything["pending"], everything["failed"]) == (40, 0, 0)
    assert (back_fill["pending"], back_fill["failed"]) == (0, 0)
    assert everything["skippedNewer"] > 0
    assert figures["rerun"]["current"] == figures["rerun"]["total"]
    assert figures["secondRebuildTexts"] == 0


def test_without_the_epoch_rule_it_would_be() -> None:
    code, figures = race("--documents", "40", "--updates", "25", "--kills", "2", "--mutant", "epoch")
    assert code == 1
    assert figures["pointersMovedBack"] > 0
    assert any("was asked for" in line or "after version" in line for line in figures["violations"])
