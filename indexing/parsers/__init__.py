"""Bytes of a file in, text in blocks out: one module per format behind one door.

The modules are imported when they are needed, so that a child process starts quickly. Nothing here knows Django. A
parser reads untrusted files: outside of tests it is called through `indexing.parsers.sandbox` only.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from documents.media_types import (
    CODE_LANGUAGES,
    CSV,
    DOCX,
    HTML,
    IMAGES,
    JSON,
    MARKDOWN,
    ODS,
    PDF,
    PPTX,
    TEXT,
    XLS,
    XLSX,
)
from indexing.blocks import ParsedDocument
from indexing.errors import UnsupportedDocument

if TYPE_CHECKING:
    from indexing.parsers.scans import Scans

PARSER_REVISION = "2"
"""Part of every cached parse result's key: change it with every change of what any parser returns."""

_MODULES = {
    PDF: "indexing.parsers.pdf",
    DOCX: "indexing.parsers.docx",
    PPTX: "indexing.parsers.pptx",
    XLSX: "indexing.parsers.xlsx",
    XLS: "indexing.parsers.xls",
    ODS: "indexing.parsers.ods",
    CSV: "indexing.parsers.csv_table",
    HTML: "indexing.parsers.html",
    MARKDOWN: "indexing.parsers.markdown",
    TEXT: "indexing.parsers.text",
    JSON: "indexing.parsers.json_file",
    **dict.fromkeys(IMAGES, "indexing.parsers.image"),
    **dict.fromkeys(CODE_LANGUAGES, "indexing.parsers.code"),
}
_SCANNED = (PDF, DOCX, PPTX, XLSX, *IMAGES)  # their parsers take the document's scans, too


class Parser(Protocol):
    """What each format's module offers."""

    def parse(self, content: bytes) -> ParsedDocument: ...


class CodeParser(Protocol):
    """The one of all programming languages."""

    def parse(self, content: bytes, media_type: str) -> ParsedDocument: ...


class ScanParser(Protocol):
    """What those offer that read pictures."""

    def parse(self, content: bytes, scans: Scans | None = None) -> ParsedDocument: ...


def parse(content: bytes, media_type: str, file_name: str, scans: Scans | None = None) -> ParsedDocument:
    """Read a file of type `media_type` (as `documents.media_types.detect` names it).

    `file_name` is for formats whose dialect depends on it; none of the present ones does. `scans`: where scanned pages are
    kept, if anywhere. Raises
    `UnsupportedDocument`, `DocumentCorrupt`, `DocumentEncrypted`, `DocumentTooLarge` or `NoText`.
    """
    module = module_of(media_type)
    if module is None:
        raise UnsupportedDocument()
    if media_type in CODE_LANGUAGES:
        return cast(CodeParser, import_module(module)).parse(content, media_type)
    if media_type in _SCANNED:
        return cast(ScanParser, import_module(module)).parse(content, scans)
    return cast(Parser, import_module(module)).parse(content)


def module_of(media_type: str) -> str | None:
    """The name of the module that reads files of this type; None if none does."""
    return _MODULES.get(media_type)
