"""Legal rows only, made through the same services as everybody uses."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from django.contrib.auth.models import User

from documents import publishing, tenants, uploading
from documents.models import Document, Membership, Tenant
from documents.publishing import Published
from documents.readers import Reader

_numbers = itertools.count(1)
EVERYONE = (Reader("everyone"),)


@dataclass
class World:
    """A tenant with an editor, and short ways to fill it."""

    tenant: Tenant
    editor: User
    people: dict[str, User] = field(default_factory=dict)

    def member(self, name: str, *, role: str = "reader", groups: tuple[str, ...] = ()) -> User:
        user, _ = User.objects.get_or_create(username=name)
        membership = tenants.add_member(tenant=self.tenant, user=user, role=role)
        for group in groups:
            tenants.add_to_group(membership=membership, name=group)
        return user

    def membership(self, user: User) -> Membership:
        return Membership.objects.get(tenant=self.tenant, user=user)

    def upload(
        self, text: str = "# Travel\n\nThe limit is 200 yuan.", *, title: str = "Travel", name: str = "a.md"
    ) -> Document:
        version = uploading.create_document(
            actor=self.editor, tenant=self.tenant.slug, title=title, data=text.encode(), file_name=name
        )
        return version.document

    def new_version(self, document: Document, text: str, *, name: str = "a.md") -> int:
        version = uploading.add_version(
            actor=self.editor, document_id=document.pk, revision=None, data=text.encode(), file_name=name
        )
        return version.number

    def publish(
        self, document: Document, *, readers: tuple[Reader, ...] | None = EVERYONE, version: int | None = None
    ) -> Published:
        return publishing.publish_version(
            actor=self.editor, document_id=document.pk, revision=None, version_number=version, readers=readers
        )


def make_world(slug: str | None = None) -> World:
    slug = slug or f"tenant-{next(_numbers)}"
    tenant = tenants.create_tenant(slug=slug, name=slug.title())
    editor = User.objects.create_user(f"{slug}-editor", password="correct horse battery")
    tenants.add_member(tenant=tenant, user=editor, role="editor")
    return World(tenant, editor)
