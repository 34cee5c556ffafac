"""Which files are accepted, decided by their content and their name together. Pure: no Django."""

from __future__ import annotations

import os.path

PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
HTML = "text/html"
MARKDOWN = "text/markdown"
TEXT = "text/plain"

BY_EXTENSION = {
    ".pdf": PDF,
    ".docx": DOCX,
    ".html": HTML,
    ".htm": HTML,
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".txt": TEXT,
}


class UnsupportedFile(ValueError):
    """The file is of no accepted type, or its content is not what its name says."""

    def __init__(self, sentence: str, **parts: str) -> None:
        """`sentence` has a place `%(name)s` for each of `parts`, so that it can be translated before they are put in."""
        self.sentence, self.parts = sentence, parts
        super().__init__(sentence % parts)


def gettext_noop(sentence: str) -> str:
    """Marks a sentence for translation; whoever shows it translates it."""
    return sentence


def detect(content: bytes, file_name: str) -> str:
    """The media type of a file.

    Raises `UnsupportedFile`, with one sentence for the person who chose the file, where the type is not accepted or the
    content contradicts the name.
    """
    extension = os.path.splitext(file_name)[1].lower()
    by_name = BY_EXTENSION.get(extension)
    if by_name is None:
        accepted = ", ".join(sorted(BY_EXTENSION))
        if not extension:
            sentence = gettext_noop("Files without an extension are not accepted. Choose one of %(accepted)s.")
            raise UnsupportedFile(sentence, accepted=accepted)
        sentence = gettext_noop("Files of type %(extension)s are not accepted. Choose one of %(accepted)s.")
        raise UnsupportedFile(sentence, extension=extension, accepted=accepted)
    is_text = by_name in (HTML, MARKDOWN, TEXT)
    by_content = _sniff(content, is_text=is_text)
    other = gettext_noop("The file is named %(extension)s but its content is of another type.")
    if is_text:
        if by_content == "binary":
            sentence = gettext_noop("The file is named %(extension)s but its content is not text.")
            raise UnsupportedFile(sentence, extension=extension)
        if by_content in (PDF, DOCX, "zip"):
            raise UnsupportedFile(other, extension=extension)
        return by_name
    if by_content != by_name:
        raise UnsupportedFile(other, extension=extension)
    return by_name


_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


_ZIP_END = b"PK\x05\x06"
# Formats in which a text may be hidden or which have few control bytes, by how their files begin.
_NO_TEXT = (
    *(
        b"{\\rtf",
        b"%!PS",
        b"GIF8",
        b"\x89PNG",
        b"\xff\xd8\xff",
        b"RIFF",
        b"\x7fELF",
        b"MZ\x90",
        b"7z\xbc\xaf",
        b"Rar!\x1a",
    ),
    *(b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"SQLite format 3", b"%FDF-", b"wOFF", b"OTTO"),
)

_BEFORE_PDF = b"\xef\xbb\xbf \t\r\n\f"


def _sniff(content: bytes, *, is_text: bool) -> str:
    """`is_text`: the name says so. Readers find a PDF's mark behind some junk; a text may speak of PDF."""
    if content.startswith(_OLE):
        # Office wraps a password-protected DOCX in its old container: the parser says DOCUMENT_ENCRYPTED.
        return DOCX
    head = content[:1024]
    if head.lstrip(_BEFORE_PDF).startswith(b"%PDF-") if is_text else b"%PDF-" in head:
        return PDF
    if content.startswith(b"PK\x03\x04"):
        # The directory is not read here: it may hold a million entries. A damaged archive without one keeps the type its
        # name claims: the parser says DOCUMENT_CORRUPT, which an editor can act on.
        return DOCX if b"word/document.xml" in content or _ZIP_END not in content else "zip"
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "text"  # UTF-16 with its mark
    if content.startswith(_NO_TEXT):
        return "binary"
    head = content[:8192]
    # A few NULs may stand in a text by accident; a binary file is full of control bytes.
    controls = sum(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in head)
    return "binary" if controls > len(head) // 20 else "text"
