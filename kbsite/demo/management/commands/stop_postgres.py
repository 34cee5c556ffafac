"""`manage.py stop_postgres`, usually through `make stop`: ends the embedded server that other commands leave running."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from kbsite import embedded_postgres
from kbsite.demo.folder import DataFolder, InUse


class Command(BaseCommand):
    help = "Stop the embedded PostgreSQL of KB_DATA_DIR, which any command that needs it starts again."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        folder = settings.DATA_DIR
        if not settings.EMBEDDED_POSTGRES:
            raise CommandError("DATABASE_URL names a server that this project did not start. Nothing was stopped.")
        if not embedded_postgres.is_running(folder):
            self.stdout.write(f"No PostgreSQL runs in {folder}.")
            return
        try:
            with DataFolder(folder).held(cwd=settings.BASE_DIR, embedded=False):
                embedded_postgres.stop(folder)
        except InUse:
            raise CommandError("The demo is running and needs it. Ctrl-C there stops everything.") from None
        self.stdout.write(f"PostgreSQL in {folder} was stopped.")
