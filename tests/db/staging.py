"""Chunks with made-up vectors, stored through the sink: for tests that are not about parsing or embedding."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from indexing import queue, sink
from indexing.blocks import Chunk
from indexing.cache import literal
from indexing.lease import Lease
from indexing.locators import Locator
from indexing.models import IndexTask, Pipeline
from indexing.sink import Manifest
from tests.factories import World


def claim(worker: str = "w") -> Lease:
    lease = queue.claim(worker=worker, pool="online", lease_seconds=60)
    assert lease is not None, "nothing was due"
    return lease


def leased(world: World, text: str = "# Travel\n\nThe limit is 200 yuan.") -> Lease:
    """A lease on the order of a document just published."""
    world.publish(world.upload(text))
    return claim()


def chunks_of(texts: Sequence[str]) -> list[Chunk]:
    return [
        Chunk(ordinal=number, text=text, heading_path=(), locator=Locator(span=(0, len(text))), tokens=len(text))
        for number, text in enumerate(texts)
    ]


def vector_of(text: str, dimensions: int) -> str:
    """A direction that depends on the text alone."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    return literal(np.random.default_rng(seed).normal(size=dimensions).astype(np.float32))


def stage(lease: Lease, texts: Sequence[str], *, vector: Callable[[str, int], str] = vector_of) -> Manifest:
    """Store one chunk a text for the lease's version."""
    pipeline = Pipeline.objects.get(pk=lease.pipeline_id)
    manifest = Manifest.of(chunks_of(texts), lease=lease, pipeline_digest=pipeline.digest)
    vectors = {item.embedded_digest: vector(item.chunk.text, pipeline.dimensions) for item in manifest.chunks}
    for start in range(0, len(manifest.chunks), sink.STAGE_BATCH):
        part = manifest.chunks[start : start + sink.STAGE_BATCH]
        sink.stage(lease, part, vectors=vectors, dimensions=pipeline.dimensions)
    return manifest


def finished(
    lease: Lease, texts: Sequence[str] = ("one", "two"), *, vector: Callable[[str, int], str] = vector_of
) -> Manifest:
    """Stage and switch: readers are served these chunks afterwards."""
    manifest = stage(lease, texts, vector=vector)
    sink.finish(lease, manifest)
    return manifest


def state_of(lease: Lease) -> str:
    return IndexTask.objects.values_list("state", flat=True).get(pk=lease.task_id)
