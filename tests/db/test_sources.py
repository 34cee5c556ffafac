"""External systems write conditionally: the newest wins, repetition is free, nothing old comes back, no row sinks another."""

from __future__ import annotations

import base64
import io
import itertools
import json
import os
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.utils import timezone

from documents import content, publishing, sources
from documents.conditional import Outcome
from documents.errors import DocumentsError, InvalidInput
from documents.models import Document, DocumentVersion, StoredContent
from documents.readers import Reader, readers_of
from documents.source_models import Source, SourceEntry
from documents.sources import Write
from indexing.models import IndexTask
from tests.db.api import Caller
from tests.db.office import Office
from tests.factories import EVERYONE, World, make_world
from tests.sessions import Session

pytestmark = pytest.mark.django_db
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def source(world: World) -> Source:
    return sources.create_source(
        actor=world.editor, tenant=world.tenant.slug, name="wiki", clock="epoch", readers=EVERYONE
    )


def write(world: World, source: Source, epoch: int, text: str | None, **more: Any) -> Outcome:
    data = None if text is None else text.encode()
    one = Write("a", epoch=epoch, data=data, file_name="a.md", **more)
    return sources.apply(actor=world.editor, source=source, write=one).outcome


def in_force(source: Source | None = None) -> list[str]:
    living = Document.objects.alive()
    if source is not None:
        living = living.filter(source_entries__source=source)
    versions = [DocumentVersion.objects.get(document=one, number=one.requested_version) for one in living]
    return [content.read(version.content).decode() for version in versions]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_the_newest_write_is_in_force_whatever_the_order(world: World, source: Source, order: tuple[int, ...]) -> None:
    history = [(1, "one"), (2, None), (3, "three"), (4, "four")]
    for number in (*order, *order):
        write(world, source, *history[number])
    assert in_force() == ["four"]
    tasks = IndexTask.objects.filter(state="PENDING")
    assert [task.document_id for task in tasks] == [Document.objects.alive().get().pk]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_deletion_stands_against_older_writes(world: World, source: Source, order: tuple[int, ...]) -> None:
    history = [(1, "one"), (2, "two"), (3, None)]
    for number in (*order, *order):
        write(world, source, *history[number])
    assert in_force() == []


def test_repetition_writes_nothing(world: World, source: Source) -> None:
    assert write(world, source, 1, "one") is Outcome.CREATED
    before = (StoredContent.objects.count(), DocumentVersion.objects.count(), IndexTask.objects.count())
    assert write(world, source, 1, "one") is Outcome.UNCHANGED
    assert write(world, source, 2, "one") is Outcome.UNCHANGED, "said again later"
    assert write(world, source, 1, "old") is Outcome.STALE_DISCARDED
    assert write(world, source, 2, "other") is Outcome.CONFLICT
    assert (StoredContent.objects.count(), DocumentVersion.objects.count(), IndexTask.objects.count()) == before
    assert in_force() == ["one"]


def test_title_and_readers_are_part_of_a_write(world: World, source: Source) -> None:
    world.member("ann")
    write(world, source, 1, "one")
    assert write(world, source, 2, "one", title="Better") is Outcome.UPDATED
    assert write(world, source, 3, "one", title="Better", readers=[Reader("user", "ann")]) is Outcome.UPDATED
    document = Document.objects.get()
    assert (document.title, document.requested_version) == ("Better", 3)
    assert readers_of(document=document, version_number=3) == [Reader("user", "ann")]


def test_what_was_deleted_here_stays_deleted_until_the_source_deletes_it_too(world: World, source: Source) -> None:
    write(world, source, 1, "one")
    publishing.delete_document(actor=world.editor, document_id=Document.objects.get().pk)
    applied = sources.apply(actor=world.editor, source=source, write=Write("a", epoch=2, data=b"two", file_name="a.md"))
    assert (applied.outcome, "final" in applied.reason) == (Outcome.CONFLICT, True)
    assert in_force() == []
    assert write(world, source, 3, None) is Outcome.DELETED
    assert write(world, source, 4, "four") is Outcome.CREATED
    assert in_force() == ["four"]


@pytest.mark.parametrize(
    ("one", "sentence"),
    [
        (Write("", epoch=1, data=b"x", file_name="a.md"), "A key has"),
        (Write("a\0", epoch=1, data=b"x", file_name="a.md"), "A key has"),
        (Write("k" * 501, epoch=1, data=b"x", file_name="a.md"), "A key has"),
        (Write("a", data=b"x", file_name="a.md"), "versionEpoch"),
        (Write("a", epoch=1, updated_at=START, data=b"x", file_name="a.md"), "versionEpoch"),
        (Write("a", epoch=-1, data=b"x", file_name="a.md"), "versionEpoch"),
        (Write("a", epoch=1, data=b"", file_name="a.md"), "empty"),
        (Write("a", epoch=1, data=b"x", file_name="a.exe"), "not accepted"),
        (Write("a", epoch=1, data=b"x", file_name="a.md", readers=[Reader("user", "nobody")]), "no member"),
        (Write("a", epoch=1, data=b"x", file_name="a.md", title="t" * 301), "title"),
    ],
)
def test_bad_writes_leave_nothing(world: World, source: Source, one: Write, sentence: str) -> None:
    with pytest.raises(DocumentsError, match=sentence):
        sources.apply(actor=world.editor, source=source, write=one)
    assert not SourceEntry.objects.exists()
    assert not Document.objects.exists()


def test_a_clock_far_ahead_is_refused(world: World) -> None:
    source = sources.create_source(
        actor=world.editor, tenant=world.tenant.slug, name="wiki", clock="time", readers=EVERYONE
    )
    soon, later = (
        Write(key, updated_at=timezone.now() + timedelta(hours=hours), data=b"x", file_name="a.md")
        for key, hours in (("soon", 1), ("later", 48))
    )
    assert sources.apply(actor=world.editor, source=source, write=soon).outcome is Outcome.CREATED
    with pytest.raises(InvalidInput, match="more than a day"):
        sources.apply(actor=world.editor, source=source, write=later)


@pytest.mark.django_db(transaction=True)
def test_two_first_writes_meet_and_the_newer_one_wins(world: World, source: Source) -> None:
    """The older one is behind the lock of the newer one; it finds its row, and is stale."""
    with Session() as other:
        other.begin()
        other.run(lambda: write(world, source, 2, "two"))
        with Session() as late:
            outcome = late.start(lambda: write(world, source, 1, "one"))
            late.wait_until_blocked()
            other.commit()
            assert outcome.result(timeout=30) is Outcome.STALE_DISCARDED
    assert in_force(source) == ["two"]
    assert Document.objects.filter(tenant=world.tenant).count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_write_that_first_looked_unchanged_is_done_when_another_came_between(world: World, source: Source) -> None:
    write(world, source, 1, "one")
    with Session() as other:
        other.begin()
        other.run(lambda: source.entries.select_for_update().get())
        with Session() as late:
            outcome = late.start(lambda: write(world, source, 3, "one"))  # says the same as what it sees
            late.wait_until_blocked()
            other.run(lambda: write(world, source, 2, "two"))
            other.commit()
            assert outcome.result(timeout=30) is Outcome.UPDATED
    assert in_force(source) == ["one"]


def test_the_database_lets_no_clock_go_back(world: World, source: Source) -> None:
    write(world, source, 5, "five")
    stranger = make_world().upload()
    for change in (
        "clock = 4",
        "digest = 'other'",
        "digest = NULL",
        "key = 'b', clock = 9",
        f"clock = 9, document_id = '{stranger.pk}'",
    ):
        with pytest.raises(DatabaseError, match="of a source"):
            by_hand(f"UPDATE source_entry SET {change}")
    with pytest.raises(DatabaseError, match="it stays"):
        by_hand("DELETE FROM source_entry")


def by_hand(statement: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


# The API


@pytest.fixture
def editor(world: World) -> Caller:
    return Caller(world.editor)


def at(source: Source, *parts: str) -> str:
    return "/".join([f"sources/{source.pk}", *parts])


def test_a_source_is_made_once(world: World, editor: Caller) -> None:
    new = {"tenant": world.tenant.slug, "name": "wiki", "readers": [{"type": "everyone"}]}
    first, again = editor.post("sources", new), editor.post("sources", new)
    assert first.status == again.status == 201
    assert first.json == again.json
    assert first.json["clock"] == "time"
    assert editor.post("sources", {**new, "clock": "epoch"}).code == "invalid"
    assert editor.get("sources", tenant=world.tenant.slug).json == {"sources": [first.json]}


def test_a_life_over_the_api(world: World, source: Source, editor: Caller) -> None:
    path = at(source, "documents", "handbook/travel.md")
    created = editor.put(path, {"versionEpoch": 1, "content": "# Travel\n\n200 yuan", "title": "Travel"})
    assert (created.status, created.json["outcome"], created.json["versionNumber"]) == (202, "created", 1)
    assert created.headers["Location"] == f"/api/v1/index-tasks/{created.json['indexTaskId']}"
    document = Document.objects.get()
    assert (document.title, created.json["documentId"]) == ("Travel", str(document.pk))
    same = editor.put(path, {"versionEpoch": 1, "content": "# Travel\n\n200 yuan", "title": "Travel"})
    assert (same.status, same.json["outcome"], same.json["indexTaskId"]) == (200, "unchanged", None)
    other = editor.put(path, {"versionEpoch": 1, "content": "other", "title": "Travel"})
    assert (other.status, other.code) == (409, "conflict")
    state = {"key": "handbook/travel.md", "deleted": False, "documentId": str(document.pk), "sourceUpdatedAt": None}
    assert editor.get(path).json == {**state, "versionEpoch": 1}
    assert editor.delete(f"{path}?versionEpoch=0").json["outcome"] == "stale_discarded"
    assert editor.delete(f"{path}?versionEpoch=7").json["outcome"] == "deleted"
    assert editor.put(path, {"versionEpoch": 6, "content": "late"}).json["outcome"] == "stale_discarded"
    assert editor.get(path).json["deleted"] is True
    assert not Document.objects.alive().exists()


def test_a_file_as_a_form(world: World, source: Source, editor: Caller) -> None:
    file = io.BytesIO("# 差旅\n\n上限 200 元".encode())
    file.name = "差旅.md"
    body = encode_multipart(
        BOUNDARY,
        {"file": file, "versionEpoch": 3, "readers": json.dumps([{"type": "user", "name": world.editor.username}])},
    )
    response = Client().put(
        f"/api/v1/{at(source, 'documents', 'x')}", body, content_type=MULTIPART_CONTENT, headers=editor.headers
    )
    assert response.status_code == 202, response.content
    document = Document.objects.get()
    assert document.title == "差旅.md"
    assert readers_of(document=document, version_number=1) == [Reader("user", world.editor.username)]


def test_who_may_write(world: World, source: Source) -> None:
    body = {"versionEpoch": 1, "content": "x", "fileName": "a.md"}
    reader, stranger = Caller(world.member("reader")), Caller(make_world().editor)
    assert reader.put(at(source, "documents", "a"), body).code == "not_allowed"
    assert stranger.put(at(source, "documents", "a"), body).code == "not_found"
    assert (
        stranger.call("POST", at(source, "batches"), raw=b"{}", content_type="application/x-ndjson").code == "not_found"
    )
    assert stranger.get(at(source, "documents", "a")).code == "not_found"
    assert not SourceEntry.objects.exists()


def batch(caller: Caller, source: Source, lines: list[Any], **headers: str) -> Any:
    raw = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()
    return caller.call("POST", at(source, "batches"), raw=raw, content_type="application/x-ndjson", **headers)


def test_one_bad_row_does_not_sink_the_batch(world: World, source: Source, editor: Caller) -> None:
    rows = [
        {"key": "a.md", "versionEpoch": 1, "content": "one"},
        "{broken",
        "",
        {"key": "b.pdf", "versionEpoch": 1, "contentBytes": base64.b64encode(b"no pdf").decode()},
        {"key": "c.md", "versionEpoch": 1, "content": "x", "colour": "red"},
        {"key": "d.md", "versionEpoch": 1, "content": "x", "deleted": True},
        {"key": "e.md", "versionEpoch": 1},
        {"key": "f.md", "sourceUpdatedAt": "2026-01-01T00:00:00Z", "content": "x"},
        "[]",
        '{"key": "g.md", "versionEpoch": NaN, "content": "x"}',
        {"key": "a.md", "versionEpoch": 2, "content": "two"},
        {"key": "gone.md", "versionEpoch": 1, "deleted": True},
    ]
    answer = batch(editor, source, rows)
    assert answer.status == 200
    outcomes = {row["line"]: row["outcome"] for row in answer.json["rows"]}
    assert outcomes == dict.fromkeys([2, *range(4, 11)], "invalid") | {1: "created", 11: "updated", 12: "deleted"}
    assert all(row["reason"] for row in answer.json["rows"] if row["outcome"] == "invalid")
    assert answer.json["counts"]["invalid"] == 8
    again = batch(editor, source, rows)
    assert {row["outcome"] for row in again.json["rows"]} == {"unchanged", "stale_discarded", "invalid"}
    assert in_force() == ["two"]


def test_a_batch_is_answered_once(world: World, source: Source, editor: Caller) -> None:
    rows = [{"key": "a.md", "versionEpoch": 1, "content": "one"}]
    first = batch(editor, source, rows, idempotency_key="k")
    again = batch(editor, source, rows, idempotency_key="k")
    assert first.json == again.json
    assert again.headers["Idempotency-Replayed"] == "true"


def test_too_many_rows(world: World, source: Source, editor: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("documents.api.source_views.MOST_ROWS", 1)
    assert batch(editor, source, ["{}", "{}"]).code == "invalid"


# The command


def run(world: World, *arguments: Any, code: int = 0) -> dict[str, Any]:
    out = io.StringIO()
    options = ["--tenant", world.tenant.slug, "--source", "folder", "--user", world.editor.username, "--format", "json"]
    with nullcontext() if code == 0 else pytest.raises(SystemExit, match=str(code)):
        call_command("import_documents", *map(str, arguments), *options, stdout=out)
    return json.loads(out.getvalue())


def test_a_folder_is_imported_once_and_then_what_changed(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "zh").mkdir()
    (folder / "zh" / "差旅.md").write_text("# 差旅\n\n上限", encoding="utf-8")
    (folder / "a.txt").write_text("one")
    (folder / "program.exe").write_bytes(b"MZ")
    foreseen = run(world, folder, "--dry-run")
    assert not Document.objects.exists()
    assert not Source.objects.filter(name="folder").exists()
    first = run(world, folder)
    assert foreseen == {**first, "dryRun": True}
    assert (first["counts"]["created"], first["passedOver"]) == (2, ["program.exe"])
    assert run(world, folder)["counts"] == {**dict.fromkeys(map(str, Outcome), 0), "unchanged": 2}
    (folder / "a.txt").write_text("two")
    later = (folder / "a.txt").stat().st_mtime + 5
    os.utime(folder / "a.txt", (later, later))
    (folder / "zh" / "差旅.md").unlink()
    foreseen = run(world, folder, "--delete-missing", "--dry-run")["counts"]
    assert (foreseen["updated"], foreseen["deleted"]) == (1, 1)
    assert run(world, folder)["counts"]["updated"] == 1
    assert len(in_force()) == 2, "without --delete-missing nothing is deleted"
    assert run(world, folder, "--delete-missing")["counts"]["deleted"] == 1
    assert in_force() == ["two"]
    assert {one.title for one in Document.objects.alive()} == {"a"}


def test_rows_and_bad_files(world: World, tmp_path: Path) -> None:
    rows = tmp_path / "rows.ndjson"
    rows.write_text('{"key": "a.md", "sourceUpdatedAt": "2026-01-01T00:00:00Z", "content": "one"}\n{"key": "b"}\n')
    found = run(world, rows, code=3)
    assert [row["outcome"] for row in found["rows"]] == ["created", "invalid"]
    with pytest.raises(CommandError, match="There is no"):
        run(world, tmp_path / "missing")
    with pytest.raises(CommandError, match="not with rows"):
        run(world, rows, "--delete-missing")
    with pytest.raises(CommandError, match="no active user"):
        call_command("import_documents", str(rows), "--tenant", "x", "--source", "s", "--user", "nobody")


def test_a_dry_run_says_what_the_real_one_would(world: World, tmp_path: Path) -> None:
    def row(key: str, second: int, **more: Any) -> str:
        return json.dumps({"key": key, "sourceUpdatedAt": f"2026-01-01T00:00:{second:02}Z", **more})

    gone = tmp_path / "gone.ndjson"
    gone.write_text(row("gone.md", 1, content="one"))
    run(world, gone)
    publishing.delete_document(actor=world.editor, document_id=Document.objects.get().pk)
    rows = tmp_path / "rows.ndjson"
    rows.write_text(
        "\n".join(
            [
                row("a.md", 1, content="one"),
                row("a.md", 2, content="two"),
                row("a.md", 2, content="three"),
                row("a.md", 1, content="one"),
                row("b.md", 1, content="one", readers=[{"type": "user", "name": "nobody"}]),
                row("c.exe", 1, content="one"),
                row("d.md", 1, content=""),
                row("e.md", 1, content="one", title="x" * 301),
                row("gone.md", 2, content="two"),
                row("f.md", 1),
            ]
        )
    )
    foreseen = run(world, rows, "--dry-run", code=3)
    real = run(world, rows, code=3)
    assert foreseen == {**real, "dryRun": True}
    assert len({one["outcome"] for one in real["rows"]}) >= 5


@pytest.mark.parametrize("options", [["--dry-run"], []])
def test_who_may_not_write_is_told_so_by_a_dry_run_too(world: World, tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "a.md").write_text("one")
    reader = world.member("reader")
    for user, tenant, readers, sentence in (
        ("nobody", world.tenant.slug, "everyone", "no active user"),
        (world.editor.username, "none", "everyone", "no tenant"),
        (reader.username, world.tenant.slug, "everyone", "may not"),
        (world.editor.username, world.tenant.slug, "user:stranger", "stranger"),
    ):
        arguments = ["--tenant", tenant, "--source", "s", "--user", user, "--readers", readers, *options]
        with pytest.raises(CommandError, match=sentence):
            call_command("import_documents", str(tmp_path), *arguments)


def test_the_admin_lists_sources() -> None:
    office = Office()
    world = office.world
    source = sources.create_source(
        actor=world.editor, tenant=world.tenant.slug, name="wiki", clock="epoch", readers=EVERYONE
    )
    write(world, source, 1, "one")
    sources.apply(actor=world.editor, source=source, write=Write("b", epoch=1))
    page = office.get("editor", "admin:documents_source_changelist")
    assert page.status_code == 200
    row = page.context["cl"].result_list[0]
    assert (row.name, row.documents, row.tombstones) == ("wiki", 1, 1)
    assert not office.get("other_editor", "admin:documents_source_changelist").context["cl"].result_list
    assert office.get("reader", "admin:documents_source_changelist").status_code == 403
