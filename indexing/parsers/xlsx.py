"""XLSX: every visible sheet, its tables with ranges of cells; values as they are shown, of formulas their last results."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

from lxml import etree
from openpyxl import load_workbook
from openpyxl.utils.cell import range_boundaries

from documents.media_types import XLSX
from indexing.blocks import Gap, GapReason, LeftOut, LeftOutReason, ParsedDocument
from indexing.errors import DocumentCorrupt
from indexing.locators import Cells, cells_from_name
from indexing.parsers import limits
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.number_formats import is_number, show
from indexing.parsers.package import check_package
from indexing.parsers.sheet_grid import Cell, Sheet, area_of
from indexing.parsers.sheet_tables import pieces_of

_SHEET_PARTS = re.compile(r"xl/worksheets/[^/]+\.xml")
_FILLED = re.compile(rb"<(?:\w+:)?(?:v|is)>")  # what stands in a cell
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell ref="([A-Z]{1,3}[0-9]{1,7}:[A-Z]{1,3}[0-9]{1,7})"')
_CELL = re.compile(rb"<(?:\w+:)?c[ >]")
# A formula whose result was never stored: written by a program that does not calculate.
_NOT_CALCULATED = re.compile(
    rb"<(?:\w+:)?f(?:>[^<]*</(?:\w+:)?f>|[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)\s*(?:<v\s*/>|<v></v>)?\s*</(?:\w+:)?c>"
)
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_MOST_ROWS, _MOST_COLUMNS = 1_048_576, 16_384  # of a sheet
_STYLED_PER_FILLED = 4  # cells without text are kept by the library, too


def parse(content: bytes) -> ParsedDocument:
    """Raises `DocumentCorrupt`, `DocumentEncrypted`, `DocumentTooLarge`, `UnsupportedDocument` or `NoText`."""
    check_package(content, main_part="xl/workbook.xml", old_stream="Workbook")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what the library does not keep, such as pictures
            not_calculated = _check_sheets(content)
            book = load_workbook(io.BytesIO(content), data_only=True, keep_links=False, rich_text=False)
    except (etree.XMLSyntaxError, KeyError, ValueError, TypeError, AttributeError, IndexError, OSError) as error:
        raise DocumentCorrupt() from error
    left_out: list[LeftOut] = []
    pieces: list[Piece] = []
    for worksheet in book.worksheets:
        sheet, hidden = _sheet(worksheet)
        if worksheet.sheet_state != "visible":
            hidden, sheet = [*sheet.cells.values(), *hidden], Sheet(worksheet.title)
        if hidden:
            left_out.append(LeftOut(LeftOutReason.HIDDEN, limits.excerpt(cell.text for cell in hidden)))
        pieces += pieces_of(sheet)
    gaps = [Gap(GapReason.NOT_CALCULATED, sheet=name) for name in book.sheetnames if name in not_calculated]
    return assemble(XLSX, pieces, title=book.properties.title, gaps=gaps, left_out=left_out)


def _check_sheets(content: bytes) -> set[str]:
    """Names of the sheets with formulas that have no result. Counts cells before anything keeps them."""
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        names = _names_by_part(package)
        if any(_SHEET_PARTS.fullmatch(part) and part not in package.namelist() for part in names):
            raise DocumentCorrupt()
        cells, found = 0, set()
        for part in package.namelist():
            if not _SHEET_PARTS.fullmatch(part):
                continue
            data = package.read(part)
            filled = sum(1 for _ in _FILLED.finditer(data))
            cells += max(filled, sum(1 for _ in _CELL.finditer(data)) // _STYLED_PER_FILLED)
            # The library makes a cell of every place that is merged.
            cells += sum(map(area_of, (cells_from_name(ref.decode()) for ref in _MERGED.findall(data))))
            limits.CELLS.check(cells)
            if _NOT_CALCULATED.search(data):
                found.add(names.get(part, ""))
    return found


def _names_by_part(package: zipfile.ZipFile) -> dict[str, str]:
    relations = etree.fromstring(package.read("xl/_rels/workbook.xml.rels"))
    targets = {relation.get("Id"): relation.get("Target", "") for relation in relations}
    names = {}
    for sheet in etree.fromstring(package.read("xl/workbook.xml")).iter(f"{_MAIN}sheet"):
        target = targets.get(sheet.get(_RELATION), "").lstrip("/")
        names[target if target.startswith("xl/") else f"xl/{target}"] = sheet.get("name", "")
    return names


def _sheet(worksheet: Any) -> tuple[Sheet, list[Cell]]:
    """The cells that are shown, and those that are hidden. What a filter hides is still content."""
    rows, columns = _hidden(worksheet)
    sheet = Sheet(worksheet.title)
    hidden = []
    # The library's own table of cells: the range it names may hold billions of empty ones.
    for (row, column), found in sorted(worksheet._cells.items()):
        if row > _MOST_ROWS or column > _MOST_COLUMNS:
            raise DocumentCorrupt()
        cell = _cell(found)
        if cell is None:
            continue
        if row in rows or column in columns:
            hidden.append(cell)
        else:
            sheet.cells[row, column] = cell
    sheet.merged = [merged.bounds for merged in worksheet.merged_cells.ranges]
    sheet.headers = list(_headers(worksheet))
    return sheet, hidden


def _hidden(worksheet: Any) -> tuple[set[int], set[int]]:
    filtered = bool(worksheet.auto_filter.ref) or bool(worksheet.tables)
    rows = set() if filtered else {row for row, dimension in worksheet.row_dimensions.items() if dimension.hidden}
    columns: set[int] = set()
    for dimension in worksheet.column_dimensions.values():
        if dimension.hidden and dimension.min and dimension.max:
            columns.update(range(dimension.min, min(dimension.max, _MOST_COLUMNS) + 1))
    return rows, columns


def _cell(found: Any) -> Cell | None:
    value = found.value
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    text = show(value, found.number_format or "General")
    is_value = not isinstance(value, str) or is_number(value)
    return Cell(text, is_value, bold=bool(found.font and found.font.b)) if text.strip() else None


def _headers(worksheet: Any) -> Iterator[Cells]:
    """Ranges that the file calls headers: of tables, of a filter, and rows that stay when one scrolls."""
    for table in worksheet.tables.values():
        if table.headerRowCount:
            left, top, right, _ = range_boundaries(table.ref)
            yield left, top, right, top + table.headerRowCount - 1
    if worksheet.auto_filter.ref:
        left, top, right, _ = range_boundaries(worksheet.auto_filter.ref)
        if left and top and right:
            yield left, top, right, top
    frozen = worksheet.freeze_panes
    if frozen:
        _, row, _, _ = range_boundaries(frozen)
        if row and row > 1:
            yield 1, 1, _MOST_COLUMNS, row - 1
