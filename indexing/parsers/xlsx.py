"""XLSX: every visible sheet, its tables with ranges of cells; values as they are shown, of formulas their last results."""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Iterator

from documents.media_types import XLSX
from indexing.blocks import BlockKind, Gap, GapReason, LeftOut, LeftOutReason, ParsedDocument
from indexing.errors import DocumentCorrupt
from indexing.parsers import limits
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.package import check_package
from indexing.parsers.sheet_grid import Room, Sheet
from indexing.parsers.sheet_tables import pieces_of
from indexing.parsers.xlsx_asides import asides
from indexing.parsers.xlsx_book import WORKBOOK, SheetPart, read_book
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
            if not part.is_hidden:
                pieces += _asides(package, part, room, has_heading=bool(sheet.cells))
    if not book.sheets or (not pieces and any(gap.reason is GapReason.UNREADABLE for gap in gaps)):
        raise DocumentCorrupt()
    return assemble(XLSX, pieces, title=book.title, gaps=gaps, left_out=left_out)


def _asides(package: zipfile.ZipFile, part: SheetPart, room: Room, *, has_heading: bool) -> Iterator[Piece]:
    """Text boxes and comments, as paragraphs below the sheet's tables. Raises `DocumentTooLarge`."""
    with contextlib.suppress(*DAMAGED):  # a drawing that cannot be read is a picture
        for cells, text in asides(package, part.path or ""):
            room.take(text)
            if not has_heading:
                yield Piece(BlockKind.HEADING, part.name, level=1, sheet=part.name)
                has_heading = True
            yield Piece(BlockKind.PARAGRAPH, text, sheet=part.name, cells=cells)
