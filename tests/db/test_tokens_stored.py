"""Tokens go through PostgreSQL's own parsers of tsvector and tsquery unharmed, and the manifest is the same in SQL."""

from __future__ import annotations

import random

import pytest
from django.db import OperationalError, connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from indexing import lexical
from indexing.lexical import any_of, index_tokens, query_tokens, quoted, tsvector
from indexing.statements import row
from tests.db.staging import leased, stage
from tests.factories import make_world

pytestmark = pytest.mark.django_db(databases=["default", "owner"])

STORABLE = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=200)
EVIL = st.text(st.sampled_from("'\\:*|&!()<> 12aA差旅’\"%;-\n\t"), max_size=60)


def ask(statement: str, *parameters: object) -> object:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchone()[0]


@settings(max_examples=200, deadline=None)
@given(st.one_of(STORABLE, EVIL))
def test_every_token_of_a_text_is_stored_and_found(text: str) -> None:
    vector = tsvector(text)
    stored = ask("SELECT tsvector_to_array(%s::tsvector)", vector)
    assert set(stored or ()) == set(index_tokens(text))  # type: ignore[call-overload]
    for token in query_tokens(text):
        assert ask("SELECT %s::tsvector @@ %s::tsquery", vector, quoted(token)), token
    if query_tokens(text):
        assert ask("SELECT %s::tsvector @@ %s::tsquery", vector, any_of(query_tokens(text)))


@settings(max_examples=100, deadline=None)
@given(st.one_of(STORABLE, EVIL))
def test_quoting_survives_any_token(token: str) -> None:
    """Even of characters that the tokenizer lets through today or not."""
    if token:
        assert ask("SELECT numnode(%s::tsquery)", quoted(token)) == 1
        assert ask("SELECT tsvector_to_array(%s::tsvector)", quoted(token)) == [token]


@pytest.mark.parametrize("text", ["don't", "' | 'x", "a:*", "a & !b", "\\'", "报销'; DROP TABLE chunk; --"])
def test_a_query_is_no_language(text: str) -> None:
    """Operators and prefixes of a tsquery are not reachable from a query."""
    query = any_of(query_tokens(text))
    assert ask("SELECT numnode(%s::tsquery)", query) == max(0, 2 * len(query_tokens(text)) - 1)
    assert not ask("SELECT 'absent'::tsvector @@ %s::tsquery", query)


def test_a_query_without_words_matches_nothing() -> None:
    assert ask("SELECT %s::tsvector @@ %s::tsquery", tsvector("some text"), any_of(query_tokens("👍 …"))) is False


def test_positions_are_within_what_postgresql_keeps() -> None:
    vector = tsvector("first " + "word " * 20_000 + "last")
    found = ask("SELECT array_agg(lexeme || positions::text ORDER BY lexeme) FROM unnest(%s::tsvector)", vector)
    assert "last{16383}" in found  # type: ignore[operator]
    assert "first{1}" in found  # type: ignore[operator]


MONSTER = "".join(map(chr, random.Random(1).choices(range(0x20000, 0x30000), k=200_000)))


def test_a_monster_of_a_text_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the limit PostgreSQL refuses the batch, and the task could never succeed."""
    assert ask("SELECT length(%s::tsvector)", tsvector(MONSTER)) > 30_000  # type: ignore[operator]
    monkeypatch.setattr(lexical, "MAX_BYTES", 10**9)
    with pytest.raises(OperationalError, match="too long for tsvector"), transaction.atomic():
        ask("SELECT length(%s::tsvector)", tsvector(MONSTER))


def test_a_word_without_end_is_stored() -> None:
    assert ask("SELECT length(%s::tsvector)", tsvector("𐐷" * 50_000)) == 1


@pytest.mark.parametrize("texts", [["one"], ["差旅 300 元", "same", "same", "quote ' and \\ and 😀", "tab\tend\n"] * 5])
def test_the_manifest_is_the_same_in_sql(texts: list[str]) -> None:
    """The finish compares the two: a difference would refuse every document with such a text."""
    lease = leased(make_world())
    manifest = stage(lease, texts)
    stored = row("sink", "manifest", **lease.chunk_set)
    assert stored == {"count": len(texts), "vectors": len(texts), "digest": manifest.digest}


def test_the_manifest_of_nothing_is_the_same_in_sql() -> None:
    from indexing.identity import manifest_digest

    stored = row("sink", "manifest", **leased(make_world()).chunk_set)
    assert stored == {"count": 0, "vectors": 0, "digest": manifest_digest([])}
