"""Publishes new versions, deletes and withdraws: mostly of documents that the bulk run is at work on right now."""

from __future__ import annotations

import json
import os
import uuid
from typing import Any

from tests.chaos import oracle, plan
from tests.chaos.actors.acting import Refused, Stage, Unknown, act
from tests.chaos.race.contents import content_of, everyone

RUNNING = """SELECT document_id FROM index_task
              WHERE task_type = 'RECOMPUTE' AND state = 'RUNNING' AND lease_until > clock_timestamp()"""


def update(stage: Stage) -> None:
    documents = json.loads((stage.folder / "documents.json").read_text())  # by id: number, tenant
    wanted = int(os.environ["CHAOS_UPDATES"])
    done = len((stage.folder / "updates").read_text().splitlines()) if (stage.folder / "updates").exists() else 0
    versions = dict.fromkeys(documents, 1)
    gone: set[str] = set()
    while done < wanted and not stage.stopped.is_set():
        busy = [str(row[0]) for row in stage.ask(RUNNING)]
        open_ = [document for document in busy if document not in gone] if stage.rng.random() < 0.8 else []
        document = stage.rng.choice(open_ or [document for document in documents if document not in gone])
        number, tenant = documents[document]
        chance = stage.rng.random()
        if chance < 0.1:
            gone.add(document)
            _command(stage, "delete", document, tenant)
        elif chance < 0.15:
            gone.add(document)
            _command(stage, "withdraw", document, tenant)
        else:
            versions[document] += 1
            _publish(stage, document, number, tenant, versions[document])
        done += 1
        with (stage.folder / "updates").open("a") as file:
            file.write(f"{chance}\n")
        stage.pause(float(os.environ["CHAOS_PAUSE"]))


def _publish(stage: Stage, document: str, number: int, tenant: str, version: int) -> None:
    from documents import publishing, uploading

    content = content_of(number, version)
    actor = stage.person(f"{tenant}-editor")
    made = stage.patiently(
        lambda: uploading.add_version(
            actor=actor,
            document_id=uuid.UUID(document),
            revision=None,
            data=oracle.rendered(content),
            file_name=content.file_name,
            title=content.title,
        )
    )
    _send(
        stage,
        "publish",
        lambda: publishing.publish_version(
            actor=actor, document_id=uuid.UUID(document), revision=None, version_number=made.number, readers=everyone()
        ),
        document=document,
        tenant=tenant,
        version=made.number,
        readers=sorted(plan.members(tenant)),
        sections=content.sections,
    )


def _command(stage: Stage, action: str, document: str, tenant: str) -> None:
    from documents import publishing

    actor = stage.person(f"{tenant}-editor")
    call = publishing.delete_document if action == "delete" else publishing.withdraw_document
    _send(
        stage,
        action,
        lambda: call(actor=actor, document_id=uuid.UUID(document), revision=None),
        document=document,
        tenant=tenant,
    )


def _send(stage: Stage, action: str, call: Any, **intent: Any) -> None:
    while not stage.stopped.is_set():
        try:
            stage.command(action, call, told=lambda _: {}, **intent)
        except Unknown:
            continue
        except Refused:
            pass
        return


if __name__ == "__main__":
    act(update)
