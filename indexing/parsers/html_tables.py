"""Tables of an HTML page: cells where a reader sees them, header rows recognised by their markup."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from selectolax.lexbor import LexborNode

from indexing.blocks import BlockKind
from indexing.parsers.assemble import Piece
from indexing.parsers.html_furniture import is_furniture

_WIDEST_SPAN = 100  # columns or rows; files ask for millions
_LARGEST_SPAN = 1_000  # columns times rows


def is_layout(table: LexborNode) -> bool:
    """Whether the table only arranges other content: it says so, holds further tables or never has two columns."""
    if (table.attributes.get("role") or "") in ("presentation", "none"):
        return True
    if any(node.tag == "table" for node in islice(table.traverse(), 1, None)):  # looks no further than the first
        return True
    return all(len(_cells(row)) < 2 for row in table.css("tr"))


def read_table(table: LexborNode, *, cell_text: Callable[[LexborNode], str]) -> list[Piece]:
    """The caption, if any, and the table. A cell over several columns or rows has its text once, at its start."""
    rows: list[tuple[str, ...]] = []
    header_rows = 0
    below: dict[int, int] = {}  # column → how many more rows a cell from above reaches into it
    for row in table.css("tr"):
        if is_furniture(row, inside_content=True):
            continue
        rows.append(_read_row(row, below, cell_text))
        if header_rows == len(rows) - 1 and _is_header(row):
            header_rows += 1
    pieces = [Piece(BlockKind.TABLE, rows=tuple(rows), header_rows=header_rows)]
    caption = table.css_first("caption")
    if caption is not None and (text := cell_text(caption)):
        pieces.insert(0, Piece(BlockKind.PARAGRAPH, text))
    return pieces


def _read_row(row: LexborNode, below: dict[int, int], cell_text: Callable[[LexborNode], str]) -> tuple[str, ...]:
    cells: list[str] = []

    def skip_occupied() -> None:
        while below.get(len(cells), 0):
            below[len(cells)] -= 1
            cells.append("")

    for cell in _cells(row):
        skip_occupied()
        columns = _span(cell, "colspan")
        rows = min(_span(cell, "rowspan"), _LARGEST_SPAN // columns)
        for column in range(len(cells), len(cells) + columns):
            below[column] = rows - 1
        cells.extend([cell_text(cell), *[""] * (columns - 1)])
    skip_occupied()
    return tuple(cells)


def _cells(row: LexborNode) -> list[LexborNode]:
    return [cell for cell in row.iter() if cell.tag in ("td", "th") and not is_furniture(cell, inside_content=True)]


def _is_header(row: LexborNode) -> bool:
    if row.parent is not None and row.parent.tag == "thead":
        return True
    cells = _cells(row)
    return bool(cells) and all(cell.tag == "th" for cell in cells)


def _span(cell: LexborNode, name: str) -> int:
    value = cell.attributes.get(name) or ""
    return min(max(int(value), 1), _WIDEST_SPAN) if value.isascii() and value.isdigit() and len(value) < 8 else 1
