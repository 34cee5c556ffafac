"""`manage.py sweep`: what nobody needs any more leaves, rule by rule."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from documents import retention as of_truth
from documents.errors import Incomplete
from documents.outages import is_outage
from documents.retention import Rule, Stop
from indexing import retention
from indexing.shutdown import on_signals

logger = logging.getLogger(__name__)

FAILED, PARTIAL = 1, 3  # exit statuses
BATCH = 1000  # rows of one transaction
RULES = of_truth.RULES + retention.RULES


class Command(BaseCommand):
    help = (
        "Remove what nobody needs any more: deleted documents, staged uploads without a version, and the rest of "
        "docs/retention.md. A rule that fails stops no other: exit status 3 if some failed, 1 if all did. SIGTERM ends it "
        "after the transaction that is under way, with status 0: the next run goes on."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only count what would be removed")
        parser.add_argument(
            "--rule",
            action="append",
            choices=[rule.name for rule in RULES],
            metavar="NAME",
            help="only this rule (may be given again); one of " + ", ".join(rule.name for rule in RULES),
        )
        parser.add_argument("--format", choices=("text", "json"), default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        rules = [rule for rule in RULES if not options["rule"] or rule.name in options["rule"]]
        stopped, dry_run = threading.Event(), options["dry_run"]
        # Called by the scheduler, it runs in a process whose signals are another's to hear.
        by_hand = getattr(self, "_called_from_command_line", False)
        with on_signals(lambda _: stopped.set()) if by_hand else nullcontext():
            due = rules if dry_run or options["rule"] else [rule for rule in rules if retention.is_due(rule)]
            found, failures = _run_all(due, dry_run=dry_run, stop=stopped.is_set)
        counts = {rule.name: found.get(rule.name, 0) for rule in rules}
        if options["format"] == "json":
            self.stdout.write(json.dumps({"dryRun": dry_run, **counts}))
        elif dry_run:
            width = max(len(str(count)) for count in counts.values())
            self.stdout.write("\n".join(f"{counts[rule.name]:{width}} {rule.title}: {rule.why}." for rule in rules))
        else:
            removed = [f"{counts[rule.name]} {rule.title}" for rule in rules if counts[rule.name]]
            self.stdout.write(
                f"{timezone.localtime():%Y-%m-%d %H:%M:%S} Swept what nobody needs any more: "
                f"{', '.join(removed) or 'nothing was there'}{'; told to stop' if stopped.is_set() else ''}."
            )
        if failures:
            raise CommandError("\n".join(failures), returncode=PARTIAL if len(failures) < len(due) else FAILED)


def _run_all(rules: Sequence[Rule], *, dry_run: bool, stop: Stop) -> tuple[dict[str, int], list[str]]:
    """What each rule removed or would remove, and a sentence for each that failed."""
    counts, failures = dict.fromkeys((rule.name for rule in rules), 0), []
    for rule in rules:
        if stop():
            break
        try:
            counts[rule.name] = rule.count() if dry_run else rule.remove(BATCH, stop)
            if not dry_run and not stop():
                retention.note_run(rule)
        except Incomplete as error:
            counts[rule.name] = error.facts["removed"]
            failures.append(f"{rule.title.capitalize()}: {error.message}")
        except Exception as error:
            if is_outage(error):
                failures.append(f"{rule.title.capitalize()}: the database cannot be used: {str(error).strip()}")
            else:
                logger.exception("the sweep of %s failed", rule.name)
                failures.append(f"{rule.title.capitalize()}: failed on a defect; the log has its traceback.")
    return counts, failures
