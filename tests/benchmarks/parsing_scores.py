"""How well a document was read, beside a truth: pure functions over `Reading`s, the same for every tool.

**Text**: 1 − (Levenshtein distance ÷ length of the longer), after `plain`. **Words**: the share of the truth's words that
were found (recall), and of the found ones that are in the truth (precision), whatever their order. **Cells**: F1 over the
contents of all cells of all tables of a document that are not empty, as multisets. **Relations**: F1 over pairs of
neighbouring contents (the next cell that is not empty, to the right and below), the measure of the ICDAR 2013 table
competition: Göbel, Hassan, Oro, Orsi, “A methodology for evaluating algorithms for table understanding in PDF documents”,
DocEng 2012. It needs no choice of which found table is which true one. **Headings**: F1 over their texts, and over texts with
levels, where a level is the rank among those that the document uses (tools begin to count differently). **Order**: Kendall's
tau, moved to 0–1, of the places of all runs of five words that occur once in both: 1 in the truth's order, 0.5 at random, 0
backwards.

A cell merged over others may be written once or repeated in them, and tools differ in it. So the truth is written out in each
of the ways of `Merged`, and that one counts which suits the tool best. In texts a repeated cell is written once.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from rapidfuzz.distance import Levenshtein

MOST_CHARACTERS = 300_000
"""Of a text are compared: the distance takes time in the square of it."""
RUN = 5  # words

Grid = Sequence[Sequence[str]]

_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−"), "-") | dict.fromkeys(map(ord, "‘’‚′"), "'")
_DASHES |= dict.fromkeys(map(ord, "“”„″"), '"') | {ord("\xad"): None}
_CJK = r"\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef"
_BESIDE_CJK = re.compile(rf"(?<=[{_CJK}]) | (?=[{_CJK}])")
_WORD = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+")


class Merged(Enum):
    """Where a merged cell's content is written."""

    ONCE = "in its first place"
    DOWN = "in each row"
    HEADER = "in each row, and in header rows in each column"
    EVERYWHERE = "in each place"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a true table; the ends are inclusive, all are 0-based."""

    row: int
    column: int
    text: str
    last_row: int
    last_column: int


@dataclass(frozen=True, slots=True)
class Table:
    cells: tuple[Cell, ...]

    @classmethod
    def of(cls, grid: Grid) -> Table:
        """A table without merged cells."""
        return cls(tuple(Cell(r, c, text, r, c) for r, row in enumerate(grid) for c, text in enumerate(row)))

    def grid(self, merged: Merged) -> list[list[str]]:
        rows = 1 + max((cell.last_row for cell in self.cells), default=-1)
        columns = 1 + max((cell.last_column for cell in self.cells), default=-1)
        result = [[""] * columns for _ in range(rows)]
        header = self._header_rows()
        for cell in self.cells:
            down = cell.last_row if merged is not Merged.ONCE else cell.row
            across = merged is Merged.EVERYWHERE or (merged is Merged.HEADER and cell.row < header)
            for row in range(cell.row, down + 1):
                for column in range(cell.column, (cell.last_column if across else cell.column) + 1):
                    result[row][column] = cell.text
        return result

    def _header_rows(self) -> int:
        """The first row, with those that its merged cells reach down to."""
        last = 0
        for cell in sorted(self.cells, key=lambda cell: cell.row):
            if cell.row <= last:
                last = max(last, cell.last_row)
        return last + 1


@dataclass(frozen=True, slots=True)
class Reading:
    """A document as somebody read it. What a truth says nothing about is None."""

    text: str | None = None
    headings: tuple[tuple[int, str], ...] | None = None  # level, text
    tables: tuple[Table, ...] | None = None


@dataclass(frozen=True, slots=True)
class Overlap:
    """How two multisets meet."""

    common: int
    true: int
    found: int

    @property
    def f1(self) -> float:
        return 2 * self.common / (self.true + self.found) if self.true + self.found else 1.0

    @property
    def recall(self) -> float:
        return self.common / self.true if self.true else 1.0

    @property
    def precision(self) -> float:
        return self.common / self.found if self.found else 1.0


def scores(truth: Reading, found: Reading) -> dict[str, float]:
    """Every measure that the truth allows, by name, each in 0–1. None of cells or headings where both have none."""
    result: dict[str, float] = {}
    if truth.text is not None:
        text = found.text or ""
        result["text"] = text_similarity(truth.text, text)
        words = overlap(words_of(truth.text), words_of(text))
        result |= {"wordRecall": words.recall, "wordPrecision": words.precision}
        order = reading_order(truth.text, text)
        if order is not None:
            result["order"] = order
    if truth.tables is not None and (truth.tables or found.tables):
        result["cells"], result["relations"] = table_scores(truth.tables, found.tables or ())
    if truth.headings is not None and (truth.headings or found.headings):
        mine, theirs = truth.headings, found.headings or ()
        result["headings"] = overlap((key(text) for _, text in mine), (key(text) for _, text in theirs)).f1
        result["headingLevels"] = overlap(_ranked(mine), _ranked(theirs)).f1
    return result


def plain(text: str) -> str:
    """Without what is a matter of taste: kinds of spaces, dashes and quotes, width, spaces beside Chinese."""
    text = unicodedata.normalize("NFKC", text).translate(_DASHES)
    return _BESIDE_CJK.sub("", " ".join(text.split()))


def key(text: str) -> str:
    """What is compared of a cell or a heading: without any space."""
    return "".join(plain(text).split())


def words_of(text: str) -> list[str]:
    """Lower-cased words; each Chinese character is one."""
    return _WORD.findall(plain(text).lower())


def text_similarity(truth: str, found: str) -> float:
    return float(Levenshtein.normalized_similarity(plain(truth)[:MOST_CHARACTERS], plain(found)[:MOST_CHARACTERS]))


def overlap(truth: Iterable[Hashable], found: Iterable[Hashable]) -> Overlap:
    true, got = Counter(truth), Counter(found)
    return Overlap((true & got).total(), true.total(), got.total())


def table_scores(truth: Sequence[Table], found: Sequence[Table]) -> tuple[float, float]:
    """F1 of cells and of relations, with the truth's merged cells written as suits the tool best."""
    grids = [table.grid(Merged.ONCE) for table in found]
    got_cells, got_relations = _contents(grids), _relations(grids)
    best = (0.0, 0.0)
    for merged in Merged:
        true = [table.grid(merged) for table in truth]
        cells = overlap(_contents(true), got_cells).f1
        best = max(best, (overlap(_relations(true), got_relations).f1, cells))
    return best[1], best[0]


def reading_order(truth: str, found: str) -> float | None:
    """None where fewer than two runs of words occur once in both."""
    mine, theirs = _single_runs(words_of(truth)), _single_runs(words_of(found))
    places = [theirs[run] for run in mine if run in theirs]
    pairs = len(places) * (len(places) - 1) // 2
    return 1 - inversions(places) / pairs if pairs else None


def inversions(numbers: Sequence[int]) -> int:
    """Pairs in the wrong order, counted by merging."""
    count, runs = 0, [[number] for number in numbers]
    while len(runs) > 1:
        merged = []
        for at in range(0, len(runs), 2):
            left, right = runs[at], runs[at + 1] if at + 1 < len(runs) else []
            both, i = list[int](), 0
            for number in right:
                while i < len(left) and left[i] <= number:
                    both.append(left[i])
                    i += 1
                count += len(left) - i
                both.append(number)
            merged.append(both + left[i:])
        runs = merged
    return count


def written(grid: Grid) -> str:
    """A table as text: one line a row, a cell that repeats the one beside or above it once."""
    lines, above = [], ()
    for row in grid:
        cells = [
            cell
            for at, cell in enumerate(row)
            if not (at and cell == row[at - 1]) and not (at < len(above) and cell == above[at])
        ]
        lines.append(" ".join(cell for cell in cells if cell.strip()))
        above = row
    return "\n".join(lines)


def _contents(grids: Iterable[Grid]) -> list[str]:
    return [text for grid in grids for row in grid for cell in row if (text := key(cell))]


def _relations(grids: Iterable[Grid]) -> list[tuple[str, str, str]]:
    result = []
    for grid in grids:
        keys = [[key(cell) for cell in row] for row in grid]
        columns = [[row[at] for row in keys if at < len(row)] for at in range(max(map(len, keys), default=0))]
        for direction, lines in (("right", keys), ("below", columns)):
            for line in lines:
                result += [(one, other, direction) for one, other in pairwise(filter(None, line))]
    return result


def _ranked(headings: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    ranks = {level: rank for rank, level in enumerate(sorted({level for level, _ in headings}))}
    return [(ranks[level], key(text)) for level, text in headings]


def _single_runs(words: Sequence[str]) -> dict[tuple[str, ...], int]:
    runs = [tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)]
    counts = Counter(runs)
    return {run: at for at, run in enumerate(runs) if counts[run] == 1}
