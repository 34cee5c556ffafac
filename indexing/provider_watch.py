"""What a worker asks before each claim: whose tasks stay where they are because their provider is out. It also sends the
probe that finds out whether the provider is back: one short text, so that no task and no lease hangs on the answer."""

from __future__ import annotations

import time
from dataclasses import dataclass

from indexing import canary, provider_gate
from indexing.pipelines import pipelines_of_endpoint
from indexing.providers import embedder_for, endpoint_provider

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
        provider = endpoint_provider()
        if provider is None:
            return self._calm(Pause(_pipelines()))  # nobody to ask: leave them to workers with an endpoint
        found = provider_gate.standing(provider)
        if found.open_for is not None and found.pause <= 0 and _probe(provider):
            found = provider_gate.standing(provider)
        if not found.pauses:
            return self._calm(Pause())
        return Pause(_pipelines(), found.pause)

    def _calm(self, pause: Pause) -> Pause:
        if not pause.pipelines:
            self._calm_until = time.monotonic() + CALM
        return pause


def _probe(provider: str) -> bool:
    pipeline = next(iter(pipelines_of_endpoint()), None)
    if pipeline is None:
        return False
    embedder = embedder_for(pipeline.config)
    # The canary: a provider that answers with another model is not back.
    return provider_gate.probe(lambda: canary.embed(embedder, []), provider=provider)


def _pipelines() -> tuple[int, ...]:
    return tuple(pipeline.pk for pipeline in pipelines_of_endpoint())
