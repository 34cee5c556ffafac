"""Lines seen in a picture in the order in which a person reads them: columns one after the other, a row from left to right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from indexing.locators import around
from indexing.parsers.clean import join_lines
from indexing.parsers.scans import ScannedLine

_FEWEST_LINES = 3  # of a column; two short lines side by side are a row
_PROSE = 8.0  # times the height: columns of shorter lines are a table or a form, and read by rows
_CROSSING = 0.25  # share of the lines that may lie across the gap between two columns: titles and pictures' captions
_SAME_ROW = 0.5  # of the lower one's height, that both share
_WIDE = 1.0  # times the height: a gap in a row that is a space even between Chinese characters
_FAR = 2.0  # times the height: a gap between two cells


def in_reading_order(lines: Sequence[ScannedLine]) -> list[ScannedLine]:
    """`lines` (any order), each column by itself, pieces of one line joined."""
    gap = _gap_between_columns(lines)
    if gap is None:
        return [_joined(row) for row in _rows(lines)]
    result: list[ScannedLine] = []
    band: list[ScannedLine] = []  # lines beside each other, above the next one that lies across
    for line in sorted(lines, key=lambda line: line.region[1]):
        if _lies_across(line, gap):
            result += [*_columns(band, gap), line]
            band = []
        else:
            band.append(line)
    return result + _columns(band, gap)


def _columns(lines: Sequence[ScannedLine], gap: float) -> list[ScannedLine]:
    left = [line for line in lines if line.region[2] <= gap]
    right = [line for line in lines if line.region[0] >= gap]
    return in_reading_order(left) + in_reading_order(right)


def _gap_between_columns(lines: Sequence[ScannedLine]) -> float | None:
    """Where (x) a page of columns is cut: the place that fewest lines lie across, the widest of those, prose on both sides."""
    if len(lines) < 2 * _FEWEST_LINES:
        return None
    height = median(line.region[3] - line.region[1] for line in lines)
    best: tuple[int, float, float] | None = None
    for place in sorted({line.region[0] - 0.1 * height for line in lines}):
        left = [line for line in lines if line.region[2] <= place]
        right = [line for line in lines if line.region[0] >= place]
        across = len(lines) - len(left) - len(right)
        if across > _CROSSING * len(lines) or not (_is_column(left, height) and _is_column(right, height)):
            continue
        space = min(line.region[0] for line in right) - max(line.region[2] for line in left)
        if best is None or (across, -space) < best[:2]:
            best = (across, -space, place)
    return best[2] if best else None


def _is_column(lines: Sequence[ScannedLine], height: float) -> bool:
    return len(lines) >= _FEWEST_LINES and median(line.region[2] - line.region[0] for line in lines) >= _PROSE * height


def _lies_across(line: ScannedLine, place: float) -> bool:
    return line.region[0] < place < line.region[2]


def _rows(lines: Sequence[ScannedLine]) -> Iterator[list[ScannedLine]]:
    """Those of one height together, from left to right; from top to bottom."""
    row: list[ScannedLine] = []
    for line in sorted(lines, key=lambda line: (line.region[1] + line.region[3], line.region[0])):
        if row and not _same_height(row[-1], line):
            yield sorted(row, key=lambda line: line.region[0])
            row = []
        row.append(line)
    if row:
        yield sorted(row, key=lambda line: line.region[0])


def _same_height(one: ScannedLine, other: ScannedLine) -> bool:
    shared = min(one.region[3], other.region[3]) - max(one.region[1], other.region[1])
    return shared > _SAME_ROW * min(one.region[3] - one.region[1], other.region[3] - other.region[1])


def _joined(row: Sequence[ScannedLine]) -> ScannedLine:
    text, is_row = row[0].text, False
    for before, line in pairwise(row):
        space = (line.region[0] - before.region[2]) / (before.region[3] - before.region[1])
        is_row = is_row or space > _FAR
        text = f"{text} {line.text}" if space > _WIDE else join_lines([text, line.text])
    length = sum(len(line.text) for line in row)
    confidence = sum(line.confidence * len(line.text) for line in row) / length
    return ScannedLine(text, round(confidence, 2), around([line.region for line in row]), is_row)
