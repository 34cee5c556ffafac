"""What an answer holds: the right plan, one version of a document, freshness, notices, and errors that say what to do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from documents import publishing, tenants
from documents.errors import InvalidInput
from documents.models import Document
from documents.readers import Reader
from indexing import search as searching
from indexing.cache import literal
from indexing.lexical import query_tokens
from indexing.models import Chunk, IndexTask, Pipeline, TermStatistic
from indexing.search import Answer, parameters, search, statement
from indexing.worker import Worker
from tests.concurrency.conftest import without_triggers
from tests.db.staging import claim, finished, stage
from tests.factories import World, make_world
from tests.provider_stub import ProviderStub, embedding, slow

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


@pytest.fixture
def world(stub_world: World) -> World:
    return stub_world


def by_words(text: str, dimensions: int) -> str:
    """The vector that the provider stub gives."""
    return literal(np.asarray(embedding(text, dimensions, "stub"), dtype=np.float32))


def ask(world: World, query: str, *, user: Any = None, limit: int = 10) -> Answer:
    return search(user=user or world.editor, tenant=world.tenant.slug, query=query, limit=limit)


def publish(world: World, texts: list[str], *, title: str = "t", **readers: Any) -> Document:
    """A searchable document with these chunks."""
    document = world.upload(title=title)
    world.publish(document, **readers)
    finished(claim(), texts, vector=by_words)
    return document


# Plans


@pytest.fixture
def library(stub_world: World) -> World:
    """400 chunks in 40 documents; the member `few` reads two documents of them, 5 %."""
    stub_world.member("few")
    tenants.add_to_group(membership=stub_world.membership(stub_world.editor), name="most")
    words = [f"w{number}" for number in range(60)]
    rng = np.random.default_rng(5)
    for number in range(40):
        readers = (Reader("group", "most"),) if number % 20 else (Reader("group", "most"), Reader("user", "few"))
        texts = [f"{' '.join(rng.choice(words, 12))} chunk{number}-{part}" for part in range(10)]
        publish(stub_world, texts, title=f"d{number}", readers=readers)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM chunk")
        assert cursor.fetchone() == (400,)
    return stub_world


def plan(world: World, *, near: str, words: str) -> str:
    pipeline = world.tenant.pipelines.get().pipeline
    caller = {"user": world.editor.pk, "tenant": world.tenant.pk, "pipeline": pipeline.pk}
    values = parameters(caller, vector=by_words("w1 w2", 64), tokens=query_tokens("w1 w2"), limit=10)
    with transaction.atomic(), connection.cursor() as cursor:
        if near == "approximate":
            cursor.execute(searching.WALK)
        cursor.execute("EXPLAIN " + statement(pipeline, near=near, words=words), values)
        return "\n".join(line for (line,) in cursor.fetchall())


@pytest.mark.parametrize("analysed", [False, True])
def test_each_leg_has_the_plan_that_it_is_named_for(library: World, analysed: bool) -> None:
    """A generic plan once answered an exact search by the index, and recall fell from 1.00 to 0.04."""
    if analysed:
        with connections["owner"].cursor() as cursor:
            cursor.execute("ANALYZE chunk, chunk_vector, search_pointer, document, read_rule, membership")
    exact, approximate = (
        plan(library, near="exact", words="by_document"),
        plan(library, near="approximate", words="by_index"),
    )
    assert "chunk_vector_hnsw" not in exact
    assert "Index Scan using chunk_vector_hnsw" in approximate


def test_no_search_is_prepared(world: World) -> None:
    """A prepared statement gets a generic plan after five executions; the queue's statements are prepared on purpose."""
    for _ in range(8):
        search(user=world.editor, tenant=world.tenant.slug, query="w1 w2")
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        prepared = [statement for (statement,) in cursor.fetchall()]
    assert not [statement for statement in prepared if "served_version" in statement or "chunk_vector v" in statement]


QUERIES = ["w1 w2 w3", "w10 w20", "w5", "w33 w44 w55", "w7 w8 w9 w10 w11"]


def legs(queries: CaptureQueriesContext) -> list[str]:
    found = []
    for query in queries.captured_queries:
        if "near AS MATERIALIZED" in query["sql"]:
            found.append("approximate" if "::vector(64) <=>" in query["sql"] else "exact")
    return found


def test_approximate_answers_are_nearly_the_exact_ones(library: World, settings: Any) -> None:
    for user in (library.editor, library.member("few")):
        same = 0
        for query in QUERIES:
            settings.KB_SEARCH_EXACT_CHUNKS = 10_000
            with CaptureQueriesContext(connection) as queries:
                exact = [hit.chunk_id for hit in ask(library, query, user=user).hits]
            assert legs(queries) == ["exact"]
            settings.KB_SEARCH_EXACT_CHUNKS = 0
            with CaptureQueriesContext(connection) as queries:
                approximate = [hit.chunk_id for hit in ask(library, query, user=user).hits]
            assert legs(queries) == ["approximate"]
            assert len(exact) == 10
            same += len(set(exact) & set(approximate))
        assert same >= 0.95 * 10 * len(QUERIES)


def test_a_walk_that_comes_back_short_is_answered_exactly(
    library: World, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index stops before it has found enough of the little that this member may read."""
    reader = library.member("few")
    exact = [hit.chunk_id for hit in ask(library, "w50", user=reader).hits]
    assert len(exact) == 10
    settings.KB_SEARCH_EXACT_CHUNKS = 0
    monkeypatch.setattr(searching, "WALK", "SET LOCAL hnsw.ef_search = 1; SET LOCAL enable_sort = off")
    with CaptureQueriesContext(connection) as queries:
        answer = ask(library, "w50", user=reader)
    assert legs(queries) == ["approximate", "exact"]
    assert [hit.chunk_id for hit in answer.hits] == exact


def test_who_reads_less_than_the_limit_gets_all_of_it(world: World, settings: Any) -> None:
    publish(world, ["one apple", "two apples", "three"])
    settings.KB_SEARCH_EXACT_CHUNKS = 0
    assert len(ask(world, "apple").hits) == 3


# One version of a document


def test_staged_chunks_are_not_found(world: World) -> None:
    document = publish(world, ["old apple"])
    world.new_version(document, "new")
    world.publish(document)
    stage(claim(), ["new apple", "new pear"], vector=by_words)
    assert [hit.snippet for hit in ask(world, "apple pear new").hits] == ["old apple"]


@pytest.mark.parametrize(("leg", "exact"), [("approximate", 0), ("exact", 10_000)])
def test_an_answer_never_holds_two_versions_of_a_document(world: World, settings: Any, leg: str, exact: int) -> None:
    settings.KB_SEARCH_EXACT_CHUNKS = exact
    document = publish(world, ["apple one", "apple two"])
    for number in range(2, 6):
        world.new_version(document, f"version {number}")
        world.publish(document)
        finished(claim(), [f"apple {number}", "apple one"], vector=by_words)
        with CaptureQueriesContext(connection) as queries:
            answer = ask(world, "👍", limit=2)  # no word: the lexical leg must not hide what the other one finds
        assert legs(queries) == [leg]
        assert [hit.version_number for hit in answer.hits] == [number, number]
    assert Chunk.objects.filter(document=document).count() == 10, "the older ones are still stored"


def test_a_rebuild_replaces_its_generation(world: World) -> None:
    from indexing import queue

    document = publish(world, ["apple one"])
    task = IndexTask.objects.get()
    queue.enqueue(
        tenant_id=task.tenant_id,
        document_id=document.pk,
        version_number=1,
        pipeline_id=task.pipeline_id,
        actor_id=None,
        has_readers=True,
        generation=2,
    )
    finished(claim(), ["apple one", "apple two"], vector=by_words)
    assert len(ask(world, "apple").hits) == 2


def test_clauses_that_repeat_are_all_found(world: World) -> None:
    publish(world, ["Not applicable."] * 3)
    assert [hit.snippet for hit in ask(world, "applicable").hits] == ["Not applicable."] * 3


# What a hit says


def test_a_hit_cites_its_source(world: World) -> None:
    document = publish(world, ["The travel limit is 300 yuan a night."], title="Travel")
    (hit,) = ask(world, "LIMIT yuan").hits
    assert (hit.document_id, hit.version_number, hit.title) == (document.pk, 1, "Travel")
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["limit", "yuan"]
    assert hit.locator["span"] == [0, 37]
    assert hit.permalink == f"/documents/{document.pk}/versions/1/?span=0-37"
    assert hit.score == pytest.approx(2 / 61), "first in both legs"


def test_freshness_says_how_far_behind_an_answer_is(world: World) -> None:
    document = publish(world, ["apple"])
    (hit,) = ask(world, "apple").hits
    assert hit.freshness == {"publishedVersion": 1, "searchableVersion": 1, "secondsBehind": 0}
    world.new_version(document, "second")
    world.publish(document)
    with without_triggers("publication.publication_guard"), connections["owner"].cursor() as cursor:
        cursor.execute(
            "UPDATE publication SET published_at = now() - interval '41 s' WHERE document_id = %s", [document.pk]
        )
    (hit,) = ask(world, "apple").hits
    assert (hit.freshness["publishedVersion"], hit.freshness["searchableVersion"]) == (2, 1)
    assert hit.freshness["secondsBehind"] == pytest.approx(41, abs=5)


def test_the_title_is_that_of_the_version_that_is_served(world: World) -> None:
    from documents import uploading

    document = publish(world, ["apple"], title="Old title")
    uploading.add_version(
        actor=world.editor, document_id=document.pk, revision=None, data=b"x", file_name="a.md", title="New title"
    )
    world.publish(document)
    assert ask(world, "apple").hits[0].title == "Old title"


# Notices


def test_without_the_provider_words_alone_are_searched_and_the_answer_says_so(
    world: World, provider: ProviderStub
) -> None:
    publish(world, ["apple pie", "pear"])
    provider.faults = [lambda reply: slow(0)(reply)]
    assert len(ask(world, "apple").hits) == 2, "by vectors, everything is somewhat near"
    provider.api_key = "another"
    answer = ask(world, "apple")
    assert [hit.snippet for hit in answer.hits] == ["apple pie"]
    assert [notice.code for notice in answer.notices] == ["words_only"]


def test_a_slow_provider_does_not_make_a_slow_search(world: World, provider: ProviderStub, settings: Any) -> None:
    publish(world, ["apple pie"])
    settings.KB_SEARCH_EMBEDDING_TIMEOUT = 0.3
    provider.faults = [slow(30)]
    started = time.monotonic()
    answer = ask(world, "apple")
    assert time.monotonic() - started < 5
    assert [notice.code for notice in answer.notices] == ["words_only"]
    assert len(answer.hits) == 1


def withheld(world: World) -> Document:
    """Version 1 was served to ann and ben, version 2 is for ann and cid and not ready."""
    for name in ("ann", "ben", "cid"):
        world.member(name)
    document = publish(world, ["apple"], title="Prices", readers=(Reader("user", "ann"), Reader("user", "ben")))
    publishing.set_staleness(actor=world.editor, document_id=document.pk, revision=None, staleness="withhold")
    world.new_version(document, "second")
    world.publish(document, readers=(Reader("user", "ann"), Reader("user", "cid")))
    return document


def test_who_may_read_a_withheld_document_is_told_and_nobody_else(world: World) -> None:
    document = withheld(world)
    answer = ask(world, "apple", user=world.member("ann"))
    assert answer.hits == ()
    (notice,) = answer.notices
    assert (notice.code, notice.document_id) == ("being_updated", document.pk)
    assert "Prices" in notice.message
    for name in ("ben", "cid"):
        assert ask(world, "apple", user=world.member(name)).notices == (), f"{name} may not read both"
    finished(claim(), ["apple"], vector=by_words)
    assert ask(world, "apple", user=world.member("ann")).notices == ()


def test_what_only_meaning_finds_is_told_where_it_would_have_been_among_the_hits(world: World) -> None:
    """Without a word in common; and what lies farther than all that is shown would not have been shown either."""
    document = withheld(world)
    ann = world.member("ann")
    (notice,) = ask(world, "pear", user=ann).notices
    assert notice.document_id == document.pk
    assert "apple" not in notice.message
    assert ask(world, "👍", user=ann).notices == (notice,)
    claim()  # its new version is on its way
    publish(world, ["pear", "pear pear"], readers=(Reader("user", "ann"),))
    assert ask(world, "pear", user=ann, limit=3).notices == (notice,), "of three, it would have been the third"
    assert ask(world, "pear", user=ann, limit=2).notices == ()
    assert ask(world, "apple", user=ann, limit=2).notices == (notice,), "its word is in it"


def test_a_notice_by_words_needs_no_model(world: World, provider: ProviderStub) -> None:
    withheld(world)
    provider.api_key = "another"
    assert [notice.code for notice in ask(world, "apple", user=world.member("ann")).notices] == [
        "words_only",
        "being_updated",
    ]
    assert [notice.code for notice in ask(world, "pear", user=world.member("ann")).notices] == ["words_only"]


@pytest.mark.parametrize("command", [publishing.withdraw_document, publishing.delete_document])
def test_what_is_gone_is_not_announced(world: World, command: Callable[..., Document]) -> None:
    document = withheld(world)
    command(actor=world.editor, document_id=document.pk, revision=None)
    assert ask(world, "apple", user=world.member("ann")).notices == ()


# Queries


@pytest.mark.parametrize("query", ["", "  \n", "\0", "\ud800"])
def test_an_empty_query_is_refused(world: World, query: str) -> None:
    with pytest.raises(InvalidInput, match="Enter a word"):
        ask(world, query)


def test_a_query_has_a_length(world: World) -> None:
    publish(world, ["apple"])
    assert ask(world, "apple " * 166).hits
    with pytest.raises(InvalidInput, match="Shorten it"):
        ask(world, "x" * 1001)
    assert ask(world, " " * 2000 + "apple").hits, "what is trimmed does not count"


@pytest.mark.parametrize("limit", [0, -1, 51, 10**9])
def test_a_limit_has_its_range(world: World, limit: int) -> None:
    with pytest.raises(InvalidInput, match="between 1 and 50"):
        ask(world, "apple", limit=limit)


def test_the_limit_is_kept(world: World) -> None:
    publish(world, [f"apple {number}" for number in range(60)])
    for limit in (1, 10, 50):
        assert len(ask(world, "apple", limit=limit).hits) == limit


def test_a_query_of_no_words_still_finds_by_its_vector(world: World) -> None:
    publish(world, ["apple"])
    assert len(ask(world, "👍").hits) == 1


def test_a_tenant_without_anything_to_serve_answers_empty(world: World) -> None:
    assert ask(world, "apple").hits == ()
    world.tenant.pipelines.all().delete()
    assert ask(world, "apple").hits == ()


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("住宿标准", "差旅住宿标准为每晚三百元。"),
        ("报", "发票请在三十天内报送。"),  # one character: found by itself
        ("ＶＰＮ", "Connect the VPN before you open the ledger."),
        ("the ledger", "Connect the VPN before you open the ledger."),
        ("vpn 发票", "发票请在三十天内报送。"),
    ],
)
def test_words_of_both_languages(world: World, provider: ProviderStub, query: str, first: str) -> None:
    publish(
        world,
        [
            "差旅住宿标准为每晚三百元。",
            "发票请在三十天内报送。",
            "Connect the VPN before you open the ledger.",
            "The the the.",
        ],
    )
    call_command("refresh_term_statistics")
    provider.api_key = "another"
    assert first in [hit.snippet for hit in ask(world, query).hits][:2]


def test_one_character_does_not_find_what_lacks_it(world: World, provider: ProviderStub) -> None:
    publish(world, ["差旅", "报销"])
    provider.api_key = "another"
    assert [hit.snippet for hit in ask(world, "旅").hits] == ["差旅"]


# Statistics


def test_rare_words_weigh_more_once_they_are_counted(world: World, provider: ProviderStub) -> None:
    publish(world, ["the the the report", *["the other"] * 8, "allowance"])
    provider.api_key = "another"
    call_command("refresh_term_statistics")
    assert ask(world, "the allowance").hits[0].snippet == "allowance"


def test_before_they_are_counted_a_sample_tells_rare_words_from_common_ones(
    world: World, provider: ProviderStub
) -> None:
    """Else the common words of the first questions drown the telling one. Counted while empty is not counted."""
    provider.api_key = "another"
    for _ in range(2):
        publish(world, ["is the in the report is", *["in the other is"] * 8, "allowance"])
        assert ask(world, "what is the allowance in").hits[0].snippet == "allowance"
        call_command("refresh_term_statistics")
        world = make_world()


def test_a_sample_is_of_what_the_asker_may_read(world: World) -> None:
    world.member("ann")
    publish(world, ["secret"] * 5, readers=(Reader("user", "ann"),))
    publish(world, ["open", "word"])
    caller = {"user": world.editor.pk, "tenant": world.tenant.pk, "pipeline": world.tenant.pipelines.get().pipeline_id}
    values = parameters(caller, vector=None, tokens=["secret", "absent", "open"], limit=10)
    weights = dict(zip(values["terms"], values["weights"], strict=True))
    assert weights["'secret'"] == weights["'absent'"] > weights["'open'"]
    assert values["matches"] is None


def test_terms_are_counted_as_they_are_served(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    other = make_world()
    document, gone = publish(world, ["apple pie", "apple"]), publish(world, ["apple"])
    publish(other, ["apple"])
    call_command("refresh_term_statistics")

    def counted(place: World) -> dict[str, int]:
        found = TermStatistic.objects.filter(tenant=place.tenant).exclude(term="t")
        return dict(found.values_list("term", "chunks"))

    assert counted(world) == {"": 3, "apple": 3, "pie": 1}
    assert counted(other) == {"": 1, "apple": 1}
    publishing.delete_document(actor=world.editor, document_id=gone.pk)
    world.new_version(document, "second")
    world.publish(document)
    finished(claim(), ["pear"], vector=by_words)
    call_command("refresh_term_statistics")
    assert counted(world) == {"": 1, "pear": 1}
    capsys.readouterr()
    call_command("refresh_term_statistics")
    assert capsys.readouterr().out.endswith(" 0 counts changed.\n")


# For real


@pytest.mark.slow
def test_the_bundled_model_finds_meaning_in_both_languages() -> None:
    """Parsed, split, embedded, stored, switched and found, with nothing in place of anything."""
    world = make_world()
    assert Pipeline.objects.get(pk=world.tenant.pipelines.get().pipeline_id).config["embedder"]["kind"] == "local"
    for title, text in (
        ("差旅", "# 差旅管理办法\n\n员工出差住宿费每晚最高报销三百元，超出部分自理。"),
        ("Leave", "# Annual leave\n\nEmployees get fifteen days of paid vacation each year."),
        ("VPN", "# Remote access\n\nInstall the client and sign in with your company account."),
    ):
        world.publish(world.upload(text, title=title))
    results = []
    while (result := Worker(lease_seconds=60).run_once().result) != "IDLE":
        results.append(result)
    assert results == ["SUCCEEDED"] * 3
    for query, title in (
        ("酒店一晚可以花多少钱", "差旅"),
        ("How long can I be on holiday?", "Leave"),
        ("怎么在家办公连接公司网络", "VPN"),
    ):
        answer = search(user=world.editor, tenant=world.tenant.slug, query=query)
        assert answer.hits[0].title == title, query
        assert answer.notices == ()
