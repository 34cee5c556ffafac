"""What people decide while an attempt is on its way to its end: the last word is theirs, whatever the worker saw before."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db.models.functions import Now

from documents import publishing, uploading
from documents.models import Document
from documents.readers import Reader
from indexing import queue, sink, tasks
from indexing.models import IndexTask, TaskEvent
from indexing.search import search
from indexing.worker import Result
from tests.concurrency.leases import before_finish, claim, expire, found_texts, long_text, make_due, run_worker, task_of
from tests.concurrency.test_stage_then_switch import publish_next, searchable, while_embedding
from tests.factories import EVERYONE, World
from tests.provider_stub import ProviderStub, status
from tests.sessions import Session

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def before_the_end(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """`act` when the worker has decided how its attempt ends and has not written it yet."""
    real, done = sink.end, []

    def end(*arguments: object, **options: object) -> object:
        if not done:
            done.append(True)
            with Session() as somebody:
                somebody.run(act)
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("indexing.sink.end", end)


def test_published_again_after_the_worker_saw_it_withdrawn(
    stub_world: World, provider: ProviderStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = stub_world.upload(long_text("old"))
    stub_world.publish(document)
    before_the_end(monkeypatch, lambda: stub_world.publish(document))

    def withdraw() -> None:
        publishing.withdraw_document(actor=stub_world.editor, document_id=document.pk, revision=None)

    while_embedding(stub_world, provider, withdraw)
    assert task_of(document.pk, 1).state == "SUCCEEDED"
    assert found_texts(stub_world, "old")


def test_published_again_after_the_worker_saw_it_cancelled(
    stub_world: World, provider: ProviderStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = stub_world.upload(long_text("old"))
    task_id = stub_world.publish(document).ticket.task_id
    before_the_end(monkeypatch, lambda: stub_world.publish(document))
    while_embedding(stub_world, provider, lambda: queue.cancel(task_id=task_id))
    assert task_of(document.pk, 1).state == "SUCCEEDED"


def test_readers_restored_after_the_worker_saw_none(
    stub_world: World, provider: ProviderStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = stub_world.upload(long_text("old"))
    stub_world.publish(document)

    def set_readers(readers: tuple[Reader, ...]) -> None:
        publishing.set_readers(actor=stub_world.editor, document_id=document.pk, revision=None, readers=readers)

    before_the_end(monkeypatch, lambda: set_readers(EVERYONE))
    while_embedding(stub_world, provider, lambda: set_readers(()))
    assert task_of(document.pk, 1).state == "SUCCEEDED"


def test_a_wish_to_cancel_survives_a_failure_of_the_running_batch(stub_world: World, provider: ProviderStub) -> None:
    document = stub_world.upload(long_text("old"))
    task_id = stub_world.publish(document).ticket.task_id
    provider.fail_on(1, status(500))
    while_embedding(stub_world, provider, lambda: tasks.cancel_task(actor=stub_world.editor, task_id=task_id))
    task = task_of(document.pk, 1)
    assert (task.state, task.error_code) == ("CANCELLED", "CANCELLED_BY_USER")
    assert run_worker() == "IDLE"


def test_deleted_during_a_failing_batch_is_not_tried_again(stub_world: World, provider: ProviderStub) -> None:
    document = stub_world.upload(long_text("old"))
    stub_world.publish(document)
    provider.fail_on(1, status(500))
    while_embedding(
        stub_world,
        provider,
        lambda: publishing.delete_document(actor=stub_world.editor, document_id=document.pk),
    )
    assert task_of(document.pk, 1).error_code == "DOCUMENT_DELETED"


def test_an_ordinary_failure_is_still_a_failure(stub_world: World, provider: ProviderStub) -> None:
    document = stub_world.upload(long_text("old"))
    stub_world.publish(document)
    provider.fail_on(1, status(500))
    assert run_worker() == "FAILED"
    task = task_of(document.pk, 1)
    assert (task.state, task.failures) == ("RETRY_WAIT", 1)
    make_due(task.pk)
    assert run_worker() == "SUCCEEDED"


def test_published_for_nobody_over_a_waiting_order_is_indexed(stub_world: World) -> None:
    """An explicit “nobody” is a decision about readers, not a loss of access that would end the order."""
    document = stub_world.upload(long_text("old"))
    stub_world.publish(document)
    stub_world.publish(document, readers=())
    assert run_worker() == "SUCCEEDED"
    assert found_texts(stub_world, "old") == []


def withheld(world: World, word: str) -> Document:
    document = searchable(world, word)
    publishing.set_staleness(
        actor=world.editor, document_id=document.pk, revision=None, staleness=Document.Staleness.WITHHOLD
    )
    return document


def notices(world: World, query: str) -> list[str]:
    return [notice.message for notice in search(user=world.editor, tenant=world.tenant.slug, query=query).notices]


def test_a_notice_does_not_tell_the_title_of_a_draft(stub_world: World) -> None:
    document = withheld(stub_world, "zanzibar")
    publish_next(stub_world, document, "fresh")
    uploading.add_version(
        actor=stub_world.editor,
        document_id=document.pk,
        revision=None,
        data=b"# x\n\nsecret",
        file_name="a.md",
        title="Plan to dismiss 40 people",
    )
    (notice,) = notices(stub_world, "zanzibar")
    assert "dismiss" not in notice
    assert "Travel" in notice


def test_a_notice_does_not_tell_whether_withdrawn_text_matches(stub_world: World) -> None:
    document = withheld(stub_world, "zanzibar")
    publishing.withdraw_document(actor=stub_world.editor, document_id=document.pk, revision=None)
    publish_next(stub_world, document, "fresh")
    assert notices(stub_world, "zanzibar") == notices(stub_world, "nothere") == []


def stop(how: str, world: World, document: Document) -> None:
    """What people do about a document whose indexing runs."""
    command = {"actor": world.editor, "document_id": document.pk, "revision": None}
    if how == "delete":
        publishing.delete_document(**command)
    elif how == "withdraw":
        publishing.withdraw_document(**command)
    elif how == "take all readers off":
        publishing.set_readers(**command, readers=[])
    else:
        tasks.cancel_task(actor=world.editor, task_id=task_of(document.pk, 1).pk)


@pytest.mark.parametrize(
    ("how", "state", "code"),
    [
        ("delete", "CANCELLED", "DOCUMENT_DELETED"),
        ("withdraw", "CANCELLED", "DOCUMENT_WITHDRAWN"),
        ("take all readers off", "DEAD", "ACCESS_REVOKED"),
        ("cancel", "CANCELLED", "CANCELLED_BY_USER"),
    ],
)
def test_text_nobody_wants_any_more_is_not_sent_on(
    stub_world: World, provider: ProviderStub, how: str, state: str, code: str
) -> None:
    """The batch that is on its way is the last one."""
    document = stub_world.upload(long_text("old"))
    stub_world.publish(document)
    while_embedding(stub_world, provider, lambda: stop(how, stub_world, document))
    assert len(provider.batches) == 1
    task = task_of(document.pk, 1)
    assert (task.state, task.error_code) == (state, code)


def test_withdrawn_and_published_again_during_one_batch_goes_on(stub_world: World, provider: ProviderStub) -> None:
    document = stub_world.upload(long_text("old"))
    stub_world.publish(document)

    def change_of_mind() -> None:
        stop("withdraw", stub_world, document)
        stub_world.publish(document)

    while_embedding(stub_world, provider, change_of_mind)
    task = task_of(document.pk, 1)
    assert (task.state, task.attempts) == ("SUCCEEDED", 1)


def test_superseded_with_everything_staged_shows_only_the_newer(
    stub_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version 1 is about to be switched on when version 2 is published and overtakes it."""
    document = stub_world.upload(long_text("old"))
    stub_world.publish(document)

    def overtake() -> None:
        monkeypatch.undo()
        with Session() as somebody:
            somebody.run(lambda: publish_next(stub_world, document, "fresh"))
            assert somebody.run(lambda: run_worker("fast")) == "SUCCEEDED"

    before_finish(monkeypatch, overtake)
    assert run_worker("slow") == "FAILED"
    assert (task_of(document.pk, 1).state, task_of(document.pk, 1).error_code) == ("CANCELLED", "SUPERSEDED")
    assert all(text.startswith("v2") for text in found_texts(stub_world, "old"))


def test_a_dead_task_that_is_retried_is_not_the_old_workers(stub_world: World, provider: ProviderStub) -> None:
    """A worker sleeps through the end of its task, a person's retry and the next attempt; then it wakes up."""
    document = stub_world.upload(long_text("old"))
    task_id = stub_world.publish(document).ticket.task_id

    def bury_and_retry() -> None:
        expire(task_id)
        IndexTask.objects.filter(pk=task_id).update(
            state="DEAD", lease_owner=None, lease_until=None, finished_at=Now(), error_code="LEASE_ATTEMPTS_EXHAUSTED"
        )
        tasks.retry_task(actor=stub_world.editor, task_id=task_id)
        claim("second")

    assert while_embedding(stub_world, provider, bury_and_retry).result is Result.LOST_LEASE
    task = task_of(document.pk, 1)
    assert (task.state, task.attempts, task.lease_owner) == ("RUNNING", 2, "second")
    refused = TaskEvent.objects.get(task_id=task_id, kind="refused")
    assert (refused.attempts, refused.action, refused.code, refused.detail) == (1, "keep_vectors", "TAKEN_OVER", "2")
