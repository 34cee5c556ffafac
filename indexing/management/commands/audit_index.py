"""`manage.py audit_index`: is what is published searchable, and whole?"""

from __future__ import annotations

import json
import logging
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error

from documents.outages import is_outage
from indexing import audit
from indexing.audit import Finding, Kind, Orphans

logger = logging.getLogger(__name__)

FAILED, FOUND = 1, 3
WORDS = {
    Kind.NOT_SERVED: "is published and not searchable, and nobody is at work",
    Kind.INCOMPLETE: "is served with parts missing",
    Kind.ALTERED: "is served with chunks that are not those verified",
    Kind.NO_INDEX: "has no whole vector index",
}


class Command(BaseCommand):
    help = (
        "Compare what is published with what is searchable. Versions that wait, failed or were cancelled are no findings: "
        "editors see them. Exit codes: 0 nothing is wrong, or all of it was put in order; 3 something is; 1 failed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--repair", action="store_true", help="order what is missing, and build indexes")
        parser.add_argument("--format", choices=("text", "json"), default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            found = [audit.repair(one) if options["repair"] else one for one in audit.findings()]
            orphans = audit.orphans()
        except Error as error:
            if not is_outage(error):
                raise
            raise CommandError(f"The database cannot be used: {str(error).strip()}", returncode=FAILED) from error
        if options["format"] == "json":
            kept = [{"kind": one.kind, "sets": one.sets, "chunks": one.chunks} for one in orphans]
            self.stdout.write(json.dumps({"findings": [one.to_json() for one in found], "orphans": kept}))
        else:
            self.stdout.write(_text(found, orphans))
        if left := sum(not one.repaired for one in found):
            # For whoever watches the log: the scheduler runs this every day.
            logger.error("audit of the index: %d findings", left)
            sentence = "%d findings. Run “manage.py audit_index --repair” to order what is missing."
            raise CommandError(sentence % left, returncode=FOUND)


def _text(found: list[Finding], orphans: list[Orphans]) -> str:
    lines = [_line(one) for one in found]
    lines += [f"{one.chunks} chunks in {one.sets} sets are {one.kind}: no search reaches them." for one in orphans]
    if not found:
        lines.append("All that is published and was indexed is served whole.")
    return "\n".join(lines)


def _line(finding: Finding) -> str:
    what = f"Pipeline {finding.pipeline_id}" if finding.document_id is None else f"Document {finding.document_id}"
    if finding.version_number is not None:
        what += f" v{finding.version_number}"
    line = f"{what} {WORDS[finding.kind]}: {finding.detail}."
    if finding.task_id is not None:
        return f"{line} Ordered as task {finding.task_id}."
    return f"{line} Put in order." if finding.repaired else line
