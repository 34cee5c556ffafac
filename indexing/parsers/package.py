"""What is checked of an office file before anything opens it: it is a zip of XML, and both can be made to explode."""

from __future__ import annotations

import io
import re
import zipfile
import zlib

from indexing.errors import DocumentCorrupt, DocumentEncrypted, UnsupportedDocument
from indexing.parsers import limits

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # Office wraps a protected document in its old container
_ENTRY = b"PK\x01\x02"  # what each part begins with in the archive's directory
_DECLARATION = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_ENCODING = re.compile(rb"<\?xml[^>]{0,100}?\sencoding\s*=\s*[\"']([^\"']{0,40})")
_READABLE_ENCODINGS = {b"utf-8", b"utf-16", b"us-ascii", b"iso-8859-1"}  # in the others a declaration can hide
_BEFORE_XML = b"\xef\xbb\xbf\xff\xfe \t\r\n"
_EBCDIC = b"\x4c\x6f\xa7\x94"  # “<?xm” in it, by which libxml2 knows it
_ENCRYPTED_FLAG = 0x1


def check_package(content: bytes, *, main_part: str, old_stream: str) -> None:
    """Raise an error where the file is not to be opened: `DocumentEncrypted`, `DocumentCorrupt` (without `main_part`, too),
    `DocumentTooLarge`, or `UnsupportedDocument` for a file of an older program under a new name, which has `old_stream`.
    """
    if content.startswith(_OLE):
        old = _stream(old_stream) in content and _stream("EncryptedPackage") not in content
        raise UnsupportedDocument() if old else DocumentEncrypted()
    limits.PARTS.check(content.count(_ENTRY))  # before the directory is read, which takes a kilobyte for each
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            _check_sizes(package.infolist(), len(content))
            _check_parts(package, main_part)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
        raise DocumentCorrupt() from error


def _stream(name: str) -> bytes:
    """A stream's name as the old container's directory writes it."""
    return name.encode("utf-16-le")


def _check_sizes(parts: list[zipfile.ZipInfo], zipped: int) -> None:
    """Judge the declared sizes. They hold: reading stops at a part's declared size, however much is packed."""
    unzipped = sum(part.file_size for part in parts)
    limits.UNZIPPED_BYTES.check(unzipped)
    if unzipped > limits.SMALL_BYTES and unzipped > limits.RATIO.value * zipped:
        raise limits.RATIO.exceeded()
    if any(part.flag_bits & _ENCRYPTED_FLAG for part in parts):
        raise DocumentEncrypted()


def _check_parts(package: zipfile.ZipFile, main_part: str) -> None:
    """Read every part once: its checksum must hold. XML, whatever its name, must be in an encoding that can be searched,
    and must declare no document type and no entities. Of two parts with one name programs show one or the other.
    """
    names = package.namelist()
    if main_part not in names:
        raise DocumentCorrupt()
    if len(set(names)) < len(names):
        raise DocumentCorrupt(limits.DUPLICATES)
    for part in package.infolist():
        content = package.read(part)
        if (
            part.filename.lower().endswith((".xml", ".rels"))
            or content[:64].startswith(_EBCDIC)
            or (content[:64].replace(b"\0", b"").lstrip(_BEFORE_XML).startswith(b"<") and not _is_image(part))
        ):
            _check_xml(content)


def _is_image(part: zipfile.ZipInfo) -> bool:
    """SVG has a document type by custom. The parser of the other parts expands no entities either."""
    return part.filename.lower().endswith(".svg")


def _check_xml(content: bytes) -> None:
    plain = content.replace(b"\0", b"")  # UTF-16 and UTF-32 without their zero bytes read like ASCII for this purpose
    encoding = _ENCODING.match(plain.lstrip(_BEFORE_XML))
    readable = encoding is None or encoding[1].lower() in _READABLE_ENCODINGS
    if not plain.lstrip(_BEFORE_XML).startswith(b"<") or not readable or _DECLARATION.search(plain):
        raise DocumentCorrupt(limits.DECLARATIONS)
