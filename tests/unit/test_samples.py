"""The sample documents are what the manifest and their names say, and the script makes exactly what is committed."""

from __future__ import annotations

import io
import re

import docx
import pypdfium2
import pytest
from reportlab.pdfbase.ttfonts import TTFont

from documents.media_types import BY_EXTENSION, XLSX, detect
from indexing.locators import cells_name
from indexing.parsers import parse
from kbsite.demo import make_samples, samples

MANIFEST = samples.load()
BY_FILE = {document.file: document for document in MANIFEST.documents}
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def text_of(file: str) -> str:
    """The text of a sample, good enough to look for phrases in it."""
    content = BY_FILE[file].content()
    if file.endswith(".pdf"):
        return "\n".join(pdf_pages(content))
    if file.endswith(".docx"):
        body = docx.Document(io.BytesIO(content)).element.body
        return "\n".join(node.text or "" for node in body.iter() if node.tag.endswith("}t"))
    if file.endswith((".xlsx", ".pptx")):
        return parse(content, BY_EXTENSION[BY_FILE[file].path.suffix], file).text
    return content.decode("gb18030" if file == "attendance-rules.txt" else "utf-8")


def pdf_pages(content: bytes) -> list[str]:
    pdf = pypdfium2.PdfDocument(content)
    try:
        return [page.get_textpage().get_text_range() for page in pdf]
    finally:
        pdf.close()


@pytest.mark.parametrize("document", MANIFEST.documents, ids=lambda document: document.file)
def test_the_content_is_what_the_name_says(document):
    assert detect(document.content(), document.file) == BY_EXTENSION[document.path.suffix]


@pytest.mark.parametrize("document", MANIFEST.documents, ids=lambda document: document.file)
def test_each_file_is_small(document):
    assert 0 < len(document.content()) < 300_000


@pytest.mark.parametrize(
    "document", [d for d in MANIFEST.documents if d.expect == "SEARCHABLE"], ids=lambda document: document.file
)
def test_each_text_is_in_the_language_that_the_manifest_names(document):
    text = text_of(document.file)
    chinese, latin_words = len(CHINESE.findall(text)), len(re.findall(r"[A-Za-z]{2,}", text))
    if document.language != "en":
        assert chinese >= 300
    else:
        assert chinese == 0
    if document.language != "zh":
        assert latin_words >= 150


def test_the_manifest_names_every_file_and_no_other():
    on_disk = {path.name for path in samples.DIRECTORY.iterdir()} - {"manifest.json", ".gitattributes"}
    assert len(MANIFEST.documents) == len(BY_FILE)
    assert set(BY_FILE) == on_disk


def test_there_are_at_least_ten_documents_and_both_languages_have_the_same_number():
    documents = [document for document in MANIFEST.documents if document.version_of is None]
    languages = [document.language for document in documents if document.expect == "SEARCHABLE"]
    assert len(documents) >= 10
    assert languages.count("zh") == languages.count("en") >= 4
    assert {document.path.suffix for document in documents} == {
        *(".pdf", ".docx", ".html", ".md", ".txt"),
        *(".xlsx", ".pptx", ".csv"),
    }


def test_the_fields_of_the_manifest_agree_with_each_other():
    keys: list[str] = []
    people = {person.name for person in MANIFEST.people}
    groups = {group for person in MANIFEST.people for group in person.groups}
    assert people == {"editor", "reader", "outsider"}
    for document in MANIFEST.documents:
        assert document.key not in keys
        assert document.version_of is None or document.version_of in keys
        assert document.expect in ("SEARCHABLE", "FAILED")
        assert (document.expect_code is not None) == (document.expect == "FAILED")
        assert document.readers
        for reader in document.readers:
            assert (reader.type, reader.name) == ("everyone", None) or (
                reader.type == "group" and reader.name in groups
            )
        keys.append(document.key)


def test_version_two_comes_after_version_one_under_the_same_title():
    first, second = BY_FILE["travel-allowance-v1.md"], BY_FILE["travel-allowance-v2.md"]
    assert second.version_of == first.key
    assert (second.title, second.readers) == (first.title, first.readers)
    assert "每晚 200 元" in text_of(first.file)
    assert "每晚 300 元" in text_of(second.file)
    assert "200" not in text_of(second.file)


def test_the_searches_can_be_answered_from_the_files():
    for search in MANIFEST.searches:
        assert search.as_person in {person.name for person in MANIFEST.people}
        assert search.expect_file or search.expect_nothing_from
        if search.expect_file:
            assert BY_FILE[search.expect_file].expect == "SEARCHABLE"
        if search.expect_nothing_from:
            assert search.expect_nothing_from in BY_FILE
        if search.forbidden_text:
            # It stands in the file that must stay hidden and nowhere else: a hit with it is never a coincidence.
            having = {
                d.file
                for d in MANIFEST.documents
                if d.expect == "SEARCHABLE" and search.forbidden_text in text_of(d.file)
            }
            assert having == {search.expect_nothing_from}


def test_the_searches_cover_both_languages_the_restricted_file_and_the_new_version():
    languages = [search.language for search in MANIFEST.searches]
    assert languages.count("zh") >= 4
    assert languages.count("en") >= 4
    restricted = {d.file for d in MANIFEST.documents if any(reader.type == "group" for reader in d.readers)}
    assert restricted == {"salary-bands.md"}
    allowed = {s.query for s in MANIFEST.searches if s.expect_file in restricted and s.as_person == "reader"}
    refused = {s.query for s in MANIFEST.searches if s.expect_nothing_from in restricted and s.as_person == "outsider"}
    assert allowed == refused
    assert len(allowed) == 2
    assert any(s.expect_nothing_from == "travel-allowance-v1.md" and "300" in s.query for s in MANIFEST.searches)


def test_people_who_may_not_read_a_file_are_never_expected_to_find_it():
    groups = {person.name: set(person.groups) for person in MANIFEST.people}
    for search in MANIFEST.searches:
        if search.expect_file:
            readers = BY_FILE[search.expect_file].readers
            assert any(r.type == "everyone" or r.name in groups[search.as_person] for r in readers), search.query


def test_the_attendance_rules_are_gb18030_and_not_utf8():
    content = BY_FILE["attendance-rules.txt"].content()
    with pytest.raises(UnicodeDecodeError):
        content.decode("utf-8")
    with pytest.raises(UnicodeDecodeError):
        content.decode("gbk")  # rare characters of names: only GB18030 has them
    assert "考勤制度" in content.decode("gb18030")


def test_pdfium_refuses_the_damaged_pdf():
    document = BY_FILE["quarterly-report-damaged.pdf"]
    assert document.expect_code == "DOCUMENT_CORRUPT"
    with pytest.raises(pypdfium2.PdfiumError):
        pypdfium2.PdfDocument(document.content())


@pytest.mark.parametrize(
    ("file", "pages", "footer", "phrase"),
    [
        ("employee-handbook.pdf", 4, "Page {page} of {pages}", "learning budget of 6,000 yuan"),
        ("information-security-zh.pdf", 3, "第 {page} 页，共 {pages} 页", "密码长度不少于十四位"),
    ],
)
def test_pdfium_reads_the_pdf(file, pages, footer, phrase):
    texts = pdf_pages(BY_FILE[file].content())
    assert len(texts) == pages
    for number, text in enumerate(texts, 1):
        assert footer.format(page=number, pages=pages) in text
    assert phrase in "".join(texts)


@pytest.mark.parametrize("file", ["employee-handbook.pdf", "information-security-zh.pdf"])
def test_every_heading_of_the_source_is_in_the_outline(file):
    source = (make_samples.SOURCES / file.replace(".pdf", ".md")).read_text(encoding="utf-8")
    pdf = pypdfium2.PdfDocument(BY_FILE[file].content())
    outline = [(item.level + 1, item.get_title()) for item in pdf.get_toc()]
    pdf.close()
    assert outline == [(b.level, b.text) for b in make_samples.read_blocks(source) if b.kind == "heading"]


def test_the_embedded_font_has_every_character_of_the_chinese_pdf():
    font = TTFont("Check", make_samples.CHINESE_FONT)
    missing = [character for character in make_samples.font_characters() if ord(character) not in font.face.charToGlyph]
    assert missing == []


def test_the_docx_has_real_headings_lists_and_a_table():
    document = docx.Document(io.BytesIO(BY_FILE["procurement-process.docx"].content()))
    styles = [paragraph.style.name for paragraph in document.paragraphs]
    for style in ("Title", "Heading 1", "Heading 2", "List Number", "List Bullet"):
        assert style in styles
    (table,) = document.tables
    assert [cell.text for cell in table.rows[0].cells] == ["预计金额（含税）", "采购方式", "最终审批人", "办理时限"]


def test_cells_and_slides_are_cited():
    book = parse(BY_FILE["travel-rates.xlsx"].content(), XLSX, "travel-rates.xlsx")
    places = [(b.kind, b.locator.sheet, cells_name(b.locator.cells)) for b in book.blocks if b.locator.cells]
    assert places == [
        *(("caption", "住宿标准", "A1"), ("table", "住宿标准", "A2:F14"), ("paragraph", "住宿标准", "A15")),
        *(("caption", "交通标准", "A1"), ("table", "交通标准", "A2:D7"), ("paragraph", "交通标准", "A8")),
    ]
    deck = parse(BY_FILE["service-training.pptx"].content(), BY_EXTENSION[".pptx"], "service-training.pptx")
    assert deck.pages == 7
    assert [block.locator.slide for block in deck.blocks if block.rows] == [4]


def test_the_script_makes_exactly_the_committed_files():
    made = make_samples.make_all()
    again = make_samples.make_all()
    for file, content in made.items():
        assert content == again[file], f"{file}: two runs differ"
        assert content == BY_FILE[file].content(), f"{file}: run python -m kbsite.demo.make_samples and commit"
