"""What a worker asks before each claim: whose tasks stay where they are because their provider is out. It also sends the
probe that finds out whether the provider is back: one short text, so that no task and no lease hangs on the answer."""

from __future__ import annotations

import time
from dataclasses import dataclass

from indexing import canary, provider_gate
from indexing.models import Pipeline
from indexing.pipelines import pipelines_by_provider
from indexing.providers import embedder_for

CALM = 1.0  # seconds for which a provider that works is not asked about again


@dataclass(frozen=True, slots=True)
class Pause:
    """Pipelines whose tasks are not claimed, and the seconds after which that may change (None: only with the settings)."""

    pipelines: tuple[int, ...] = ()
    seconds: float | None = None


class ProviderWatch:
    """One worker's view, a second old at most while all is well."""

    def __init__(self) -> None:
        self._calm_until = 0.0  # monotonic seconds

    def look_again(self) -> None:
        """Something went wrong with the provider: do not go by what was seen before."""
        self._calm_until = 0.0

    def pause(self) -> Pause:
        """Which pipelines rest now. Sends the probe if one is due and nobody else does."""
        if time.monotonic() < self._calm_until:
            return Pause()
        resting, seconds = list[int](), list[float]()
        for provider, pipelines in pipelines_by_provider().items():
            if provider is None:  # nobody to ask: leave them to workers with that endpoint
                resting += [pipeline.pk for pipeline in pipelines]
                continue
            found = provider_gate.standing(provider)
            if found.open_for is not None and found.pause <= 0 and _probe(provider, pipelines[0]):
                found = provider_gate.standing(provider)
            if found.pauses:
                resting += [pipeline.pk for pipeline in pipelines]
                seconds.append(found.pause)
        return self._calm(Pause(tuple(resting), min(seconds, default=None)))

    def _calm(self, pause: Pause) -> Pause:
        if not pause.pipelines:
            self._calm_until = time.monotonic() + CALM
        return pause


def _probe(provider: str, pipeline: Pipeline) -> bool:
    embedder = embedder_for(pipeline.config)
    # The canary: a provider that answers with another model is not back.
    return provider_gate.probe(lambda: canary.embed(embedder, []), provider=provider)
