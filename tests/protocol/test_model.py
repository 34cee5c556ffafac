"""The protocol as Spin models (*.pml): every interleaving of a small world, and again with one guard taken away at a time.

docs/protocol.md says which line of the product each guard stands for; a test here compares.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
TOOLS = ("spin", "gcc")

# A model that was emptied by an edit would have no errors either: the least states that each has.
WHOLE = [("lease", "", 3_000_000), ("lease", "REBUILD", 2_500_000), ("stage", "", 1_500_000), ("pipeline", "", 100_000)]

MUTANTS = {
    "lease": """NO_STATE NO_ATTEMPT NO_EXPIRY EARLY_EXPIRY SPLIT_CHECK RENEW_DEAD CLAIM_LIVE RESET_ATTEMPT NO_CAP NO_CHARGE
        CHARGE_RELEASE NO_REAPER NO_DELETE NO_WITHDRAW NO_WISH NO_EPOCH LATE_CANCEL DROP_WISH STALE_REOPEN KEEP_OLDER""",
    "stage": """NO_COMPLETE NO_COUNT NO_DISCARD UNFENCED_STAGE UNFENCED_DISCARD DISCARD_SERVED STAGE_SERVED NO_SIBLING_LOCK
        PURGE_RUNNING NO_BEGIN""",
    "pipeline": """NO_ROLE NO_TENANT_LOCK PROMOTE_ANY TWO_STEPS REOPEN_RETIRED NO_GATE NO_PROMOTION NO_BACKFILL""",
}
EACH = [(model, mutant) for model, mutants in MUTANTS.items() for mutant in mutants.split()]


@dataclass(frozen=True, slots=True)
class Answer:
    errors: int
    states: int
    output: str


def check(model: str, *defines: str, folder: Path) -> Answer:
    """Search every state of a model, or as far as the first error."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        reason = (
            f"No {' and no '.join(missing)} on PATH: the protocol's models are NOT checked. Install Debian's packages."
        )
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=110)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
        return done.stdout

    run("spin", "-a", *[f"-D{define}" for define in defines], str(HERE / f"{model}.pml"))
    whole = defines in ((), ("REBUILD",))
    # Breadth first finds the shortest way to a fault; in the larger steps of the other models depth first is the quicker.
    search = ["-O2"] if whole else ["-O0", "-DBFS"] if model == "lease" else ["-O0"]
    run("gcc", *search, "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=1000", "-w", "-o", "pan", "pan.c")
    output = run("./pan", "-m10000", "-n", "-w22" if whole else "-w18")
    assert "max search depth too small" not in output, output
    assert "out of memory" not in output, output
    errors, states = re.search(r"errors: (\d+)", output), re.search(r"(\d+) states, stored", output)
    assert errors is not None, output
    assert states is not None, output
    return Answer(int(errors[1]), int(states[1]), output)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "define", "least"), WHOLE, ids=[f"{model} {define}".strip() for model, define, _ in WHOLE]
)
def test_nothing_goes_wrong_in_any_order(model: str, define: str, least: int, tmp_path: Path) -> None:
    answer = check(model, *define.split(), folder=tmp_path)
    assert answer.errors == 0, answer.output
    assert answer.states >= least, answer.output


@pytest.mark.slow
@pytest.mark.parametrize(("model", "mutant"), [*EACH, ("lease", "NO_EPOCH REBUILD")], ids=lambda value: value)
def test_without_one_guard_something_goes_wrong(model: str, mutant: str, tmp_path: Path) -> None:
    answer = check(model, *mutant.split(), folder=tmp_path)
    assert answer.errors >= 1, answer.output
    assert "assertion violated" in answer.output, answer.output  # and not that the model got stuck


@pytest.mark.parametrize("model", MUTANTS)
def test_every_switch_of_a_model_is_tried(model: str) -> None:
    switches = set(re.findall(r"#ifn?def (\w+)", (HERE / f"{model}.pml").read_text(encoding="utf-8")))
    assert switches - {"ACTIONS", "LOOK", "REBUILD"} == set(MUTANTS[model].split())


def test_the_page_names_the_code_behind_every_guard() -> None:
    page = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z_]+)` \| .+ \| (.+) \|$", page, flags=re.MULTILINE)
    assert [name for name, _ in rows] == [mutant for _, mutant in EACH]
    for name, place in rows:
        if place.startswith("no code yet"):
            continue
        path, fragments = place.split(": ", 1)
        text = " ".join((ROOT / path.strip("`")).read_text(encoding="utf-8").split())
        found = re.findall(r"`([^`]+)`", fragments)
        assert found, name
        for fragment in found:
            assert fragment in text, f"{name}: {path} has no “{fragment}” any more"
