"""Who sees what in the admin: decided by the role in a tenant, so that an editor needs no permission but `is_staff`."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from documents.models import Membership
from documents.querysets import OPERATING_ROLES, OVERSEEING_ROLES


def oversees_any(request: HttpRequest) -> bool:
    """Whether the user is an editor or operator of some tenant, or a superuser."""
    return _has_any(request, OVERSEEING_ROLES)


def operates_any(request: HttpRequest) -> bool:
    """Whether the user is an operator of some tenant, or a superuser."""
    return _has_any(request, OPERATING_ROLES)


def _has_any(request: HttpRequest, wanted: tuple[str, ...]) -> bool:
    """Asked many times a page, answered by one query."""
    roles: set[str] | None = getattr(request, "_own_roles", None)
    if roles is None:
        own = Membership.objects.filter(user=request.user.pk).values_list("role", flat=True)
        roles = set(own) if request.user.is_active and not request.user.is_superuser else set()
        request._own_roles = roles  # type: ignore[attr-defined]
    return bool(roles.intersection(wanted)) or _is_superuser(request)


class OverseersOnly:
    """Rows are shown to those who oversee their tenant, and changed by nobody: commands go through services."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return oversees_any(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return oversees_any(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class SuperusersOnly:
    """Administration of the whole site."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return _is_superuser(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_superuser(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return _is_superuser(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_superuser(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_superuser(request)


def _is_superuser(request: HttpRequest) -> bool:
    return request.user.is_active and request.user.is_superuser
