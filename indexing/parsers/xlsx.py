"""XLSX: every visible sheet, its tables with ranges of cells; values as they are shown, of formulas their last results."""

from __future__ import annotations

import io
import zipfile

from documents.media_types import XLSX
from indexing.blocks import Gap, GapReason, LeftOut, LeftOutReason, ParsedDocument
from indexing.errors import DocumentCorrupt
from indexing.parsers import limits
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.package import check_package
from indexing.parsers.sheet_grid import Room, Sheet
from indexing.parsers.sheet_tables import pieces_of
from indexing.parsers.xlsx_book import WORKBOOK, read_book
from indexing.parsers.xlsx_sheet import DAMAGED, read_sheet


def parse(content: bytes) -> ParsedDocument:
    """A sheet that cannot be read, or not whole, is a gap. Raises `DocumentCorrupt` where nothing can, `DocumentEncrypted`,
    `DocumentTooLarge`, `UnsupportedDocument` or `NoText`."""
    check_package(content, main_part=WORKBOOK, old_stream="Workbook")
    pieces, gaps, left_out, room = list[Piece](), list[Gap](), list[LeftOut](), Room()
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        try:
            book = read_book(package)
        except DAMAGED as error:
            raise DocumentCorrupt() from error
        for part in book.sheets:
            if part.is_chart:
                continue
            reading = read_sheet(package, book, part, room)
            sheet, hidden = reading.sheet, reading.hidden
            if part.is_hidden:
                hidden, sheet = [*sheet.cells.values(), *hidden], Sheet(part.name)
            elif not reading.is_whole:
                gaps.append(Gap(GapReason.UNREADABLE, sheet=part.name))
            elif not reading.is_calculated:
                gaps.append(Gap(GapReason.NOT_CALCULATED, sheet=part.name))
            if hidden:
                left_out.append(LeftOut(LeftOutReason.HIDDEN, limits.excerpt(cell.text for cell in hidden)))
            pieces += pieces_of(sheet, room)
    if not book.sheets or (not pieces and any(gap.reason is GapReason.UNREADABLE for gap in gaps)):
        raise DocumentCorrupt()
    return assemble(XLSX, pieces, title=book.title, gaps=gaps, left_out=left_out)
