"""Which files are accepted, decided by their content and their name together. Pure: no Django."""

from __future__ import annotations

import os.path

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
    XLSX: b"xl/workbook.",
    PPTX: b"ppt/presentation.xml",
    ODS: b"mimetype" + ODS.encode(),
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


_WHAT_TO_DO = {
    ".doc .dot .dotx .dotm .rtf .odt .ott .wps .wpd .pages .hwp .hwpx": gettext_noop(
        "Files of type %(extension)s are not accepted. Open it in Word or LibreOffice, save it as DOCX and upload that."
    ),
    ".ppt .pps .ppsm .pot .potx .potm .odp .otp .key .dps": gettext_noop(
        "Files of type %(extension)s are not accepted. Open it in PowerPoint or LibreOffice, save it as PPTX and upload that."
    ),
    ".xlsb .xlt .xltx .numbers .et .ots .dbf": gettext_noop(
        "Files of type %(extension)s are not accepted. Open it in Excel or LibreOffice, save it as XLSX and upload that."
    ),
    ".epub .mobi .azw3 .xps .oxps .djvu .ps .eps .vsd .vsdx .odg .svg .eml .msg .mht .mhtml .one .wpt .ofd .caj": gettext_noop(
        "Files of type %(extension)s are not accepted. Open it in its own program, save or print it as PDF and upload that."
    ),
    ".heic .heif .avif .jp2 .psd .ico .raw .dng": gettext_noop(
        "Files of type %(extension)s are not accepted. Save the picture as PNG or JPEG and upload that."
    ),
    ".zip .rar .7z .tar .gz .tgz .bz2 .xz .iso": gettext_noop(
        "Archives such as %(extension)s are not accepted. Unpack it and upload the files in it."
    ),
    ".mp3 .wav .m4a .flac .ogg .mp4 .mov .avi .mkv .webm .wmv": gettext_noop(
        "Recordings such as %(extension)s are not accepted. Upload a transcript of it."
    ),
}
"""Types that people try, and what they can do."""


def detect(content: bytes, file_name: str) -> str:
    """The media type of a file.

    Raises `UnsupportedFile`, with one sentence for the person who chose the file, where the type is not accepted or the
    content contradicts the name.
    """
    extension = os.path.splitext(file_name)[1].lower()
    by_name = BY_EXTENSION.get(extension)
    if by_name is None:
        accepted = ", ".join(sorted(name for name, kind in BY_EXTENSION.items() if kind not in CODE_LANGUAGES))
        if not extension:
            sentence = gettext_noop("Files without an extension are not accepted. Choose one of %(accepted)s.")
            raise UnsupportedFile(sentence, accepted=accepted)
        for extensions, sentence in _WHAT_TO_DO.items():
            if extension in extensions.split():
                raise UnsupportedFile(sentence, extension=extension)
        sentence = gettext_noop("Files of type %(extension)s are not accepted. Choose one of %(accepted)s.")
        raise UnsupportedFile(sentence, extension=extension, accepted=accepted)
    by_content = _sniff(content, by_name)
    other = gettext_noop("The file is named %(extension)s but its content is of another type.")
    if by_name in _TEXTS:
        if by_content == "binary":
            sentence = gettext_noop("The file is named %(extension)s but its content is not text.")
            raise UnsupportedFile(sentence, extension=extension)
        if by_content != "text":
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

_PICTURES = (
    *((b"\x89PNG\r\n\x1a\n", PNG), (b"\xff\xd8\xff", JPEG), (b"II*\0", TIFF), (b"MM\0*", TIFF)),
    *((b"GIF87a", GIF), (b"GIF89a", GIF)),
)

_BEFORE_PDF = b"\xef\xbb\xbf \t\r\n\f"


def _sniff(content: bytes, by_name: str) -> str:
    """What the content is: a media type, “text”, “zip” or “binary”. `by_name` is what the name says it is."""
    if content.startswith(_OLE):
        # Office wraps a password-protected file in its old container: the parser says DOCUMENT_ENCRYPTED.
        return by_name if by_name in _PACKAGES or by_name == XLS else "binary"
    head = content[:1024]
    # Readers find a PDF's mark behind some junk; a text may speak of PDF.
    if head.lstrip(_BEFORE_PDF).startswith(b"%PDF-") if by_name in _TEXTS else b"%PDF-" in head:
        return PDF
    if content.startswith(b"PK\x03\x04"):
        # The directory is not read here: it may hold a million entries. A damaged archive without one keeps the type its
        # name claims: the parser says DOCUMENT_CORRUPT, which an editor can act on.
        if by_name in _PACKAGES and (_ZIP_END not in content or _PACKAGES[by_name] in content):
            return by_name  # also one in which a file of another type is embedded
        return next((kind for kind, mark in _PACKAGES.items() if mark in content), "zip")
    if picture := _picture(content):
        return picture
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "text"  # UTF-16 with its mark
    if content.startswith(_NO_TEXT):
        return "binary"
    head = content[:8192]
    # A few NULs may stand in a text by accident; a binary file is full of control bytes.
    controls = sum(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in head)
    return "binary" if controls > len(head) // 20 else "text"


def _picture(content: bytes) -> str | None:
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return WEBP
    # Two letters begin a BMP, a text too; then come its length and four bytes of zero.
    if content.startswith(b"BM") and content[6:10] == b"\0\0\0\0":
        return BMP
    return next((kind for mark, kind in _PICTURES if content.startswith(mark)), None)
