"""Tables of a PPTX: cells on the grid, what is merged, which rows are the header."""

from __future__ import annotations

from typing import Any

from indexing.blocks import BlockKind
from indexing.parsers import limits
from indexing.parsers.assemble import Piece
from indexing.parsers.pptx_text import paragraph_text


def read_table(table: Any) -> Piece:
    """Cells merged over rows are repeated in each; in the header, those merged over columns too. Raises `DocumentTooLarge`."""
    cells = [list(row.tc_lst) for row in table._tbl.tr_lst]
    texts = [["" if cell.hMerge or cell.vMerge else _text(cell) for cell in row] for row in cells]
    merged = [
        (top, left, cell.rowSpan, cell.gridSpan)
        for top, row in enumerate(cells)
        for left, cell in enumerate(row)
        if cell.rowSpan > 1 or cell.gridSpan > 1
    ]
    header = _header_rows(table, len(cells), [one for one in merged if one[0] == 0])
    area = 0
    for top, left, height, width in merged:
        rows = range(top, min(top + height, len(cells)))
        columns = range(left, left + (max(width, 1) if top < header else 1))
        area += len(rows) * len(columns)
        limits.CELLS.check(area)
        for r in rows:
            for c in columns:
                if c < len(texts[r]):
                    texts[r][c] = texts[top][left]
    return Piece(BlockKind.TABLE, rows=tuple(map(tuple, texts)), header_rows=header)


def _text(cell: Any) -> str:
    return "\n".join(paragraph_text(paragraph) for paragraph in cell.iter("{*}p"))


def _header_rows(table: Any, rows: int, merged: list[tuple[int, int, int, int]]) -> int:
    """The first row if the table's style sets it apart, with the rows that cells of it are merged into; a row of labels
    below cells merged over columns belongs to it, too."""
    if not table.first_row or rows < 2:
        return 0
    height = max([1, *(height for _, _, height, _ in merged)])
    if height == 1 and rows > 2 and any(width > 1 for _, _, _, width in merged):
        height = 2
    return min(height, rows - 1)
