"""The Ray actor of a race: short waits, and a guard less if a mutant is named."""

from __future__ import annotations

import os

from indexing.engines.actors import Actor
from indexing.engines.base import Crew


class ChaosActor(Actor):
    def __init__(self, crew: Crew, name: str) -> None:
        import django

        django.setup()
        from tests.chaos import mutants, pace

        pace.hurry()
        if mutant := os.environ.get("CHAOS_MUTANT"):
            mutants.apply(mutant)
        super().__init__(crew, name)
