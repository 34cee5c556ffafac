"""Words in columns to rows of cells: which visual rows are the header, which go on in the next, what spans columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from indexing.locators import Region, around
from indexing.parsers.pdf_rules import Rules
from indexing.parsers.pdf_words import CORRIDOR, Row, Word, is_number, text_of

_LEADERS = re.compile(r"(?:\s*\.){4,}\s*$|[.…·]{4,}\s*$|(?:\s\.){2,}\s*$")
_CLOSE = 0.6  # of a line's height: the most white between two lines of one cell


@dataclass(frozen=True, slots=True)
class Columns:
    """Where the white between columns has its middle, from left to right."""

    edges: list[float]

    @property
    def count(self) -> int:
        return len(self.edges) + 1

    def at(self, x: float) -> int:
        return sum(x > edge for edge in self.edges)

    def of(self, word: Word) -> int:
        return self.at((word.region[0] + word.region[2]) / 2)

    def reach(self, words: Sequence[Word]) -> tuple[int, int]:
        return self.at(words[0].region[0] + 0.1), self.at(words[-1].region[2] - 0.1)


@dataclass(slots=True)
class AlignedRow:
    """`spans`: (first, last column, text) of parts that reach over several."""

    texts: list[str]
    region: Region
    spans: list[tuple[int, int, str]] = field(default_factory=list)

    @property
    def has_numbers(self) -> bool:
        return any(is_number(text) for text in self.texts[1:] if text)

    @property
    def height(self) -> float:
        return self.region[3] - self.region[1]


def aligned_rows(rows: Sequence[Row], columns: Columns, rules: Rules) -> tuple[list[AlignedRow], int]:
    """The table's rows, and how many of them are its header."""
    lines = [_line(row, columns, rules) for row in rows]
    first = next((at for at, line in enumerate(lines) if line.has_numbers), None)
    if first is None:
        first = _ruled_header(lines, rules)
    header = _header(lines[:first], columns, rules)
    found = [*header, *_body(lines[first:], rules)]
    for row in found:
        row.texts = [_LEADERS.sub("", text) for text in row.texts]
    return [row for row in found if any(row.texts)], len(header)


def _line(row: Row, columns: Columns, rules: Rules) -> AlignedRow:
    line = AlignedRow([""] * columns.count, row.region)
    for segment in row.segments():
        first, last = columns.reach(segment)
        if last > first and not _fills(segment, columns) and _crosses(segment, columns, rules, row.spacing):
            line.spans.append((first, last, text_of(segment)))
            continue
        for column in range(first, last + 1):
            inside = [word for word in segment if columns.of(word) == column]
            line.texts[column] = f"{line.texts[column]} {text_of(inside)}".strip()
    return line


def _fills(segment: Sequence[Word], columns: Columns) -> bool:
    """Whether all are numbers, each in a column of its own: wide ones leave little white."""
    return all(is_number(word.text) for word in segment) and len({columns.of(word) for word in segment}) == len(segment)


def _crosses(segment: Sequence[Word], columns: Columns, rules: Rules, spacing: float) -> bool:
    """Whether words stand close together where columns have white between them."""
    height = segment[0].region[3] - segment[0].region[1]
    middle = (segment[0].region[1] + segment[0].region[3]) / 2
    first, last = columns.reach(segment)
    for edge in columns.edges[first:last]:
        beside = next(((a, b) for a, b in pairwise(segment) if a.region[2] <= edge <= b.region[0]), None)
        if beside is None:
            return True  # a word stands on the edge
        one, other = beside
        if is_number(one.text) and is_number(other.text):
            continue  # numbers fill their columns
        ruled = any(
            one.region[2] - 1 <= rule[0] <= other.region[0] + 1 and rule[1] <= middle <= rule[3] for rule in rules.down
        )
        if not ruled and other.region[0] - one.region[2] < CORRIDOR * height * spacing:
            return True
    return False


def _ruled_header(lines: Sequence[AlignedRow], rules: Rules) -> int:
    """Of a table of words: what stands above the first rule inside it that runs across most of it; else the first row."""
    left, _, right, _ = around([line.region for line in lines])
    for at, (line, below) in enumerate(pairwise(lines), start=1):
        if _parted(line, below, rules, left, right):
            return at if at <= 4 else 1
    return 1


def _parted(line: AlignedRow, below: AlignedRow, rules: Rules, left: float, right: float) -> bool:
    """Whether a rule runs between two lines over most of the stretch from `left` to `right`."""
    length = sum(
        max(min(rule[2], right) - max(rule[0], left), 0.0)
        for rule in rules.across
        if line.region[3] - 0.3 * line.height <= rule[1] <= below.region[1] + 0.3 * below.height
    )
    return length > 0.6 * (right - left)


def _header(lines: Sequence[AlignedRow], columns: Columns, rules: Rules) -> list[AlignedRow]:
    """Labels that go on in the next line are one cell; one that stands over several columns is in each of them."""
    rows: list[AlignedRow] = []
    joined: AlignedRow | None = None
    for line in lines:
        spans = _spans(line, columns, rules)
        if spans:
            if joined is not None:
                rows.append(joined)
                joined = None
            for first, last, text in spans:
                for column in range(first, last + 1):
                    line.texts[column] = f"{line.texts[column]} {text}".strip() if line.texts[column] != text else text
            rows.append(line)
        else:
            joined = line if joined is None else _one(joined, line)
    return rows if joined is None else [*rows, joined]


def _spans(line: AlignedRow, columns: Columns, rules: Rules) -> list[tuple[int, int, str]]:
    """Of a header's line; a label over a group of columns spans as many as the rule below it, which may be wider than it."""
    below = [rule for rule in rules.across if -2 <= rule[1] - line.region[3] <= 0.8 * line.height]
    spans = list(line.spans)
    for rule in below:
        first, last = columns.at(rule[0] + line.height / 2), columns.at(rule[2] - line.height / 2)
        if last <= first or (first == 0 and last == columns.count - 1):
            continue
        labels = [column for column in range(first, last + 1) if line.texts[column]]
        inside = [span for span in spans if first <= span[0] and span[1] <= last]
        if len(labels) + len(inside) != 1:
            continue
        if labels:
            spans.append((first, last, line.texts[labels[0]]))
            line.texts[labels[0]] = ""
        else:
            spans[spans.index(inside[0])] = (first, last, inside[0][2])
    return spans


def _body(lines: Sequence[AlignedRow], rules: Rules) -> list[AlignedRow]:
    """A line that only goes on with the one above is no row of its own."""
    rows: list[AlignedRow] = []
    last: AlignedRow | None = None
    for line in lines:
        for first, _, text in line.spans:
            line.texts[first] = f"{line.texts[first]} {text}".strip()
        if last is not None and _goes_on(last, line, rules):
            rows[-1] = _one(rows[-1], line)
        else:
            rows.append(line)
        last = line
    return rows


def _goes_on(last: AlignedRow, line: AlignedRow, rules: Rules) -> bool:
    if _parted(last, line, rules, *line.region[::2]):
        return False
    close = line.region[1] - last.region[3] < _CLOSE * line.height
    return close and not line.texts[0] and not line.has_numbers and not line.spans


def _one(above: AlignedRow, below: AlignedRow) -> AlignedRow:
    texts = [f"{one}\n{other}".strip() for one, other in zip(above.texts, below.texts, strict=True)]
    return AlignedRow(texts, around([above.region, below.region]))
