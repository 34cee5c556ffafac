"""PDF: text in reading order with pages and regions, headings, ruled tables; repeated page furniture left out."""

from __future__ import annotations

import re
from functools import partial
from itertools import islice
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from documents.media_types import PDF
from indexing.blocks import Gap, ParsedDocument
from indexing.errors import DocumentCorrupt, DocumentEncrypted
from indexing.parsers import limits, pdf_missing_fonts
from indexing.parsers.assemble import assemble
from indexing.parsers.clean import one_line
from indexing.parsers.faq import pair_questions
from indexing.parsers.pdf_captions import mark_captions
from indexing.parsers.pdf_continued import join_tables
from indexing.parsers.pdf_furniture import without_furniture
from indexing.parsers.pdf_headings import find_headings, words_of
from indexing.parsers.pdf_pages import read_pages
from indexing.parsers.pdf_paragraphs import Paragraph, body_size, paragraphs
from indexing.parsers.pdf_pieces import pieces_of_text
from indexing.parsers.pdf_scans import read_scan
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
    pdf_missing_fonts.use()
    try:
        with pdfium.PdfDocument(content) as document:
            read = read_pages(document)
            scanned = [
                scans.read(number, partial(_scan, document, number, under_text=number in read.under_text))
                for number in sorted([*read.without_text, *read.under_text])
            ]
            outline, labels = _outline(document), _labels(document)
            metadata_title = document.get_metadata_value("Title").strip()
    except pdfium.PdfiumError as error:
        raise (DocumentEncrypted if error.err_code in _PASSWORD_ERRORS else DocumentCorrupt)() from error
    pages, left_out = without_furniture(read.pages)
    body = body_size(pages)
    found = join_tables(paragraphs(pages))
    mark_captions(found)
    levels = find_headings(found, body, outline)
    pieces = pair_questions(pieces_of_text(found, levels, labels))
    title = _title(found, levels, body)
    if title is None and not _JUNK_TITLE.search(metadata_title):
        title = metadata_title
    from_pictures, also_left_out = pieces_of(scanned)
    pieces = sorted([*pieces, *from_pictures], key=lambda piece: piece.page or 0)
    gaps = [*read.gaps, *(Gap(page.gap, page=page.number) for page in scanned if page.gap)]
    gaps.sort(key=lambda gap: gap.page or 0)
    return assemble(
        PDF, pieces, title=title, pages=read.count, gaps=gaps, left_out=[*read.left_out, *left_out, *also_left_out]
    )


def _scan(document: Any, number: int, *, under_text: bool) -> ScannedPage:
    page = document[number - 1]
    try:
        return read_scan(page, number, under_text=under_text)
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
