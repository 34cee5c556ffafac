"""A small run of bench_pipeline. Counts only: times are for people to read."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.benchmarks.pipeline_texts import make, with_one_sentence_changed
from tests.environment import ROOT

DOCUMENTS, WORKERS = 20, 2


def test_texts_are_made_from_the_seed() -> None:
    made = make(3, characters=2_000, seed=1)
    assert (made, made.language) == (make(3, characters=2_000, seed=1), "en")
    assert 2_000 <= len(made.text) < 4_000
    edited = with_one_sentence_changed(made, seed=1)
    changed = [
        (old, new)
        for before, after in zip(made.paragraphs, edited.paragraphs, strict=True)
        for old, new in zip(before, after, strict=True)
        if old != new
    ]
    assert len(changed) == 1
    assert made.marker not in changed[0]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_small_run() -> None:
    sizes = ["--documents", str(DOCUMENTS), "--characters", "3000", "--workers", str(WORKERS), "--rounds", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.bench_pipeline", *sizes, "--dimensions", "64", "--format", "json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    load, edit = report["firstLoad"], report["edit"]
    assert load["texts"] == load["chunks"] > 3 * DOCUMENTS
    assert report["unchanged"]["texts"] == 0
    assert (edit["documents"], edit["tornDocuments"]) == (DOCUMENTS // 10, 0)
    assert edit["texts"] == edit["changedChunks"] >= edit["documents"]
    for kill, killed in zip(report["kills"], (1, WORKERS), strict=True):
        assert (kill["killed"], kill["tornDocuments"]) == (killed, 0)
        assert kill["batchesSentAgain"] <= killed
        assert kill["documentsFound"] > 0
