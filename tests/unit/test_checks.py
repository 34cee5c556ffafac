"""A site that could not index is refused at `manage.py check`, with what to do."""

from __future__ import annotations

import pytest

from documents import checks as documents_checks
from indexing import checks


def test_an_endpoint_needs_model_and_dimensions(settings) -> None:
    settings.KB_EMBEDDING_URL = "http://provider.example/v1"
    (error,) = checks.embedding_endpoint_is_described()
    assert "KB_EMBEDDING_MODEL" in error.msg
    settings.KB_EMBEDDING_MODEL, settings.KB_EMBEDDING_DIMENSIONS = "m", 8
    assert checks.embedding_endpoint_is_described() == []


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
