"""PDF: text in reading order with pages and regions, headings, ruled tables; repeated page furniture left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from documents.media_types import PDF
from indexing.blocks import Gap, ParsedDocument
from indexing.errors import DocumentCorrupt, DocumentEncrypted
from indexing.parsers import limits
from indexing.parsers.assemble import assemble
from indexing.parsers.clean import one_line
from indexing.parsers.faq import pair_questions
from indexing.parsers.pdf_continued import join_tables
from indexing.parsers.pdf_furniture import without_furniture
from indexing.parsers.pdf_headings import find_headings, words_of
from indexing.parsers.pdf_lines import read_glyphs, to_lines, transform
from indexing.parsers.pdf_paragraphs import Paragraph, body_size, paragraphs
from indexing.parsers.pdf_pieces import pieces_of_text
from indexing.parsers.pdf_rules import read_rules
from indexing.parsers.pdf_scans import read_scan
from indexing.parsers.pdf_tables import find_tables
from indexing.parsers.pdf_types import Page, Table
from indexing.parsers.scan_pieces import pieces_of
from indexing.parsers.scans import ScannedPage, Scans

_PASSWORD_ERRORS = (pdfium_c.FPDF_ERR_PASSWORD, pdfium_c.FPDF_ERR_SECURITY)
_TAIL_BYTES = 1024  # where readers look for the end mark
_DEEPEST_OUTLINE = 6
_JUNK_TITLE = re.compile(  # put there by programs, not by authors
    r"microsoft word|powerpoint presentation|untitled|无标题|\.(?:docx?|pdf|indd|tex|xlsx?|pptx?)\s*$", re.IGNORECASE
)


def parse(content: bytes, scans: Scans | None = None) -> ParsedDocument:
    """Raises `DocumentCorrupt`, `DocumentEncrypted`, `DocumentTooLarge` or `NoText`. Regions are as a reader sees the page."""
    scans = scans or Scans()
    if b"%%EOF" not in content.rstrip(b"\0\r\n\t ")[-_TAIL_BYTES:]:
        # PDFium would rebuild what is left of a cut file and show some of its pages as if they were all.
        raise DocumentCorrupt()
    try:
        with pdfium.PdfDocument(content) as document:
            pages = _read_pages(document)
            scanned = [scans.read(number, partial(_scan, document, number)) for number in _without_text(pages)]
            outline, labels = _outline(document), _labels(document)
            metadata_title = document.get_metadata_value("Title").strip()
    except pdfium.PdfiumError as error:
        raise (DocumentEncrypted if error.err_code in _PASSWORD_ERRORS else DocumentCorrupt)() from error
    pages = without_furniture(pages)
    body = body_size(pages)
    found = join_tables(paragraphs(pages))
    levels = find_headings(found, body, outline)
    pieces = pair_questions(pieces_of_text(found, levels, labels))
    title = _title(found, levels, body)
    if title is None and not _JUNK_TITLE.search(metadata_title):
        title = metadata_title
    pieces = sorted([*pieces, *pieces_of(scanned)], key=lambda piece: piece.page or 0)
    gaps = [Gap(page.gap, page=page.number) for page in scanned if page.gap]
    return assemble(PDF, pieces, title=title, pages=len(pages), gaps=gaps)


def _read_pages(document: Any) -> list[Page]:
    if not len(document):
        raise DocumentCorrupt()
    limits.PAGES.check(len(document))
    pages, characters = [], 0
    for number in range(1, len(document) + 1):
        page = _read_page(document, number)
        characters += sum(len(line.text) for line in page.lines)
        limits.CHARACTERS.check(characters)
        pages.append(page)
    return pages


def _read_page(document: Any, number: int) -> Page:
    page = document[number - 1]
    text_page = page.get_textpage()
    try:
        to_display = transform(page)
        glyphs = read_glyphs(text_page, to_display)
        found: list[Table] = []
        if glyphs:
            rules = read_rules(page, to_display)
            found, glyphs = find_tables(glyphs, number, rules, lambda some: to_lines(some, text_page, number))
        return Page(number, page.get_height(), to_lines(glyphs, text_page, number), found)
    finally:
        text_page.close()
        page.close()


def _without_text(pages: Sequence[Page]) -> list[int]:
    return [page.number for page in pages if not page.lines and not page.tables]


def _scan(document: Any, number: int) -> ScannedPage:
    page = document[number - 1]
    try:
        return read_scan(page, number)
    finally:
        page.close()


def _outline(document: Any) -> dict[int, dict[str, int]]:
    """Page → words of an outline entry's title → its level, 1 the outermost."""
    outline: dict[int, dict[str, int]] = {}
    for entry in islice(document.get_toc(max_depth=_DEEPEST_OUTLINE), limits.OUTLINE_ENTRIES):
        target = entry.get_dest()
        index = target.get_index() if target else None
        words = words_of(entry.get_title())
        if index is not None and words:
            outline.setdefault(index + 1, {}).setdefault(words, entry.level + 1)
    return outline


def _labels(document: Any) -> dict[int, str]:
    labels = {}
    for index in range(len(document)):
        label = one_line(document.get_page_label(index)[: limits.LABEL_CHARACTERS])
        if label and label != str(index + 1):
            labels[index + 1] = label
    return labels


def _title(found: list[Paragraph], levels: dict[int, int], body: float) -> str | None:
    """The largest heading of the first page, if it is clearly larger than ordinary text."""
    first_page = [found[position] for position in levels if found[position].pages[0] == 1]
    largest = max(first_page, key=lambda paragraph: paragraph.lines[0].size, default=None)
    return largest.text if largest is not None and largest.lines[0].size >= 1.3 * body else None
