"""`manage.py run_index_worker`, under a wall clock that is wrong and, if a mutant is named, without one of its guards.

The monotonic clock stays honest: the product says that it relies on no other.
"""

from __future__ import annotations

import os
import random
import sys
import time

SKEWS = (-3600, 0, 0, 3600)  # seconds that a worker's wall clock is wrong by, drawn at each start


def main() -> None:
    skew = random.Random(f"{os.environ['CHAOS_SEED']} {sys.argv}").choice(SKEWS)
    if skew:
        import time_machine

        honest = time.monotonic()
        time_machine.travel(time.time() + skew, tick=True).start()
        assert time.monotonic() - honest < 10, "the monotonic clock was moved, too"
    import django

    django.setup()
    from django.core.management import execute_from_command_line

    from tests.chaos import mutants, pace

    pace.hurry()
    if mutant := os.environ.get("CHAOS_MUTANT"):
        mutants.apply(mutant)
    execute_from_command_line(["manage.py", "run_index_worker", *sys.argv[1:]])


if __name__ == "__main__":
    main()
