"""Cancels, retries, withdraws and publishes again: what people do to tasks that others are working on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.chaos.actors.acting import Refused, Stage, Unknown, act

UNSETTLED = """SELECT i.id, i.state, t.slug FROM index_task i JOIN tenant t ON t.id = i.tenant_id
                WHERE i.state IN ('RUNNING', 'PENDING', 'RETRY_WAIT')"""
ENDED_BADLY = """SELECT i.id, t.slug FROM index_task i JOIN tenant t ON t.id = i.tenant_id
                   JOIN document d ON d.id = i.document_id AND d.deleted_at IS NULL AND d.withdrawn_at IS NULL
                    AND d.requested_version = i.version_number
                  WHERE i.state IN ('DEAD', 'CANCELLED')"""
IN_FORCE = """SELECT d.id, t.slug FROM document d JOIN tenant t ON t.id = d.tenant_id
               WHERE d.deleted_at IS NULL AND d.withdrawn_at IS NULL AND d.requested_version IS NOT NULL
               ORDER BY d.updated_at DESC LIMIT 30"""


def administer(stage: Stage) -> None:
    while not stage.stopped.is_set():
        stage.every(3)
        chance = stage.rng.random()
        if chance < 0.45:
            cancel(stage, and_take_it_back=chance < 0.3)
        elif chance < 0.9:
            retry(stage)
        elif chance < 0.95:
            withdraw(stage)


def cancel(stage: Stage, *, and_take_it_back: bool) -> None:
    """Cancel a task, one that runs if there is one."""
    from indexing.tasks import cancel_task, retry_task

    found = stage.ask(UNSETTLED)
    if found:
        task, _, tenant = stage.rng.choice([row for row in found if row[1] == "RUNNING"] or found)
        actor = stage.person(f"{tenant}-operator")
        _try(stage, "cancel", lambda: cancel_task(actor=actor, task_id=task), task=task, tenant=tenant)
        if and_take_it_back:
            _try(stage, "retry", lambda: retry_task(actor=actor, task_id=task), task=task, tenant=tenant)


def retry(stage: Stage) -> int:
    """Try again whatever ended badly and is still wanted; return how many."""
    from indexing.tasks import retry_task

    found = stage.ask(ENDED_BADLY)
    for task, tenant in found:
        again = partial(retry_task, actor=stage.person(f"{tenant}-operator"), task_id=task)
        _try(stage, "retry", again, task=task, tenant=tenant)
    return len(found)


def withdraw(stage: Stage) -> None:
    from documents.publishing import withdraw_document

    if found := stage.ask(IN_FORCE):
        document, tenant = stage.rng.choice(found)
        actor = stage.person(f"{tenant}-editor")
        _try(
            stage,
            "withdraw",
            lambda: withdraw_document(actor=actor, document_id=document, revision=None),
            document=str(document),
            tenant=tenant,
        )


def _try(stage: Stage, action: str, call: Callable[[], object], **intent: object) -> None:
    try:
        stage.command(action, call, told=lambda _: {}, **intent)
    except (Refused, Unknown):
        return


if __name__ == "__main__":
    act(administer)
