"""Rows of every kind that somebody could tamper with, and their names for the statements of the attacks."""

from __future__ import annotations

from typing import Any

from documents import holds, publishing
from documents.models import Document, DocumentVersion, Publication
from indexing import cache, queue
from indexing.cache import literal
from indexing.errors import DocumentCorrupt
from indexing.lease import Lease
from indexing.models import IndexTask, Pipeline
from tests.db.staging import claim, finished, stage
from tests.factories import World, make_world


def _dead(world: World, document: Document) -> int:
    task_id: int = world.publish(document).ticket.task_id
    lease = claim()
    assert lease.task_id == task_id
    verdict: Any = type("Verdict", (), {"state": "DEAD", "charge": 1, "delay": None})
    queue.fail(lease, error=DocumentCorrupt(), verdict=verdict)
    return task_id


def tampering_scene(world: World) -> tuple[Lease, dict[str, Any]]:
    """A live lease on version 2 of a document whose version 1 is served, and the names: that document, and one that is
    published (waiting), withdrawn, deleted, deleted under audit hold, waits for its index to come into force, or is of
    another tenant."""
    dead = _dead(world, world.upload(title="Dead"))
    served = world.upload(title="Served")
    world.publish(served)
    finished(claim(), ["one", "two"])
    world.new_version(served, "# Travel\n\nThe limit is 300 yuan.")
    world.publish(served)
    lease = claim("holder")
    stage(lease, ["three"])
    pipeline = Pipeline.objects.get(pk=lease.pipeline_id)
    cache.keep_vectors(lease, fingerprint="f", vectors={"d" * 64: literal([1.0] * pipeline.dimensions)})  # type: ignore[arg-type]
    version = DocumentVersion.objects.get(document=served, number=2)

    ready = world.upload(title="Ready")
    publishing.set_staleness(
        actor=world.editor, document_id=ready.pk, revision=None, staleness=Document.Staleness.PUBLISH_WHEN_READY
    )
    world.publish(ready)
    draft = world.upload(title="Draft")
    withdrawn = world.upload(title="Withdrawn")
    world.publish(withdrawn)
    publishing.withdraw_document(actor=world.editor, document_id=withdrawn.pk, revision=None)
    deleted = world.upload(title="Deleted")
    world.publish(deleted)
    publishing.delete_document(actor=world.editor, document_id=deleted.pk)
    held = world.upload(title="Held")
    world.publish(held)
    operator = world.member(f"{world.tenant.slug}-operator", role="operator")
    hold = holds.place_hold(actor=operator, document_id=held.pk, reason="A lawsuit")
    publishing.set_readers(actor=world.editor, document_id=held.pk, revision=None, readers=[])
    publishing.delete_document(actor=world.editor, document_id=held.pk)
    other = make_world()
    foreign = other.upload(title="Foreign")
    other.publish(foreign)
    names: dict[str, Any] = {
        "tenant": world.tenant.pk,
        "task": lease.task_id,
        "dead": dead,
        "waiting": IndexTask.objects.get(document=ready).pk,
        "pipeline": lease.pipeline_id,
        "content": version.content_id,
        "sha256": version.content.sha256,
        "publication": Publication.objects.filter(document=served).latest("pk").pk,
        "first_version": DocumentVersion.objects.get(document=served, number=1).pk,
        "foreign_content": DocumentVersion.objects.get(document=foreign).content_id,
        "foreign_tenant": other.tenant.pk,
        "hold": hold.pk,
        "member": world.membership(world.editor).pk,
    }
    documents = {
        "served": served,
        "ready": ready,
        "draft": draft,
        "withdrawn": withdrawn,
        "deleted": deleted,
        "held": held,
        "foreign": foreign,
    }
    names.update({name: f"'{document.pk}'::uuid" for name, document in documents.items()})
    return lease, names
