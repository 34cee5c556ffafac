"""Who can log in to the demo. Passwords are random and kept in the data folder, so that every run prints the same ones."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import transaction

from documents import tenants
from documents.models import Membership, Tenant
from indexing.groups import OPERATORS
from kbsite.demo.samples import Manifest, Person

ROLES = {"editor": "editor", "operator": "operator"}  # everybody else is a reader
STAFF = ("editor", "operator")  # may log in to the admin
OPERATOR = Person("operator", ())


class NameTaken(Exception):
    """A user of that name exists in a database that the demo did not make; its password is left alone."""


def ensure_people(manifest: Manifest, *, passwords: Path) -> dict[str, str]:
    """Make the demo's tenant and its members where they are missing; return passwords by user name."""
    known: dict[str, str] = json.loads(passwords.read_text()) if passwords.exists() else {}
    people = (*manifest.people, OPERATOR)
    missing = {person.name: secrets.token_urlsafe(9) for person in people if person.name not in known}
    if missing:
        _keep({**known, **missing}, passwords)  # first: after a crash the users have the passwords that stand there
    with transaction.atomic():
        tenant = Tenant.objects.filter(slug=manifest.tenant).first() or tenants.create_tenant(
            slug=manifest.tenant, name="Demo"
        )
        for person in people:
            _ensure(person, tenant, password=missing.get(person.name))
    return {person.name: {**known, **missing}[person.name] for person in people}


def _ensure(person: Person, tenant: Tenant, *, password: str | None) -> None:
    """`password`: one to set, None if the user has theirs from an earlier run."""
    user = User.objects.filter(username=person.name).first()
    if user is not None and password is not None and not settings.EMBEDDED_POSTGRES:
        raise NameTaken(person.name)
    user = user or User(username=person.name, is_staff=person.name in STAFF)
    if password is not None or user.pk is None:
        user.set_password(password)
    user.save()
    if not Membership.objects.filter(tenant=tenant, user=user).exists():
        role = ROLES.get(person.name, "reader")
        membership = tenants.add_member(tenant=tenant, user=user, role=role)
        for group in person.groups:
            tenants.add_to_group(membership=membership, name=group)
        if role == "operator":
            user.groups.add(Group.objects.get(name=OPERATORS))


def _keep(passwords: dict[str, str], path: Path) -> None:
    """Written beside and moved into place: readable by its owner alone from the first byte, and never half."""
    beside = path.with_suffix(".new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(passwords, file)
    beside.replace(path)
