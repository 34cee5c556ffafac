"""What the rest of the index may rely on, whichever embedder it was given."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from indexing.embedders.base import Embedder
from indexing.embedders.registry import EmbedderConfig, Endpoint, build
from indexing.errors import EmbeddingInputRejected
from tests.provider_stub import ProviderStub

LOCAL = EmbedderConfig(kind="local", model="multilingual-e5-small-q4", dimensions=384, batch_size=4)
REMOTE = EmbedderConfig(
    kind="openai", model="stub-1", dimensions=64, batch_size=4, query_prefix="ask ", passage_prefix="told "
)
TEXTS = ["An invoice is paid within thirty days.", "发票须在三十天内支付。", "naïve café — 😀"]


@pytest.fixture(params=[LOCAL, REMOTE], ids=["local", "openai"])
def config(request) -> EmbedderConfig:
    return request.param


@pytest.fixture
def embedder(config):
    with ProviderStub(dimensions=64) as stub:
        yield build(config, Endpoint(url=stub.url, timeout=5))


def test_says_what_it_is(embedder: Embedder, config):
    assert (embedder.model, embedder.dimensions, embedder.batch_size) == (config.model, config.dimensions, 4)
    assert embedder.provider
    assert 400 < embedder.max_tokens < 512


def test_passages_have_one_row_each(embedder: Embedder):
    vectors = embedder.embed_passages(TEXTS)
    assert vectors.shape == (3, embedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    assert (np.linalg.norm(vectors, axis=1) > 0).all()


def test_rows_are_in_the_order_of_the_texts(embedder: Embedder):
    forwards = embedder.embed_passages(TEXTS)
    backwards = embedder.embed_passages(TEXTS[::-1])
    assert np.array_equal(forwards, backwards[::-1])
    assert not np.array_equal(forwards[0], forwards[1])


def test_a_query_is_one_vector(embedder: Embedder):
    vector = embedder.embed_query(TEXTS[0])
    assert vector.shape == (embedder.dimensions,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) > 0


def test_a_query_is_not_a_passage(embedder: Embedder):
    """The prefixes differ, so the vectors do."""
    assert not np.array_equal(embedder.embed_query(TEXTS[0]), embedder.embed_passages(TEXTS[:1])[0])


def test_a_query_finds_the_passage_with_its_words(embedder: Embedder):
    passages = embedder.embed_passages([TEXTS[0], "The cat sleeps on a warm roof."])
    scores = passages @ embedder.embed_query("is an invoice paid within days")
    assert scores[0] > scores[1]


def test_the_same_text_has_the_same_vector(embedder: Embedder, config):
    with ProviderStub(dimensions=64) as another:
        again = build(config, Endpoint(url=another.url)).embed_passages(TEXTS)
    assert np.array_equal(embedder.embed_passages(TEXTS), again)


def test_no_texts_no_vectors(embedder: Embedder):
    vectors = embedder.embed_passages([])
    assert vectors.shape == (0, embedder.dimensions)
    assert vectors.dtype == np.float32


def test_more_than_a_batch_is_the_callers_mistake(embedder: Embedder):
    with pytest.raises(ValueError, match="5 texts"):
        embedder.embed_passages(["text"] * 5)


@pytest.mark.parametrize("text", ["cut\0here", "half \ud83d of a pair"], ids=["NUL", "surrogate"])
def test_unreadable_text_is_refused_by_index_and_not_quoted(embedder: Embedder, text):
    with pytest.raises(EmbeddingInputRejected, match="Text 1 ") as caught:
        embedder.embed_passages(["fine", text])
    assert "cut" not in str(caught.value)
    assert "half" not in str(caught.value)
    with pytest.raises(EmbeddingInputRejected):
        embedder.embed_query(text)


def test_a_query_of_any_length_is_answered(embedder: Embedder):
    assert embedder.embed_query("invoice 发票 " * 2000).shape == (embedder.dimensions,)


def test_longer_texts_count_more_tokens(embedder: Embedder):
    assert (
        embedder.count_tokens("one")
        < embedder.count_tokens("one two 三")
        < embedder.count_tokens("one two 三四五六七。")
    )


def test_the_configuration_knows_the_embedders_fingerprint(embedder: Embedder, config):
    assert embedder.fingerprint() == config.fingerprint()


@pytest.mark.parametrize(
    ("config", "digest"),
    [(LOCAL, "2f47fddee4ead3cc9544a2c43f93c895"), (REMOTE, "b1ab321a4b17dc89aae6ec59985095b5")],
    ids=["local", "openai"],
)
def test_fingerprints_never_change(config, digest):
    """They are stored with every cached vector: another digest here means every cache in the field is lost."""
    assert config.fingerprint() == digest


@pytest.mark.parametrize(
    "changed",
    [
        {"model": "stub-2"},
        {"dimensions": 65},
        {"query_prefix": ""},
        {"passage_prefix": ""},
        {"query_prefix": "ask told ", "passage_prefix": ""},
        {"kind": "local"},
    ],
    ids=str,
)
def test_whatever_changes_the_vectors_changes_the_fingerprint(changed):
    assert dataclasses.replace(REMOTE, **changed).fingerprint() != REMOTE.fingerprint()


def test_address_key_and_batch_size_do_not_change_the_fingerprint():
    one = build(REMOTE, Endpoint(url="https://one.example/v1", api_key="a"))
    other = build(dataclasses.replace(REMOTE, batch_size=7), Endpoint(url="https://other.example/v1", api_key="b"))
    assert one.fingerprint() == other.fingerprint()


@pytest.mark.parametrize(
    "config",
    [
        dataclasses.replace(LOCAL, dimensions=512),
        dataclasses.replace(LOCAL, model="unknown"),
        dataclasses.replace(LOCAL, passage_prefix="passage: "),
        dataclasses.replace(REMOTE, kind="carrier pigeon"),
        REMOTE,  # and no endpoint
    ],
    ids=["dimensions", "model", "prefix", "kind", "endpoint"],
)
def test_an_impossible_configuration_is_refused_when_built(config):
    with pytest.raises(ValueError, match=r"dimensions|model|prefixes|kind|endpoint"):
        build(config)


def test_an_endpoint_shows_no_secrets():
    shown = repr(Endpoint(url="https://host.example/v1?secret=1", api_key="sk-secret"))
    assert "secret" not in shown
