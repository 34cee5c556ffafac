"""Fixtures of every test. One database, made by the owner and used through both roles, as in production."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.db import connections
from django.test.utils import setup_databases, teardown_databases

from kbsite import embedded_postgres
from tests.provider_stub import provider  # noqa: F401  (a fixture)


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment: None, django_db_blocker: pytest.FixtureRequest) -> Iterator[None]:
    """Always both aliases: pytest-django would make only those that the tests name, and `default`, a mirror of `owner`,
    would then point at the real database."""
    if django_settings.EMBEDDED_POSTGRES:
        embedded_postgres.ensure_running(django_settings.DATA_DIR)
    with django_db_blocker.unblock():
        made = setup_databases(verbosity=0, interactive=False, aliases=["default", "owner"])
        assert connections["default"].settings_dict["NAME"].startswith("test_")
    yield
    with django_db_blocker.unblock():
        # The mirror is nobody's to close, and would keep the database from being dropped.
        connections["default"].close()
        teardown_databases(made, verbosity=0)


def pytest_unconfigure() -> None:
    """Leave no server behind."""
    if django_settings.EMBEDDED_POSTGRES:
        embedded_postgres.stop(django_settings.DATA_DIR)


@pytest.fixture(autouse=True)
def _private_storage(tmp_path: Path, settings: django_settings) -> None:
    settings.MEDIA_ROOT = tmp_path / "content"
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }


@pytest.fixture(autouse=True)
def _no_stray_indexes(request: pytest.FixtureRequest) -> None:
    """Before each test that may build an index: its rows are gone with the test before, the index is not."""
    marker = request.node.get_closest_marker("django_db")
    if marker and marker.kwargs.get("transaction") and "owner" in marker.kwargs.get("databases", ()):
        from tests.stray_indexes import drop_stray_indexes

        drop_stray_indexes()


@pytest.fixture(autouse=True)
def _no_canary_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process found out about a model in another test."""
    from indexing import canary

    monkeypatch.setattr(canary, "_watches", defaultdict(canary._Watch))


@pytest.fixture(autouse=True)
def _cheap_passwords(settings: django_settings) -> None:
    """A real hash takes 0.3 s by design, and nearly every test makes a user."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
