"""XLSX: every visible sheet, its tables and charts with ranges of cells; values as they are shown, of formulas their last
results."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator

from documents.media_types import XLSX
from indexing.blocks import BlockKind, Gap, GapReason, LeftOut, LeftOutReason, ParsedDocument
from indexing.errors import DocumentCorrupt
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.left_out import leave_out
from indexing.parsers.package import check_package
from indexing.parsers.pictures import Pictures
from indexing.parsers.scans import Scans
from indexing.parsers.sheet_grid import Room, Sheet, around_places
from indexing.parsers.sheet_tables import pieces_of
from indexing.parsers.xlsx_asides import Asides, read_asides
from indexing.parsers.xlsx_book import WORKBOOK, SheetPart, read_book
from indexing.parsers.xlsx_sheet import DAMAGED, read_sheet


def parse(content: bytes, scans: Scans | None = None) -> ParsedDocument:
    """A sheet that cannot be read, or not whole, is a gap. Raises `DocumentCorrupt` where nothing can, `DocumentEncrypted`,
    `DocumentTooLarge`, `UnsupportedDocument` or `NoText`."""
    check_package(content, main_part=WORKBOOK, old_stream="Workbook")
    pieces, gaps, left_out, room, pictures = list[Piece](), list[Gap](), list[LeftOut](), Room(), Pictures(scans)
    furniture: dict[tuple[LeftOutReason, str], None] = {}  # of printed pages, most often the same on every sheet
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        try:
            book = read_book(package)
        except DAMAGED as error:
            raise DocumentCorrupt() from error
        for part in book.sheets:
            reading = read_sheet(package, book, part, room)
            beside = read_asides(package, part.path or "", room, None if part.is_hidden else pictures)
            cells = around_places(reading.hidden)
            texts = [cell.text for cell in reading.hidden.values()] + beside.hidden
            furniture.update(dict.fromkeys(reading.furniture))
            if part.is_hidden:
                cells = None
                texts = [*(cell.text for cell in reading.sheet.cells.values()), *map(_words, beside.pieces), *texts]
            else:
                pieces += _pieces(part, reading.sheet, beside, room)
                if not (reading.is_whole and beside.is_whole):
                    gaps.append(Gap(GapReason.UNREADABLE, sheet=part.name))
                elif reading.uncalculated:
                    gaps.append(Gap(GapReason.NOT_CALCULATED, sheet=part.name, cells=reading.uncalculated))
                gaps += [Gap(reason, sheet=part.name, cells=cells) for reason, cells in beside.missed]
            if texts:
                left_out.append(leave_out(LeftOutReason.HIDDEN, texts, sheet=part.name, cells=cells))
    left_out += [leave_out(reason, [text]) for reason, text in furniture]
    if not book.sheets or (not pieces and any(gap.reason is GapReason.UNREADABLE for gap in gaps)):
        raise DocumentCorrupt()
    return assemble(XLSX, pieces, title=book.title, gaps=gaps, left_out=left_out)


def _pieces(part: SheetPart, sheet: Sheet, beside: Asides, room: Room) -> Iterator[Piece]:
    """The sheet's tables and, below them, what stands beside its cells. Raises `DocumentTooLarge`."""
    yield from pieces_of(sheet, room)
    if beside.pieces and not sheet.cells:
        yield Piece(BlockKind.HEADING, part.name, level=1, sheet=part.name)
    for piece in beside.pieces:
        piece.sheet = part.name
        yield piece


def _words(piece: Piece) -> str:
    return piece.text or " | ".join(map(" ".join, piece.rows))
