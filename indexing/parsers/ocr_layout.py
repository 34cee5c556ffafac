"""Lines seen in a picture in the order in which a person reads them: columns one after the other, a row from left to right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from indexing.locators import around
from indexing.parsers.clean import is_cjk, join_lines
from indexing.parsers.scans import ScannedLine

_FEWEST_LINES = 3  # of a column; two short lines side by side are a row
_PROSE = 8.0  # times the height: columns of shorter lines are a table or a form, and read by rows
_CROSSING = 0.25  # share of the lines that may lie across the gap between two columns: titles and pictures' captions
_SAME_ROW = 0.5  # of the lower one's height, that both share
_WIDE = 1.0  # times the height: a gap in a row that is a space even between Chinese characters


def in_reading_order(rows: Sequence[ScannedLine]) -> list[ScannedLine]:
    """`rows` (any order) with each column by itself, pieces of one line joined."""
    gap = _gap_between_columns(rows)
    if gap is None:
        return [_joined(row) for row in _rows(rows)]
    result: list[ScannedLine] = []
    band: list[ScannedLine] = []
    for row in [*sorted(rows, key=lambda row: row.region[1]), None]:
        if row is not None and not _lies_across(row, gap):
            band.append(row)
            continue
        for column in ([x for x in band if x.region[2] <= gap], [x for x in band if x.region[0] >= gap]):
            result += in_reading_order(column)
        band = []
        if row is not None:
            result.append(row)
    return result


def _gap_between_columns(rows: Sequence[ScannedLine]) -> float | None:
    """Where (x) a page of columns is cut first: the place that fewest lines lie across, with prose on both sides."""
    if len(rows) < 2 * _FEWEST_LINES:
        return None
    height = median(row.region[3] - row.region[1] for row in rows)
    best: tuple[int, float, float] | None = None
    for place in sorted({row.region[0] - 0.1 * height for row in rows}):
        across = [row for row in rows if _lies_across(row, place)]
        left = [row for row in rows if row.region[2] <= place]
        right = [row for row in rows if row.region[0] >= place]
        if len(across) > _CROSSING * len(rows) or not (_is_column(left, height) and _is_column(right, height)):
            continue
        space = min(row.region[0] for row in right) - max(row.region[2] for row in left)
        if best is None or (len(across), -space) < best[:2]:
            best = (len(across), -space, place)
    return best[2] if best else None


def _is_column(rows: Sequence[ScannedLine], height: float) -> bool:
    return len(rows) >= _FEWEST_LINES and median(row.region[2] - row.region[0] for row in rows) >= _PROSE * height


def _lies_across(row: ScannedLine, place: float) -> bool:
    return row.region[0] < place < row.region[2]


def _rows(rows: Sequence[ScannedLine]) -> Iterator[list[ScannedLine]]:
    """Those of one height together, from left to right; from top to bottom."""
    together: list[ScannedLine] = []
    for row in sorted(rows, key=lambda row: (row.region[1] + row.region[3], row.region[0])):
        if together and not _same_height(together[-1], row):
            yield sorted(together, key=lambda row: row.region[0])
            together = []
        together.append(row)
    if together:
        yield sorted(together, key=lambda row: row.region[0])


def _same_height(one: ScannedLine, other: ScannedLine) -> bool:
    shared = min(one.region[3], other.region[3]) - max(one.region[1], other.region[1])
    return shared > _SAME_ROW * min(one.region[3] - one.region[1], other.region[3] - other.region[1])


def _joined(rows: Sequence[ScannedLine]) -> ScannedLine:
    text = ""
    for position, row in enumerate(rows):
        if position and text and is_cjk(text[-1]) and is_cjk(row.text[0]):
            before = rows[position - 1].region
            text += " " if row.region[0] - before[2] > _WIDE * (before[3] - before[1]) else ""
        text = join_lines([text, row.text])
    length = sum(len(row.text) for row in rows)
    confidence = sum(row.confidence * len(row.text) for row in rows) / length
    return ScannedLine(text, round(confidence, 2), around([row.region for row in rows]))
