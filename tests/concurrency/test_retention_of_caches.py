"""What was paid for is kept as long as something stored uses it; an old version that comes back costs nothing."""

from __future__ import annotations

import pytest
from django.db import connections

from documents import holds, publishing, purging, uploading
from documents.models import AuditEvent, Document
from indexing import cache
from indexing.models import EmbeddingCache, ParseCache, SituationCache
from tests.concurrency.leases import SECTIONS, found_texts, long_text, run_worker
from tests.concurrency.test_stage_then_switch import searchable
from tests.db.aging import days_pass, sets, swept
from tests.db.staging import claim, finished
from tests.factories import EVERYONE, World
from tests.provider_stub import ProviderStub

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

KEPT = 91  # days after which the caches are looked at, by default


def replaced(world: World) -> Document:
    """Version 1 says “old”, version 2 “new” and is served."""
    document = searchable(world)
    world.new_version(document, long_text("new"))
    world.publish(document)
    assert run_worker() == "SUCCEEDED"
    return document


def test_vectors_stay_as_long_as_a_stored_chunk_has_their_text_and_a_time_after_that(stub_world: World) -> None:
    document = replaced(stub_world)
    days_pass(KEPT)
    assert swept("cachedVectors") == 0, "both versions are stored"
    days_pass(KEPT)
    assert swept("replacedChunks") == SECTIONS
    assert swept("cachedVectors") == 0, "the old ones were used until now"
    days_pass(KEPT)
    assert swept("cachedVectors", batch=3) == SECTIONS
    assert EmbeddingCache.objects.count() == SECTIONS
    days_pass(KEPT)
    assert swept("cachedVectors") == 0, "those of the version that is served are used for ever"
    assert sets(document=document) == {(2, 1)}


def test_vectors_of_a_model_that_no_pipeline_in_use_has_leave(stub_world: World) -> None:
    searchable(stub_world)
    days_pass(KEPT)
    with connections["owner"].cursor() as cursor:
        cursor.execute("ALTER TABLE embedding_cache DISABLE TRIGGER USER")
        cursor.execute("UPDATE embedding_cache SET fingerprint = 'of another model'")
        cursor.execute("ALTER TABLE embedding_cache ENABLE TRIGGER USER")
    assert swept("cachedVectors") == SECTIONS


def test_without_its_endpoint_nothing_is_known_of_a_model_and_all_in_use_stays(stub_world: World, settings) -> None:
    searchable(stub_world)
    days_pass(KEPT)
    settings.KB_EMBEDDING_URL = ""
    assert swept("cachedVectors") == 0


def test_parse_results_stay_while_a_version_is_in_force_and_a_time_after_that(stub_world: World, monkeypatch) -> None:
    document = replaced(stub_world)
    days_pass(KEPT)
    assert swept("cachedParses") == 0, "version 1 was in force just now"
    _publications_pass(document, KEPT)
    days_pass(KEPT)
    assert swept("cachedParses", batch=1) == 1
    monkeypatch.setattr("indexing.retention.PARSER_REVISION", "another")
    days_pass(KEPT)
    assert swept("cachedParses") == 1


def test_what_is_held_stays(stub_world: World) -> None:
    document = replaced(stub_world)
    operator = stub_world.member("operator", role="operator")
    holds.place_hold(actor=operator, document_id=document.pk, reason="A lawsuit")
    _publications_pass(document, 1000)
    days_pass(1000)
    for name in ("replacedChunks", "cachedVectors", "cachedParses"):
        assert swept(name) == 0, name


def test_sentences_that_the_last_indexing_did_not_use_leave(stub_world: World) -> None:
    document = stub_world.upload()
    stub_world.publish(document)
    lease = claim()
    for digest in ("kept", "left"):
        cache.keep_sentence(lease, fingerprint="f", digest=digest, sentence="s")
    finished(lease)
    days_pass(KEPT)  # its sentences and moves are old now, its pointer is not: as if it had been indexed anew just now
    stub_world.new_version(document, "second")
    stub_world.publish(document)
    lease = claim()
    assert cache.find_sentences(lease, fingerprint="f", digests=["kept"]) == {"kept": "s"}
    finished(lease)
    assert swept("cachedSentences") == 1
    assert SituationCache.objects.get().question_digest == "kept"


def test_an_old_version_whose_chunks_have_left_comes_back_as_a_new_one_and_costs_nothing(
    stub_world: World, provider: ProviderStub
) -> None:
    """A new version, a decision of its own: nothing is shown before its publish, its readers are those of the last one."""
    document = replaced(stub_world)
    days_pass(4)
    assert swept("replacedChunks") == SECTIONS
    reader = stub_world.member("reader")
    version = uploading.restore_version(
        actor=stub_world.editor, document_id=document.pk, revision=None, version_number=1
    )
    assert (version.number, version.restored_from) == (3, 1)
    assert run_worker() == "IDLE"
    assert all(text.startswith("v2 new") for text in found_texts(stub_world, "old")), "not published yet"
    provider.reset()
    stub_world.publish(document, readers=None)
    assert run_worker() == "SUCCEEDED"
    assert provider.texts_sent == 0, "every vector was kept"
    found = found_texts(stub_world, "old")
    assert len(found) == SECTIONS
    assert all(text.startswith("v3 old") for text in found)
    assert Document.objects.readable_by(reader).filter(pk=document.pk).exists()
    trail = AuditEvent.objects.filter(document_id=document.pk).order_by("id").values_list("action", flat=True)
    assert list(trail)[-2:] == ["restore", "publish"]
    assert ParseCache.objects.count() == 2, "and no parsing"


def test_who_lost_the_right_to_read_does_not_get_it_back_with_an_old_version(stub_world: World) -> None:
    document = stub_world.upload(long_text("old"))
    reader = stub_world.member("reader")
    stub_world.publish(document, readers=EVERYONE)
    stub_world.new_version(document, long_text("new"))
    stub_world.publish(document, readers=())
    uploading.restore_version(actor=stub_world.editor, document_id=document.pk, revision=None, version_number=1)
    stub_world.publish(document, readers=None)
    assert not Document.objects.readable_by(reader).filter(pk=document.pk).exists()


def test_nothing_is_left_in_the_caches_of_a_deleted_document(stub_world: World) -> None:
    document = replaced(stub_world)
    days_pass(4)
    swept("replacedChunks")
    publishing.delete_document(actor=stub_world.editor, document_id=document.pk)
    assert purging.purge_deleted() == 1
    assert not EmbeddingCache.objects.exists()
    assert not ParseCache.objects.exists()


def _publications_pass(document: Document, days: float) -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute("ALTER TABLE publication DISABLE TRIGGER USER")
        cursor.execute(
            "UPDATE publication SET requested_at = requested_at - make_interval(days => %s) WHERE document_id = %s",
            [int(days), document.pk],
        )
        cursor.execute("ALTER TABLE publication ENABLE TRIGGER USER")
