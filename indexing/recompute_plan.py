"""What a bulk run would do and cost, before it is started. Nothing is written, and no text is sent."""

from __future__ import annotations

import random
import uuid
from dataclasses import asdict, dataclass
from typing import Any

from django.conf import settings

from indexing.errors import EmbeddingUnavailable
from indexing.models import Pipeline
from indexing.provider_gate import IN_PROCESS
from indexing.providers import embedder_for
from indexing.recompute_list import Where, check_pipeline, pages
from indexing.statements import row

SAMPLE = 200  # documents whose texts are looked at for tokens and known vectors
CUTS = ("parser", "splitter", "context")  # parts of a configuration that decide which texts there are


@dataclass(frozen=True, slots=True)
class Plan:
    """Documents, texts and tokens of a run that is not started yet; None is “not known”."""

    documents: int
    current: int  # searchable at their requested version: nothing to do
    to_compute: int
    counted: int  # of those, how many have a known number of texts; the others are taken to be like them
    texts: int | None
    texts_to_send: int | None  # without those whose vectors the sample says are known
    tokens_to_send: int | None
    seconds: float | None
    cost: float | None  # in the unit of KB_EMBEDDING_PRICE
    rates: dict[str, Any]  # what the estimates rest on

    def to_json(self) -> dict[str, Any]:
        words = {name: value for name, value in asdict(self).items() if name != "rates"}
        return {_camel(name): value for name, value in words.items()} | {"rates": self.rates}


def plan(
    *,
    pipeline_id: int,
    tenant_id: int | None = None,
    where: Where | None = None,
    rebuild: bool = False,
    workers: int = 1,
) -> Plan:
    """Count what a run with these parameters would do, and estimate the rest from a sample and from past orders.

    seconds = max(texts / (workers · chunks a second of one worker), texts to send / the provider's budget a second,
    requests / its requests a second). cost = tokens to send / 1,000,000 · KB_EMBEDDING_PRICE.
    Raises what `check_pipeline` raises.
    """
    pipeline = check_pipeline(pipeline_id=pipeline_id, tenant_id=tenant_id)
    documents = current = to_compute = counted = known = 0
    sample: list[uuid.UUID] = []
    rng = random.Random(0)  # noqa: S311 (the same plan twice says the same)
    for _last, listed in pages(pipeline_id=pipeline_id, tenant_id=tenant_id, where=where or Where()):
        documents += len(listed)
        for item in listed:
            if item.is_current and not rebuild:
                current += 1
                continue
            to_compute += 1
            if item.chunks is not None:
                counted, known = counted + 1, known + item.chunks
                # Reservoir sampling (algorithm R): each document is in it with the same chance.
                if len(sample) < SAMPLE:
                    sample.append(item.document_id)
                elif (place := rng.randrange(counted)) < SAMPLE:
                    sample[place] = item.document_id
    texts = round(known / counted * to_compute) if counted else (None if to_compute else 0)
    rates = _rates(pipeline, sample, workers)
    to_send = None if texts is None else round(texts * (1 - rates["cachedShare"]))
    tokens = round(to_send * (rates["tokensPerText"] or 0)) if to_send is not None else None
    price = rates["pricePerMillionTokens"]
    return Plan(
        documents=documents,
        current=current,
        to_compute=to_compute,
        counted=counted,
        texts=texts,
        texts_to_send=to_send,
        tokens_to_send=tokens,
        seconds=None if texts is None or to_send is None else _seconds(texts, to_send, rates),
        cost=None if tokens is None or not price else tokens / 1_000_000 * price,
        rates=rates,
    )


def _rates(pipeline: Pipeline, sample: list[uuid.UUID], workers: int) -> dict[str, Any]:
    try:
        embedder = embedder_for(pipeline.config)
        fingerprint, is_remote = embedder.fingerprint(), embedder.provider != IN_PROCESS
    except EmbeddingUnavailable:
        fingerprint, is_remote = "", True
    same = [
        other.pk
        for other in Pipeline.objects.all()
        if all(other.config.get(part) == pipeline.config.get(part) for part in CUTS)
    ]
    found = row("recompute", "sample", documents=sample, pipeline=pipeline.pk, same=same, fingerprint=fingerprint)
    pace = row("recompute", "pace", pipeline=pipeline.pk)
    assert found is not None, "an aggregate always returns a row"
    assert pace is not None, "an aggregate always returns a row"
    texts = found["texts"]
    return {
        "sampledTexts": texts,
        "tokensPerText": round(found["tokens"] / texts, 1) if texts else None,
        "cachedShare": round(found["cached"] / texts, 3) if texts else 0.0,
        "chunksPerSecondAndWorker": pace["per_second"],
        "workers": workers,
        "textsPerMinute": (settings.KB_EMBEDDING_TEXTS_PER_MINUTE or None) if is_remote else None,
        "requestsPerMinute": (settings.KB_EMBEDDING_REQUESTS_PER_MINUTE or None) if is_remote else None,
        "batchSize": settings.KB_EMBEDDING_BATCH_SIZE,
        "pricePerMillionTokens": (settings.KB_EMBEDDING_PRICE or None) if is_remote else None,
    }


def _seconds(texts: int, to_send: int, rates: dict[str, Any]) -> float | None:
    if not texts:
        return 0.0
    bounds = []
    if rates["chunksPerSecondAndWorker"]:
        bounds.append(texts / (rates["chunksPerSecondAndWorker"] * rates["workers"]))
    if rates["textsPerMinute"]:
        bounds.append(to_send / rates["textsPerMinute"] * 60)
    if rates["requestsPerMinute"]:
        bounds.append(to_send / rates["batchSize"] / rates["requestsPerMinute"] * 60)
    return max(bounds) if bounds else None


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)
