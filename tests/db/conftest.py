"""What the tests with a database share."""

from __future__ import annotations

from typing import Any

import pytest

from indexing.errors import EmbeddingUnavailable
from tests.concurrency.conftest import stub_world, without  # noqa: F401  (fixtures)
from tests.db.api import Caller
from tests.factories import World, make_world


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def editor(world: World) -> Caller:
    """The API as the tenant's editor."""
    return Caller(world.editor)


@pytest.fixture
def by_words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search finds by words: the fallback that it has for a provider that is down."""

    def unavailable(*_: Any, **__: Any) -> None:
        raise EmbeddingUnavailable

    monkeypatch.setattr("indexing.search.embedder_for", unavailable)
