"""Remove what nobody needs any more: uploads without a version, deleted documents, old idempotency records."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from documents import content, publishing
from documents.api import idempotency
from documents.errors import Incomplete
from documents.outages import is_outage

logger = logging.getLogger(__name__)

FAILED, PARTIAL = 1, 3  # exit statuses

# In this order: what a purge could not remove from the storage is tried again, and told of, with the uploads.
PARTS: dict[str, tuple[str, Callable[..., int]]] = {
    "deletedDocuments": ("Deleted documents", publishing.purge_deleted),
    "stagedUploads": ("Uploads without a version", content.sweep),
    "idempotencyRecords": ("Old idempotency records", idempotency.sweep),
}


class Command(BaseCommand):
    help = (
        "Remove the rest of deleted documents, staged uploads without a version, and old idempotency records. A part that "
        "fails stops no other: exit status 3 if some failed, 1 if all did."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only count what would be removed")
        parser.add_argument("--format", choices=("text", "json"), default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        dry_run = options["dry_run"]
        counts, failures = _run_all(dry_run=dry_run)
        if options["format"] == "json":
            self.stdout.write(json.dumps({"dryRun": dry_run, **counts}))
        else:
            verb = "would be removed" if dry_run else "removed"
            self.stdout.write(
                f"{timezone.localtime():%Y-%m-%d %H:%M:%S} Swept what nobody needs any more: "
                f"{counts['deletedDocuments']} deleted documents, {counts['stagedUploads']} uploads without a version and "
                f"{counts['idempotencyRecords']} old idempotency records {verb}."
            )
        if failures:
            raise CommandError("\n".join(failures), returncode=PARTIAL if len(failures) < len(PARTS) else FAILED)


def _run_all(*, dry_run: bool) -> tuple[dict[str, int], list[str]]:
    """What each part removed, and a sentence for each that failed."""
    counts, failures = dict.fromkeys(PARTS, 0), []
    for name, (title, part) in PARTS.items():
        try:
            counts[name] = part(dry_run=dry_run)
        except Incomplete as error:
            counts[name] = error.facts["removed"]
            failures.append(f"{title}: {error.message}")
        except Exception as error:
            if is_outage(error):
                failures.append(f"{title}: the database cannot be used: {str(error).strip()}")
            else:
                logger.exception("the sweep of %s failed", name)
                failures.append(f"{title}: failed on a defect; the log has its traceback.")
    return counts, failures
