"""Short ways to put a task into the situation that a test is about."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from django.db import connection

from indexing import queue, sink
from indexing.blocks import Chunk
from indexing.lease import Lease
from indexing.models import Chunk as StoredChunk
from indexing.models import ChunkVector, IndexTask, SearchPointer
from indexing.search import search
from indexing.worker import Worker
from tests.factories import World

SECTIONS = 10


def long_text(word: str, sections: int = SECTIONS) -> str:
    """A document that the test pipeline cuts into one chunk a section, each with `word`."""
    return "\n\n".join(f"# Section {number}\n\n{word} rule number {number} holds." for number in range(1, sections + 1))


def claim(worker: str = "w") -> Lease:
    lease = queue.claim(worker=worker, pool="online", lease_seconds=60)
    assert lease is not None, "nothing was due"
    return lease


def before_finish(patch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Let something happen just before an attempt switches its chunks on."""
    finish = sink.finish

    def delayed(lease: Lease, manifest: sink.Manifest) -> None:
        act()
        finish(lease, manifest)

    patch.setattr(sink, "finish", delayed)


def expire(task_id: int) -> None:
    """End a lease as time would, without waiting for it."""
    with connection.cursor() as cursor:
        cursor.execute(
            # Only the holder may cut a lease short, hence the mark.
            "UPDATE index_task SET fence_xact = pg_current_xact_id(), lease_until = clock_timestamp() - interval '1 second' "
            "WHERE id = %s AND state = 'RUNNING'",
            [task_id],
        )
        assert cursor.rowcount == 1


def make_due(task_id: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE index_task SET next_attempt_at = clock_timestamp() WHERE id = %s AND state = 'RETRY_WAIT'",
            [task_id],
        )
        assert cursor.rowcount == 1


def run_worker(name: str = "w") -> str:
    """One round of a worker in this process."""
    return Worker(name=name, lease_seconds=60).run_once().result


def task_of(document_id: uuid.UUID, version: int) -> IndexTask:
    return IndexTask.objects.get(document=document_id, version_number=version)


def found_texts(world: World, word: str) -> list[str]:
    """What the editor finds for a word, as `vN text`."""
    hits = search(user=world.editor, tenant=world.tenant.slug, query=word, limit=50).hits
    return [f"v{hit.version_number} {hit.snippet}" for hit in hits]


def pointer(document_id: uuid.UUID) -> int | None:
    return SearchPointer.objects.filter(document=document_id).values_list("version_number", flat=True).first()


def stored_ids(document_id: uuid.UUID, version: int) -> list[uuid.UUID]:
    """Ids of the chunks of a version in order, each of which has its vector."""
    chunks = StoredChunk.objects.filter(document=document_id, version_number=version).order_by("ordinal")
    assert ChunkVector.objects.filter(document_id=document_id, version_number=version).count() == chunks.count()
    return list(chunks.values_list("chunk_id", flat=True))


def one_chunk(text: str = "a text") -> Chunk:
    from indexing.blocks import Locator

    return Chunk(ordinal=0, text=text, heading_path=(), locator=Locator(span=(0, len(text))), tokens=3)
