"""`manage.py recompute` as a run of the race uses it: its workers are the run's own, with a guard less if a mutant is named."""

from __future__ import annotations

import os
import sys
from functools import partial
from unittest.mock import patch


def main() -> None:
    import django

    django.setup()
    from django.core.management import execute_from_command_line

    from indexing.engines.actors import RayEngine
    from indexing.engines.local import LocalEngine
    from tests.chaos import mutants, pace
    from tests.chaos.race.actor import ChaosActor

    pace.hurry()
    if mutant := os.environ.get("CHAOS_MUTANT"):
        mutants.apply(mutant)
    workers = [sys.executable, "-m", "tests.chaos.worker"]
    with (
        patch("indexing.management.commands.recompute.LocalEngine", partial(LocalEngine, workers)),
        patch("indexing.engines.actors.RayEngine", partial(RayEngine, actor=ChaosActor)),
    ):
        execute_from_command_line(["manage.py", "recompute", *sys.argv[1:]])


if __name__ == "__main__":
    main()
