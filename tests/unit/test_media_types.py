"""Files are accepted by content and name together; who tries another one reads what to do with exactly that."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable

import pytest

from documents.media_types import BY_EXTENSION, DOCX, PDF, PPTX, XLS, XLSX, UnsupportedFile, detect
from documents.other_types import ADVICE, OLE
from indexing.errors import UnsupportedDocument

WORD = "Open it in Word or LibreOffice, save it as DOCX and upload that."
SLIDES = "Open it in PowerPoint or LibreOffice, save it as PPTX and upload that."
SHEETS = "Open it in Excel or LibreOffice, save it as XLSX and upload that."
BOOKS = "Convert it to PDF or HTML, for example with calibre, and upload that."
MAIL = "Open it in a mail program, print it as PDF and upload that; upload its attachments by themselves."
PRINT = "Open it in its own program, print it as PDF and upload that."
PICTURES = "Save the picture as PNG or JPEG and upload that."
UNPACK = "Unpack it and upload the files in it."
POINTER = "It only points to a document. Open that, save it as a file and upload it."
TRANSCRIPT = "Upload a transcript of it."
RENAME = "Rename it, or choose the file that you mean."

BY_ADVICE = {
    WORD: ".doc .dot .dotx .rtf .odt .wps .wpd .hwp",
    "Open it in Pages, export it as DOCX or PDF and upload that.": ".pages",
    SLIDES: ".ppt .pps .pot .potx .odp .dps",
    "Open it in Keynote, export it as PPTX or PDF and upload that.": ".key",
    SHEETS: ".xlsb .xlt .et .dbf",
    "Open it in Numbers, export it as XLSX and upload that.": ".numbers",
    BOOKS: ".epub .mobi .azw3 .chm",
    MAIL: ".eml .msg",
    "Open it in a browser, print it as PDF and upload that.": ".mht .mhtml",
    PRINT: ".xps .djvu .vsdx .ofd .caj",
    PICTURES: ".heic .svg .psd",
    UNPACK: ".zip .rar .7z",
    TRANSCRIPT: ".mp3 .mp4",
    POINTER: ".lnk .gdoc",
}


@pytest.mark.parametrize(("advice", "extensions"), BY_ADVICE.items())
def test_what_to_do_with_a_type_that_is_not_accepted(advice: str, extensions: str) -> None:
    for extension in extensions.split():
        with pytest.raises(UnsupportedFile) as refused:
            detect(b"anything", f"合同{extension.upper()}")
        assert str(refused.value) == f"Files of type {extension} are not accepted. {advice}"


def test_every_advice_has_its_test() -> None:
    assert set(ADVICE.values()) == set(BY_ADVICE)
    assert not set(ADVICE) & set(BY_EXTENSION)


@pytest.mark.parametrize("name", ["a.exe", "a"])
def test_a_type_without_advice_names_what_is_accepted(name: str) -> None:
    with pytest.raises(UnsupportedFile, match=r"not accepted\. Choose one of .*\.docx, .*\.pptx") as caught:
        detect(b"anything", name)
    named = str(caught.value).split("Choose one of ")[1].removesuffix(".").split(", ")
    assert sorted(named) == sorted(BY_EXTENSION), "code, too"
    assert named.index(".xlsx") < named.index(".c"), "documents first"


def archive(*parts: tuple[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as package:
        for name, content in parts:
            package.writestr(name, content)
    return stream.getvalue()


def old(streams: Iterable[str]) -> bytes:
    return OLE + bytes(512) + b"".join(name.encode("utf-16-le") + bytes(64) for name in streams)


ODT = archive(("mimetype", b"application/vnd.oasis.opendocument.text"), ("content.xml", b"<x/>"))
NEW_WORD, NEW_SHEET = archive(("word/document.xml", b"<x/>")), archive(("xl/workbook.xml", b"<x/>"))


@pytest.mark.parametrize(
    ("content", "name", "actual", "advice"),
    [
        (old(["WordDocument"]), "a.docx", ".doc", WORD),
        (old(["WordDocument", "Workbook"]), "a.docx", ".doc", WORD),
        (old(["PowerPoint Document", "WordDocument"]), "a.pptx", ".ppt", SLIDES),
        (old(["__substg1.0_0037001F"]), "a.docx", ".msg", MAIL),
        (old(["Workbook"]), "a.xlsx", ".xls", RENAME),
        (old(["WordDocument"]), "a.pdf", ".doc", WORD),
        (b"{\\rtf1\\ansi Text}", "合同.docx", ".rtf", WORD),
        (b"{\\rtf1\\ansi Text}", "a.txt", ".rtf", WORD),
        (ODT, "a.docx", ".odt", WORD),
        (archive(("mimetype", b"application/epub+zip")), "a.docx", ".epub", BOOKS),
        (archive(("xl/workbook.bin", b"x")), "a.xlsx", ".xlsb", SHEETS),
        (archive(("FixedDocSeq.fdseq", b"x")), "a.pdf", ".xps", PRINT),
        (NEW_WORD, "a.pdf", ".docx", RENAME),
        (NEW_SHEET, "a.docx", ".xlsx", RENAME),
        (b"%PDF-1.7\n", "a.docx", ".pdf", RENAME),
        (b"%PDF-1.7\n", "a.md", ".pdf", RENAME),
        (b"\x89PNG\r\n\x1a\n\0", "a.jpg", ".png", RENAME),
        (b"\0\0\0\x18ftypheic\0\0", "photo.jpg", ".heic", PICTURES),
        (b"7z\xbc\xaf\x27\x1c\0\0", "a.pdf", ".7z", UNPACK),
    ],
)
def test_what_a_file_is_that_has_another_name(content: bytes, name: str, actual: str, advice: str) -> None:
    with pytest.raises(UnsupportedFile) as refused:
        detect(content, name)
    named = name[name.rindex(".") :]
    assert str(refused.value) == f"The file is named {named} but its content is of another type: {actual}. {advice}"


@pytest.mark.parametrize(
    ("content", "name"), [(b"text", "a.docx"), (archive(("x", b"y")), "a.pptx"), (old(["x"]), "a.pdf")]
)
def test_what_a_file_is_cannot_always_be_told(content: bytes, name: str) -> None:
    with pytest.raises(UnsupportedFile, match=r"its content is of another type\.$"):
        detect(content, name)


def test_files_with_others_in_them() -> None:
    """Embedded as they are, so that their own parts can be seen from outside."""
    assert detect(archive(("word/embeddings/a.xlsx", NEW_SHEET), ("word/document.xml", b"")), "a.docx") == DOCX
    assert detect(archive(("ppt/embeddings/a.docx", NEW_WORD), ("ppt/presentation.xml", b"")), "a.pptx") == PPTX
    assert detect(archive(("word/embeddings/a.odt", ODT), ("word/document.xml", b"")), "a.docm") == DOCX
    assert detect(archive(("xl/embeddings/a.docx", NEW_WORD), ("xl/workbook.xml", b"")), "a.xlsx") == XLSX
    assert detect(old(["Workbook", "WordDocument"]), "a.xls") == XLS
    assert detect(b"%!PS-Adobe-3.0 %PDF-1.4", "a.pdf") == PDF
    assert detect(old(["EncryptedPackage", "WordDocument"]), "a.docx") == DOCX


def test_what_is_refused_when_it_is_read_names_what_is_accepted() -> None:
    named = {word.strip(",.") for word in (UnsupportedDocument.__doc__ or "").split()}
    assert {kind for kind in named if f".{kind.lower()}" in BY_EXTENSION} == {"PDF", "DOCX", "XLSX", "PPTX", "HTML"}
