"""Querysets with the two faces of every permission: which rows, and whether this row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from django.db import models
from django.db.models import Exists, OuterRef, Q

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

    from documents.models import Document, Tenant  # noqa: F401  (Document stands in the string below)

    User = AbstractBaseUser | AnonymousUser
else:
    User = object  # only a type; the real one may not be imported while the models are loading

EDITING_ROLES = ("editor",)
OVERSEEING_ROLES = ("editor", "operator")
OPERATING_ROLES = ("operator",)


class DocumentQuerySet(models.QuerySet["Document"]):
    def alive(self) -> Self:
        return self.filter(deleted_at=None)

    def editable_by(self, user: User) -> Self:
        """Documents that `user` may change: those of the tenants where they are an editor."""
        return self.filter(Q(tenant__in=tenants_where(user, EDITING_ROLES)))

    def overseen_by(self, user: User) -> Self:
        """Documents whose indexing `user` may watch and retry: as an editor or operator of the tenant."""
        return self.filter(Q(tenant__in=tenants_where(user, OVERSEEING_ROLES)))

    def readable_by(self, user: User) -> Self:
        """Documents in force that `user` is among the current readers of (which version they are served is the index's)."""
        from documents.models import DocumentReader

        rules = DocumentReader.objects.filter(
            document=OuterRef("pk"), version_number=OuterRef("requested_version"), user=user.pk
        )
        return self.alive().filter(Exists(rules), withdrawn_at=None)

    def visible_to(self, user: User) -> Self:
        """Documents whose state `user` may ask for: those they oversee and those they may read."""
        return self.filter(
            Q(pk__in=self.model._default_manager.overseen_by(user).values("pk"))
            | Q(pk__in=self.model._default_manager.readable_by(user).values("pk"))
        )


def tenants_where(user: User, roles: tuple[str, ...] | None = None) -> models.QuerySet[Tenant]:
    """Tenants where `user` is a member with one of `roles` (any role if None). A superuser administers every tenant."""
    from documents.models import Tenant

    if not user.is_active:
        return Tenant.objects.none()
    if getattr(user, "is_superuser", False) and roles is not None:
        return Tenant.objects.all()
    memberships = Q(memberships__user=user.pk)
    if roles is not None:
        memberships &= Q(memberships__role__in=roles)
    return Tenant.objects.filter(memberships)
