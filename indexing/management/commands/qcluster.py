"""django-q2's own command, ended with the process that started it: its processes would outlive a killed scheduler."""

from __future__ import annotations

from typing import Any

from django_q.management.commands import qcluster

from indexing.shutdown import end_with_parent


class Command(qcluster.Command):  # type: ignore[misc]
    def handle(self, *args: Any, **options: Any) -> None:
        end_with_parent()
        super().handle(*args, **options)
