"""A site that could not index is refused at `manage.py check`, with what to do."""

from __future__ import annotations

import pytest

from documents import checks as documents_checks
from indexing import checks
from indexing.errors import EmbeddingUnavailable
from indexing.lease import LONGEST_LEASE
from indexing.providers import default_embedder_config, embedder_for


def test_an_endpoint_needs_model_and_dimensions(settings) -> None:
    settings.KB_EMBEDDING_URL = "http://provider.example/v1"
    (error,) = checks.embedding_endpoint_is_described()
    assert "KB_EMBEDDING_MODEL" in error.msg
    settings.KB_EMBEDDING_MODEL, settings.KB_EMBEDDING_DIMENSIONS = "m", 8
    assert checks.embedding_endpoint_is_described() == []


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("KB_EMBEDDING_URL", "http://me:secret@provider.example/v1", "URL"),
        ("KB_EMBEDDING_URL", "provider.example/v1", "URL"),
        ("KB_EMBEDDING_API_KEY", "secret\n", "key"),
    ],
)
def test_an_endpoint_that_no_embedder_can_ask_is_refused(settings, name: str, value: str, reason: str) -> None:
    """With the reason and without the value, for it may hold a secret; work that meets it waits and is not charged."""
    settings.KB_EMBEDDING_URL = "http://provider.example/v1"
    settings.KB_EMBEDDING_MODEL, settings.KB_EMBEDDING_DIMENSIONS = "m", 8
    setattr(settings, name, value)
    (error,) = checks.embedding_endpoint_is_described()
    assert error.id == "indexing.E003"
    assert reason in error.msg
    assert "secret" not in error.msg
    with pytest.raises(EmbeddingUnavailable):
        embedder_for({"embedder": default_embedder_config()})


def test_a_lease_that_the_database_would_refuse_is_refused(settings) -> None:
    assert checks.lease_is_not_too_long() == []
    settings.KB_LEASE_SECONDS = LONGEST_LEASE + 1
    assert [error.id for error in checks.lease_is_not_too_long()] == ["indexing.E004"]


@pytest.mark.parametrize("name", checks.POSITIVE)
def test_numbers_must_be_positive(settings, name: str) -> None:
    assert checks.numbers_are_positive() == []
    setattr(settings, name, 0)
    (error,) = checks.numbers_are_positive()
    assert name in error.msg


def test_a_missing_index_is_an_error_not_silence(settings) -> None:
    assert documents_checks.search_index_is_bound() == []
    settings.KB_SEARCH_INDEX = "indexing.port.NoSuchIndex"
    assert [error.id for error in documents_checks.search_index_is_bound()] == ["documents.E001"]


def test_the_embedded_server_is_refused_in_production(settings) -> None:
    settings.EMBEDDED_POSTGRES, settings.DEBUG = True, False
    assert [error.id for error in documents_checks.own_database_in_production()] == ["documents.E002"]
    assert [error.id for error in documents_checks.database_is_configured()] == ["documents.E002"]


def test_one_role_for_everything_is_warned_about(settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.EMBEDDED_POSTGRES = False
    user = settings.DATABASES["owner"]["USER"]
    monkeypatch.setitem(settings.DATABASES["default"], "USER", user)
    assert [error.id for error in documents_checks.own_database_in_production()] == ["documents.W001"]
