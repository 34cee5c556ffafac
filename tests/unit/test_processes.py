"""The URL that a child process gets leads to the same database, as django-environ reads it."""

from __future__ import annotations

import environ
import pytest
from django.db import connections

from tests.processes import database_url


@pytest.mark.parametrize(
    ("database", "expected"),
    [
        (
            {"NAME": "test_kb", "USER": "kb_app", "PASSWORD": "", "HOST": "/tmp/a b/postgres", "PORT": ""},
            {"NAME": "test_kb", "USER": "kb_app", "OPTIONS": {"host": "/tmp/a b/postgres"}},
        ),
        (
            {"NAME": "test_kb", "USER": "kb_app", "PASSWORD": "a:b/c@d", "HOST": "db.example", "PORT": ""},
            {"NAME": "test_kb", "USER": "kb_app", "PASSWORD": "a:b/c@d", "HOST": "db.example", "PORT": 5432},
        ),
    ],
)
def test_url_round_trip(monkeypatch: pytest.MonkeyPatch, database: dict[str, str], expected: dict[str, object]) -> None:
    monkeypatch.setattr(connections["default"], "settings_dict", database)
    read = environ.Env.db_url_config(database_url("default"))
    assert read | expected == read
