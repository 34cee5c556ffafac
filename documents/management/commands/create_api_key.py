"""`create_api_key --user NAME`: the key alone on stdout, once; only its digest is kept."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from documents.api.keys import create_api_key


class Command(BaseCommand):
    help = "Make an API key for a user and print it. It is shown this once and cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", required=True, metavar="NAME", help="user name of whoever the key acts for")
        parser.add_argument("--name", default="", metavar="LABEL", help="what the key is for, to tell keys apart")

    def handle(self, *, user: str, name: str, **_options: Any) -> None:
        owner = User.objects.filter(username=user, is_active=True).first()
        if owner is None:
            raise CommandError(f"There is no active user “{user}”.")
        self.stdout.write(create_api_key(user=owner, name=name))
