"""Short ways to bring a document somewhere and to see where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.utils import timezone

from documents import publishing
from documents.models import Document, DocumentVersion
from documents.ports import search_index
from indexing import cache, queue
from indexing.backoff import Verdict
from indexing.errors import EmbeddingTimeout
from indexing.identity import text_digest
from indexing.lease import Lease
from indexing.models import IndexTask
from indexing.search import search
from indexing.states import TaskState
from tests.db.staging import claim, finished, vector_of
from tests.factories import World


def shown(document: Document) -> tuple[str, int | None]:
    (found,) = search_index().annotate_state(Document.objects.filter(pk=document.pk))
    return found.index_state, found.searchable_version


def task(document: Document, version: int) -> IndexTask:
    return IndexTask.objects.get(document=document, version_number=version)


def fresh(document: Document) -> Document:
    return Document.objects.get(pk=document.pk)


def finish(texts: tuple[str, ...] = ("the limit",)) -> None:
    finished(claim(), texts)


def found(world: World, user: User | None = None, word: str = "limit") -> list[int]:
    hits = search(user=user or world.editor, tenant=world.tenant.slug, query=word).hits
    return sorted(hit.version_number for hit in hits)


def kill(lease: Lease) -> None:
    """The attempt ends for good."""
    queue.fail(lease, error=EmbeddingTimeout(), verdict=Verdict(TaskState.DEAD, 1))


def second_version(world: World, document: Document, *, staleness: str = "serve_previous", **publish: Any) -> None:
    """Version 1 is served, version 2 is asked for."""
    world.publish(document)
    finish()
    publishing.set_staleness(actor=world.editor, document_id=document.pk, revision=None, staleness=staleness)
    world.new_version(document, "second")
    world.publish(document, **publish)


def files() -> set[str]:
    root = Path(django_settings.MEDIA_ROOT)
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def keep_caches(lease: Lease, *texts: str) -> None:
    """What an attempt at version 1 of a document leaves in the caches."""
    from indexing.blocks import ParsedDocument

    version = DocumentVersion.objects.get(document=lease.document_id, number=1)
    parsed = ParsedDocument(media_type=version.media_type, text=texts[0], blocks=())
    cache.keep_parsed(lease, parsed, content_digest=version.content.sha256, media_type=version.media_type)
    known = cache.find_vectors(lease, fingerprint="f", digests=[text_digest(text) for text in texts])
    fresh = {text_digest(text): vector_of(text, 384) for text in texts if text_digest(text) not in known}
    cache.keep_vectors(lease, fingerprint="f", vectors=fresh)


@contextmanager
def two_days_ago() -> Iterator[None]:
    """What is made in the block is two days old: longer than anything is kept that nobody asks for."""
    then = timezone.now() - timedelta(days=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: then)
        yield
