"""Who sees what in the admin: decided by the role in a tenant, so that an editor needs no permission but `is_staff`."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from documents.querysets import OVERSEEING_ROLES, tenants_where


def oversees_any(request: HttpRequest) -> bool:
    """Whether the user is an editor or operator of some tenant; asked many times a page, answered by one query."""
    known: bool | None = getattr(request, "_oversees_any", None)
    if known is None:
        known = tenants_where(request.user, OVERSEEING_ROLES).exists()
        request._oversees_any = known  # type: ignore[attr-defined]
    return known


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
