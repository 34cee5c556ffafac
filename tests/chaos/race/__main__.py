"""`make race-recompute`: everything is computed anew while editors go on, models are switched, and processes are killed.

Readers search all the while, and must never be shown anything older. Exit status: 0 if nothing was wrong, 1 if something was,
2 for usage. With `--mutant epoch` the rule that no pointer goes back is taken out of the run's processes and database: then
something must be wrong.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys

from tests.chaos.race.run import Race, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="make race-recompute", description=__doc__)
    parser.add_argument("--documents", type=_count, default=2000, help="that there are at the beginning (2000)")
    parser.add_argument("--updates", type=_count, default=500, help="new versions, deletions and withdrawals (500)")
    parser.add_argument("--engine", choices=("local", "ray"), default="local")
    parser.add_argument("--processes", type=_count, default=2, help="workers of the engine (2)")
    parser.add_argument("--kills", type=int, default=None, help="processes to kill (one for each 40 documents)")
    parser.add_argument("--seconds", type=_count, default=3600, help="at most (3600)")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--mutant", choices=("epoch",))
    parser.add_argument("--format", choices=("text", "json"), default="text")
    options = parser.parse_args()
    if options.engine == "ray" and importlib.util.find_spec("ray") is None:
        parser.error("--engine ray: Ray is not installed (pip install -r requirements-ray.txt)")
    kills = options.kills if options.kills is not None else max(3, options.documents // 40)
    race = Race(
        documents=options.documents,
        updates=options.updates,
        engine=options.engine,
        processes=options.processes,
        kills=kills,
        seconds=options.seconds,
        seed=options.seed,
        mutant=options.mutant,
    )
    figures = run(race, say=_say)
    if options.format == "json":
        print(json.dumps(figures, ensure_ascii=False))
    else:
        print("\n".join(f"{name}: {value}" for name, value in figures.items()))
    return 1 if figures["violations"] else 0


def _say(line: str) -> None:
    if sys.stderr.isatty():
        print(line, file=sys.stderr)


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("a number from 1 on")
    return number


if __name__ == "__main__":
    raise SystemExit(main())
