"""A long scan takes longer than a worker may live: what was read survives the worker, and is kept under its lease only."""

from __future__ import annotations

from typing import Any

import pytest
from PIL import Image

from documents import publishing, purging, uploading
from documents.models import Document, DocumentVersion
from indexing import attempt, cache
from indexing.errors import LeaseLost
from indexing.models import ParseCache
from indexing.parsers.scans import ScannedPage
from tests.concurrency.leases import claim, expire, pointer, run_worker, task_of
from tests.concurrency.test_crash import kill_at
from tests.factories import World
from tests.provider_stub import ProviderStub
from tests.unit.pictures import draw, several

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True, databases=["default", "owner"])]

PAGES = 4


def scans() -> bytes:
    """A TIFF of four pages, each with a line of its own."""
    pages = [Image.new("L", (700, 200), 255) for _ in range(PAGES)]
    for number, page in enumerate(pages, start=1):
        draw(page, [f"Rule number {number} of the archive."], (60, 60))
    return several(pages, "TIFF")


def published(world: World) -> Document:
    version = uploading.create_document(
        actor=world.editor, tenant=world.tenant.slug, title="Archive", data=scans(), file_name="archive.tif"
    )
    world.publish(version.document)
    return version.document


def key_of(document: Document) -> dict[str, str]:
    version = DocumentVersion.objects.get(document=document)
    return {"content_digest": version.content.sha256, "media_type": version.media_type}


def test_a_worker_killed_between_two_pages_costs_neither(
    stub_world: World, provider: ProviderStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = published(stub_world)
    kill_at("SCANNED_TWO", provider)
    assert ParseCache.objects.count() == 2

    read: list[int] = []
    parse = attempt.parse_in_child

    def counting(*arguments: Any, keep_scan: Any, **options: Any) -> Any:
        def keep(page: ScannedPage) -> None:
            read.append(page.number)
            keep_scan(page)

        return parse(*arguments, keep_scan=keep, **options)

    monkeypatch.setattr(attempt, "parse_in_child", counting)
    expire(task_of(document.pk, 1).pk)
    assert run_worker() == "SUCCEEDED"
    assert read == [3, 4]
    assert pointer(document.pk) == 1
    key = key_of(document)
    whole = cache.find_parsed(tenant_id=stub_world.tenant.pk, **key)
    assert whole is not None
    assert [block.locator.page for block in whole.blocks] == [1, 2, 3, 4]
    assert [page.number for page in cache.find_scans(tenant_id=stub_world.tenant.pk, **key)] == [1, 2, 3, 4]


def test_pages_are_kept_under_the_lease_and_go_with_the_document(stub_world: World) -> None:
    document = published(stub_world)
    lease = claim()
    key = key_of(document)
    cache.keep_scan(lease, ScannedPage(1), **key)
    assert cache.find_scans(tenant_id=lease.tenant_id, **key) == [ScannedPage(1)]
    assert (
        cache.find_scans(tenant_id=lease.tenant_id, content_digest=key["content_digest"], media_type="image/png") == []
    )
    assert cache.find_scans(tenant_id=lease.tenant_id + 1, **key) == []
    assert cache.find_parsed(tenant_id=lease.tenant_id, **key) is None
    expire(task_of(document.pk, 1).pk)
    with pytest.raises(LeaseLost):
        cache.keep_scan(lease, ScannedPage(2), **key)
    assert cache.find_scans(tenant_id=lease.tenant_id, **key) == [ScannedPage(1)]
    publishing.delete_document(actor=stub_world.editor, document_id=document.pk)
    assert purging.purge_deleted() == 1
    assert not ParseCache.objects.exists()
