"""Files are accepted by content and name together; who tries another one reads what to do with exactly that."""

from __future__ import annotations

import pytest

from documents.media_types import BY_EXTENSION, UnsupportedFile, detect
from indexing.errors import UnsupportedDocument


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("a.doc", "save it as DOCX"),
        ("合同.WPS", "save it as DOCX"),
        ("a.dotx", "save it as DOCX"),
        ("a.ppt", "save it as PPTX"),
        ("a.key", "save it as PPTX"),
        ("a.xlsb", "save it as XLSX"),
        ("a.numbers", "save it as XLSX"),
        ("a.epub", "print it as PDF"),
        ("mail.msg", "print it as PDF"),
        ("photo.heic", "PNG or JPEG"),
        ("all.zip", "Unpack it"),
        ("talk.mp3", "transcript"),
        ("a.exe", "Choose one of"),
        ("a", "Choose one of"),
    ],
)
def test_what_to_do_with_a_file_that_is_not_accepted(name: str, advice: str) -> None:
    with pytest.raises(UnsupportedFile, match=advice):
        detect(b"anything", name)


def test_what_is_refused_when_it_is_read_names_what_is_accepted() -> None:
    named = {word.strip(",.") for word in (UnsupportedDocument.__doc__ or "").split()}
    assert {kind for kind in named if f".{kind.lower()}" in BY_EXTENSION} == {"PDF", "DOCX", "XLSX", "PPTX", "HTML"}
