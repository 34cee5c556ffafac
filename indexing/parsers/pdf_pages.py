"""The pages of a PDF: their lines and tables, tables of contents left out. A page that cannot be read costs only itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from indexing.blocks import Gap, GapReason, LeftOut, LeftOutReason
from indexing.errors import DocumentCorrupt, DocumentTooLarge, IndexingError
from indexing.parsers import limits
from indexing.parsers.left_out import leave_out
from indexing.parsers.pdf_contents import without_contents
from indexing.parsers.pdf_fields import read_comments, read_fields, with_fields
from indexing.parsers.pdf_lines import read_glyphs, to_lines, transform
from indexing.parsers.pdf_rules import read_rules
from indexing.parsers.pdf_scans import is_scan_under
from indexing.parsers.pdf_tables import find_tables
from indexing.parsers.pdf_types import Page, Table


@dataclass(slots=True)
class Pages:
    """`count`: of the whole document; `pages`: those that could be read; `without_text`: numbers of some of them;
    `under_text`: of those that are pictures below a few words."""

    count: int
    pages: list[Page] = field(default_factory=list)
    without_text: list[int] = field(default_factory=list)
    under_text: list[int] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)


def read_pages(document: Any) -> Pages:
    """Raises `DocumentCorrupt` or `DocumentTooLarge`, where there is no page that can be read, or too many are."""
    found = Pages(len(document))
    if not found.count:
        raise DocumentCorrupt()
    limits.PAGES.check(found.count)
    if document.get_formtype() != pdfium_c.FORMTYPE_NONE:
        document.init_forms()
    characters = 0
    error: IndexingError = DocumentCorrupt()
    for number in range(1, found.count + 1):
        try:
            page = _read_page(document, number, found)
        except (pdfium.PdfiumError, DocumentTooLarge) as failure:
            error = failure if isinstance(failure, DocumentTooLarge) else error
            found.gaps.append(Gap(GapReason.UNREADABLE, page=number))
            continue
        characters += sum(len(line.text) for line in page.lines)
        limits.CHARACTERS.check(characters)
        found.pages.append(page)
    if not found.pages:
        raise error
    return found


def _read_page(document: Any, number: int, found: Pages) -> Page:
    page = document[number - 1]
    try:
        text_page = page.get_textpage()
        try:
            return _read(document, page, text_page, number, found)
        finally:
            text_page.close()
    finally:
        page.close()


def _read(document: Any, page: Any, text_page: Any, number: int, found: Pages) -> Page:
    to_display = transform(page)
    glyphs = read_glyphs(text_page, to_display)
    if fields := read_fields(document, page, to_display):
        glyphs = with_fields(glyphs, fields)
    if comments := read_comments(page):
        found.left_out.append(leave_out(LeftOutReason.COMMENT, comments, pages=(number,)))
    if not any(glyph.text.strip() for glyph in glyphs):
        found.without_text.append(number)
        return Page(number, page.get_height())
    if is_scan_under(page, letters=sum(not glyph.text.isspace() for glyph in glyphs)):
        found.under_text.append(number)
    goes_on = any(left.reason is LeftOutReason.CONTENTS and left.pages == (number - 1,) for left in found.left_out[-2:])
    glyphs, contents = without_contents(glyphs, number, goes_on, pages=len(document))
    if contents is not None:
        found.left_out.append(contents)
    tables: list[Table] = []
    if glyphs:
        rules = read_rules(page, to_display)
        tables, glyphs = find_tables(glyphs, number, rules, lambda some: to_lines(some, text_page, number))
    return Page(number, page.get_height(), to_lines(glyphs, text_page, number), tables)
