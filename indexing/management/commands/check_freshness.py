"""`manage.py check_freshness`: are there documents whose readers wait longer for a version than was promised?"""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error

from documents.outages import is_outage
from indexing import freshness

FAILED, FOUND = 1, 3


class Command(BaseCommand):
    help = (
        "Tell, once each, of documents that have become too stale and of those that no longer are: in the log and in their "
        "audit trails. The scheduler runs this every minute. Exit codes: 0 nothing is too stale; 3 something is; 1 failed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--only-new", action="store_true", help="exit with 3 only for what this check was first to find"
        )
        parser.add_argument("--format", choices=("text", "json"), default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            checked = freshness.check()
        except Error as error:
            if not is_outage(error):
                raise
            raise CommandError(f"The database cannot be used: {str(error).strip()}", returncode=FAILED) from error
        if options["format"] == "json":
            answer = {
                "tooStale": [one.to_json(checked.at) for one in checked.too_stale],
                "raised": [str(one.document_id) for one in checked.raised],
                "ended": [{"documentId": str(one.document_id), "endedBy": one.ended_by} for one in checked.ended],
            }
            self.stdout.write(json.dumps(answer))
        else:
            for one in checked.too_stale:
                seconds = (checked.at - one.behind_since).total_seconds()
                self.stdout.write(
                    f"Document {one.document_id}: v{one.version_number} is not searchable after {seconds:,.0f} s; "
                    f"{one.max_seconds:,} s are allowed."
                )
            for one in checked.ended:
                self.stdout.write(f"Document {one.document_id} is too stale no longer: {one.ended_by}.")
        if found := len(checked.raised if options["only_new"] else checked.too_stale):
            raise CommandError(f"{found} documents are too stale.", returncode=FOUND)
