"""Tables of a PDF without rules between their cells, or with some only: known by columns of white that run down many rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from indexing.locators import Region, around
from indexing.parsers.pdf_aligned_rows import Columns, aligned_rows
from indexing.parsers.pdf_candidates import LEAST_ROWS, Candidate, by_column, candidates
from indexing.parsers.pdf_columns import are_texts, flows, in_columns, is_prose
from indexing.parsers.pdf_rules import Rules
from indexing.parsers.pdf_types import Glyph, Table
from indexing.parsers.pdf_words import CELL_GAP, TYPEWRITER, Row, Word, is_number, rows_of

_DENSITY = 0.35  # share of cells that are not empty, in rows with several; in a chart are fewer
_LEADERS = re.compile(r"(?:\s*\.){4,}\s*$|[.…·]{4,}\s*$")
_MARKER = re.compile(r"[•◦▪■●○–*·-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]|[一二三四五六七八九十]{1,3}、|\[\d+\]")
_CODE = re.compile(r"[{};]|\w\(|\)[,:]?$|^(?:[-+*/%:!<>=]?=|[-=]>|//|#|/\*+|\*/|--|&&|\|\|)")
_DASHES = frozenset("-_=—–.·…")  # rules and leaders of a typewriter
_DEEPEST = 2  # cuts beside columns of prose
_LEVEL = 0.15  # of a row's height: words of one row stand no further from one base line
_JUMBLED = 0.08  # share of words
_LONG_CELL = 45  # characters
_PROSE_WORDS = 6
_THROUGH = 0.25  # of a word's height, from its top and bottom: a rule between these is at its height


def find_aligned(glyphs: Sequence[Glyph], page_number: int, rules: Rules) -> tuple[list[Table], list[Glyph]]:
    """The page's tables, and the glyphs that are in none. `rules`: lines of the drawing."""
    if not _may_have_columns(glyphs):
        return [], list(glyphs)
    rows = rows_of(glyphs)
    drawn = Rules([*rules.across, *(row.region for row in rows if _is_dashes(row))], rules.down)
    rows = [row for row in rows if not _is_dashes(row)]
    tables, taken, rest = [], set[float](), list(glyphs)
    for part in _parts(rows, drawn, depth=0):
        if part.is_text:
            bottom = part.rows[-1].region[3]
            rest = in_columns(rest, part, [row for row in rows if row.region[1] > bottom])
            continue
        found, header = aligned_rows(part.rows, part.columns, drawn)
        region = around([row.region for row in part.rows])
        used = {glyph.order for row in part.rows for word in row.words for glyph in word.glyphs}
        used |= {glyph.order for glyph in glyphs if glyph.text in _DASHES and _within(glyph, region)}
        cells, regions = tuple(tuple(row.texts) for row in found), tuple(row.region for row in found)
        tables.append(Table(cells, int(min(used)), page_number, region, header, regions))
        taken |= used
    return tables, [glyph for glyph in rest if glyph.order not in taken]


def _may_have_columns(glyphs: Sequence[Glyph]) -> bool:
    """Cheaply: whether the text ever goes far to the right in a line, or back up."""
    wide = 0
    last: Region | None = None
    for text, _, region, _ in glyphs:
        if text.isspace():
            continue
        if last is not None:
            height = region[3] - region[1]
            if region[3] < last[1] or (region[0] - last[2] > CELL_GAP * height and region[1] < last[3]):
                wide += 1
                if wide >= LEAST_ROWS:
                    return True
        last = region
    return False


def _parts(rows: Sequence[Row], rules: Rules, depth: int) -> Iterator[Candidate]:
    """The candidates that are tables or text in columns; one that is neither may have some beside its columns of prose."""
    for part in candidates(rows):
        if are_texts(part, rules):
            part.is_text = True
            yield part
            continue
        cuts = (
            _between_pages(part) or _beside(part, flows) or ([] if _is_table(part, rules) else _beside(part, is_prose))
        )
        if cuts and depth < _DEEPEST:
            for side in _cut(part, cuts):
                yield from _parts(side, rules, depth + 1)
        elif _is_table(part, rules):
            yield part


def _beside(candidate: Candidate, is_text: Callable[[Sequence[str]], bool]) -> list[float]:
    """Where a column of text begins or ends."""
    grid = [by_column(candidate, row) for row in candidate.rows]
    text = [is_text([row[column] for row in grid if row[column]]) for column in range(candidate.columns.count)]
    return [edge for edge, (one, other) in zip(candidate.columns.edges, pairwise(text), strict=True) if one or other]


def _between_pages(candidate: Candidate) -> list[float]:
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
    return uneven < LEAST_ROWS or uneven <= level


def _cut(candidate: Candidate, cuts: list[float]) -> list[list[Row]]:
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


def _is_dashes(row: Row) -> bool:
    return all(len(word.text) > 3 and set(word.text) <= set("-_=—–") for word in row.words)


def _within(glyph: Glyph, region: Region) -> bool:
    left, top, right, bottom = glyph.region
    return region[0] <= (left + right) / 2 <= region[2] and region[1] <= (top + bottom) / 2 <= region[3]


def _is_table(candidate: Candidate, rules: Rules) -> bool:
    """Whether the columns hold cells, not prose, a list, or a table of contents."""
    columns = candidate.columns.count
    grid = [by_column(candidate, row) for row in candidate.rows]
    filled = [[text for text in row if text] for row in grid]
    several = [row for row in filled if len(row) > 1]
    if len(several) < 2 or _is_jumbled(candidate) or _is_code(candidate):
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
    if len(several) >= LEAST_ROWS and numeric >= 0.45 and numbers >= 3:
        return True
    ruled = _has_rules(candidate, rules)
    if ruled and words < 2 * _PROSE_WORDS and long < 0.5:
        return True
    return (
        columns >= 3 and len(several) > LEAST_ROWS and words <= 4 and long < 0.1 and len(several) >= 0.6 * len(filled)
    )


def _is_code(candidate: Candidate) -> bool:
    """Whether it is a program in a typewriter's font, with its signs or comments below each other."""
    signs = sum(any(_CODE.search(word.text) for word in row.words) for row in candidate.rows)
    typed = sum(row.spacing == TYPEWRITER for row in candidate.rows)
    return min(signs, typed) > 0.5 * len(candidate.rows)


def _is_jumbled(candidate: Candidate) -> bool:
    """Whether letters of its words are not read from left to right: labels on top of each other, or a script from the right."""
    words = [word for row in candidate.rows for word in row.words if len(word.text) > 1]
    broken = sum(any(b.order < a.order for a, b in pairwise(word.glyphs)) for word in words)
    return broken > _JUMBLED * len(words)


def _has_rules(candidate: Candidate, rules: Rules) -> bool:
    """Whether two lines at least run across the table, one of them at its head."""
    left, top, right, bottom = around([row.region for row in candidate.rows])
    height = candidate.rows[0].height
    across = [
        rule
        for rule in rules.across
        if top - 2 * height <= rule[1] <= bottom + 2 * height
        and min(rule[2], right) - max(rule[0], left) > 0.6 * (right - left)
        and not any(_at_height_of(rule, row) for row in candidate.rows)
    ]
    return len({round(rule[1]) for rule in across}) >= 2


def _at_height_of(rule: Region, row: Row) -> bool:
    """As the lines of a chart are at that of the numbers of its axis."""
    heights = ((word.region[1], word.region[3]) for word in row.words)
    return any(_THROUGH < (rule[1] - top) / (bottom - top) < 1 - _THROUGH for top, bottom in heights)
