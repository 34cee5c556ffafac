"""`make chaos`: everything that can go wrong, at once, while documents are published; then nothing may be wrong.

Exit status: 0 if nothing was violated, 1 if something was, or if the run was not hard enough to tell, 2 for usage.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from tests.chaos.mutants import MUTANTS
from tests.chaos.plan import Request
from tests.chaos.run import run

ALL = "all"
RUNS = 5  # at most, of each mutant
SHORT = ("--tasks", "80", "--kills", "6", "--pauses", "24", "--backend-kills", "4", "--seconds", "120")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--tasks", type=_count, default=300, help="versions to publish (300)")
    parser.add_argument("--kills", type=_count, default=30, help="workers to kill; the other blows follow from it (30)")
    parser.add_argument("--seconds", type=_seconds, default=120.0, help="at most, before all is left in peace (120)")
    parser.add_argument("--seed", default="1", help="of everything that is drawn (1)")
    parser.add_argument("--pauses", type=_count, help="workers to stop beyond their lease")
    parser.add_argument("--backend-kills", type=_count, help="database connections to end")
    parser.add_argument("--restarts", type=_count, help="crashes of the database")
    parser.add_argument(
        "--faults", type=_share, default=0.2, help="share of the provider's answers that are faulty (0.2)"
    )
    parser.add_argument("--workers", type=_count, default=6)
    parser.add_argument(
        "--mutant",
        choices=[*sorted(MUTANTS), ALL],
        help="take one guard away: the run must notice; or each in its turn",
    )
    parser.add_argument(
        "--keep", action="store_true", help="keep the folder with logs and ledgers, and say where it is"
    )
    parser.add_argument("--format", choices=["text", "json"], default="text")
    options = parser.parse_args()
    if options.mutant == ALL:
        return each_mutant(as_json=options.format == "json")
    outcome = run(
        Request(
            tasks=options.tasks,
            kills=options.kills,
            seconds=options.seconds,
            seed=options.seed,
            pauses=options.pauses,
            backend_kills=options.backend_kills,
            restarts=options.restarts,
            fault_rate=options.faults,
            workers=options.workers,
            mutant=options.mutant,
        ),
        keep=options.keep,
        say=_say if sys.stderr.isatty() else lambda _: None,
    )
    print(json.dumps(outcome.as_json(), ensure_ascii=False) if options.format == "json" else outcome.as_text())
    return 0 if outcome.passed else 1


def each_mutant(*, as_json: bool) -> int:
    """Short runs for each guard less; 0 if an invariant named each. A process that fails in another way proves nothing.

    Whether a blow falls into the moment that the guard was for is up to the machine, so each mutant has a few runs.
    """
    caught = {}
    for name in MUTANTS:
        for seed in range(1, RUNS + 1):
            caught[name] = _noticed(name, seed)
            if caught[name]:
                break
        if not as_json:
            print(f"{name}: {', '.join(caught[name]) or 'not noticed'}", flush=True)
    if as_json:
        print(json.dumps({"mutants": len(caught), "caught": sum(map(bool, caught.values())), "by": caught}))
    return 0 if all(caught.values()) else 1


def _noticed(name: str, seed: int) -> list[str]:
    command = [sys.executable, "-m", "tests.chaos", *SHORT, "--seed", str(seed), "--mutant", name, "--format", "json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout)["violations"] if done.stdout else []
    return sorted({violation.partition(":")[0] for violation in found} - {"no_defect"})


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < 1_000_000:
        raise ValueError
    return number


def _share(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 1:
        raise ValueError
    return number


if __name__ == "__main__":
    sys.exit(main())
