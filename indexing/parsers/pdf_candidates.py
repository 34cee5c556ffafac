"""Stretches of a PDF page whose rows have white between their words at the same places: tables, or text in columns.

The idea of white corridors between columns: Rus and Summers, “Using White Space for Automated Document Structuring”, 1994.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from indexing.parsers.pdf_aligned_rows import Columns
from indexing.parsers.pdf_words import CORRIDOR, Row, Word, is_number, text_of

LEAST_ROWS = 3
_CROSSING = 0.12  # share of rows whose words may stand in a corridor: titles inside the table
_APART = 2.6  # row heights between two rows of one table
_TITLE = re.compile(
    r"(?:Table|TABLE|Tab\.|Figure|Fig\.|Exhibit|Box|表|图|圖|附表)\s*[\dA-Z一二三四五六七八九十][\w.:-]*"
)


@dataclass(slots=True)
class Candidate:
    rows: list[Row]
    columns: Columns = field(default_factory=lambda: Columns([]))
    is_text: bool = False


def candidates(rows: Sequence[Row]) -> list[Candidate]:
    """Stretches of at least `LEAST_ROWS` rows in at least two columns."""
    return [part for candidate in _stretches(rows) for part in _split(candidate)]


def _stretches(rows: Sequence[Row]) -> list[Candidate]:
    """Runs of rows of several parts, near each other; a row of one part may stand between."""
    found: list[Candidate] = []
    run: list[Row] = []
    for row in rows:
        if run and row.region[1] - run[-1].region[3] > _APART * row.height:
            found.append(Candidate(run))
            run = []
        run.append(row)
    if run:
        found.append(Candidate(run))
    return [part for candidate in found for part in _trimmed(candidate)]


def _trimmed(candidate: Candidate) -> list[Candidate]:
    """Without lines of prose at the ends and in the middle: several rows of one part after each other."""
    parts: list[Candidate] = []
    current: list[Row] = []
    alone = 0
    for row in candidate.rows:
        is_alone = len(row.segments()) < 2
        alone = alone + 1 if is_alone else 0
        if alone > 2 and current:
            parts.append(Candidate(current))
            current = []
        if current or not is_alone:
            current.append(row)
    if current:
        parts.append(Candidate(current))
    for part in parts:
        while part.rows and len(part.rows[-1].segments()) < 2:
            part.rows.pop()
    return [part for part in parts if len(part.rows) >= LEAST_ROWS]


def _split(candidate: Candidate) -> list[Candidate]:
    """The candidate with its columns; none where it has fewer than two."""
    candidate.columns = Columns(_corridors(candidate.rows))
    while candidate.columns.edges and len(candidate.rows) >= LEAST_ROWS and _is_title(candidate, candidate.rows[0]):
        candidate.rows.pop(0)
    return [candidate] if candidate.columns.edges and len(candidate.rows) >= LEAST_ROWS else []


def _is_title(candidate: Candidate, row: Row) -> bool:
    """Whether the first row stands over the table: in one part from its left edge on, or over most of its columns."""
    segments = row.segments()
    first = candidate.columns.at(segments[0][0].region[0] + 0.1)
    if _TITLE.match(text_of(row.words)) and not is_number(text_of(segments[-1])):
        return True
    if len(segments) == 1 and (first == 0 or text_of(segments[0])[0] in "([（【"):
        return True
    widest = max(
        candidate.columns.at(segment[-1].region[2] - 0.1) - candidate.columns.at(segment[0].region[0] + 0.1)
        for segment in segments
    )
    return (
        widest > 0.6 * len(candidate.columns.edges)
        and len(segments) <= 2
        and len(candidate.columns.edges) > 1
        and first == 0
    )


def _corridors(rows: Sequence[Row]) -> list[float]:
    """Where white runs down between words: few rows cross it, and there are rows with words on both sides."""
    several = [row for row in rows if len(row.segments()) > 1] or list(rows)
    first = next((at for at, row in enumerate(several) if _is_numeric(row)), 0)
    if len(several) - first < LEAST_ROWS:
        first = 0
    labels, body = several[:first], several[first:]  # labels above stand over several columns
    room = CORRIDOR * median(row.height for row in body) * median(row.spacing for row in body)
    found = [white for white in _whites(body, int(_CROSSING * len(body))) if white[1] - white[0] > room]
    edges = [_clear_of(white, labels) for white in found]
    return [edge for edge in edges if _separates(edge, body)]


def _whites(rows: Sequence[Row], allowed: int) -> list[tuple[float, float]]:
    """(left, right) of stretches with words of at most `allowed` rows."""
    events = sorted(event for row in rows for left, right in _runs(row) for event in ((left, 1), (right, -1)))
    found, covered, start = list[tuple[float, float]](), 0, None
    for x, change in events:
        if start is not None and covered <= allowed < covered + change:
            found.append((start, x))
            start = None
        covered += change
        if start is None and covered <= allowed:
            start = x
    return found


def _clear_of(white: tuple[float, float], labels: Sequence[Row]) -> float:
    """The middle of the white, of the part of it that the fewest labels reach into."""
    left, right = white
    ends = sorted({left, right, *(x for row in labels for run in _runs(row) for x in run if left < x < right)})
    runs = [run for row in labels for run in _runs(row)]
    crossed = [(sum(run[0] < b and run[1] > a for run in runs), a - b, (a + b) / 2) for a, b in pairwise(ends)]
    return min(crossed)[2]


def _is_numeric(row: Row) -> bool:
    behind = [is_number(text_of(segment)) for segment in row.segments()[1:]]
    return sum(behind) * 2 > len(behind)


def _runs(row: Row) -> list[tuple[float, float]]:
    """Where a row has words; between words of one part there is no white."""
    return [(segment[0].region[0], segment[-1].region[2]) for segment in row.segments(CORRIDOR)]


def _separates(edge: float, rows: Sequence[Row]) -> bool:
    both = sum(
        any(word.region[2] <= edge for word in row.words) and any(word.region[0] >= edge for word in row.words)
        for row in rows
    )
    return both >= max(2, 0.3 * len(rows))


def by_column(candidate: Candidate, row: Row) -> list[str]:
    words: list[list[Word]] = [[] for _ in range(candidate.columns.count)]
    for word in row.words:
        words[candidate.columns.of(word)].append(word)
    return [text_of(column) for column in words]
