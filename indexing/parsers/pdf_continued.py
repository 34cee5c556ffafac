"""Tables of a PDF that go on over a page break: one table, its header once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from indexing.parsers.pdf_paragraphs import Paragraph
from indexing.parsers.pdf_types import Table
from indexing.parsers.pdf_words import is_number

_DRIFT = 20.0  # points that the sides of the parts may differ by
_CONTINUED = re.compile(
    r"(?:(?:Table|Exhibit)\b.{0,80}\bcont(?:inued|['’]d|\.)?\W*|续表.{0,40}|表.{0,60}[（(]续[)）])", re.IGNORECASE
)


def join_tables(found: Sequence[Paragraph]) -> list[Paragraph]:
    """`found` with the parts of each table as one, if nothing stands between them but “Table 3 (continued)”."""
    result: list[Paragraph] = []
    for paragraph in found:
        last = result[-1] if result else None
        said = last is not None and not last.tables and _CONTINUED.fullmatch(last.text) is not None
        before = result[-2] if said and len(result) > 1 else last
        if paragraph.tables and before is not None and before.tables:
            more = _continuation(before.tables[0], before.tables[-1], paragraph.tables[0], said)
            if more is not None:
                before.tables.append(more)
                if said:
                    result.pop()
                continue
        result.append(paragraph)
    return result


def _continuation(first: Table, last: Table, table: Table, said: bool) -> Table | None:
    """`table` without the header that it repeats, if it goes on with the one that `last` is the last part of."""
    if table.page != last.page + 1 or len(table.rows[0]) != len(first.rows[0]):
        return None
    repeated = _repeated(first, table)
    if not repeated and not said:
        near = abs(table.region[0] - last.region[0]) < _DRIFT and abs(table.region[2] - last.region[2]) < _DRIFT
        if not near or _has_own_header(first, table):
            return None
    return replace(table, rows=table.rows[repeated:], regions=table.regions[repeated:])


def _repeated(first: Table, table: Table) -> int:
    """How many of the first rows are the header once more."""
    header = first.rows[: first.header_rows]
    if not header or len(table.rows) <= len(header):
        return 0
    same = [_squeezed(one) == _squeezed(other) for one, other in zip(header, table.rows, strict=False)]
    return len(header) if all(same) else 0


def _squeezed(row: Sequence[str]) -> list[str]:
    return ["".join(cell.split()) for cell in row]


def _has_own_header(first: Table, table: Table) -> bool:
    """Whether words stand where the columns of the table before have numbers."""
    body = first.rows[first.header_rows :]
    return any(
        not is_number(cell) and cell and sum(is_number(row[column]) for row in body) * 2 > len(body)
        for column, cell in enumerate(table.rows[0])
        if column
    )
