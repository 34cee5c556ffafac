"""Files: refused without a trace, kept without harm, swept when nobody uses them; tenants and their caches."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.storage import FileSystemStorage, default_storage

from documents import content, publishing, purging, tenants, uploading
from documents.errors import (
    Conflict,
    FileTooLarge,
    Incomplete,
    InvalidInput,
    NotAllowed,
    NotFound,
    StorageFailed,
    UnsupportedMediaType,
)
from documents.models import Document, DocumentVersion, StoredContent
from indexing import cache
from indexing.identity import text_digest
from indexing.models import Chunk, EmbeddingCache, ParseCache, Pipeline
from tests.db.looking import files, fresh, keep_caches, two_days_ago
from tests.db.staging import claim, finished, leased
from tests.factories import World, make_world

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.usefixtures("by_words_alone")]


# Uploads


@pytest.mark.parametrize(
    ("data", "name", "title", "error"),
    [
        (b"", "a.md", "t", InvalidInput),
        (b"x" * 2000, "a.md", "t", FileTooLarge),
        (b"x", "a.exe", "t", UnsupportedMediaType),
        (b"x", "a", "t", UnsupportedMediaType),
        (b"%PDF-1.7 x", "a.md", "t", UnsupportedMediaType),
        (b"text", "a.pdf", "t", UnsupportedMediaType),
        (b"\x00\x01\x02" * 99, "a.txt", "t", UnsupportedMediaType),
        (b"x", "../", "t", InvalidInput),
        (b"x", "", "t", InvalidInput),
        (b"x", "a.md", " \0\n", InvalidInput),
        (b"x", "a.md", "t" * 301, InvalidInput),
    ],
)
def test_a_refused_upload_keeps_nothing(
    world: World, settings: Any, data: bytes, name: str, title: str, error: type[Exception]
) -> None:
    settings.KB_MAX_UPLOAD_BYTES = 1000
    with pytest.raises(error) as refused:
        uploading.create_document(actor=world.editor, tenant=world.tenant.slug, title=title, data=data, file_name=name)
    assert str(refused.value).endswith("."), "a sentence for a person"
    assert (files(), StoredContent.objects.count(), Document.objects.count()) == (set(), 0, 0)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd.md", "passwd.md"),
        ("C:\\temp\\差旅.md", "差旅.md"),
        ("a\x00b\ud800\u202e.md", "ab.md"),
        ("x" * 300 + ".md", "x" * 252 + ".md"),
        ("e\u0301.md", "é.md"),
    ],
)
def test_names_are_kept_without_what_could_harm(world: World, given: str, kept: str) -> None:
    document = world.upload(name=given)
    assert document.versions.get().file_name == kept
    (path,) = files()
    assert path.startswith(f"tenant-{world.tenant.pk}/"), "storage keys are generated"
    assert "md" not in path


def test_an_upload_to_a_foreign_tenant_is_refused(world: World) -> None:
    other = make_world()
    world.member("reader")
    for actor, slug, error in (
        (other.editor, world.tenant.slug, NotFound),
        (world.editor, "nowhere", NotFound),
        (world.editor, "\0", NotFound),
        (User.objects.get(username="reader"), world.tenant.slug, NotAllowed),
    ):
        with pytest.raises(error):
            uploading.create_document(actor=actor, tenant=slug, title="t", data=b"x", file_name="a.md")
    assert files() == set()


def test_a_storage_that_fails_leaves_no_document(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FileSystemStorage, "save", full)
    with pytest.raises(StorageFailed):
        world.upload()
    assert not Document.objects.exists()
    assert StoredContent.objects.get().state == "staged", "the sweep finds it"


def test_the_sweep_takes_what_was_never_confirmed_after_the_grace(world: World) -> None:
    document = world.upload()
    with two_days_ago():
        uploading.stage_next(actor=world.editor, document_id=document.pk, revision=None, data=b"x", file_name="a.md")
    uploading.stage_next(actor=world.editor, document_id=document.pk, revision=None, data=b"x", file_name="a.md")
    orphan, young = StoredContent.objects.filter(state="staged").order_by("id")
    assert content.orphans().count() == 1
    assert len(files()) == 3
    assert content.sweep() == 1
    assert set(StoredContent.objects.values_list("pk", flat=True)) == {young.pk, document.versions.get().content_id}
    assert orphan.key not in files()
    assert len(files()) == 2


def test_a_file_that_cannot_be_removed_does_not_stop_the_sweep(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    document = world.upload()
    with two_days_ago():
        for _ in range(2):
            uploading.stage_next(
                actor=world.editor, document_id=document.pk, revision=None, data=b"x", file_name="a.md"
            )
    stuck = StoredContent.objects.filter(state="staged").order_by("created_at", "id")[0].key
    remove = FileSystemStorage.delete

    def delete(storage: FileSystemStorage, key: str) -> None:
        if key == stuck:
            raise PermissionError
        remove(storage, key)

    monkeypatch.setattr(FileSystemStorage, "delete", delete)
    with pytest.raises(Incomplete) as told:
        content.sweep()
    assert told.value.facts == {"removed": 1}
    assert list(StoredContent.objects.filter(state="deleting").values_list("key", flat=True)) == [stuck]


def test_an_upload_that_was_swept_meanwhile_makes_no_version(world: World) -> None:
    document = world.upload()
    with two_days_ago():
        upload = uploading.stage_next(
            actor=world.editor, document_id=document.pk, revision=None, data=b"x", file_name="a.md"
        )
    content.sweep()
    with pytest.raises(StorageFailed):
        uploading.add_from(actor=world.editor, document_id=document.pk, revision=None, upload=upload)
    assert fresh(document).latest_version == 1


def test_bytes_that_changed_in_storage_are_not_indexed(world: World) -> None:
    stored = world.upload().versions.get().content
    Path(default_storage.path(stored.key)).write_bytes(b"other")
    with pytest.raises(StorageFailed):
        content.read(stored)
    default_storage.delete(stored.key)
    with pytest.raises(StorageFailed):
        content.read(stored)


# Tenants and their caches


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_a_tenant_gets_the_pipeline_that_the_settings_describe() -> None:
    """Not the newest one: that may be of a model that was tried once."""
    described = make_world().tenant.pipelines.get().pipeline_id
    other = Pipeline.objects.using("owner").get(pk=described)
    other.pk, other.digest = described + 1, "0" * 64
    other.save(using="owner", force_insert=True)
    assert make_world().tenant.pipelines.get().pipeline_id == described


def test_a_tenant_without_any_pipeline_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pipeline, "objects", Pipeline.objects.none())
    with pytest.raises(Conflict):
        tenants.create_tenant(slug="x", name="X")


@pytest.mark.parametrize(
    "damage", [b"", b"no zlib", zlib.compress(b"{"), zlib.compress(b"[]"), zlib.compress(b'{"text": 1}')]
)
def test_a_kept_result_that_cannot_be_read_is_as_good_as_none(world: World, damage: bytes) -> None:
    lease = leased(world, "same bytes")
    keep_caches(lease, "same text")
    version = DocumentVersion.objects.get(document=lease.document_id)
    key: dict[str, Any] = {"content_digest": version.content.sha256, "media_type": version.media_type}
    kept = ParseCache.objects.get()
    ParseCache.objects.all().delete()
    ParseCache.objects.create(
        tenant_id=kept.tenant_id,
        content_digest=kept.content_digest,
        media_type=kept.media_type,
        parser_revision=kept.parser_revision,
        parsed=damage,
    )
    assert cache.find_parsed(tenant_id=world.tenant.pk, **key) is None


def test_caches_are_kept_apart_by_tenant(world: World) -> None:
    """Identical text in another tenant is neither reused nor revealed."""
    other = make_world()
    mine, theirs = leased(world, "same bytes"), leased(other, "same bytes")
    keep_caches(mine, "same text")
    version = DocumentVersion.objects.get(document=mine.document_id)
    key: dict[str, Any] = {"content_digest": version.content.sha256, "media_type": version.media_type}
    assert cache.find_parsed(tenant_id=world.tenant.pk, **key) is not None
    assert cache.find_parsed(tenant_id=other.tenant.pk, **key) is None
    digests = [text_digest("same text")]
    assert cache.find_vectors(mine, fingerprint="f", digests=digests)
    assert not cache.find_vectors(theirs, fingerprint="f", digests=digests)
    assert not cache.find_vectors(mine, fingerprint="g", digests=digests), "nor by another model"


def test_purging_leaves_another_tenants_caches(world: World) -> None:
    other = make_world()
    mine, theirs = world.upload("same bytes"), other.upload("same bytes")
    for place, document in ((world, mine), (other, theirs)):
        place.publish(document)
        lease = claim()
        keep_caches(lease, "same text")
        finished(lease, ("same text",))
    publishing.delete_document(actor=world.editor, document_id=mine.pk)
    assert purging.purge_deleted() == 1
    for model in (EmbeddingCache, ParseCache, Chunk):
        assert set(model.objects.values_list("tenant", flat=True)) == {other.tenant.pk}


def test_a_member_has_one_role_and_a_group_is_made_once(world: World) -> None:
    user = world.member("ann", role="reader", groups=("staff",))
    world.member("ann", role="operator", groups=("staff",))
    assert world.membership(user).role == "operator"
    assert world.tenant.reader_groups.count() == 1
