"""Tenants, their members and their reader groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from documents.models import Membership, ReaderGroup, Tenant
from documents.ports import search_index

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@transaction.atomic
def create_tenant(*, slug: str, name: str) -> Tenant:
    """A tenant that can publish at once: the search index gives it a pipeline in the same transaction."""
    tenant = Tenant.objects.create(slug=slug, name=name)
    search_index().prepare_tenant(tenant_id=tenant.pk)
    return tenant


def add_member(*, tenant: Tenant, user: User, role: str) -> Membership:
    """Make `user` a member with `role`, or change the role they have."""
    membership, _ = Membership.objects.update_or_create(tenant=tenant, user=user, defaults={"role": role})
    return membership


def add_to_group(*, membership: Membership, name: str) -> ReaderGroup:
    """Put a member into the reader group `name`, made if there is none."""
    group, _ = ReaderGroup.objects.get_or_create(tenant_id=membership.tenant_id, name=name)
    group.members.add(membership)
    return group
