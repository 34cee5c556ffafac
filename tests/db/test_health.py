"""What load balancers ask."""

from __future__ import annotations

import pytest
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from kbsite import health


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_migrated", False)


def test_up_needs_no_database(client: Client) -> None:
    assert client.get("/healthz").status_code == 200


@pytest.mark.django_db
def test_ready(client: Client) -> None:
    assert client.get("/readyz").status_code == 200


@pytest.mark.django_db
def test_not_ready_without_every_migration(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    applied = MigrationRecorder.applied_migrations

    def all_but_one(self: MigrationRecorder) -> dict[tuple[str, str], object]:
        known = dict(applied(self))
        del known[max(key for key in known if key[0] == "indexing")]
        return known

    monkeypatch.setattr(MigrationRecorder, "applied_migrations", all_but_one)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "migrations" in answer.json()["status"]


@pytest.mark.django_db
def test_not_ready_without_the_database(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(connection, "cursor", refuse)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "cannot be reached" in answer.json()["status"]


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_are_not_sent_to_https(client: Client, settings: object, path: str) -> None:
    settings.SECURE_SSL_REDIRECT = True  # type: ignore[attr-defined]
    assert client.get(path).status_code == 200
