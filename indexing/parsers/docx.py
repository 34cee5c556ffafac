"""DOCX: body text, headings by style and outline level, lists with the numbers Word shows, tables in their places.

Headers, footers, comments, deleted text and tables of contents are not content. Nothing outside the file is loaded.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from typing import Any
from zipfile import BadZipFile

import docx
from docx.opc.exceptions import OpcError
from docx.oxml.exceptions import InvalidXmlError
from docx.oxml.ns import qn
from lxml.etree import XMLSyntaxError

from documents.media_types import DOCX
from indexing.blocks import BlockKind, ParsedDocument
from indexing.errors import DocumentCorrupt
from indexing.parsers import limits
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.docx_numbering import Numbering
from indexing.parsers.docx_styles import Style, Styles
from indexing.parsers.docx_text import Notes, paragraph_text, text_boxes
from indexing.parsers.faq import pair_questions
from indexing.parsers.package import check_package

# What the libraries raise for a package whose parts are missing, cut or not what they should be.
_DAMAGE = (BadZipFile, OpcError, InvalidXmlError, XMLSyntaxError, KeyError, ValueError, EOFError, OSError)
_WIDEST_ROW = 1_000  # columns that merged cells may cover; Word has 63


def parse(content: bytes) -> ParsedDocument:
    """Raises `DocumentCorrupt`, `DocumentEncrypted`, `DocumentTooLarge`, `UnsupportedDocument` or `NoText`.

    The title is that of the paragraph in the style Title, else the one in the file's properties.
    """
    check_package(content, main_part="word/document.xml", old_stream="WordDocument")
    try:
        document = docx.Document(io.BytesIO(content))
        body = document.element.body
        reader = _Reader(Styles(document), Numbering(document), Notes(document))
        title = document.core_properties.title
    except (*_DAMAGE, AttributeError) as error:  # AttributeError: a main part without a body or without styles
        if "Excessive depth" in str(error):
            raise limits.DOCX_DEPTH.exceeded() from error
        raise DocumentCorrupt() from error
    pieces = pair_questions(_join_code(reader.pieces(body)))
    return assemble(DOCX, pieces, title=reader.title or title)


class _Reader:
    """Turns the body's elements into pieces, in their order."""

    def __init__(self, styles: Styles, numbering: Numbering, notes: Notes) -> None:
        self._styles = styles
        self._numbering = numbering
        self._notes = notes
        self._depth = 0
        self.title: str | None = None

    def pieces(self, parent: Any) -> Iterator[Piece]:
        """Raises `DocumentTooLarge` where things are nested too deeply."""
        self._depth += 1
        limits.DOCX_DEPTH.check(self._depth)
        yield from self._children(parent)
        self._depth -= 1

    def _children(self, parent: Any) -> Iterator[Piece]:
        for child in parent:
            if child.tag == qn("w:p"):
                yield from self._paragraph(child)
            elif child.tag == qn("w:tbl"):
                yield from self._table(child)
            elif child.tag == qn("w:sdt"):
                yield from self._content_control(child)
            elif child.tag in (qn("w:ins"), qn("w:moveTo"), qn("w:customXml"), qn("w:smartTag")):
                yield from self.pieces(child)

    def _paragraph(self, element: Any) -> Iterator[Piece]:
        style = self._styles.of(element)
        if style.is_contents_entry:
            return
        text = paragraph_text(element)
        label = self._numbering.label(element, style)  # also for an empty paragraph: Word counts it
        if text.strip():
            yield self._piece(element, style, text, f"{label} {text}" if label else text)
        for part in (*text_boxes(element), *self._notes.of(element)):
            yield from self.pieces(part)

    def _piece(self, element: Any, style: Style, text: str, numbered: str) -> Piece:
        if style.is_title and self.title is None:
            self.title = text
        level = style.heading_level(element)
        if level is not None:
            return Piece(BlockKind.HEADING, numbered, level=level)
        if style.is_code:
            return Piece(BlockKind.CODE, text)
        listed = style.is_list or self._numbering.is_list_item(element, style)
        return Piece(BlockKind.LIST_ITEM if listed else BlockKind.PARAGRAPH, numbered)

    def _content_control(self, element: Any) -> Iterator[Piece]:
        gallery = element.find(f".//{qn('w:docPartGallery')}")
        if gallery is not None and "Contents" in (gallery.get(qn("w:val")) or ""):
            return
        content = element.find(qn("w:sdtContent"))
        if content is not None:
            yield from self.pieces(content)

    def _table(self, element: Any) -> Iterator[Piece]:
        rows = list(_through_wrappers(element, "w:tr"))
        cells = [list(_through_wrappers(row, "w:tc")) for row in rows]
        if all(len(row) < 2 for row in cells):  # a frame around text, not a table
            for row in cells:
                for cell in row:
                    yield from self.pieces(cell)
            return
        grid = tuple(tuple(_spread([(self._cell_text(cell), cell) for cell in row])) for row in cells)
        yield Piece(BlockKind.TABLE, rows=grid, header_rows=_header_rows(element, rows))

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


def _through_wrappers(parent: Any, name: str) -> Iterator[Any]:
    """Children called `name`, also those inside content controls and tracked insertions."""
    for child in parent:
        if child.tag == qn(name):
            yield child
        elif child.tag in (qn("w:sdt"), qn("w:sdtContent"), qn("w:customXml"), qn("w:ins")):
            yield from _through_wrappers(child, name)


def _spread(row: list[tuple[str, Any]]) -> Iterator[str]:
    """A row's cells on the table's grid: a merged cell has its text once, where it starts."""
    left = _WIDEST_ROW
    for text, cell in row:
        merge = cell.find(f"{qn('w:tcPr')}/{qn('w:vMerge')}")
        continues = merge is not None and merge.get(qn("w:val"), "continue") == "continue"
        yield "" if continues else text
        span = cell.find(f"{qn('w:tcPr')}/{qn('w:gridSpan')}")
        width = span.get(qn("w:val")) if span is not None else None
        if width and re.fullmatch(r"\d{1,2}", width):
            blanks = min(int(width) - 1, left)
            left -= blanks
            yield from [""] * blanks


def _header_rows(table: Any, rows: list[Any]) -> int:
    """Rows marked to repeat on every page; without such a mark the first, unless the table's look says otherwise."""
    marked = 0
    for row in rows:
        mark = row.find(f"{qn('w:trPr')}/{qn('w:tblHeader')}")
        if mark is None or mark.get(qn("w:val"), "1") in ("0", "false", "off"):
            break
        marked += 1
    if marked:
        return marked if marked < len(rows) else 1
    look = table.find(f"{qn('w:tblPr')}/{qn('w:tblLook')}")
    plain = look is not None and look.get(qn("w:firstRow"), "1") in ("0", "false", "off")
    return 0 if plain or len(rows) < 2 else 1
