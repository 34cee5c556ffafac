"""Tables in plain text, known for sure: drawn with lines, divided by tabs, or set in columns of spaces; and what only looks
like them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from indexing.parsers.clean import one_line
from indexing.parsers.limits import LONGEST_TABLE_LINE
from indexing.parsers.text_columns import CELLS, NUMBER, TextColumns, columns, is_code, running_text

Row = tuple[str, ...]
_BORDER = re.compile(r"\s*(?=.*[-=─━═].*[-=─━═])[-+=|:\s─-╿]+")
_BARS = re.compile(r"[|│┃║]")
_FEWEST_ALIGNED = 3  # rows of columns of spaces


@dataclass(frozen=True, slots=True)
class TextTable:
    """Lines [first, end), 0-based; `places` are the lines of each row."""

    first: int
    end: int
    rows: tuple[Row, ...]
    places: tuple[int, ...]
    header_rows: int


def find_tables(lines: Sequence[str]) -> Iterator[TextTable | TextColumns]:
    """Tables and columns of running text among the lines of a file, in order."""
    at = not_drawn = not_running = not_aligned = 0  # up to these lines there is none of a kind
    while at < len(lines):
        found: TextTable | TextColumns | None = None
        if lines[at].strip() and len(lines[at]) <= LONGEST_TABLE_LINE:
            if at >= not_drawn:
                found, not_drawn = _drawn(lines, at)
            if found is None and at >= not_running:
                found, not_running = running_text(lines, at)
            if found is None and at >= not_aligned:
                table = _divided(lines, at, _by_tabs) or _aligned(lines, at)
                if table is not None and is_code(table.rows):
                    not_aligned = table.end
                else:
                    found = table
        if found is not None:
            yield found
        at = found.end if found is not None else at + 1


def _drawn(lines: Sequence[str], first: int) -> tuple[TextTable | None, int]:
    """With a line of dashes, and bars between the cells; and where such lines end."""
    end, places, borders = first, list[int](), list[int]()
    rows: list[list[str]] = []
    while end < len(lines) and lines[end].strip() and len(lines[end]) <= LONGEST_TABLE_LINE:
        if _BORDER.fullmatch(lines[end]):
            borders.append(len(rows))
        elif len(parts := _BARS.split(lines[end].strip())) > 1:
            rows.append(parts)
            places.append(end)
        else:
            break
        end += 1
    if not borders or len(rows) < 2:
        return None, max(end, first + 1)
    if all(not row[0].strip() and not row[-1].strip() for row in rows):
        rows = [row[1:-1] for row in rows]
    width = len(rows[0])
    if width < 2 or any(len(row) != width for row in rows):
        return None, max(end, first + 1)
    header_rows = next((count for count in borders if count), 0)
    cells = tuple(tuple(map(one_line, row)) for row in rows)
    header_rows = header_rows if header_rows < min(len(rows), 3) else 0
    return TextTable(first, end, cells, tuple(places), header_rows), end


def _divided(lines: Sequence[str], first: int, cells_of: Callable[[str], Row]) -> TextTable | None:
    rows: list[Row] = []
    for line in (
        lines[number] for number in range(first, len(lines))
    ):  # a slice would copy the file for each of its lines
        cells = cells_of(line)
        if len(cells) < 2 or (rows and len(cells) != len(rows[0])):
            break
        rows.append(cells)
    if len(rows) < 2:
        return None
    end = first + len(rows)
    return TextTable(first, end, tuple(rows), tuple(range(first, end)), _header_rows(rows))


def _by_tabs(line: str) -> Row:
    """Nothing where a tab only indents or the line is none of a table."""
    if "\t" not in line or line.startswith("\t") or len(line) > LONGEST_TABLE_LINE:
        return ()
    return tuple(map(one_line, line.split("\t")))


def _aligned(lines: Sequence[str], first: int) -> TextTable | None:
    """Cells that begin or end in the same columns in every row, at least two spaces apart."""
    rows: list[Row] = []
    edges: list[tuple[int, int]] = []  # of the cells of the first row
    for line in (lines[number] for number in range(first, len(lines))):
        found = list(CELLS.finditer(line)) if len(line) <= LONGEST_TABLE_LINE else []
        own = [(columns(line[: match.start()]), columns(line[: match.end()])) for match in found]
        edges = edges or own
        if len(own) < 2 or len(own) != len(edges):
            break
        if any(
            begin != other_begin and end != other_end
            for (begin, end), (other_begin, other_end) in zip(own, edges, strict=True)
        ):
            break
        rows.append(tuple(one_line(match[0]) for match in found))
    if len(rows) < _FEWEST_ALIGNED:
        return None
    end = first + len(rows)
    return TextTable(first, end, tuple(rows), tuple(range(first, end)), _header_rows(rows))


def _header_rows(rows: Sequence[Row]) -> int:
    """One where words stand above numbers."""
    if any(map(NUMBER.fullmatch, rows[0])):
        return 0
    return int(any(NUMBER.fullmatch(cell) for row in rows[1:] for cell in row))
