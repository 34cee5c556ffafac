"""Codes are stable and unique, sentences are for an editor, the class says what happens next."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from documents.errors import DocumentsError
from indexing import errors
from indexing.errors import Disposition, IndexingError


def subclasses(base: type) -> Iterator[type]:
    for child in base.__subclasses__():
        yield child
        yield from subclasses(child)


LEAVES = [kind for kind in subclasses(IndexingError) if not kind.__subclasses__()]
REFUSALS = list(subclasses(DocumentsError))

CODES = {
    Disposition.PERMANENT: (
        "UNSUPPORTED_DOCUMENT DOCUMENT_CORRUPT DOCUMENT_ENCRYPTED DOCUMENT_TOO_LARGE NO_TEXT ACCESS_REVOKED "
        "EMBEDDING_INPUT_REJECTED EMBEDDING_DIMENSION_MISMATCH"
    ),
    Disposition.TRANSIENT: (
        "EMBEDDING_TIMEOUT EMBEDDING_BAD_RESPONSE PARSE_CRASHED PARSE_TIMEOUT STORAGE_UNAVAILABLE VERIFICATION_FAILED"
    ),
    Disposition.THROTTLED: "EMBEDDING_RATE_LIMITED",
    Disposition.PROVIDER: "EMBEDDING_AUTH EMBEDDING_UNAVAILABLE EMBEDDING_MODEL_CHANGED",
    Disposition.CANCELLED: "SUPERSEDED DOCUMENT_DELETED DOCUMENT_WITHDRAWN CANCELLED_BY_USER PIPELINE_RETIRED",
}


def test_codes_and_what_follows_from_them_are_public() -> None:
    """Programs and the manual name them: a change here is a change of the interface."""
    found = {kind.code: kind.disposition for kind in LEAVES}
    assert found == {code: disposition for disposition, codes in CODES.items() for code in codes.split()}


@pytest.mark.parametrize("kinds", [LEAVES, REFUSALS])
def test_codes_are_unique(kinds: list[type[IndexingError]]) -> None:
    repeated = [code for code, count in Counter(kind.code for kind in kinds).items() if count > 1]
    assert not repeated


@pytest.mark.parametrize("kind", [*LEAVES, *REFUSALS], ids=lambda kind: kind.__name__)
def test_sentences_are_sentences(kind: type[Exception]) -> None:
    sentence = str(kind())
    assert re.fullmatch(r"[A-Z].*\.", sentence)
    assert len(sentence) <= 160
    assert not re.search(r"[A-Z_]{6,}|Exception|Traceback|None", sentence), "codes are for programs"


ADVICE = re.compile(r"\b(Upload|Open|Remove|Split|Set|Publish|Tell|upload)\b")


@pytest.mark.parametrize(
    "kind", [kind for kind in LEAVES if kind.disposition is Disposition.PERMANENT], ids=lambda kind: kind.__name__
)
def test_what_will_not_pass_by_itself_says_what_to_do(kind: type[IndexingError]) -> None:
    assert ADVICE.search(str(kind())), str(kind())


@pytest.mark.parametrize(
    "kind", [kind for kind in LEAVES if kind.disposition is Disposition.PROVIDER], ids=lambda kind: kind.__name__
)
def test_a_broken_provider_is_not_blamed_on_the_document(kind: type[IndexingError]) -> None:
    assert "document is not at fault" in str(kind())


def test_details_follow_the_sentence() -> None:
    assert str(errors.DocumentCorrupt("Page 3.")).endswith("as a new version. Page 3.")
    assert errors.EmbeddingRateLimited(retry_after=3.0).retry_after == 3.0


def test_a_lost_lease_is_no_failure() -> None:
    """Whoever catches failures to record them must not catch this."""
    assert not issubclass(errors.LeaseLost, IndexingError)


def test_facts_travel_beside_the_message() -> None:
    refused = DocumentsError("No.", currentRevision=3)
    assert (refused.message, refused.facts) == ("No.", {"currentRevision": 3})
