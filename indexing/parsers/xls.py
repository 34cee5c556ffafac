"""XLS, the older Excel's format: every visible sheet. Its numbers have lost how they were shown; dates are ISO 8601."""

from __future__ import annotations

import io
from typing import Any

from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetTypeEnum, SheetVisibleEnum

from documents.media_types import XLS
from indexing.blocks import LeftOut, LeftOutReason, ParsedDocument
from indexing.errors import DocumentCorrupt, DocumentEncrypted
from indexing.parsers import limits
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.number_formats import is_number, show
from indexing.parsers.sheet_grid import Cell, Sheet
from indexing.parsers.sheet_tables import pieces_of

_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")  # a protected XLSX under an old name


def parse(content: bytes) -> ParsedDocument:
    """Raises `DocumentCorrupt`, `DocumentEncrypted`, `DocumentTooLarge` or `NoText`."""
    if _ENCRYPTED in content:
        raise DocumentEncrypted()
    left_out, pieces, cells = list[LeftOut](), list[Piece](), 0
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(content))
        for number, metadata in enumerate(book.sheets_metadata):
            if metadata.typ is not SheetTypeEnum.WorkSheet:
                continue
            sheet = _sheet(book.get_sheet_by_index(number))
            cells += len(sheet.cells)
            limits.CELLS.check(cells)
            if metadata.visible is SheetVisibleEnum.Visible:
                pieces += pieces_of(sheet)
            elif sheet.cells:
                left_out.append(
                    LeftOut(LeftOutReason.HIDDEN, limits.excerpt(cell.text for cell in sheet.cells.values()))
                )
    except PasswordError as error:
        raise DocumentEncrypted() from error
    except CalamineError as error:
        raise DocumentCorrupt() from error
    return assemble(XLS, pieces, left_out=left_out)


def _sheet(found: Any) -> Sheet:
    sheet = Sheet(found.name)
    for row, values in enumerate(found.to_python(skip_empty_area=False), 1):
        for column, value in enumerate(values, 1):
            text = show(value)
            if text.strip():
                sheet.cells[row, column] = Cell(text, not isinstance(value, str) or is_number(value))
    sheet.merged = [
        (left + 1, top + 1, right + 1, bottom + 1) for (top, left), (bottom, right) in found.merged_cell_ranges or ()
    ]
    return sheet
