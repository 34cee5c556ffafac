"""`manage.py inspect_document FILE…`: what the index would make of files, without a database."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from documents.content import title_of
from documents.media_types import UnsupportedFile, detect
from indexing import inspection_page
from indexing.blocks import Chunk, ParsedDocument
from indexing.embedders.local import LocalEmbedder
from indexing.errors import IndexingError, NoText, UnsupportedDocument
from indexing.inspection import Inspection, Summary
from indexing.parsers.sandbox import parse_in_child, render_in_child, verify_apart
from indexing.pipelines import splitter_config
from indexing.rendering import DRAWN, Picture
from indexing.splitters import STRATEGIES, split_as_configured
from indexing.verification import claims_of

FAILED, USAGE, PARTIAL = 1, 2, 3
UNREADABLE = "FILE_UNREADABLE"  # never stored: what was uploaded can be read
MOST_DRAWN = 50  # pages in one answer, each 100 to 500 kB


class Command(BaseCommand):
    help = (
        "Show the blocks and chunks that indexing would make of each FILE (of a folder: of all files in it), whether each "
        "chunk is found again at its place, or why a file cannot be indexed. Nothing is stored and no database is needed. "
        "Exit codes: 0 all read, 1 none, 2 wrong usage (such as one FILE that is not there), 3 some."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE", type=Path)
        parser.add_argument(
            "--format",
            choices=("json", "text", "html"),
            default="json",
            help="default: json, one object, or an array for several files; html is one page that needs nothing beside it",
        )
        parser.add_argument(
            "--title",
            default="",
            help="of the document, embedded with each chunk; default: the file's name, as on upload",
        )
        parser.add_argument("--strategy", choices=sorted(STRATEGIES), default="", help="default: as the settings say")

    def handle(self, *args: Any, **options: Any) -> None:
        named: list[Path] = options["files"]
        if len(named) == 1 and (problem := _unreadable(named[0])):
            raise CommandError(problem, returncode=USAGE)
        paths = [path for name in named for path in _files(name)]
        if not paths:
            raise CommandError(f"There are no files in {named[0]}.", returncode=USAGE)
        results = [_inspect(path, options["strategy"], options["title"]) for path in paths]
        summary = "\n".join(Summary.of(results).lines())
        if options["format"] == "json":
            shown = [result.to_json() for result in results]
            alone = len(shown) == 1 and not named[0].is_dir()
            self.stdout.write(json.dumps(shown[0] if alone else shown, ensure_ascii=False, indent=2))
        elif options["format"] == "html":
            self.stdout.write(inspection_page.page(results, _pictures(paths, results)))
        else:
            self.stdout.write("\n".join([*(result.to_text() for result in results), *_if_several(results, summary)]))
        if options["format"] != "text":  # standard output is for the program that reads it
            self.stderr.write("\n".join(_if_several(results, summary)), self.style.NOTICE)
        failures = sum(result.error is not None for result in results)
        if failures:
            sys.exit(FAILED if failures == len(results) else PARTIAL)


def _if_several(results: Sequence[Inspection], summary: str) -> list[str]:
    return [f"Summary\n{summary}"] if len(results) > 1 else []


def _files(path: Path) -> list[Path]:
    """The file itself; of a folder all files in it and below, but for hidden ones."""
    if not path.is_dir():
        return [path]
    below = (found for found in sorted(path.rglob("*")) if found.is_file())
    return [found for found in below if not any(part.startswith(".") for part in found.relative_to(path).parts)]


def _unreadable(path: Path) -> str:
    """Why a file cannot be read, in a sentence; empty if it can."""
    if path.is_dir():
        return ""
    try:
        path.open("rb").close()
    except FileNotFoundError:
        return f"There is no file {path}."
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}."
    return ""


def _inspect(path: Path, strategy: str, title: str) -> Inspection:
    if problem := _unreadable(path):
        return Inspection(path.name, error=(UNREADABLE, problem))
    content = path.read_bytes()
    if not content:
        return Inspection(path.name, error=(NoText.code, "The file is empty."))
    seconds: dict[str, float] = {}
    limits: dict[str, Any] = {"timeout": settings.KB_PARSE_TIMEOUT, "memory_bytes": settings.KB_PARSE_MEMORY}
    try:
        media_type = detect(content, path.name)
        with _timed(seconds, "parse"):
            document = parse_in_child(content, media_type, path.name, **limits)
        with _timed(seconds, "split"):
            chunks = _split(document, title or title_of(path.name), strategy)
        with _timed(seconds, "verify"):
            verification = verify_apart(content, media_type, claims_of(document, chunks), **limits)
    except UnsupportedFile as error:
        return Inspection(path.name, error=(UnsupportedDocument.code, str(error)))
    except IndexingError as error:
        return Inspection(path.name, error=(error.code, str(error)), seconds=seconds)
    return Inspection(path.name, document, tuple(chunks), verification=verification, seconds=seconds)


def _split(document: ParsedDocument, title: str, strategy: str) -> list[Chunk]:
    embedder = LocalEmbedder()
    return split_as_configured(
        splitter_config(strategy),
        document,
        title=title,
        count_tokens=embedder.count_tokens,
        most_tokens=embedder.max_tokens,
    )


@contextmanager
def _timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    began = time.monotonic()
    try:
        yield
    finally:
        seconds[step] = round(time.monotonic() - began, 3)


def _pictures(paths: Sequence[Path], results: Sequence[Inspection]) -> dict[int, dict[int, Picture]]:
    """Drawn pages by file and number; those that cannot be drawn, and those beyond the limit, are left out."""
    drawn: dict[int, dict[int, Picture]] = {}
    left = MOST_DRAWN
    for position, (path, result) in enumerate(zip(paths, results, strict=True)):
        if result.document is None or result.document.media_type not in DRAWN:
            continue
        content = path.read_bytes()
        for page in range(1, min(result.document.pages or 0, left) + 1):
            left -= 1
            try:
                drawn.setdefault(position, {})[page] = render_in_child(
                    content,
                    result.document.media_type,
                    page=page,
                    timeout=settings.KB_PARSE_TIMEOUT,
                    memory_bytes=settings.KB_PARSE_MEMORY,
                )
            except IndexingError:
                continue
    return drawn
