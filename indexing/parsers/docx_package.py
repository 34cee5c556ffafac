"""What is checked of a DOCX file before anything opens it: it is a zip of XML, and both can be made to explode."""

from __future__ import annotations

import io
import re
import zipfile
import zlib

from indexing.errors import DocumentCorrupt, DocumentEncrypted, DocumentTooLarge, UnsupportedDocument

MOST_BYTES = 200_000_000  # all parts together, unzipped
MOST_PARTS = 10_000
HIGHEST_RATIO = 100  # unzipped to zipped; real documents stay below 40
_SMALL_BYTES = 20_000_000  # up to here no ratio is suspicious: it fits in memory many times over

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # Office wraps a protected document in its old container
_DECLARATION = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_ENCRYPTED_FLAG = 0x1


def check_package(content: bytes) -> None:
    """Raise an error where the file is not to be opened: `DocumentEncrypted`, `DocumentCorrupt`, `DocumentTooLarge`, or
    `UnsupportedDocument` for a document of an older Word under a new name.
    """
    if content.startswith(_OLE):
        old = _stream("WordDocument") in content and _stream("EncryptedPackage") not in content
        raise UnsupportedDocument() if old else DocumentEncrypted()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            _check_sizes(package.infolist(), len(content))
            _check_parts(package)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
        raise DocumentCorrupt() from error


def _stream(name: str) -> bytes:
    """A stream's name as the old container's directory writes it."""
    return name.encode("utf-16-le")


def _check_sizes(parts: list[zipfile.ZipInfo], zipped: int) -> None:
    """Judge the declared sizes. They hold: reading stops at a part's declared size, however much is packed."""
    unzipped = sum(part.file_size for part in parts)
    if unzipped > MOST_BYTES or len(parts) > MOST_PARTS:
        raise DocumentTooLarge()
    if unzipped > _SMALL_BYTES and unzipped > HIGHEST_RATIO * zipped:
        raise DocumentTooLarge()
    if any(part.flag_bits & _ENCRYPTED_FLAG for part in parts):
        raise DocumentEncrypted()


def _check_parts(package: zipfile.ZipFile) -> None:
    """Read every part of XML once: its checksum must hold, and it must declare no document type and no entities."""
    if "word/document.xml" not in package.namelist():
        raise DocumentCorrupt()
    for part in package.infolist():
        if not part.filename.lower().endswith((".xml", ".rels")):
            continue
        # UTF-16 without its zero bytes reads like ASCII for this purpose.
        if _DECLARATION.search(package.read(part).replace(b"\0", b"")):
            raise DocumentCorrupt("It contains XML declarations that no word processor writes.")
