"""Text in columns beside each other on a PDF page, also where the file draws it row by row: read one column after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from indexing.parsers.clean import is_cjk
from indexing.parsers.pdf_candidates import LEAST_ROWS, Candidate, by_column
from indexing.parsers.pdf_rules import Rules
from indexing.parsers.pdf_types import Glyph
from indexing.parsers.pdf_words import Row

_PROSE = 24  # mean width of a column's cells, in Latin letters
_NARROW_ROWS = 6  # as few lines of narrow text tell nothing
_UNMARKED_ROWS = 12  # nor so few without punctuation
_NARROW_WORDS = 2  # on average in a line; cells of a table may have fewer
_NARROW_CJK = 5  # the same in Chinese characters
_FULL = 0.7  # of the longest line's length is that of the others, on average
_FILLED = 0.9  # share of the places in a stretch of columns; cells of a table end at different lines
_PUNCTUATION = frozenset("，。、；：！？.,;:!?")
_MARKED = 0.15  # share of lines with punctuation in text
_BELOW = 1.8  # row heights to the next line of the longest column


def is_prose(texts: Sequence[str]) -> bool:
    return sum(len(text) + sum(map(is_cjk, text)) for text in texts) > _PROSE * len(texts)


def flows(texts: Sequence[str]) -> bool:
    """Whether its lines go on in each other, as those of a paragraph do and labels do not."""
    small = sum(text[0].islower() for text in texts[1:])
    full = sum(len(text) > 0.9 * max(map(len, texts)) and is_cjk(text[-1]) for text in texts)
    return len(texts) > LEAST_ROWS and is_prose(texts) and max(small, full) > 0.5 * len(texts)


def are_texts(candidate: Candidate, rules: Rules) -> bool:
    """Whether all its columns are text that goes on from line to line, and no rule parts the lines."""
    grid = [by_column(candidate, row) for row in candidate.rows]
    columns = [[row[column] for row in grid if row[column]] for column in range(candidate.columns.count)]
    if sum(map(len, columns)) < _FILLED * len(grid) * len(columns):
        return False
    return all(flows(texts) or _flows_narrowly(texts) for texts in columns) and not _is_ruled(candidate, rules)


def _flows_narrowly(texts: Sequence[str]) -> bool:
    """The same of lines too short to be known for text by their length: they are full, and begin within a sentence."""
    marked = sum(not _PUNCTUATION.isdisjoint(text) for text in texts) > _MARKED * len(texts)
    full = sum(map(len, texts)) >= _FULL * max(map(len, texts)) * len(texts)
    if not full or len(texts) < (_NARROW_ROWS if marked else _UNMARKED_ROWS):
        return False
    if sum(is_cjk(text[-1]) for text in texts) > 0.5 * len(texts):
        return sum(map(len, texts)) >= _NARROW_CJK * len(texts) and marked
    small = sum(text[0].islower() for text in texts[1:])
    return sum(len(text.split()) for text in texts) >= _NARROW_WORDS * len(texts) and small > 0.5 * len(texts)


def _is_ruled(candidate: Candidate, rules: Rules) -> bool:
    first, last = candidate.rows[0].region, candidate.rows[-1].region
    return any(first[3] < rule[1] < last[1] and rule[0] < last[2] and rule[2] > last[0] for rule in rules.across)


def in_columns(glyphs: Sequence[Glyph], candidate: Candidate, below: Sequence[Row]) -> list[Glyph]:
    """The glyphs with those of the candidate's columns in the order of reading, if the file has them row by row.
    `below`: the rows under it, of which the longest column may go on in some."""
    rows = [*candidate.rows, *_rest(candidate, below)]
    place = {
        glyph.order: side
        for row, sides in zip(rows, _sides(rows, candidate), strict=True)
        for word, side in zip(row.words, sides, strict=True)
        for glyph in word.glyphs
    }
    first, last = min(place), max(place)
    inside = [glyph for glyph in glyphs if first <= glyph.order <= last and glyph.text != "\n"]
    ends = [(min(orders), max(orders)) for row in rows if (orders := [g.order for w in row.words for g in w.glyphs])]
    by_rows = sum(one[1] < other[0] for one, other in pairwise(ends)) > _FILLED * (len(ends) - 1)
    if not by_rows or any(glyph.order not in place and not glyph.text.isspace() for glyph in inside):
        return list(glyphs)
    side = place[first]
    keyed = []
    for glyph in inside:  # a space belongs to the word before it
        side = place.get(glyph.order, side)
        keyed.append((side, glyph))
    keyed.sort(key=lambda pair: pair[0])
    moved = [glyph._replace(order=old.order) for (_, glyph), old in zip(keyed, inside, strict=True)]
    return [
        *(glyph for glyph in glyphs if glyph.order < first),
        *moved,
        *(glyph for glyph in glyphs if glyph.order > last),
    ]


def _sides(rows: Sequence[Row], candidate: Candidate) -> list[list[tuple[int, int]]]:
    """For each word of each row (stretch, column): a line over several columns, as a title is, ends a stretch."""
    found, stretch = [], 0
    for row in rows:
        if any(candidate.columns.reach(segment)[0] < candidate.columns.reach(segment)[1] for segment in row.segments()):
            found.append([(stretch + 1, 0)] * len(row.words))
            stretch += 2
        else:
            found.append([(stretch, candidate.columns.of(word)) for word in row.words])
    return found


def _rest(candidate: Candidate, below: Sequence[Row]) -> list[Row]:
    found, last = list[Row](), candidate.rows[-1]
    for row in below:
        first, side = candidate.columns.reach(row.words)
        if first != side or row.region[1] - last.region[3] > (_BELOW - 1) * row.height:
            break
        found.append(row)
        last = row
    return found
