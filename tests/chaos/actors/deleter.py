"""Deletes documents, mostly while somebody indexes them, and sweeps what is left of deleted ones."""

from __future__ import annotations

import uuid

from tests.chaos.actors.acting import Refused, Stage, Unknown, act

RUNNING = """SELECT d.id, t.slug FROM index_task i JOIN document d ON d.id = i.document_id JOIN tenant t ON t.id = d.tenant_id
              WHERE i.state = 'RUNNING' AND d.deleted_at IS NULL AND i.lease_until > clock_timestamp()"""
ANY = """SELECT d.id, t.slug FROM document d JOIN tenant t ON t.id = d.tenant_id
          WHERE d.deleted_at IS NULL AND d.requested_version IS NOT NULL ORDER BY d.updated_at DESC LIMIT 30"""


def delete(stage: Stage) -> None:
    while not stage.stopped.is_set():
        stage.every(14)
        found = stage.ask(RUNNING if stage.rng.random() < 0.8 else ANY)
        if found:
            _delete(stage, *stage.rng.choice(found))
        if stage.rng.random() < 0.2:
            _sweep(stage)


def _delete(stage: Stage, document: uuid.UUID, tenant: str) -> None:
    from documents.publishing import delete_document

    actor = stage.person(f"{tenant}-editor")
    while not stage.stopped.is_set():
        try:
            stage.command(
                "delete",
                lambda: delete_document(actor=actor, document_id=document),
                told=lambda _: {},
                document=str(document),
                tenant=tenant,
            )
        except Unknown:
            continue
        except Refused:
            pass
        return


def _sweep(stage: Stage) -> None:
    from documents.purging import purge_deleted

    stage.patiently(purge_deleted)


if __name__ == "__main__":
    act(delete)
