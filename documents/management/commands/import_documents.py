"""`manage.py import_documents DIR|FILE…`: conditional writes from a folder, or from a file of rows."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone
from rest_framework.exceptions import APIException, ValidationError

from documents import content, sources
from documents.api.base import valid
from documents.api.parsing import json_of
from documents.api.source_serializers import RowSerializer, write_of_row
from documents.conditional import Outcome
from documents.errors import DocumentsError
from documents.media_types import BY_EXTENSION
from documents.readers import Reader
from documents.source_models import Source
from documents.sources import Write

FAILED, PARTIAL = 1, 3
ROWS = ".ndjson"
_BAD = (Outcome.CONFLICT, Outcome.INVALID)

WriteOne = Callable[..., sources.Applied]
"""Does what a `write` asks for, or says what that would come to."""


class Command(BaseCommand):
    help = (
        "Write documents from a folder, or from .ndjson files of rows as the API takes them, and publish them. A file's name "
        "below the folder is its key, the time of its last change its clock: run it again, and only what changed is written. "
        "Exit codes: 0 all well, 1 nothing could be done, 2 wrong usage, 3 some were conflicts or invalid."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", metavar="DIR|FILE", type=Path)
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--source", required=True, metavar="NAME", help="made if there is none")
        parser.add_argument("--user", required=True, metavar="NAME", help="an editor of the tenant, who publishes")
        parser.add_argument(
            "--readers",
            default="everyone",
            metavar="R,…",
            help="who reads what a new source writes: everyone (in the tenant; the default), user:NAME, group:NAME, or nobody",
        )
        parser.add_argument(
            "--clock", default="time", choices=["time", "epoch"], help="what orders the writes of a new source"
        )
        parser.add_argument(
            "--delete-missing", action="store_true", help="delete documents of the source that are not there any more"
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would be written, and write nothing")
        parser.add_argument("--format", choices=["text", "json"], default="text")

    def handle(self, *_: Any, **options: Any) -> None:
        paths: list[Path] = options["paths"]
        if missing := [path for path in paths if not path.exists()]:
            raise CommandError(f"There is no {missing[0]}; nothing was changed.", returncode=2)
        if options["delete_missing"] and any(path.suffix == ROWS for path in paths):
            raise CommandError("--delete-missing goes with folders and files, not with rows.", returncode=2)
        actor = User.objects.filter(username=options["user"], is_active=True).first()
        if actor is None:
            raise CommandError(f"There is no active user “{options['user']}”; nothing was changed.")
        try:
            source = _planned_source(actor, options) if options["dry_run"] else _source(actor, options)
        except DocumentsError as error:
            raise CommandError(error.message) from error
        seen = timezone.now()
        if options["dry_run"]:
            write_one: WriteOne = partial(sources.foresee, source=source, states={})
        else:
            write_one = partial(sources.apply, actor=actor, source=source)
        rows = list(self._apply(write_one, _writes(paths)))
        passed_over = _of_other_types(paths)
        if options["delete_missing"]:
            keys = {row["key"] for row in rows}
            gone = [key for key in sources.keys_known(source=source) if key not in keys]
            rows += self._apply(write_one, ((key, Write(key, updated_at=seen)) for key in gone))
        self._tell(rows, passed_over, options)

    def _apply(self, write_one: WriteOne, writes: Iterator[tuple[str, Write | Exception]]) -> Iterator[dict[str, Any]]:
        for key, write in writes:
            try:
                if isinstance(write, Exception):
                    raise write
                applied = write_one(write=write)
                outcome, reason = applied.outcome, applied.reason
            except DocumentsError as error:
                outcome, reason = Outcome.INVALID, error.message
            except (ValidationError, APIException, OSError) as error:
                outcome, reason = Outcome.INVALID, str(error)
            if outcome in _BAD and sys.stderr.isatty():
                self.stderr.write(f"{key}: {outcome.value}: {reason}")
            yield {"key": key, "outcome": outcome.value, "reason": reason}

    def _tell(self, rows: list[dict[str, Any]], passed_over: list[str], options: dict[str, Any]) -> None:
        counts = Counter(row["outcome"] for row in rows)
        if options["format"] == "json":
            known = {outcome.value: counts[outcome] for outcome in Outcome}
            self.stdout.write(
                json.dumps(
                    {"dryRun": options["dry_run"], "counts": known, "rows": rows, "passedOver": passed_over},
                    ensure_ascii=False,
                )
            )
        else:
            bad = [f"{row['key']}: {row['outcome']}: {row['reason']}" for row in rows if row["outcome"] in _BAD]
            total = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())) or "nothing there"
            others = [f"Passed over, of a type that is not accepted: {', '.join(passed_over)}"] if passed_over else []
            named = [
                f"{row['key']}: {row['outcome']}" for row in rows if options["dry_run"] and row["outcome"] not in _BAD
            ]
            nothing = ["Only foreseen; nothing was changed."] if options["dry_run"] else []
            self.stdout.write("\n".join([*named, *bad, *others, total, *nothing]))
        failed = sum(counts[outcome] for outcome in _BAD)
        if failed:
            sys.exit(FAILED if failed == len(rows) else PARTIAL)


def _planned_source(actor: User, options: dict[str, Any]) -> Source:
    """The same, and if it is a new one, nothing of it stays."""
    with transaction.atomic():
        source = _source(actor, options)
        transaction.set_rollback(True)
    return source


def _source(actor: User, options: dict[str, Any]) -> Source:
    """The source of that name, or a new one."""
    known = {source.name: source for source in sources.sources_of(actor=actor, tenant=options["tenant"])}
    if options["source"] in known:
        return known[options["source"]]
    return sources.create_source(
        actor=actor,
        tenant=options["tenant"],
        name=options["source"],
        clock=options["clock"],
        readers=_readers(options["readers"]),
    )


def _readers(text: str) -> list[Reader]:
    if text == "nobody":
        return []
    return [Reader(kind, name) for kind, _, name in (part.strip().partition(":") for part in text.split(","))]


def _writes(paths: list[Path]) -> Iterator[tuple[str, Write | Exception]]:
    for path in paths:
        if path.suffix == ROWS:
            yield from _rows(path)
        elif path.is_dir():
            for file in _files(path):
                if file.suffix.lower() in BY_EXTENSION:
                    yield _file(file, file.relative_to(path).as_posix())
        else:
            yield _file(path, path.name)


def _of_other_types(paths: list[Path]) -> list[str]:
    """Files in the folders that are not looked at, by their names below the folder."""
    return [
        file.relative_to(path).as_posix()
        for path in paths
        if path.is_dir()
        for file in _files(path)
        if file.suffix.lower() not in BY_EXTENSION
    ]


def _files(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.rglob("*")) if file.is_file()]


def _file(path: Path, key: str) -> tuple[str, Write | Exception]:
    try:
        # The time first: a change while it is read makes it newer, and the next run reads it again.
        changed = datetime.fromtimestamp(path.stat().st_mtime_ns // 1000 / 1e6, UTC)
        return key, Write(
            key, updated_at=changed, data=path.read_bytes(), file_name=path.name, title=content.title_of(path.name)
        )
    except (OSError, DocumentsError) as error:
        return key, error


def _rows(path: Path) -> Iterator[tuple[str, Write | Exception]]:
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            key = f"{path.name}:{number}"
            try:
                write = write_of_row(valid(RowSerializer, json_of(line)))
                yield write.key, write
            except APIException as error:
                yield key, error
