"""Every way in which a provider's answer can be wrong, over a real socket."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import traceback
import urllib.request
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexing import errors
from indexing.embedders.answers import longest_answer
from indexing.embedders.estimate import upper_estimate
from indexing.embedders.local import LocalEmbedder
from indexing.embedders.openai import OpenAIEmbedder
from indexing.embedders.refusals import LONGEST_PAUSE, retry_after
from tests import provider_stub as stub
from tests.provider_stub import ProviderStub

KEY = "sk-very-secret-key"
TEXTS = ["confidential alpha", "confidential beta", "confidential gamma"]
NOON = "Mon, 01 Jun 2026 12:00:00 GMT"


@pytest.fixture
def provider():
    with ProviderStub(dimensions=8, api_key=KEY) as provider:
        yield provider


def embedder_for(provider: ProviderStub, **changes) -> OpenAIEmbedder:
    arguments = {"dimensions": 8, "connect_timeout": 5, "timeout": 5, "max_tokens": 100, **changes}
    return OpenAIEmbedder(provider.url + "?code=query-secret", "stub-1", KEY, **arguments)


@contextmanager
def refused_as(expected: type[errors.IndexingError]):
    """Exactly this class, and nothing secret in its message or in those of its causes."""
    with pytest.raises(errors.IndexingError) as caught:
        yield caught
    error = caught.value
    assert type(error) is expected
    for secret in (KEY, "query-secret", "confidential", "body of the refusal"):
        assert secret not in "".join(traceback.format_exception(error))


FAULTS = {
    "short": (stub.short, errors.EmbeddingBadResponse),
    "duplicate index": (stub.duplicate_index, errors.EmbeddingBadResponse),
    "index from 1": (
        stub.edited(lambda answer: [item.update(index=item["index"] + 1) for item in answer["data"]]),
        errors.EmbeddingBadResponse,
    ),
    "no index": (stub.edited(lambda answer: answer["data"][0].pop("index")), errors.EmbeddingBadResponse),
    "index true": (stub.edited(lambda answer: answer["data"][1].update(index=True)), errors.EmbeddingBadResponse),
    "surplus": (stub.edited(lambda answer: answer["data"].append(answer["data"][0])), errors.EmbeddingBadResponse),
    "NaN": (stub.nan, errors.EmbeddingBadResponse),
    "zero": (stub.zero_vector, errors.EmbeddingBadResponse),
    "zero as float32": (
        stub.edited(lambda answer: answer["data"][0].update(embedding=[1e-60] * 8)),
        errors.EmbeddingBadResponse,
    ),
    "infinite as float32": (
        stub.edited(lambda answer: answer["data"][0].update(embedding=[1e60] * 8)),
        errors.EmbeddingBadResponse,
    ),
    "numbers as strings": (
        stub.edited(lambda answer: answer["data"][0].update(embedding=["0.5"] * 8)),
        errors.EmbeddingBadResponse,
    ),
    "nested vector": (
        stub.edited(lambda answer: answer["data"][0].update(embedding=[[0.5]] * 8)),
        errors.EmbeddingBadResponse,
    ),
    "huge integer": (
        stub.edited(lambda answer: answer["data"][0].update(embedding=[10**400] * 8)),
        errors.EmbeddingBadResponse,
    ),
    "base64": (stub.edited(lambda answer: answer["data"][0].update(embedding="AAAA")), errors.EmbeddingBadResponse),
    "not JSON": (stub.not_json, errors.EmbeddingBadResponse),
    "a list": (stub.body(b"[]"), errors.EmbeddingBadResponse),
    "data null": (stub.body(b'{"data": null}'), errors.EmbeddingBadResponse),
    "empty": (stub.body(b""), errors.EmbeddingBadResponse),
    "not UTF-8": (stub.body(b'{"data": "\xff"}'), errors.EmbeddingBadResponse),
    "deeply nested": (stub.body(b"[" * 60_000), errors.EmbeddingBadResponse),
    "closed mid-body": (stub.cut, errors.EmbeddingBadResponse),
    "another model": (stub.wrong_model, errors.EmbeddingModelChanged),
    "wrong dimensions": (stub.wrong_dimensions, errors.EmbeddingDimensionMismatch),
}


@pytest.mark.parametrize(("fault", "expected"), FAULTS.values(), ids=FAULTS.keys())
def test_a_wrong_answer_is_refused_and_the_next_right_one_taken(provider, fault, expected):
    embedder = embedder_for(provider)
    provider.faults = [fault]
    with refused_as(expected):
        embedder.embed_passages(TEXTS)
    assert embedder.embed_passages(TEXTS).shape == (3, 8)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (302, errors.EmbeddingUnavailable),
        (400, errors.EmbeddingInputRejected),
        (401, errors.EmbeddingAuth),
        (402, errors.EmbeddingUnavailable),
        (403, errors.EmbeddingAuth),
        (404, errors.EmbeddingUnavailable),
        (408, errors.EmbeddingTimeout),
        (413, errors.EmbeddingInputRejected),
        (418, errors.EmbeddingBadResponse),
        (422, errors.EmbeddingInputRejected),
        (429, errors.EmbeddingRateLimited),
        (500, errors.EmbeddingBadResponse),
        (502, errors.EmbeddingUnavailable),
        (503, errors.EmbeddingUnavailable),
        (504, errors.EmbeddingUnavailable),
        (599, errors.EmbeddingBadResponse),
    ],
)
def test_a_status_means_what_must_happen_next(provider, code, expected):
    provider.faults = [stub.status(code)]
    with refused_as(expected) as caught:
        embedder_for(provider).embed_query(TEXTS[0])
    assert str(code) in str(caught.value)
    assert caught.value.retry_after is None


@pytest.mark.parametrize("code", [429, 503])
@pytest.mark.parametrize(
    "headers",
    [{"Retry-After": "7"}, {"Retry-After": "Mon, 01 Jun 2026 12:00:07 GMT", "Date": NOON}],
    ids=["seconds", "date"],
)
def test_the_wished_pause_is_passed_on(provider, code, headers):
    provider.faults = [stub.status(code, headers)]
    with pytest.raises(errors.IndexingError) as caught:
        embedder_for(provider).embed_passages(TEXTS)
    assert caught.value.retry_after == 7


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "0"}, 0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "86400"}, LONGEST_PAUSE),
        ({"retry-after": "Mon, 01 Jun 2026 11:00:00 GMT", "date": NOON}, 0),
        ({"retry-after": "Tue, 02 Jun 2026 12:00:00 GMT", "date": NOON}, LONGEST_PAUSE),
        ({"retry-after": NOON}, None),  # without the provider's clock, a date says nothing
        ({"retry-after": NOON, "date": "Mon, 01 Jun 2026 12:00:00 -0000"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "soon", "date": NOON}, None),
        ({}, None),
    ],
)
def test_retry_after(headers, expected):
    assert retry_after(headers) == expected


def test_answers_in_another_order_are_put_right(provider):
    embedder = embedder_for(provider)
    expected = embedder.embed_passages(TEXTS)
    provider.faults = [stub.permuted]
    assert np.array_equal(embedder.embed_passages(TEXTS), expected)


@pytest.mark.parametrize("edit", [lambda answer: answer.pop("model"), lambda answer: answer.update(model=None)])
def test_an_answer_need_not_name_its_model(provider, edit):
    provider.faults = [stub.edited(edit)]
    assert embedder_for(provider).embed_passages(TEXTS).shape == (3, 8)


@pytest.mark.parametrize(
    "fault", [stub.slow(60), stub.drip(0.05), stub.drip(0.05, head=True)], ids=["slow", "drip", "drip from the start"]
)
def test_the_deadline_is_for_the_whole_request(provider, fault):
    """The drips come faster than any timeout between two bytes, and the honest answer would take most of a minute."""
    provider.faults = [fault]
    with refused_as(errors.EmbeddingTimeout):
        embedder_for(provider, timeout=0.3).embed_passages(TEXTS)


def test_a_deadline_does_not_reach_into_the_next_request(provider):
    embedder = embedder_for(provider, timeout=0.3)
    for _ in range(3):
        provider.faults = [stub.slow(0.15)]
        assert embedder.embed_passages(TEXTS).shape == (3, 8)


def test_an_endless_answer_is_dropped(provider):
    provider.faults = [stub.body(b" " * (longest_answer(3, 8) + 1))]
    with refused_as(errors.EmbeddingBadResponse) as caught:
        embedder_for(provider).embed_passages(TEXTS)
    assert "longer" in str(caught.value)


def test_the_longest_honest_answer_is_read(provider):
    """Every number of full length, on a line of its own."""
    data = [{"index": index, "embedding": [-1.2345678901234567e-08] * 8} for index in range(3)]
    provider.faults = [stub.body(json.dumps({"data": data}, indent=8).encode())]
    assert embedder_for(provider).embed_passages(TEXTS).shape == (3, 8)
    assert longest_answer(0, 8) + 24 * 64 == longest_answer(3, 8)
    assert len(json.dumps({"data": data}, indent=8)) < 24 * 64 + 600


def test_nobody_listens():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        embedder = OpenAIEmbedder(f"http://127.0.0.1:{taken.getsockname()[1]}/v1", "stub-1", KEY, dimensions=8)
        with refused_as(errors.EmbeddingUnavailable):
            embedder.embed_passages(TEXTS)


def test_nobody_accepts():
    """A full backlog: the connection is never made, so the document is not at fault."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        callers = [socket.socket() for _ in range(3)]
        for caller in callers:
            caller.setblocking(False)
            caller.connect_ex(address)
        embedder = OpenAIEmbedder(
            f"http://127.0.0.1:{address[1]}/v1", "stub-1", dimensions=8, connect_timeout=0.3, timeout=60
        )
        with refused_as(errors.EmbeddingUnavailable):
            embedder.embed_passages(TEXTS)
        for caller in callers:
            caller.close()


def test_a_redirect_gets_no_key(provider):
    with ProviderStub(dimensions=8) as elsewhere:
        provider.faults = [stub.status(307, {"Location": f"{elsewhere.url}/embeddings"})]
        with refused_as(errors.EmbeddingUnavailable):
            embedder_for(provider).embed_passages(TEXTS)
        assert elsewhere.requests == 0


def test_a_proxy_of_the_environment_gets_no_key(provider, monkeypatch):
    with ProviderStub(dimensions=8) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        embedder_for(provider).embed_passages(TEXTS)
        assert proxy.requests == 0
    assert provider.requests == 1


def test_a_wrong_key_is_refused(provider):
    embedder = OpenAIEmbedder(provider.url, "stub-1", "sk-wrong", dimensions=8)
    with refused_as(errors.EmbeddingAuth):
        embedder.embed_passages(TEXTS)
    assert provider.requests == 0


def test_the_key_is_sent_and_compression_declined(provider):
    """A small compressed answer could unfold into more memory than the limit on its length allows."""
    embedder_for(provider).embed_passages(TEXTS)
    assert provider.headers[0].get_all("authorization") == [f"Bearer {KEY}"]
    assert provider.headers[0].get_all("accept-encoding") == ["identity"]


def test_no_key_is_sent_where_there_is_none():
    with ProviderStub(dimensions=8) as open_to_all:
        OpenAIEmbedder(open_to_all.url, "stub-1", dimensions=8).embed_passages(TEXTS)
        assert "authorization" not in open_to_all.headers[0]


def test_prefixes_are_sent(provider):
    embedder = embedder_for(provider, query_prefix="ask: ", passage_prefix="told: ")
    embedder.embed_passages(["one", "two"])
    embedder.embed_query("three")
    assert provider.batches == [["told: one", "told: two"], ["ask: three"]]


def test_no_texts_cost_nothing(provider):
    embedder_for(provider).embed_passages([])
    assert provider.requests == 0


def test_a_long_query_is_sent_up_to_max_tokens(provider):
    embedder = embedder_for(provider)
    embedder.embed_query("发票" * 500)
    (sent,) = provider.batches[0]
    assert len(sent) > 50
    assert embedder.count_tokens(sent) == embedder.max_tokens


def test_a_passage_is_never_cut(provider):
    embedder_for(provider).embed_passages(["发票" * 500])
    assert provider.batches == [["发票" * 500]]


def test_connections_are_reused(provider):
    embedder = embedder_for(provider)
    embedder.embed_query("one")
    connections = embedder._exchange.connections()
    embedder.embed_query("two")
    assert embedder._exchange.connections() is connections


def test_a_forked_child_makes_its_own_connections(provider):
    embedder = embedder_for(provider)
    embedder.embed_query("the parent connects")
    inherited = embedder._exchange.connections()
    child = os.fork()
    if child == 0:
        os._exit(7 if embedder._exchange.connections() is not inherited else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@pytest.mark.parametrize(
    ("url", "requested"),
    [
        ("http://host.example/v1", "http://host.example/v1/embeddings"),
        ("http://host.example/v1/", "http://host.example/v1/embeddings"),
        ("https://host.example:8443/v1/embeddings", "https://host.example:8443/v1/embeddings"),
        ("https://host.example/v1/embeddings/", "https://host.example/v1/embeddings"),
        ("https://host.example/x/v1?version=2", "https://host.example/x/v1/embeddings?version=2"),
        ("http://host.example", "http://host.example/embeddings"),
    ],
)
def test_base_or_full_address(url, requested):
    assert str(OpenAIEmbedder(url, "stub-1", dimensions=8)._exchange.url) == requested


@pytest.mark.parametrize(
    "url",
    ["", "host.example/v1", "ftp://host.example/v1", "http://", "http://a..b/v1", "http://h:99999/v1", "http://h:x/v1"],
)
def test_an_unusable_address_is_refused(url):
    with pytest.raises(ValueError, match="URL of the endpoint"):
        OpenAIEmbedder(url, "stub-1", dimensions=8)


def test_secrets_in_the_address_or_a_broken_key_are_refused_unseen():
    with pytest.raises(ValueError, match="user name") as caught:
        OpenAIEmbedder("https://user:password@host.example/v1", "stub-1", dimensions=8)
    assert "password@" not in str(caught.value)
    for key in ("sk-secret\r\nHost: x", "sk-secret ", "sk-secret密"):
        with pytest.raises(ValueError, match="key") as caught:
            OpenAIEmbedder("https://host.example/v1", "stub-1", key, dimensions=8)
        assert "secret" not in str(caught.value)


def test_the_provider_is_the_host_and_port():
    one = OpenAIEmbedder("https://Host.example:8443/v1?key=secret", "stub-1", dimensions=8)
    assert one.provider == "host.example:8443"


WORDS = "the invoice of an international documentation infrastructure is acknowledged with thirty days in advance"
words = st.lists(st.sampled_from([*WORDS.split(), "Invoice", "2026", "№", "30%", "A4"]), max_size=60).map(" ".join)
chinese = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5), max_size=100)
letters = st.text("abcdefghijklmnopqrstuvwxyz ABCDEFGH0123456789.,;()", max_size=100)


@settings(max_examples=200, deadline=None)
@given(chinese)
def test_the_estimate_of_chinese_is_never_under(text):
    assert upper_estimate(text) >= LocalEmbedder().count_tokens(text)


@settings(max_examples=200, deadline=None)
@given(words)
def test_the_estimate_of_words_is_never_far_under(text):
    """Nor under at all but for a word or two alone: "thirty" is taken for two tokens and has three."""
    assert upper_estimate(text) * 4 / 3 >= LocalEmbedder().count_tokens(text)


@settings(max_examples=200, deadline=None)
@given(st.one_of(letters, st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=100)))
def test_the_estimate_of_anything_is_never_far_under(text):
    """Random letters are the worst case: no splitter meets them, a key or a hash in a text comes close."""
    assert upper_estimate(text) * 4 >= LocalEmbedder().count_tokens(text)


def test_the_estimate_leaves_room_for_a_usual_chunk():
    prose = "Readers of a published version keep seeing it until the next one can be searched. " * 5
    assert LocalEmbedder().count_tokens(prose) <= upper_estimate(prose) <= 2 * LocalEmbedder().count_tokens(prose)


def test_the_stub_serves_other_processes():
    command = [sys.executable, "-m", "tests.provider_stub", "--dimensions", "8"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            embedder = OpenAIEmbedder(url, "stub-1", dimensions=8)
            embedder.embed_passages(TEXTS)
            embedder.embed_query("one")
            with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as answer:
                assert json.load(answer) == {"requests": 2, "texts": 4, "batches": [3, 1]}
        finally:
            process.terminate()


def test_the_stub_plans_faults_by_number(provider):
    embedder = embedder_for(provider)
    provider.fail_on(2, stub.status(500))
    seen = []
    provider.before_answer = seen.append
    embedder.embed_passages(TEXTS)
    with refused_as(errors.EmbeddingBadResponse):
        embedder.embed_passages(TEXTS)
    embedder.embed_passages(TEXTS)
    assert seen == [TEXTS] * 3
    assert (provider.requests, provider.texts_sent) == (3, 9)
