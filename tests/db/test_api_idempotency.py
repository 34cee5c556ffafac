"""Idempotency-Key: sent twice, carried out once, and answered the same both times."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.urls import URLResolver, get_resolver
from django.utils import timezone

from documents import content, publishing, uploading
from documents.api import idempotency
from documents.errors import StorageFailed
from documents.models import Document, IdempotencyRecord, StoredContent
from tests.db.api import Answer, Caller, at
from tests.factories import World
from tests.sessions import Session

real = pytest.mark.django_db(transaction=True, databases=["default", "owner"])
rolled_back = pytest.mark.django_db


def publish(editor: Caller, document: Document, key: str, **body: Any) -> Answer:
    return editor.post(at(document, "publish"), {"revision": 1, "readers": [], **body}, idempotency_key=key)


def create(editor: Caller, world: World, key: str | None, **options: Any) -> Answer:
    return editor.upload(title="Travel", tenant=world.tenant.slug, idempotency_key=key, **options)


@rolled_back
def test_the_first_answer_is_given_again(editor, world) -> None:
    document = world.upload()
    first, second = publish(editor, document, "a"), publish(editor, document, "a")
    assert (first.status, second.status) == (202, 202)
    assert first.json == second.json
    for name in ("Location", "Retry-After"):
        assert first.headers[name] == second.headers[name]
    assert "Idempotency-Replayed" not in first.headers
    assert second.headers["Idempotency-Replayed"] == "true"
    document.refresh_from_db()
    assert document.revision == 2


@rolled_back
def test_an_upload_counts_by_its_bytes(editor, world) -> None:
    first, again = create(editor, world, "a"), create(editor, world, "a")
    assert first.json == again.json
    assert again.headers["Location"] == first.headers["Location"]
    assert (Document.objects.count(), StoredContent.objects.count()) == (1, 1)
    for other in ({"content": "other bytes"}, {"name": "b.md"}):
        answer = create(editor, world, "a", **other)
        assert (answer.status, answer.code) == (409, "idempotency_key_reused")
    assert StoredContent.objects.count() == 1


@rolled_back
def test_a_refusal_is_an_answer_too(editor, world) -> None:
    document = world.upload()
    first, again = (publish(editor, document, "a", revision=7) for _ in range(2))
    assert (first.code, again.code) == ("stale_revision", "stale_revision")
    assert first.json == again.json
    assert again.headers["Idempotency-Replayed"] == "true"
    assert publish(editor, document, "b").status == 202


@rolled_back
def test_the_same_key_for_something_else_is_refused(editor, world) -> None:
    document, other = world.upload(), world.upload()
    publish(editor, document, "a")
    for answer in (
        publish(editor, document, "a", readers=[{"type": "everyone"}]),
        publish(editor, other, "a"),
        editor.post(at(document, "withdraw"), {"revision": 2}, idempotency_key="a"),
        editor.post(at(document, "publish"), {"readers": []}, if_match='"1"', idempotency_key="a"),
    ):
        assert (answer.status, answer.code) == (409, "idempotency_key_reused")


@rolled_back
def test_keys_belong_to_a_user(editor, world) -> None:
    document = world.upload()
    publish(editor, document, "a")
    colleague = Caller(world.member("colleague", role="editor"))
    assert publish(colleague, document, "a", revision=2).status == 202


@rolled_back
@pytest.mark.parametrize("key", ["", " ", "x" * 256, "schlüssel", "a b"])
def test_keys_that_are_none(editor, world, key: str) -> None:
    assert publish(editor, world.upload(), key).code == "invalid"


@rolled_back
def test_a_server_error_is_not_kept(editor, world, monkeypatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(content, "stage", lambda **_: (_ for _ in ()).throw(StorageFailed()))
        assert create(editor, world, "a").status == 503
        broken.setattr(uploading, "stage_first", lambda **_: 1 / 0)
        assert create(editor, world, "a").status == 500
    assert create(editor, world, "a").status == 201


@rolled_back
def test_records_are_forgotten_after_their_time(editor, world, settings) -> None:
    document = world.upload()
    publish(editor, document, "a")
    publish(editor, document, "b", revision=2)
    age("a", timedelta(seconds=settings.KB_IDEMPOTENCY_SECONDS + 1))
    assert idempotency.old_records().count() == 1
    assert publish(editor, document, "a", revision=3).status == 202  # a first request again, swept or not
    publish(editor, document, "c", revision=4)
    for key in ("b", "c"):
        age(key, timedelta(seconds=settings.KB_IDEMPOTENCY_SECONDS + 1))
    assert idempotency.sweep(batch=1) == 2


def test_every_post_honours_the_header() -> None:
    views = [view for view in api_views(get_resolver()) if hasattr(view, "post")]
    assert len(views) >= 8
    for view in views:
        assert view.post.__wrapped__, f"{view.__name__}.post lacks @idempotent"


def api_views(resolver: URLResolver, prefix: str = "") -> list[Any]:
    found = []
    for pattern in resolver.url_patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            found += api_views(pattern, path)
        elif path.startswith("api/") and hasattr(pattern.callback, "cls"):
            found.append(pattern.callback.cls)
    return found


# Real connections


class Gate:
    """Lets a request into a service and keeps it there until the test opens."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        self.inside, self.open, self.calls = threading.Semaphore(0), threading.Event(), 0
        service = getattr(module, name)

        def gated(**arguments: Any) -> Any:
            self.calls += 1
            first = self.calls == 1
            self.inside.release()
            assert not first or self.open.wait(20)  # later ones pass: only the first is kept
            return service(**arguments)

        monkeypatch.setattr(module, name, gated)

    def wait(self) -> None:
        assert self.inside.acquire(timeout=20)


@real
def test_without_a_key_two_uploads_make_two_documents(editor, world) -> None:
    """The race that the key is for exists."""
    meeting = threading.Barrier(2, timeout=20)

    def send() -> int:
        meeting.wait()
        return create(editor, world, None).status

    with Session() as one, Session() as two:
        assert [future.result(30) for future in (one.start(send), two.start(send))] == [201, 201]
    assert Document.objects.count() == 2


@real
def test_two_at_once_run_the_command_once(editor, world) -> None:
    meeting = threading.Barrier(2, timeout=20)

    def send() -> Answer:
        meeting.wait()
        return create(editor, world, "a")

    with Session() as one, Session() as two:
        answers = [future.result(30) for future in (one.start(send), two.start(send))]
    refused = [answer.code for answer in answers if answer.status != 201]
    assert refused in ([], ["idempotency_in_progress"])  # the later one finds the first running, or done
    assert Document.objects.count() == 1
    assert create(editor, world, "a").headers["Idempotency-Replayed"] == "true"


@real
def test_while_the_first_runs_the_second_is_told_so(editor, world, monkeypatch) -> None:
    document = world.upload()
    gate = Gate(monkeypatch, publishing, "publish_version")
    with Session() as one:
        first = one.start(lambda: publish(editor, document, "a"))
        gate.wait()
        second = publish(editor, document, "a")
        assert (second.status, second.code) == (409, "idempotency_in_progress")
        gate.open.set()
        answer = first.result(30)
    assert answer.status == 202
    assert gate.calls == 1
    assert publish(editor, document, "a").json == answer.json


@real
def test_a_crash_before_the_answer_is_kept_undoes_the_command(editor, world, monkeypatch) -> None:
    document = world.upload()
    with monkeypatch.context() as crash:
        crash.setattr(idempotency, "_keep", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            publish(editor, document, "a")
    document.refresh_from_db()
    assert document.requested_version is None
    assert publish(editor, document, "a").code == "idempotency_in_progress"
    age("a", idempotency.CRASHED_AFTER)
    answer = publish(editor, document, "a")
    assert answer.status == 202
    assert "Idempotency-Replayed" not in answer.headers


@real
def test_one_who_was_taken_for_crashed_and_comes_late_changes_nothing(editor, world, monkeypatch) -> None:
    gate = Gate(monkeypatch, uploading, "create_from")
    with Session() as one:
        late = one.start(lambda: create(editor, world, "a"))
        gate.wait()
        age("a", idempotency.CRASHED_AFTER)
        taken_over = create(editor, world, "a")
        assert taken_over.status == 201
        gate.open.set()
        assert late.result(30).code == "idempotency_in_progress"
    assert Document.objects.count() == 1
    assert create(editor, world, "a").json == taken_over.json
    # Its file was staged outside the transaction, so the sweep knows of it.
    assert StoredContent.objects.filter(state="staged").count() == 1


@real
def test_only_one_takes_over(editor, world) -> None:
    document = world.upload()
    publish(editor, document, "a")
    IdempotencyRecord.objects.update(status=None, created_at=timezone.now() - idempotency.CRASHED_AFTER)
    stale = [IdempotencyRecord.objects.get(key="a") for _ in range(2)]
    idempotency._take_over(stale[0])
    with pytest.raises(idempotency.StillRunning):
        idempotency._take_over(stale[1])


def age(key: str, by: timedelta) -> None:
    IdempotencyRecord.objects.filter(key=key).update(created_at=F("created_at") - by)
