"""Takes readers off documents and puts them on again. When it ends, every document has readers."""

from __future__ import annotations

import uuid

from tests.chaos import plan
from tests.chaos.actors.acting import Refused, Stage, Unknown, act

LIVING = """SELECT d.id, t.slug, d.requested_version FROM document d JOIN tenant t ON t.id = d.tenant_id
             WHERE d.deleted_at IS NULL AND d.requested_version IS NOT NULL"""
NEWEST = " ORDER BY d.updated_at DESC LIMIT 30"


def flip(stage: Stage) -> None:
    while not stage.stopped.is_set():
        stage.every(5)
        if found := stage.ask(LIVING + NEWEST):
            document, tenant, version = stage.rng.choice(found)
            nobody = stage.rng.random() < 0.25
            _set(stage, document, tenant, version, () if nobody else plan.audience(stage.rng, tenant))


def restore(stage: Stage) -> None:
    """Give readers to what has none: else a version that waits for readers would be none that was lost."""
    without = (
        LIVING
        + " AND NOT EXISTS (SELECT 1 FROM read_rule r WHERE (r.document_id, r.version_number) = (d.id, d.requested_version))"
    )
    while not stage.stopped.is_set() and (found := stage.ask(without)):
        for document, tenant, version in found:
            _set(stage, document, tenant, version, (plan.Reader("everyone"),))


def _set(stage: Stage, document: uuid.UUID, tenant: str, version: int, audience: tuple[plan.Reader, ...]) -> None:
    from documents.publishing import set_readers
    from documents.readers import Reader

    actor = stage.person(f"{tenant}-editor")
    readers = [Reader(reader.type, reader.name) for reader in audience]
    try:
        stage.command(
            "set_readers",
            lambda: set_readers(actor=actor, document_id=document, revision=None, readers=readers),
            told=lambda changed: {"version": changed.requested_version},
            document=str(document),
            version=version,
            readers=sorted(plan.named(audience, tenant)),
            tenant=tenant,
        )
    except (Refused, Unknown):
        return


if __name__ == "__main__":
    act(flip)
