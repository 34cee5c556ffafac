"""Which files are accepted, decided by their content and their name together. Pure: no Django."""

from __future__ import annotations

import os.path
import re

from documents.other_types import ADVICE, OLE, extension_of
from documents.other_types import gettext_noop as gettext_noop

PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
XLS = "application/vnd.ms-excel"
ODS = "application/vnd.oasis.opendocument.spreadsheet"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
HTML = "text/html"
MARKDOWN = "text/markdown"
TEXT = "text/plain"
CSV = "text/csv"
JSON = "application/json"
PNG = "image/png"
JPEG = "image/jpeg"
TIFF = "image/tiff"
WEBP = "image/webp"
BMP = "image/bmp"
GIF = "image/gif"
IMAGES = (PNG, JPEG, TIFF, WEBP, BMP, GIF)

_CODE_EXTENSIONS = {
    "python": ".py .pyi",
    "javascript": ".js .mjs .cjs .jsx",
    "typescript": ".ts .mts .cts",
    "tsx": ".tsx",
    "java": ".java",
    "go": ".go",
    "rust": ".rs",
    "c": ".c .h",
    "cpp": ".cpp .cc .cxx .hpp .hh .hxx",
    "csharp": ".cs",
    "ruby": ".rb",
    "php": ".php",
    "shell": ".sh .bash",
    "sql": ".sql",
    "yaml": ".yaml .yml",
    "toml": ".toml",
    "xml": ".xml .xsd .xsl",
    "css": ".css .scss .less",
    "ini": ".ini .cfg .conf .properties",
    "kotlin": ".kt .kts",
    "swift": ".swift",
    "scala": ".scala",
    "lua": ".lua",
    "perl": ".pl .pm",
    "r": ".r",
    "powershell": ".ps1",
    "vue": ".vue",
    "protobuf": ".proto",
    "graphql": ".graphql",
    "terraform": ".tf",
    "dart": ".dart",
}
CODE_LANGUAGES = {f"text/x-{language}": language for language in _CODE_EXTENSIONS}
"""Media type → language, of source code and of files of configuration."""

BY_EXTENSION = {
    ".pdf": PDF,
    ".docx": DOCX,
    ".docm": DOCX,  # its macros are never run
    ".pptx": PPTX,
    ".pptm": PPTX,  # nor its
    ".ppsx": PPTX,
    ".xlsx": XLSX,
    ".xlsm": XLSX,  # its macros are never run
    ".xls": XLS,
    ".ods": ODS,
    ".csv": CSV,
    ".tsv": CSV,
    ".html": HTML,
    ".htm": HTML,
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".txt": TEXT,
    ".log": TEXT,
    ".rst": TEXT,
    ".json": JSON,
    ".jsonl": JSON,
    ".ndjson": JSON,
    **{name: f"text/x-{kind}" for kind, names in _CODE_EXTENSIONS.items() for name in names.split()},
    ".png": PNG,
    ".jpg": JPEG,
    ".jpeg": JPEG,
    ".tif": TIFF,
    ".tiff": TIFF,
    ".webp": WEBP,
    ".bmp": BMP,
    ".gif": GIF,
}
"""Types that a parser exists for."""

_TEXTS = {HTML, MARKDOWN, TEXT, CSV, JSON, *CODE_LANGUAGES}
_PACKAGES = {  # what only an archive of this type contains
    DOCX: b"word/document.xml",
    XLSX: b"xl/workbook.xml",
    PPTX: b"ppt/presentation.xml",
    ODS: b"mimetype" + ODS.encode(),
}


class UnsupportedFile(ValueError):
    """The file is of no accepted type, or its content is not what its name says."""

    def __init__(self, *sentences: str, **parts: str) -> None:
        """The sentences have places `%(name)s` for `parts`, so that they can be translated before these are put in."""
        self.sentences, self.parts = sentences, parts
        super().__init__(" ".join(sentence % parts for sentence in sentences))


def detect(content: bytes, file_name: str) -> str:
    """The media type of a file.

    Raises `UnsupportedFile`, with sentences for the person who chose the file, where the type is not accepted or the content
    contradicts the name.
    """
    extension = os.path.splitext(file_name)[1].lower()
    by_name = BY_EXTENSION.get(extension)
    if by_name is None:
        accepted = ", ".join(sorted(BY_EXTENSION, key=lambda name: (BY_EXTENSION[name] in CODE_LANGUAGES, name)))
        choose = gettext_noop("Choose one of %(accepted)s.")
        if not extension:
            none = gettext_noop("Files without an extension are not accepted.")
            raise UnsupportedFile(none, choose, accepted=accepted)
        refused = gettext_noop("Files of type %(extension)s are not accepted.")
        raise UnsupportedFile(refused, ADVICE.get(extension, choose), extension=extension, accepted=accepted)
    by_content = _sniff(content, by_name)
    is_old = content.startswith(OLE) and extension_of(content, extension) not in (None, extension)
    if (by_content == by_name and not is_old) or (by_content == "text" and by_name in _TEXTS):
        return by_name
    actual = extension_of(content, extension) or next(
        (name for name, kind in BY_EXTENSION.items() if kind == by_content), ""
    )
    if actual:
        other = gettext_noop("The file is named %(extension)s but its content is of another type: %(actual)s.")
        rename = gettext_noop("Rename it, or choose the file that you mean.")
        raise UnsupportedFile(other, ADVICE.get(actual, rename), extension=extension, actual=actual)
    if by_name in _TEXTS and by_content == "binary":
        raise UnsupportedFile(
            gettext_noop("The file is named %(extension)s but its content is not text."), extension=extension
        )
    other = gettext_noop("The file is named %(extension)s but its content is of another type.")
    raise UnsupportedFile(other, extension=extension)


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

_PICTURES = (
    *((b"\x89PNG\r\n\x1a\n", PNG), (b"\xff\xd8\xff", JPEG), (b"II*\0", TIFF), (b"MM\0*", TIFF)),
    *((b"GIF87a", GIF), (b"GIF89a", GIF)),
)

# Latin, Cyrillic and their neighbours, general punctuation, CJK, Hangul; in noise they are half of all at most.
_ORDINARY = re.compile("[\t\n\r -~\u00a0-\u06ff\u2010-\u2027\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uffee]")

_BEFORE_PDF = b"\xef\xbb\xbf \t\r\n\f"


def _sniff(content: bytes, by_name: str) -> str:
    """What the content is: a media type, “text”, “zip” or “binary”. `by_name` is what the name says it is."""
    if content.startswith(OLE):
        # Office wraps a password-protected file in its old container: the parser says DOCUMENT_ENCRYPTED.
        return by_name if by_name in _PACKAGES or by_name == XLS else "binary"
    head = content[:1024]
    # Readers find a PDF's mark behind some junk; a text may speak of PDF.
    if head.lstrip(_BEFORE_PDF).startswith(b"%PDF-") if by_name in _TEXTS else b"%PDF-" in head:
        return PDF
    if content.startswith(b"PK\x03\x04"):
        # The directory is not read here: it may hold a million entries. A damaged archive without one keeps the type its
        # name claims: the parser says DOCUMENT_CORRUPT, which an editor can act on.
        if by_name in _PACKAGES and _ZIP_END not in content:
            return by_name
        # Its own directory is at the end; files of other types may be embedded before it.
        kind = max(_PACKAGES, key=lambda kind: content.rfind(_PACKAGES[kind]))
        return kind if _PACKAGES[kind] in content else "zip"
    if picture := _picture(content):
        return picture
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "text"  # UTF-16 with its mark
    if content.startswith(_NO_TEXT):
        return "binary"
    head = content[:8192]
    if unmarked_utf16(head):
        return "text"
    # A few NULs may stand in a text by accident; a binary file is full of control bytes.
    controls = sum(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in head)
    return "binary" if controls > len(head) // 20 else "text"


def unmarked_utf16(content: bytes) -> str | None:
    """“utf-16-le” or “utf-16-be” where `content` is such a text without its mark: nearly all characters are ordinary ones, and
    there are bytes of zero, which other encodings have not, most of them where a Latin letter has one."""
    head = content[: len(content) // 2 * 2][:8192]
    zeros = head.count(0)
    if zeros * 200 < len(head) or len(head) < 4:
        return None
    for order, upper in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        if upper.count(0) * 3 < zeros * 2 or (head.isascii() and sum(byte < 9 for byte in upper) * 10 < len(upper) * 9):
            continue  # a text of one byte each with some zeros in it
        text = head.decode(order, "replace")
        if len(_ORDINARY.findall(text)) * 100 >= len(text) * 97:
            return order
    return None


def _picture(content: bytes) -> str | None:
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return WEBP
    # Two letters begin a BMP, a text too; then come its length and four bytes of zero.
    if content.startswith(b"BM") and content[6:10] == b"\0\0\0\0":
        return BMP
    return next((kind for mark, kind in _PICTURES if content.startswith(mark)), None)
