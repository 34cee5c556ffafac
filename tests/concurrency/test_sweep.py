"""What the sweep removes is removed for good or still there, whatever dies, refuses or hurries in between."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage
from django.core.management import CommandError, call_command
from django.db import DatabaseError, OperationalError, connection, transaction

from documents import content, publishing, purging, uploading
from documents.errors import Incomplete, StorageFailed
from documents.models import Document, StoredContent
from documents.retention import Rule
from indexing.retention_models import RetentionRun
from tests.db.looking import files, two_days_ago
from tests.factories import World
from tests.sessions import Session

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def staged(world: World, data: bytes = b"text") -> uploading.Upload:
    """An upload whose grace is over."""
    with two_days_ago():
        return uploading.stage_first(
            actor=world.editor, tenant=world.tenant.slug, title="Late", data=data, file_name="a.md"
        )


def while_deleting(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something at the moment when the sweep asks the storage to remove its first file."""
    delete = FileSystemStorage.delete

    def call(storage: FileSystemStorage, name: str) -> None:
        monkeypatch.setattr(FileSystemStorage, "delete", delete)
        act()
        delete(storage, name)

    monkeypatch.setattr(FileSystemStorage, "delete", call)


def test_no_transaction_is_open_while_the_storage_works(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading, writing and removing, each seen by the server: a slow storage would lose a transaction by its idle limit."""
    seen: dict[str, str] = {}

    def watched(name: str) -> None:
        function = getattr(FileSystemStorage, name)

        def call(*arguments: Any, **options: Any) -> Any:
            with Session() as other:
                seen[name] = other.run(lambda: _state_of(pid))
            return function(*arguments, **options)

        monkeypatch.setattr(FileSystemStorage, name, call)

    for name in ("save", "open", "delete"):
        watched(name)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid = cursor.fetchone()[0]
    document = world.upload()
    content.read(document.versions.get().content)
    publishing.delete_document(actor=world.editor, document_id=document.pk)
    assert purging.purge_deleted() == 1
    assert seen == {"save": "idle", "open": "idle", "delete": "idle"}


def _state_of(pid: int) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT state FROM pg_stat_activity WHERE pid = %s", [pid])
        state: str = cursor.fetchone()[0]
        return state


def test_the_storage_is_refused_inside_a_transaction(world: World) -> None:
    stored = world.upload().versions.get().content
    steps = (
        lambda: content.read(stored),
        lambda: content.stage(tenant=world.tenant, content=b"x", file_name="a.md"),
        lambda: content._remove(stored),
    )
    for step in steps:
        with pytest.raises(RuntimeError, match="inside a transaction"), transaction.atomic():
            step()


def test_what_is_being_removed_cannot_be_confirmed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor whose upload took too long presses the button while the file goes: no version without its bytes."""
    upload = staged(world)
    refused: list[Exception] = []

    def confirm() -> None:
        with Session() as editor, pytest.raises(StorageFailed) as told:
            editor.run(lambda: uploading.create_from(actor=world.editor, upload=upload))
        refused.append(told.value)

    while_deleting(monkeypatch, confirm)
    assert content.sweep() == 1
    assert refused
    assert not Document.objects.exists()


def test_what_is_being_confirmed_is_not_removed(world: World) -> None:
    """The other order: the version's transaction is open when the sweep comes."""
    upload = staged(world)
    with Session() as editor:
        editor.begin()
        version = editor.run(lambda: uploading.create_from(actor=world.editor, upload=upload))
        assert content.sweep() == 0
        editor.commit()
    assert content.sweep() == 0
    assert content.read(version.content) == b"text"


def test_identical_bytes_uploaded_meanwhile_are_kept(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    staged(world, b"same bytes")
    made: list[Document] = []

    def upload_the_same() -> None:
        with Session() as editor:
            made.append(editor.run(lambda: world.upload("same bytes")))

    while_deleting(monkeypatch, upload_the_same)
    assert content.sweep() == 1
    assert content.read(made[0].versions.get().content) == b"same bytes"


@pytest.mark.parametrize("after", [False, True], ids=["before-the-file", "after-the-file"])
def test_a_sweep_that_died_is_gone_on_with(world: World, monkeypatch: pytest.MonkeyPatch, after: bool) -> None:
    upload = staged(world)
    delete = FileSystemStorage.delete

    def die(storage: FileSystemStorage, name: str) -> None:
        if after:
            delete(storage, name)
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(FileSystemStorage, "delete", die)
        with pytest.raises(SystemExit):
            content.sweep()
    assert StoredContent.objects.get().state == "deleting"
    with pytest.raises(StorageFailed):
        content.confirm(upload.stored)
    assert content.sweep() == 1
    assert not StoredContent.objects.exists()


def test_what_is_marked_stays_marked(world: World) -> None:
    """Enforced by the database: its file may be gone."""
    upload = staged(world)
    StoredContent.objects.update(state="deleting")
    with pytest.raises(DatabaseError, match="may be gone"):
        StoredContent.objects.filter(pk=upload.stored.pk).update(state="confirmed")


def test_an_upload_that_outlives_its_grace_leaves_no_file(
    world: World, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """Swept while its bytes were still on their way."""
    save = FileSystemStorage.save

    def slowly(storage: FileSystemStorage, *arguments: Any, **options: Any) -> str:
        with Session() as other:
            assert other.run(content.sweep) == 1
        return save(storage, *arguments, **options)

    monkeypatch.setattr(FileSystemStorage, "save", slowly)
    settings.KB_UPLOAD_GRACE_SECONDS = -60
    with pytest.raises(StorageFailed):
        world.upload()
    assert not files()


def test_one_document_that_cannot_be_purged_stops_no_other(world: World) -> None:
    stuck, other = world.upload(), world.upload()
    bytes_id = stuck.versions.get().content_id
    for document in (stuck, other):
        publishing.delete_document(actor=world.editor, document_id=document.pk)
    with Session() as holder:
        holder.begin()
        holder.run(lambda: list(StoredContent.objects.filter(pk=bytes_id).select_for_update()))
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '50ms'")
        with pytest.raises(Incomplete) as told:
            purging.purge_deleted()
        holder.rollback()
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")
    assert told.value.facts == {"removed": 1}
    assert purging.purge_deleted() == 1


def _fails(error: Exception) -> Callable[..., int]:
    def call(*_: Any) -> int:
        raise error

    return call


def swept(*arguments: str) -> tuple[dict[str, Any], str, int]:
    out = StringIO()
    try:
        call_command("sweep", "--format", "json", *arguments, stdout=out)
    except CommandError as error:
        return json.loads(out.getvalue()), str(error), error.returncode
    return json.loads(out.getvalue()), "", 0


def test_a_part_that_fails_is_told_and_stops_no_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from indexing.management.commands import sweep

    def with_failing(error: Exception, *names: str) -> tuple[Rule, ...]:
        fails = {"count": _fails(error), "remove": _fails(error)}
        return tuple(replace(rule, **fails) if rule.name in names else rule for rule in sweep.RULES)

    staged(world)
    everything = [rule.name for rule in sweep.RULES]
    monkeypatch.setattr(sweep, "RULES", with_failing(OperationalError("canceling statement"), "deletedDocuments"))
    counts, told, status = swept()
    assert (counts["stagedUploads"], status) == (1, 3)
    assert told == "Deleted documents: the database cannot be used: canceling statement"
    assert swept("--dry-run")[2] == 3
    RetentionRun.objects.all().delete()  # else those that run once a day rest
    monkeypatch.setattr(sweep, "RULES", with_failing(ValueError("defect"), *everything))
    _, told, status = swept()
    assert (status, len(told.splitlines())) == (1, len(everything))


def test_files_that_the_storage_keeps_are_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    staged(world)
    with monkeypatch.context() as patch:
        patch.setattr(FileSystemStorage, "delete", lambda *_: _fails(PermissionError())())
        assert swept()[1:] == (
            "Uploads without a version: The storage did not remove 1 files; the next sweep tries again.",
            3,
        )
    counts, told, status = swept()
    assert (counts["stagedUploads"], told, status) == (1, "", 0)
