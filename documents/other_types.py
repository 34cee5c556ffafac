"""Types of files that are not accepted, how they are known, and what to do with each. Pure: no Django."""

from __future__ import annotations


def gettext_noop(sentence: str) -> str:
    """Marks a sentence for translation; whoever shows it translates it."""
    return sentence


_ADVICE = {
    ".doc .dot .dotx .dotm .rtf .odt .ott .fodt .wps .wpt .wpd .sxw .hwp .hwpx": gettext_noop(
        "Open it in Word or LibreOffice, save it as DOCX and upload that."
    ),
    ".pages": gettext_noop("Open it in Pages, export it as DOCX or PDF and upload that."),
    ".ppt .pps .ppsm .pot .potx .potm .odp .otp .fodp .dps": gettext_noop(
        "Open it in PowerPoint or LibreOffice, save it as PPTX and upload that."
    ),
    ".key": gettext_noop("Open it in Keynote, export it as PPTX or PDF and upload that."),
    ".xlsb .xlt .xltx .xltm .ots .fods .et .dbf": gettext_noop(
        "Open it in Excel or LibreOffice, save it as XLSX and upload that."
    ),
    ".numbers": gettext_noop("Open it in Numbers, export it as XLSX and upload that."),
    ".epub .mobi .azw .azw3 .fb2 .chm": gettext_noop(
        "Convert it to PDF or HTML, for example with calibre, and upload that."
    ),
    ".eml .msg .mbox": gettext_noop(
        "Open it in a mail program, print it as PDF and upload that; upload its attachments by themselves."
    ),
    ".mht .mhtml .webarchive": gettext_noop("Open it in a browser, print it as PDF and upload that."),
    ".xps .oxps .djvu .ps .eps .ai .vsd .vsdx .pub .mpp .odg .one .ofd .caj .dwg": gettext_noop(
        "Open it in its own program, print it as PDF and upload that."
    ),
    ".heic .heif .avif .jp2 .psd .ico .raw .dng .svg": gettext_noop("Save the picture as PNG or JPEG and upload that."),
    ".zip .rar .7z .tar .gz .tgz .bz2 .xz .zst .iso": gettext_noop("Unpack it and upload the files in it."),
    ".mp3 .wav .m4a .flac .ogg .mp4 .mov .avi .mkv .webm .wmv": gettext_noop("Upload a transcript of it."),
    ".lnk .url .webloc .gdoc .gsheet .gslides": gettext_noop(
        "It only points to a document. Open that, save it as a file and upload it."
    ),
}
ADVICE = {extension: sentence for extensions, sentence in _ADVICE.items() for extension in extensions.split()}
"""What whoever chose such a file can do, by its extension."""

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Streams of the old container; presentations often hold documents, and both hold sheets.
_STREAMS = (("PowerPoint Document", ".ppt"), ("WordDocument", ".doc"), ("__substg1.0_", ".msg"), ("Workbook", ".xls"))
_PROTECTED = "EncryptedPackage"  # a newer document with a password, in the old container
_ODF = b"mimetypeapplication/vnd.oasis.opendocument."
_ARCHIVES = (
    *((_ODF + b"text", ".odt"), (_ODF + b"presentation", ".odp"), (_ODF + b"graphics", ".odg")),
    *(
        (b"mimetypeapplication/epub+zip", ".epub"),
        (b"FixedDocumentSequence.fdseq", ".xps"),
        (b"FixedDocSeq.fdseq", ".xps"),
    ),
    *((b"xl/workbook.bin", ".xlsb"), (b"visio/document.xml", ".vsdx")),
)
_DIRECTORY = 65_536  # bytes at the end of an archive that are looked at
_STARTS = (
    *(
        (b"{\\rtf", ".rtf"),
        (b"%!PS", ".ps"),
        (b"7z\xbc\xaf\x27\x1c", ".7z"),
        (b"Rar!\x1a\x07", ".rar"),
        (b"\x1f\x8b", ".gz"),
    ),
    *(
        (b"BZh", ".bz2"),
        (b"\xfd7zXZ\0", ".xz"),
        (b"\x28\xb5\x2f\xfd", ".zst"),
        (b"8BPS", ".psd"),
        (b"AT&TFORM", ".djvu"),
    ),
    *((b"ITSF", ".chm"), (b"fLaC", ".flac"), (b"OggS", ".ogg"), (b"ID3", ".mp3"), (b"MIME-Version:", ".mht")),
)
_MEDIA = {b"heic": ".heic", b"heix": ".heic", b"mif1": ".heic", b"avif": ".avif", b"M4A ": ".m4a", b"qt  ": ".mov"}


def extension_of(content: bytes, named: str) -> str | None:
    """What a file is, by its content, as the extension of that type: one that is not accepted, or an old workbook. `named` is
    the extension of its name, which is believed where several fit."""
    if content.startswith(OLE):
        if _stream(_PROTECTED) in content:
            return None
        fit = [extension for name, extension in _STREAMS if _stream(name) in content]
        return named if named in fit else next(iter(fit), None)
    if content.startswith(b"PK\x03\x04"):
        # The first part says what kind of archive it is, or the directory at the end; in between others may be embedded.
        ends = content[:200], content[-_DIRECTORY:]
        return next((extension for mark, extension in _ARCHIVES if any(mark in end for end in ends)), None)
    if content[4:8] == b"ftyp":
        return _MEDIA.get(content[8:12], ".mp4")
    return next((extension for mark, extension in _STARTS if content.startswith(mark)), None)


def _stream(name: str) -> bytes:
    """A stream's name as the old container's directory writes it."""
    return name.encode("utf-16-le")
