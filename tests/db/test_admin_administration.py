"""What superusers keep in the admin: tenants that can publish at once, members, groups, keys."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from documents.api.keys import digest
from documents.models import ApiKey, Membership, ReaderGroup, Tenant
from indexing.pipelines import serving_pipeline
from tests.db.office import Office, words

pytestmark = pytest.mark.django_db(databases=["default", "owner"])


@pytest.fixture
def office() -> Office:
    return Office()


def test_a_new_tenant_can_publish(office: Office) -> None:
    url = reverse("admin:documents_tenant_add")
    assert office.clients["superuser"].post(url, {"name": "New", "slug": "new"}).status_code == 302
    assert serving_pipeline(Tenant.objects.get(slug="new").pk) is not None
    assert "already exists" in words(office.clients["superuser"].post(url, {"name": "Again", "slug": "new"}))
    assert "Lower-case letters" in words(office.clients["superuser"].post(url, {"name": "Bad", "slug": "Bad Slug"}))


def test_a_tenant_is_renamed_but_never_removed(office: Office) -> None:
    tenant = office.world.tenant
    url = reverse("admin:documents_tenant_change", args=[tenant.pk])
    assert office.clients["superuser"].post(url, {"name": "Renamed", "slug": "renamed"}).status_code == 302
    tenant.refresh_from_db()
    assert (tenant.name, tenant.slug) == ("Renamed", "renamed")
    assert office.get("superuser", "admin:documents_tenant_delete", tenant.pk).status_code == 403


def test_members_change_their_role_not_their_tenant(office: Office) -> None:
    member = office.world.membership(office.people["reader"])
    url = reverse("admin:documents_membership_change", args=[member.pk])
    office.clients["superuser"].post(url, {"role": "operator", "tenant": office.other.tenant.pk})
    member.refresh_from_db()
    assert (member.role, member.tenant) == ("operator", office.world.tenant)


def test_a_group_takes_members_of_its_tenant_only(office: Office) -> None:
    url = reverse("admin:documents_readergroup_add")
    own = office.world.membership(office.people["reader"])
    stranger = Membership.objects.get(user=office.other.editor)
    data = {"tenant": office.world.tenant.pk, "name": "legal", "members": [own.pk, stranger.pk]}
    assert "Not members of this tenant" in words(office.clients["superuser"].post(url, data))
    assert office.clients["superuser"].post(url, {**data, "members": [own.pk]}).status_code == 302
    group = ReaderGroup.objects.get(name="legal")
    assert list(group.members.all()) == [own]
    change = reverse("admin:documents_readergroup_change", args=[group.pk])
    assert "Not members" in words(office.clients["superuser"].post(change, {"name": "legal", "members": [stranger.pk]}))


def test_a_key_is_shown_once_and_revoked(office: Office) -> None:
    url = reverse("admin:documents_apikey_add")
    answer = office.clients["superuser"].post(url, {"user": office.people["reader"].pk, "name": "script"})
    assert "no-store" in answer["Cache-Control"]
    shown = re.search(rb"kb_[\w-]{30,}", answer.content)
    assert shown is not None
    key = ApiKey.objects.get()
    assert (key.user, key.name, key.digest) == (office.people["reader"], "script", digest(shown[0]))
    listed = office.get("superuser", "admin:documents_apikey_changelist")
    assert shown[0] not in listed.content
    assert key.prefix in words(listed)
    changelist = reverse("admin:documents_apikey_changelist")
    office.clients["superuser"].post(changelist, {"action": "revoke_keys", "_selected_action": [key.pk]})
    key.refresh_from_db()
    assert key.revoked_at is not None
    assert office.get("superuser", "admin:documents_apikey_change", key.pk).status_code in (200, 302)
    assert office.get("superuser", "admin:documents_apikey_delete", key.pk).status_code == 403
