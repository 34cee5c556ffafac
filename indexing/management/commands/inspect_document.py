"""`manage.py inspect_document FILE…`: what the index would make of files, without a database."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from documents.media_types import UnsupportedFile, detect
from indexing.embedders.local import LocalEmbedder
from indexing.errors import IndexingError, NoText, UnsupportedDocument
from indexing.inspection import Inspection
from indexing.parsers.sandbox import parse_in_child
from indexing.pipelines import splitter_config
from indexing.splitters import split_as_configured

FAILED, USAGE, PARTIAL = 1, 2, 3
UNREADABLE = "FILE_UNREADABLE"  # never stored: what was uploaded can be read


class Command(BaseCommand):
    help = (
        "Show the blocks and chunks that indexing would make of each FILE, or why it cannot be indexed. "
        "Nothing is stored and no database is needed. Exit codes: 0 all read, 1 none, 2 wrong usage "
        "(such as one FILE that is not there), 3 some."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE", type=Path)
        parser.add_argument("--format", choices=("json", "text"), default="json", help="default: json")

    def handle(self, *args: Any, **options: Any) -> None:
        paths: list[Path] = options["files"]
        if len(paths) == 1 and (problem := _unreadable(paths[0])):
            raise CommandError(problem, returncode=USAGE)
        results = [_inspect(path) for path in paths]
        if options["format"] == "json":
            shown = [result.to_json() for result in results]
            self.stdout.write(json.dumps(shown[0] if len(shown) == 1 else shown, ensure_ascii=False, indent=2))
        else:
            self.stdout.write("\n".join(result.to_text() for result in results))
        failures = sum(result.error is not None for result in results)
        if failures:
            sys.exit(FAILED if failures == len(results) else PARTIAL)


def _unreadable(path: Path) -> str:
    """Why a file cannot be read, in a sentence; empty if it can."""
    try:
        path.open("rb").close()
    except FileNotFoundError:
        return f"There is no file {path}."
    except IsADirectoryError:
        return f"{path} is a directory, not a file."
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}."
    return ""


def _inspect(path: Path) -> Inspection:
    if problem := _unreadable(path):
        return Inspection(path.name, error=(UNREADABLE, problem))
    content = path.read_bytes()
    if not content:
        return Inspection(path.name, error=(NoText.code, "The file is empty."))
    try:
        document = parse_in_child(
            content,
            detect(content, path.name),
            path.name,
            timeout=settings.KB_PARSE_TIMEOUT,
            memory_bytes=settings.KB_PARSE_MEMORY,
        )
    except UnsupportedFile as error:
        return Inspection(path.name, error=(UnsupportedDocument.code, str(error)))
    except IndexingError as error:
        return Inspection(path.name, error=(error.code, str(error)))
    embedder = LocalEmbedder()
    chunks = split_as_configured(
        splitter_config(),
        document,
        title=document.title or path.stem,
        count_tokens=embedder.count_tokens,
        most_tokens=embedder.max_tokens,
    )
    return Inspection(path.name, document, tuple(chunks))
