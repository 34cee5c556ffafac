"""Remove what nobody needs any more: uploads without a version, deleted documents, old idempotency records."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from documents import content, publishing
from documents.api import idempotency


class Command(BaseCommand):
    help = "Remove staged uploads without a version, the rest of deleted documents, and old idempotency records."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only count what would be removed")
        parser.add_argument("--format", choices=("text", "json"), default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        dry_run = options["dry_run"]
        counts = {
            "deletedDocuments": publishing.purge_deleted(dry_run=dry_run),
            "stagedUploads": content.sweep_staged(dry_run=dry_run),
            "idempotencyRecords": idempotency.sweep(dry_run=dry_run),
        }
        if options["format"] == "json":
            self.stdout.write(json.dumps({"dryRun": dry_run, **counts}))
            return
        verb = "would be removed" if dry_run else "removed"
        self.stdout.write(
            f"{timezone.localtime():%Y-%m-%d %H:%M:%S} Swept what nobody needs any more: "
            f"{counts['deletedDocuments']} deleted documents, {counts['stagedUploads']} uploads without a version and "
            f"{counts['idempotencyRecords']} old idempotency records {verb}."
        )
