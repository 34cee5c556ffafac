"""Tables of an HTML page: cells where a reader sees them, header rows recognised by their markup."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from selectolax.lexbor import LexborNode

from indexing.blocks import BlockKind
from indexing.parsers.assemble import Piece
from indexing.parsers.html_furniture import Aside, Fate, fate

_WIDEST_SPAN = 100  # columns or rows; files ask for millions
_LARGEST_SPAN = 1_000  # columns times rows
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LONGEST_REPEATED = 500  # characters of a cell that stands in each of its rows


def is_layout(table: LexborNode) -> bool:
    """Whether the table only arranges other content: it says so, never has two columns, or holds further tables among
    what is no cell's content."""
    if (table.attributes.get("role") or "") in ("presentation", "none"):
        return True
    if any(node.tag == "table" for node in islice(table.traverse(), 1, None)):  # looks no further than the first
        return not _is_grid(table)
    return all(len(_cells(row)) < 2 for row in table.css("tr"))


def _is_grid(table: LexborNode) -> bool:
    """Whether a table with tables in its cells is one of data: rows of equally many short cells, without headings."""
    rows = [row for row in table.css("tr") if _table_of(row) == table.mem_id]
    widths = {sum(_span(cell, "colspan") for cell in _cells(row)) for row in rows}
    if len(rows) < 2 or len(widths) != 1 or widths.pop() < 2:
        return False
    if any(node.tag in _HEADINGS for node in table.traverse()):
        return False
    return all(len(cell.text(strip=True)) <= _LONGEST_REPEATED for row in rows for cell in _cells(row))


def _table_of(row: LexborNode) -> int | None:
    node = row.parent
    while node is not None and node.tag != "table":
        node = node.parent
    return node.mem_id if node is not None else None


def read_table(table: LexborNode, *, cell_text: Callable[[LexborNode], str], aside: Aside) -> list[Piece]:
    """The caption, if any, and the table. A cell over several rows has its text in each, in a header also in each of its
    columns. Hidden rows and cells go to `aside`."""
    rows: list[tuple[str, ...]] = []
    header_rows = 0
    below: dict[
        int, tuple[int, str]
    ] = {}  # column → how many more rows a cell from above reaches into it, and its text
    for row in table.css("tr"):
        if _table_of(row) != table.mem_id:
            continue  # of a table in a cell, which is that cell's text
        if (what := _row_fate(row)) is not Fate.KEPT:
            aside.add(what, row)
            continue
        for cell in row.iter():
            aside.add(fate(cell, inside_content=True), cell)
        is_header = header_rows == len(rows) and _is_header(row)
        header_rows += is_header
        rows.append(_read_row(row, below, is_header, cell_text))
    pieces = [Piece(BlockKind.TABLE, rows=tuple(rows), header_rows=header_rows)]
    caption = table.css_first("caption")
    if caption is not None and (what := fate(caption, inside_content=True)) is not Fate.KEPT:
        aside.add(what, caption)
    elif caption is not None and (text := cell_text(caption)):
        pieces.insert(0, Piece(BlockKind.CAPTION, text))
    return pieces


def _read_row(
    row: LexborNode, below: dict[int, tuple[int, str]], is_header: bool, cell_text: Callable[[LexborNode], str]
) -> tuple[str, ...]:
    cells: list[str] = []

    def fill_occupied() -> None:
        while below.get(len(cells), (0, ""))[0]:
            more, text = below[len(cells)]
            below[len(cells)] = more - 1, text
            cells.append(text)

    for cell in _cells(row):
        fill_occupied()
        columns = _span(cell, "colspan")
        rows = min(_span(cell, "rowspan"), _LARGEST_SPAN // columns)
        text = cell_text(cell)
        texts = [text] * columns if is_header else [text, *[""] * (columns - 1)]
        for column, part in enumerate(texts, len(cells)):
            below[column] = rows - 1, part if len(part) <= _LONGEST_REPEATED else ""
        cells.extend(texts)
    fill_occupied()
    return tuple(cells)


def _row_fate(row: LexborNode) -> Fate:
    """Its own, or that of the part of the table it is in."""
    own = fate(row, inside_content=True)
    around = row.parent
    if own is not Fate.KEPT or around is None or str(around.tag) not in ("tbody", "thead", "tfoot"):
        return own
    return fate(around, inside_content=True)


def _cells(row: LexborNode) -> list[LexborNode]:
    return [cell for cell in row.iter() if cell.tag in ("td", "th") and fate(cell, inside_content=True) is Fate.KEPT]


def _is_header(row: LexborNode) -> bool:
    if row.parent is not None and row.parent.tag == "thead":
        return True
    cells = _cells(row)
    return bool(cells) and all(cell.tag == "th" for cell in cells)


def _span(cell: LexborNode, name: str) -> int:
    value = cell.attributes.get(name) or ""
    return min(max(int(value), 1), _WIDEST_SPAN) if value.isascii() and value.isdigit() and len(value) < 8 else 1
