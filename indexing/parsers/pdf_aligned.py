"""Tables of a PDF without rules between their cells, or with some only: known by columns of white that run down many rows.

The idea of white corridors between columns: Rus and Summers, “Using White Space for Automated Document Structuring”, 1994.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from indexing.locators import Region, around
from indexing.parsers.clean import is_cjk
from indexing.parsers.pdf_aligned_rows import Columns, aligned_rows
from indexing.parsers.pdf_rules import Rules
from indexing.parsers.pdf_types import Glyph, Table
from indexing.parsers.pdf_words import CELL_GAP, CORRIDOR, Row, Word, is_number, rows_of, text_of

_LEAST_ROWS = 3
_CROSSING = 0.12  # share of rows whose words may stand in a corridor: titles inside the table
_DENSITY = 0.35  # share of cells that are not empty, in rows with several; in a chart are fewer
_APART = 2.6  # row heights between two rows of one table
_LEADERS = re.compile(r"(?:\s*\.){4,}\s*$|[.…·]{4,}\s*$")
_MARKER = re.compile(r"[•◦▪■●○–*·-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]|[一二三四五六七八九十]{1,3}、|\[\d+\]")
_TITLE = re.compile(
    r"(?:Table|TABLE|Tab\.|Figure|Fig\.|Exhibit|Box|表|图|圖|附表)\s*[\dA-Z一二三四五六七八九十][\w.:-]*"
)
_DASHES = frozenset("-_=—–.·…")  # rules and leaders of a typewriter
_DEEPEST = 2  # cuts beside columns of prose
_LEVEL = 0.15  # of a row's height: words of one row stand no further from one base line
_PROSE = 24  # mean width of a column's cells, in Latin letters
_JUMBLED = 0.08  # share of words
_LONG_CELL = 45  # characters
_PROSE_WORDS = 6


@dataclass(slots=True)
class _Candidate:
    rows: list[Row]
    columns: Columns = field(default_factory=lambda: Columns([]))


def find_aligned(glyphs: Sequence[Glyph], page_number: int, rules: Rules) -> tuple[list[Table], list[Glyph]]:
    """The page's tables, and the glyphs that are in none. `rules`: lines of the drawing."""
    if not _may_have_columns(glyphs):
        return [], list(glyphs)
    rows = rows_of(glyphs)
    drawn = Rules([*rules.across, *(row.region for row in rows if _is_dashes(row))], rules.down)
    tables, taken = [], set[float]()
    for part in _parts([row for row in rows if not _is_dashes(row)], drawn, depth=0):
        found, header = aligned_rows(part.rows, part.columns, drawn)
        region = around([row.region for row in part.rows])
        used = {glyph.order for row in part.rows for word in row.words for glyph in word.glyphs}
        used |= {glyph.order for glyph in glyphs if glyph.text in _DASHES and _within(glyph, region)}
        cells, regions = tuple(tuple(row.texts) for row in found), tuple(row.region for row in found)
        tables.append(Table(cells, int(min(used)), page_number, region, header, regions))
        taken |= used
    return tables, [glyph for glyph in glyphs if glyph.order not in taken]


def _may_have_columns(glyphs: Sequence[Glyph]) -> bool:
    """Cheaply: whether the text ever goes far to the right in a line, or back up."""
    wide = 0
    last: Region | None = None
    for text, _, region in glyphs:
        if text.isspace():
            continue
        if last is not None:
            height = region[3] - region[1]
            if region[3] < last[1] or (region[0] - last[2] > CELL_GAP * height and region[1] < last[3]):
                wide += 1
                if wide >= _LEAST_ROWS:
                    return True
        last = region
    return False


def _parts(rows: Sequence[Row], rules: Rules, depth: int) -> Iterator[_Candidate]:
    """The candidates that are tables; one that is not may have some beside its columns of prose."""
    for candidate in _candidates(rows):
        for part in _split(candidate):
            cuts = (
                _between_pages(part)
                or _beside(part, _flows)
                or ([] if _is_table(part, rules) else _beside(part, _is_prose))
            )
            if cuts and depth < _DEEPEST:
                for side in _cut(part, cuts):
                    yield from _parts(side, rules, depth + 1)
            elif _is_table(part, rules):
                yield part


def _beside(candidate: _Candidate, is_text: Callable[[Sequence[str]], bool]) -> list[float]:
    """Where a column of text begins or ends."""
    grid = [_by_column(candidate, row) for row in candidate.rows]
    text = [is_text([row[column] for row in grid if row[column]]) for column in range(candidate.columns.count)]
    return [edge for edge, (one, other) in zip(candidate.columns.edges, pairwise(text), strict=True) if one or other]


def _between_pages(candidate: _Candidate) -> list[float]:
    """Where lines on both sides stand at different heights: two columns or pages, each with rows of its own."""
    return [edge for edge in candidate.columns.edges if not _level(candidate.rows, edge)]


def _level(rows: Sequence[Row], edge: float) -> bool:
    level = uneven = 0
    for row in rows:
        left = [word for word in row.words if word.region[2] <= edge]
        right = [word for word in row.words if word.region[0] >= edge]
        if not left or not right:
            continue
        one, other = left[-1].region, right[0].region
        if abs((one[3] - one[1]) - (other[3] - other[1])) < 0.1 * row.height:  # else it is another font
            off = abs(one[3] - other[3]) > _LEVEL * row.height
            level, uneven = level + (not off), uneven + off
    return uneven < _LEAST_ROWS or uneven <= level


def _cut(candidate: _Candidate, cuts: list[float]) -> list[list[Row]]:
    """The rows of each side, where they have words."""
    sides = Columns(cuts)
    found: list[list[Row]] = [[] for _ in range(sides.count)]
    for row in candidate.rows:
        words: list[list[Word]] = [[] for _ in range(sides.count)]
        for word in row.words:
            words[sides.of(word)].append(word)
        for side, inside in zip(found, words, strict=True):
            if inside:
                side.append(Row(tuple(inside), row.spacing))
    return found


def _is_prose(texts: Sequence[str]) -> bool:
    return sum(len(text) + sum(map(is_cjk, text)) for text in texts) > _PROSE * len(texts)


def _flows(texts: Sequence[str]) -> bool:
    """Whether its lines go on in each other, as those of a paragraph do and labels do not."""
    small = sum(text[0].islower() for text in texts[1:])
    full = sum(len(text) > 0.9 * max(map(len, texts)) and is_cjk(text[-1]) for text in texts)
    return len(texts) > _LEAST_ROWS and _is_prose(texts) and max(small, full) > 0.5 * len(texts)


def _is_dashes(row: Row) -> bool:
    return all(len(word.text) > 3 and set(word.text) <= set("-_=—–") for word in row.words)


def _within(glyph: Glyph, region: Region) -> bool:
    left, top, right, bottom = glyph.region
    return region[0] <= (left + right) / 2 <= region[2] and region[1] <= (top + bottom) / 2 <= region[3]


def _candidates(rows: Sequence[Row]) -> list[_Candidate]:
    """Runs of rows of several parts, near each other; a row of one part may stand between."""
    found: list[_Candidate] = []
    run: list[Row] = []
    for row in rows:
        if run and row.region[1] - run[-1].region[3] > _APART * row.height:
            found.append(_Candidate(run))
            run = []
        run.append(row)
    if run:
        found.append(_Candidate(run))
    return [part for candidate in found for part in _trimmed(candidate)]


def _trimmed(candidate: _Candidate) -> list[_Candidate]:
    """Without lines of prose at the ends and in the middle: several rows of one part after each other."""
    parts: list[_Candidate] = []
    current: list[Row] = []
    alone = 0
    for row in candidate.rows:
        is_alone = len(row.segments()) < 2
        alone = alone + 1 if is_alone else 0
        if alone > 2 and current:
            parts.append(_Candidate(current))
            current = []
        if current or not is_alone:
            current.append(row)
    if current:
        parts.append(_Candidate(current))
    for part in parts:
        while part.rows and len(part.rows[-1].segments()) < 2:
            part.rows.pop()
    return [part for part in parts if len(part.rows) >= _LEAST_ROWS]


def _split(candidate: _Candidate) -> list[_Candidate]:
    """The candidate with its columns; none where it has fewer than two."""
    candidate.columns = Columns(_corridors(candidate.rows))
    while candidate.columns.edges and len(candidate.rows) >= _LEAST_ROWS and _is_title(candidate, candidate.rows[0]):
        candidate.rows.pop(0)
    return [candidate] if candidate.columns.edges and len(candidate.rows) >= _LEAST_ROWS else []


def _is_title(candidate: _Candidate, row: Row) -> bool:
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
    if len(several) - first < _LEAST_ROWS:
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


def _is_table(candidate: _Candidate, rules: Rules) -> bool:
    """Whether the columns hold cells, not prose, a list, or a table of contents."""
    columns = candidate.columns.count
    grid = [_by_column(candidate, row) for row in candidate.rows]
    filled = [[text for text in row if text] for row in grid]
    several = [row for row in filled if len(row) > 1]
    if len(several) < 2 or _is_jumbled(candidate):
        return False
    cells = [text for row in several for text in row]
    numbers = sum(is_number(text) for text in cells)
    behind = [text for row in grid if sum(map(bool, row)) > 1 for text in row[1:] if text]
    numeric = sum(is_number(text) for text in behind) / max(len(behind), 1)
    first = [row[0] for row in grid if row[0]]
    if columns == 2:
        if sum(_MARKER.fullmatch(text) is not None for text in first) > 0.5 * len(first):
            return False
        if sum(_LEADERS.search(text) is not None for text in first) > 0.3 * len(first):
            return False
    letters = [text for text in cells if any(character.isalpha() for character in text)]
    if not any(sum(map(str.isalpha, text)) > 1 for text in letters) or sum(
        len(text) == 1 for text in letters
    ) > 0.3 * len(letters):
        return False  # a chart: numbers at its axes, words on their side
    if len(cells) < _DENSITY * columns * len(several) or len(several) < 0.5 * len(filled):
        return False
    words = sum(len(text.split()) for text in cells) / len(cells)
    long = sum(len(text) > _LONG_CELL for text in cells) / len(cells)
    if len(several) >= _LEAST_ROWS and numeric >= 0.45 and numbers >= 3:
        return True
    ruled = _has_rules(candidate, rules)
    if ruled and words < 2 * _PROSE_WORDS and long < 0.5:
        return True
    return (
        columns >= 3 and len(several) > _LEAST_ROWS and words <= 4 and long < 0.1 and len(several) >= 0.6 * len(filled)
    )


def _is_jumbled(candidate: _Candidate) -> bool:
    """Whether letters of its words are not read from left to right: labels on top of each other, or a script from the right."""
    words = [word for row in candidate.rows for word in row.words if len(word.text) > 1]
    broken = sum(any(b.order < a.order for a, b in pairwise(word.glyphs)) for word in words)
    return broken > _JUMBLED * len(words)


def _has_rules(candidate: _Candidate, rules: Rules) -> bool:
    """Whether two lines at least run across the table, one of them at its head."""
    left, top, right, bottom = around([row.region for row in candidate.rows])
    height = candidate.rows[0].height
    across = [
        rule
        for rule in rules.across
        if top - 2 * height <= rule[1] <= bottom + 2 * height
        and min(rule[2], right) - max(rule[0], left) > 0.6 * (right - left)
    ]
    return len({round(rule[1]) for rule in across}) >= 2


def _by_column(candidate: _Candidate, row: Row) -> list[str]:
    words: list[list[Word]] = [[] for _ in range(candidate.columns.count)]
    for word in row.words:
        words[candidate.columns.of(word)].append(word)
    return [text_of(column) for column in words]
