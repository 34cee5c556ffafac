"""Keys: how they are made, kept, used, noted and refused."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from documents.api.keys import create_api_key, revoke
from documents.models import ApiKey
from tests.db.api import ROOT, Caller
from tests.factories import make_world

pytestmark = pytest.mark.django_db


def status(**headers: str) -> int:
    response = Client().get(ROOT + "documents?tenant=none", headers=headers)
    if response.status_code == 401:
        assert response.headers["WWW-Authenticate"] == "Bearer"
        assert response.headers["Content-Type"] == "application/problem+json"
    return response.status_code


@pytest.fixture
def user() -> User:
    return User.objects.create_user("integrator")


def test_a_key_is_stored_as_a_digest_only(user: User) -> None:
    key = create_api_key(user=user, name="nightly")
    stored = ApiKey.objects.get()
    assert key.startswith("kb_")
    assert key not in str(vars(stored))
    assert stored.name == "nightly"
    assert key.startswith(stored.prefix)


def test_who_is_let_in(user: User) -> None:
    key = create_api_key(user=user)
    assert status(Authorization=f"Bearer {key}") == 404  # known, and without a tenant
    assert status(Authorization=f"bearer {key}") == 404
    assert status() == 401
    assert status(Authorization="Bearer") == 401
    assert status(Authorization=f"Bearer {key}x") == 401
    assert status(Authorization=f"Basic {key}") == 401
    assert status(Authorization="Bearer \xff\xfe") == 401


def test_a_revoked_key_and_an_inactive_user_are_refused(user: User) -> None:
    first, second = create_api_key(user=user), create_api_key(user=user)
    revoke(ApiKey.objects.order_by("id")[0])
    assert status(Authorization=f"Bearer {first}") == 401
    assert status(Authorization=f"Bearer {second}") == 404
    User.objects.update(is_active=False)
    assert status(Authorization=f"Bearer {second}") == 401


def test_use_is_noted_once_a_minute(user: User, django_assert_num_queries) -> None:
    key = create_api_key(user=user)
    status(Authorization=f"Bearer {key}")
    noted = ApiKey.objects.get().last_used_at
    assert noted is not None
    status(Authorization=f"Bearer {key}")
    assert ApiKey.objects.get().last_used_at == noted
    ApiKey.objects.update(last_used_at=timezone.now() - timedelta(minutes=2))
    status(Authorization=f"Bearer {key}")
    assert ApiKey.objects.get().last_used_at > noted - timedelta(seconds=1)


def test_a_session_may_read_and_needs_a_token_to_write() -> None:
    world = make_world()
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.editor)
    assert client.get(ROOT + f"documents?tenant={world.tenant.slug}").status_code == 200
    refused = client.post(ROOT + "documents", {"title": "x"})
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


def test_the_command_prints_the_key_alone(user: User, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_api_key", "--user", "integrator", "--name", "ci")
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    assert err == ""
    assert status(Authorization=f"Bearer {out.strip()}") == 404


def test_the_command_refuses_an_unknown_user() -> None:
    with pytest.raises(CommandError, match="There is no active user “nobody”") as refused:
        call_command("create_api_key", "--user", "nobody")
    assert refused.value.returncode == 1


def test_every_call_needs_somebody() -> None:
    world = make_world()
    document = world.upload()
    nobody = Caller(None)
    for method, path in (
        ("GET", "documents"),
        ("POST", "documents"),
        ("GET", f"documents/{document.pk}"),
        ("DELETE", f"documents/{document.pk}"),
        ("GET", f"documents/{document.pk}/versions"),
        ("POST", f"documents/{document.pk}/versions"),
        ("GET", f"documents/{document.pk}/versions/1/content"),
        ("POST", f"documents/{document.pk}/publish"),
        ("PUT", f"documents/{document.pk}/readers"),
        ("POST", f"documents/{document.pk}/restore"),
        ("POST", f"documents/{document.pk}/withdraw"),
        ("GET", f"documents/{document.pk}/holds"),
        ("POST", f"documents/{document.pk}/holds"),
        ("POST", "holds/1/lift"),
        ("GET", "index-tasks/1"),
        ("POST", "index-tasks/1/retry"),
        ("POST", "index-tasks/1/cancel"),
        ("POST", "index-worker/run-once"),
        ("GET", "search"),
    ):
        answer = nobody.call(method, path)
        assert (answer.status, answer.code) == (401, "unauthorized"), path
