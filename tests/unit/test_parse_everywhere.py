"""The same bytes are the same document and the same chunks in every process, with every supported Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from documents.media_types import BY_EXTENSION
from tests.unit.parse_sample import files, fingerprints

ROOT = Path(__file__).resolve().parents[2]
WRITTEN_DOWN = Path(__file__).parent / "parse_fingerprints.json"


@pytest.mark.parametrize("seed", ["1", "4711"])
def test_another_process_reads_in_the_same_way(seed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.unit.parse_sample"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed, "TZ": "Asia/Shanghai", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == fingerprints()


def test_what_any_python_and_machine_must_come_to() -> None:
    """Written down: CI runs this with every Python that is supported. Changed rules come with a new PARSER_REVISION."""
    expected = json.loads(WRITTEN_DOWN.read_text())
    found = fingerprints()
    changed = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
    advice = "where that is meant: python -m tests.unit.parse_sample > tests/unit/parse_fingerprints.json"
    assert not changed, advice


def test_the_sample_has_a_file_of_every_format_that_can_be_made_here() -> None:
    made = {BY_EXTENSION[Path(name).suffix] for name in files()}
    missing = set(BY_EXTENSION.values()) - made
    assert {name for name, kind in BY_EXTENSION.items() if kind in missing and not kind.startswith("text/x-")} == {
        *(".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"),
        ".xls",  # no library here writes it
    }
