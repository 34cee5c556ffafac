"""Uploads and publishes what the plan says, until its share of the tasks is acknowledged."""

from __future__ import annotations

import os
import time
import uuid
from typing import Any

from tests.chaos import oracle, plan
from tests.chaos.actors.acting import Refused, Stage, Unknown, act

BACKLOG = 9  # tasks that wait or run, beyond which it is no use to publish more: the next would only wait its turn
OVERTAKING = 2.0  # seconds that a publish waits for the version before to be worked on


def publish(stage: Stage) -> None:
    number = int(os.environ["CHAOS_NAME"].rpartition("-")[2])
    request = stage.request
    left = request.tasks // request.publishers + (number < request.tasks % request.publishers)
    documents: dict[int, uuid.UUID | None] = {}  # None: deleted
    for step in plan.steps(request, number):
        if not left or stage.stopped.is_set():
            return
        if documents.get(step.document, ...) is None:
            continue
        if not step.at_once:
            _wait_for_room(stage)
        try:
            document, version = _upload(stage, step, documents.get(step.document))
            documents[step.document] = document
            if step.at_once:
                _wait_for_work(stage, document)
            left -= _publish(stage, step, document, version)
        except Refused:
            documents[step.document] = None


def _wait_for_room(stage: Stage) -> None:
    text = "SELECT count(*) FROM index_task WHERE state IN ('PENDING', 'RUNNING')"
    while stage.ask(text)[0][0] >= BACKLOG and not stage.stopped.wait(0.1):
        pass


def _wait_for_work(stage: Stage, document: uuid.UUID) -> None:
    text = "SELECT count(*) FROM index_task WHERE document_id = %s AND state = 'RUNNING'"
    deadline = time.monotonic() + OVERTAKING
    while not stage.ask(text, [document])[0][0] and time.monotonic() < deadline and not stage.stopped.wait(0.03):
        pass


def _upload(stage: Stage, step: plan.Step, document: uuid.UUID | None) -> tuple[uuid.UUID, int]:
    """The new version. One that nobody can tell about stays unpublished, and another is made. Raises `Refused`."""
    from documents import uploading
    from documents.errors import DocumentsError
    from documents.publishing import set_staleness

    content = step.content
    stage.owned(lambda owner: oracle.record(owner, content))
    actor = stage.person(f"{step.tenant}-editor")
    file: dict[str, Any] = {
        "data": oracle.rendered(content),
        "file_name": content.file_name,
        "title": content.title,
        "actor": actor,
    }
    try:
        if document is None:
            made = stage.patiently(lambda: uploading.create_document(tenant=step.tenant, **file))
            document = made.document_id
            if step.staleness:
                first, chosen = made.document_id, step.staleness
                stage.patiently(lambda: set_staleness(actor=actor, document_id=first, revision=None, staleness=chosen))
        else:
            known = document
            made = stage.patiently(lambda: uploading.add_version(document_id=known, revision=None, **file))
    except DocumentsError as error:
        raise Refused from error
    return document, made.number


def _publish(stage: Stage, step: plan.Step, document: uuid.UUID, version: int) -> bool:
    """Publish until it is known to have happened: to do it twice gives the same order. Raises `Refused`."""
    from documents.publishing import publish_version
    from documents.readers import Reader

    actor = stage.person(f"{step.tenant}-editor")
    readers = None if step.readers is None else [Reader(reader.type, reader.name) for reader in step.readers]
    names = None if step.readers is None else sorted(plan.named(step.readers, step.tenant))
    while not stage.stopped.is_set():
        try:
            stage.command(
                "publish",
                lambda: publish_version(
                    actor=actor, document_id=document, revision=None, version_number=version, readers=readers
                ),
                told=lambda done: {"task": done.ticket.task_id},
                document=str(document),
                version=version,
                readers=names,
                sections=step.content.sections,
                tenant=step.tenant,
            )
        except Unknown:
            continue
        return True
    return False


if __name__ == "__main__":
    act(publish)
