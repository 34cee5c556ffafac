"""Lines of a PDF to paragraphs: a PDF has only lines, so where one paragraph ends is read from its layout."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from indexing.blocks import BlockKind
from indexing.parsers.clean import glue, is_cjk
from indexing.parsers.faq import opens_turn
from indexing.parsers.outline import is_list_item
from indexing.parsers.pdf_notes import notes_of
from indexing.parsers.pdf_types import Line, Page, Table

_ENDS_SENTENCE = re.compile(r"[.!?:;。！？：；…][”’」』）)\"'\]]*\Z")
_NUMBER = re.compile(r"\d{1,3}(?:\.\d{1,3})*\.?\s")  # the text after it may hang over from it
_LEAST_CODE = 2  # lines in a typewriter's font; one is a name or an address
_MOST_INDENT = 40  # letters
_LOOK_AROUND = 15  # lines before and after that show how wide a column is

Item = Line | Table
Column = tuple[float, float]  # left and right edge of the text around a line


@dataclass(slots=True)
class Paragraph:
    """Lines that belong together, or the parts of one table. `kind`: what is known of it beside its text."""

    lines: list[Line] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    is_note: bool = False  # at the foot of a page
    kind: BlockKind | None = None
    column: Column = (0.0, 0.0)  # of its last line

    @property
    def text(self) -> str:
        return self.joined()[0]

    def joined(self) -> tuple[str, list[tuple[int, int]]]:
        """The text, and the span of each line in it."""
        if self.kind is BlockKind.CODE:
            return self._code()
        parts, spans, end, broken = list[str](), [], 0, True
        for line in self.lines:
            between = "" if broken else glue(parts[-1][-1], line.text[0])
            start = end + len(between)
            end = start + len(line.text)
            parts += [between, line.text]
            spans.append((start, end))
            broken = line.hyphenated
        return "".join(parts), spans

    def _code(self) -> tuple[str, list[tuple[int, int]]]:
        """Line by line, each moved in as it stands."""
        left = min(line.left for line in self.lines)
        width = min((line.right - line.left) / len(line.text) for line in self.lines)
        text, spans = "", []
        for line in self.lines:
            text += "\n" if text else ""
            start = len(text)
            text += " " * min(round((line.left - left) / max(width, 1.0)), _MOST_INDENT) + line.text
            spans.append((start, len(text)))
        return text, spans

    @property
    def pages(self) -> tuple[int, int]:
        """The first and the last one."""
        items = self.lines or self.tables
        return items[0].page, items[-1].page


def body_size(pages: Sequence[Page]) -> float:
    """The font size that most characters have."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            sizes[round(line.size * 2) / 2] += len(line.text)
    return max(sizes, key=lambda size: (sizes[size], -size)) if sizes else 0.0


def paragraphs(pages: Sequence[Page]) -> list[Paragraph]:
    """All paragraphs and tables in reading order; a paragraph may go on over a column or page break, also past
    footnotes: these come behind it."""
    result: list[Paragraph] = []
    body = body_size(pages)
    has_code = not _mostly_fixed(pages)
    flow: Paragraph | None = None  # what the next line of the text may go on with
    for page in pages:
        notes = {line.index for line in notes_of(page.lines, page.height, body)}
        pitches = _pitches(page.lines)
        items: list[Item] = sorted([*page.lines, *page.tables], key=lambda item: item.index)
        note: Paragraph | None = None
        for position, item in enumerate(items):
            if isinstance(item, Table):
                flow = Paragraph(tables=[item])
                result.append(flow)
                continue
            is_note = item.index in notes
            last = note if is_note else flow
            column = _column(items, position, item)
            is_code = has_code and item.fixed
            if (
                last is not None
                and last.lines
                and _goes_on(last, item, column, pitches[round(item.size)], body, is_code)
            ):
                last.lines.append(item)
            else:
                last = Paragraph([item], is_note=is_note, kind=BlockKind.CODE if is_code else None)
                result.append(last)
            last.column = column
            note, flow = (last, flow) if is_note else (note, last)
    for paragraph in result:
        if paragraph.kind is BlockKind.CODE and len(paragraph.lines) < _LEAST_CODE:
            paragraph.kind = None
    return result


def _mostly_fixed(pages: Sequence[Page]) -> bool:
    """Whether the text itself is a typewriter's."""
    lines = [line for page in pages for line in page.lines]
    return sum(len(line.text) for line in lines if line.fixed) * 2 > sum(len(line.text) for line in lines)


def _goes_on(paragraph: Paragraph, line: Line, column: Column, pitch: float, body: float, is_code: bool) -> bool:
    if is_code or paragraph.kind is BlockKind.CODE:
        last = paragraph.lines[-1]
        near = line.page == last.page and -0.5 * last.size < line.bottom - last.bottom < 3 * line.size
        return is_code and paragraph.kind is BlockKind.CODE and near
    return _continues(paragraph, line, column, pitch, body)


def _continues(paragraph: Paragraph, line: Line, column: Column, pitch: float, body: float) -> bool:
    """Whether `line` goes on in `paragraph`. `column` is its (left, right), `pitch` the usual distance of lines."""
    last = paragraph.lines[-1]
    if last.hyphenated:
        return True
    if abs(last.size - line.size) > 0.08 * min(last.size, line.size) or last.bold != line.bold:
        return False
    if _is_title_of(last, line, paragraph.column):
        return False
    if is_list_item(line.text) or opens_turn(line.text) or (_is_row(last.text) and _is_row(line.text)):
        return False
    if line.page != last.page or line.top < last.top - 0.5 * last.size:  # the next page or column
        if (
            line.page > last.page + 1
            or line.bold
            or abs(line.size - body) > 0.1 * body
            or _ENDS_SENTENCE.search(last.text)
        ):
            return False
        return _runs_on(last, line, paragraph.column)
    if abs(line.top - last.top) < 0.3 * last.size:  # PDFium cut one row into pieces
        return True
    distance = line.bottom - last.bottom
    if distance > max(1.3 * pitch, 1.45 * line.size):
        return False
    indented = paragraph.lines[0].left > line.left + 0.8 * line.size  # so would the next paragraph's first line be
    if distance > 1.6 * line.size and not indented and _ENDS_SENTENCE.search(last.text):
        return False  # wide spacing: the page may have no paragraph of several lines that shows the usual distance
    if _is_centered(last, line, column):
        return True
    numbered = is_list_item(last.text) or _NUMBER.match(last.text) is not None
    hangs = len(paragraph.lines) == 1 and (numbered or line.bold)
    if line.left > last.left + 0.8 * line.size and not hangs:
        return False  # indented: a paragraph begins
    return _runs_on(last, line, column)


def _is_title_of(last: Line, line: Line, column: Column) -> bool:
    """Whether a line in a font of its own stands over text in another: it is no part of the sentence."""
    other_font = bool(last.font) and bool(line.font) and last.font != line.font
    return other_font and (abs(last.size - line.size) > 0.03 * line.size or column[1] - last.right > 4 * last.size)


def _is_row(text: str) -> bool:
    """Whether a line reads like a row of a table without rules: mostly numbers."""
    words = text.split(" ")
    return len(words) > 2 and sum(any(c.isdigit() for c in word) for word in words) * 2 >= len(words)


def _runs_on(last: Line, line: Line, column: Column) -> bool:
    """Whether the text of `last` goes on in `line`: it was full, or stops in the middle of a sentence."""
    ended = _ENDS_SENTENCE.search(last.text) is not None
    left, right = column
    room = right - last.right
    first_word = line.text.split(" ", 1)[0]
    ems = 2.0 if is_cjk(line.text[0]) else 0.5 * len(first_word) + 1.5
    if room <= ems * line.size:  # no room was left for the first word of the next line
        return True
    if ended:
        return False
    return line.text[0].islower() or (is_cjk(line.text[0]) and is_cjk(last.text[-1]) and room < 0.4 * (right - left))


def _is_centered(last: Line, line: Line, column: Column) -> bool:
    """Both lines lie around the column's middle and neither fills it."""
    middle = (column[0] + column[1]) / 2
    return all(abs((x.left + x.right) / 2 - middle) < x.size and x.left > column[0] + 2 * x.size for x in (last, line))


def _column(items: Sequence[Item], position: int, line: Line) -> Column:
    """The left and right edge of the text around a line: of the lines near it that start at about the same place."""
    near = items[max(position - _LOOK_AROUND, 0) : position + _LOOK_AROUND]
    alike = [
        other
        for other in near
        if isinstance(other, Line)
        and abs(other.size - line.size) <= 0.15 * line.size
        and other.left < line.right
        and other.right > line.left
    ]
    return min((x.left for x in alike), default=line.left), max((x.right for x in alike), default=line.right)


def _pitches(lines: Sequence[Line]) -> dict[int, float]:
    """Font size → the usual distance between lines of a paragraph in it, on this page: the most frequent one."""
    distances: dict[int, Counter[int]] = {round(line.size): Counter() for line in lines}
    for one, other in pairwise(lines):
        distance = other.bottom - one.bottom
        if 0.5 * one.size < distance < 3 * one.size and abs(one.size - other.size) < 0.5:
            distances[round(other.size)][round(distance)] += 1
    return {size: _smallest_frequent(counts) or 1.5 * size for size, counts in distances.items()}


def _smallest_frequent(counts: Counter[int]) -> int:
    most = max(counts.values(), default=0)
    return min((distance for distance, count in counts.items() if count >= 0.6 * most), default=0)
