"""DOCX: body text, headings by style and outline level, lists with the numbers Word shows, tables, notes and text boxes.

Notes and text boxes follow the paragraph that they hang on. Tracked changes count as accepted. Headers, footers, comments,
deleted and hidden text and tables of contents are not content, and are told as left out. Nothing outside the file is loaded.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any
from zipfile import BadZipFile

from docx.opc.exceptions import OpcError
from docx.opc.part import PartFactory
from docx.oxml.exceptions import InvalidXmlError
from docx.oxml.ns import qn
from docx.package import Package
from docx.parts.document import DocumentPart
from lxml.etree import XMLSyntaxError

from documents.media_types import DOCX
from indexing.blocks import BlockKind, Gap, GapReason, ParsedDocument
from indexing.errors import DocumentCorrupt
from indexing.parsers import limits
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.docx_asides import left_out
from indexing.parsers.docx_code import lines_of_code
from indexing.parsers.docx_drawings import drawn
from indexing.parsers.docx_numbering import Numbering
from indexing.parsers.docx_styles import Style, Styles, spread_hidden
from indexing.parsers.docx_tables import read_table, through_wrappers
from indexing.parsers.docx_text import Notes, is_deleted, is_formula, paragraph_text, text_boxes
from indexing.parsers.faq import pair_questions
from indexing.parsers.office_alternatives import resolve_alternatives
from indexing.parsers.package import check_package
from indexing.parsers.pictures import Pictures
from indexing.parsers.scans import Scans

# What the libraries raise for a package whose parts are missing, cut or not what they should be.
_DAMAGE = (BadZipFile, OpcError, InvalidXmlError, XMLSyntaxError, KeyError, ValueError, EOFError, OSError)


# The library opens documents alone; one with macros is the same but for its type. The macros are never run.
PartFactory.part_type_for["application/vnd.ms-word.document.macroEnabled.main+xml"] = DocumentPart


def parse(content: bytes, scans: Scans | None = None) -> ParsedDocument:
    """Raises `DocumentCorrupt`, `DocumentEncrypted`, `DocumentTooLarge`, `UnsupportedDocument` or `NoText`.

    The title is that of the paragraph in the style Title, else the one in the file's properties.
    """
    check_package(content, main_part="word/document.xml", old_stream="WordDocument")
    try:
        document = Package.open(io.BytesIO(content)).main_document_part.document
        body = document.element.body
        resolve_alternatives(body)
        spread_hidden(document)
        reader = _Reader(document, Pictures(scans))
        title = document.core_properties.title
    except (*_DAMAGE, AttributeError) as error:  # AttributeError: a main part without a body or without styles
        if "Excessive depth" in str(error):
            raise limits.DOCX_DEPTH.exceeded() from error
        raise DocumentCorrupt() from error
    pieces = list(pair_questions(_join_code(reader.pieces(body))))
    try:
        asides = list(left_out(document, reader.contents))
    except (*_DAMAGE, AttributeError) as error:
        raise DocumentCorrupt() from error
    return assemble(DOCX, pieces, title=reader.title or title, gaps=reader.gaps, left_out=asides)


class _Reader:
    """Turns the body's elements into pieces, in their order."""

    def __init__(self, document: Any, pictures: Pictures) -> None:
        self._pictures = pictures
        self._styles = Styles(document)
        self._numbering = Numbering(document)
        self._notes = Notes(document)
        self._depth = 0
        self.title: str | None = None
        self.gaps: list[Gap] = []
        self.contents: list[str] = []  # lines of tables of contents

    def pieces(self, parent: Any) -> Iterator[Piece]:
        """Raises `DocumentTooLarge` where things are nested too deeply."""
        self._depth += 1
        limits.DOCX_DEPTH.check(self._depth)
        yield from self._children(parent)
        self._depth -= 1

    def _children(self, parent: Any) -> Iterator[Piece]:
        code = lines_of_code(parent, self._styles)
        for child in parent:
            if child.tag == qn("w:p"):
                yield from self._paragraph(child, is_code=child in code)
            elif child.tag == qn("w:tbl"):
                yield from self._table(child)
            elif child.tag == qn("w:sdt"):
                yield from self._content_control(child)
            elif child.tag in (qn("w:ins"), qn("w:moveTo"), qn("w:customXml"), qn("w:smartTag")):
                yield from self.pieces(child)
            elif child.tag in (
                qn("w:altChunk"),
                qn("w:subDoc"),
            ):  # another file, which Word takes in when it opens this one
                self.gaps.append(Gap(GapReason.UNREADABLE))

    def _paragraph(self, element: Any, *, is_code: bool) -> Iterator[Piece]:
        style = self._styles.of(element)
        if style.is_contents_entry:
            self.contents.append(paragraph_text(element))
            return
        text = paragraph_text(element)
        if not text.strip() and is_deleted(element):
            return
        label = self._numbering.label(element, style)  # also for an empty paragraph: Word counts it
        if text.strip():
            numbered = f"{label} {text}" if label else text
            yield self._piece(element, style, text, numbered, is_code=is_code and not label)
        yield from self._drawn(element)
        for part in (*text_boxes(element), *self._notes.of(element)):
            yield from self.pieces(part)

    def _drawn(self, element: Any) -> Iterator[Piece]:
        try:
            yield from drawn(element, partial(self._notes.part, element), self._pictures, self._missed)
        except _DAMAGE:
            self.gaps.append(Gap(GapReason.UNREADABLE))

    def _missed(self, reason: GapReason) -> None:
        if Gap(reason) not in self.gaps:  # there is no place to tell one from the next
            self.gaps.append(Gap(reason))

    def _piece(self, element: Any, style: Style, text: str, numbered: str, *, is_code: bool) -> Piece:
        if style.is_title and self.title is None:
            self.title = text
        level = style.heading_level(element)
        if level is not None:
            return Piece(BlockKind.HEADING, numbered, level=level)
        if style.is_code or is_code:
            return Piece(BlockKind.CODE, text)
        if style.is_caption:
            return Piece(BlockKind.CAPTION, numbered)
        if is_formula(element):
            return Piece(BlockKind.FORMULA, numbered)
        depth = self._numbering.depth(element, style)
        listed = style.is_list or depth is not None
        return Piece(BlockKind.LIST_ITEM if listed else BlockKind.PARAGRAPH, numbered, depth=depth)

    def _content_control(self, element: Any) -> Iterator[Piece]:
        gallery = element.find(f"{qn('w:sdtPr')}//{qn('w:docPartGallery')}")
        content = element.find(qn("w:sdtContent"))
        if gallery is not None and "Contents" in (gallery.get(qn("w:val")) or ""):
            self.contents += [paragraph_text(line) for line in element.iter(qn("w:p"))]
            return
        if content is not None:
            yield from self.pieces(content)

    def _table(self, element: Any) -> Iterator[Piece]:
        rows = [row for row in through_wrappers(element, "w:tr") if not is_deleted(row)]
        cells = [list(through_wrappers(row, "w:tc")) for row in rows]
        if all(len(row) < 2 for row in cells):  # a frame around text, not a table
            for row in cells:
                for cell in row:
                    yield from self.pieces(cell)
            return
        grid, header_rows = read_table(element, rows, self._cell_text)
        yield Piece(BlockKind.TABLE, rows=grid, header_rows=header_rows)

    def _cell_text(self, cell: Any) -> str:
        return "\n".join(
            "\n".join(" ".join(row) for row in piece.rows) if piece.rows else piece.text for piece in self.pieces(cell)
        )


def _join_code(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Word has a paragraph for every line of code; here they are one block."""
    code: list[str] = []
    for piece in pieces:
        if piece.kind is BlockKind.CODE:
            code.append(piece.text)
            continue
        if code:
            yield Piece(BlockKind.CODE, "\n".join(code))
            code = []
        yield piece
    if code:
        yield Piece(BlockKind.CODE, "\n".join(code))
