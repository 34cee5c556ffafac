from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from django.db import connections

from indexing import pipelines, statements
from tests.factories import World, make_world
from tests.provider_stub import ProviderStub


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def stub_world(provider: ProviderStub, settings) -> World:
    """A tenant whose pipeline embeds through the provider stub, two texts a request."""
    settings.KB_EMBEDDING_URL = provider.url
    settings.KB_EMBEDDING_MODEL = "stub"
    settings.KB_EMBEDDING_DIMENSIONS = 64
    settings.KB_EMBEDDING_BATCH_SIZE = 2
    settings.KB_CHUNK_TOKENS = 60
    pipelines.ensure_default_pipeline(using="owner")
    return make_world()


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AbstractContextManager[None]]:
    """Take a guard away: a piece of a statement and the triggers behind it, to show that the test would notice."""

    @contextmanager
    def take_away(file: str, name: str, guard: str, replacement: str = "", *, triggers: str = "") -> Iterator[None]:
        texts = dict(statements.statements(file))
        assert guard in texts[name], f"{name} has no such guard any more: {guard}"
        texts[name] = texts[name].replace(guard, replacement)
        original = statements.statements
        with monkeypatch.context() as patch:
            patch.setattr(statements, "statements", lambda wanted: texts if wanted == file else original(wanted))
            with without_triggers(triggers):
                yield

    return take_away


@contextmanager
def without_triggers(names: str) -> Iterator[None]:
    """Switch triggers (`table.trigger …`) off for a while."""
    _switch_triggers("DISABLE", names)
    try:
        yield
    finally:
        _switch_triggers("ENABLE", names)


def _switch_triggers(verb: str, names: str) -> None:
    with connections["owner"].cursor() as cursor:
        for name in names.split():
            table, _, trigger = name.partition(".")
            cursor.execute(f"ALTER TABLE {table} {verb} TRIGGER {trigger}")
