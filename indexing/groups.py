"""The group “operators”: its members may retry many dead tasks at once. One task may be retried by every editor or operator
of its tenant; the bulk action is a permission of its own, because it can bring a whole backlog back to a provider."""

from __future__ import annotations

from django.apps import apps
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission

OPERATORS = "operators"


def ensure_operators(*, using: str) -> None:
    """Make the group and give it its permission. Other permissions that somebody gave it are left alone."""
    # This may run before Django's own handler has made the permissions of this migration.
    create_permissions(apps.get_app_config("indexing"), verbosity=0, using=using)
    group, _ = Group.objects.using(using).get_or_create(name=OPERATORS)
    permission = Permission.objects.using(using).get(content_type__app_label="indexing", codename="retry_dead_tasks")
    group.permissions.add(permission)
