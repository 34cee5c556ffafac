"""Plain text: paragraphs by blank lines, headings by evident form, list items, tables, questions and answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from documents.media_types import TEXT
from indexing.blocks import BlockKind, ParsedDocument
from indexing.locators import Locator
from indexing.parsers.assemble import LONGEST_HEADING, Piece, assemble
from indexing.parsers.clean import join_lines, one_line
from indexing.parsers.encoding import decode_text
from indexing.parsers.faq import pair_questions
from indexing.parsers.outline import heading_form, is_list_item, levels
from indexing.parsers.text_columns import TextColumns, columns
from indexing.parsers.text_tables import TextTable, find_tables

_LINE_END = re.compile("\r\n|\r|\n")  # what editors count as lines
_ENDS_SENTENCE = re.compile(r"[.!?。！？；;:：…][”’」』）)\"']*\Z")


_UNDERLINE = re.compile(r"(?P<sign>[=\-~^*#])(?P=sign){2,}")
_UNDERLINED_RANK = -10  # outside of every form that a line has by itself
_NARROWEST = 50  # columns of a paragraph that is wrapped
_FULL = 0.6  # of its widest line: as wide are all its lines but the last


@dataclass(frozen=True, slots=True)
class _Line:
    number: int  # 1-based, in the file
    text: str  # clean, on one line; empty where the file's line is blank


def parse(content: bytes) -> ParsedDocument:
    """Raises `NoText` or `DocumentTooLarge`. Every visible character of the file is in exactly one block, but for lines drawn
    below headings and in tables; locators give the file's lines.
    """
    source = _LINE_END.split(decode_text(content))
    apart = list(find_tables(source))
    inside = {number for part in apart for number in range(part.first, part.end)}
    lines = [_Line(i + 1, "" if i in inside else one_line(line)) for i, line in enumerate(source)]
    pieces = [_joined(piece) for piece in pair_questions(_prose(lines))]
    pieces += [piece for part in apart for piece in _pieces_of(part)]
    return assemble(TEXT, sorted(pieces, key=lambda piece: piece.lines or (0, 0)))


def _prose(lines: Sequence[_Line]) -> Iterator[Piece]:
    lines, underlined = _take_underlines(lines)
    forms = _headings(lines) | underlined
    level_of = levels(forms.values())
    for run in _runs(lines, forms):
        first, last = run[0].number, run[-1].number
        text = "\n".join(line.text for line in run)
        if first in forms:
            last += first in underlined
            yield Piece(BlockKind.HEADING, text, level=level_of[forms[first]], lines=(first, last))
        else:
            kind = BlockKind.LIST_ITEM if is_list_item(text) else BlockKind.PARAGRAPH
            yield Piece(kind, text, lines=(first, last))


def _take_underlines(lines: Sequence[_Line]) -> tuple[list[_Line], dict[int, int]]:
    """The lines without those drawn below others, and the forms of the headings above these: the first sign that a file uses
    is of the outermost ones."""
    kept = list(lines)
    forms: dict[int, int] = {}
    ranks: dict[str, int] = {}
    for at in range(1, len(kept)):
        above, match = kept[at - 1], _UNDERLINE.fullmatch(kept[at].text)
        over = at > 1 and kept[at - 2].text
        if match is None or not above.text or _UNDERLINE.fullmatch(above.text) or (over and over != kept[at].text):
            continue
        if len(above.text) > LONGEST_HEADING or abs(len(match[0]) - columns(above.text)) > max(4, len(match[0]) // 2):
            continue
        forms[above.number] = ranks.setdefault(match["sign"], _UNDERLINED_RANK + len(ranks))
        kept[at] = _Line(kept[at].number, "")
        if over:  # drawn above it, too
            kept[at - 2] = _Line(kept[at - 2].number, "")
    return kept, forms


def _joined(piece: Piece) -> Piece:
    """The lines of a wrapped paragraph in a row: all but the last are about as wide, and few end a sentence."""
    lines = piece.text.split("\n")
    if piece.kind not in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM) or len(lines) < 2:
        return piece
    widths = [columns(line) for line in lines]
    ends = sum(_ENDS_SENTENCE.search(line[-10:]) is not None for line in lines[:-1])
    if max(widths) < _NARROWEST or min(widths[:-1]) < max(widths) * _FULL or ends * 2 > len(lines) - 1:
        return piece
    return replace(piece, text=join_lines(lines))


def _pieces_of(part: TextTable | TextColumns) -> Iterator[Piece]:
    if isinstance(part, TextColumns):
        yield from (Piece(BlockKind.PARAGRAPH, text, lines=(part.first + 1, part.end)) for text in part.texts)
    else:
        yield _table_piece(part)


def _table_piece(table: TextTable) -> Piece:
    return Piece(
        BlockKind.TABLE,
        rows=table.rows,
        header_rows=table.header_rows,
        lines=(table.first + 1, table.end),
        parts=[Locator((row, row + 1), lines=(at + 1, at + 1)) for row, at in enumerate(table.places)],
    )


def _runs(lines: Sequence[_Line], headings: dict[int, int]) -> Iterator[list[_Line]]:
    """Lines that belong together: a heading alone, a list item with its continuation, a paragraph."""
    run: list[_Line] = []
    for line in lines:
        starts_anew = not line.text or line.number in headings or is_list_item(line.text)
        if run and (starts_anew or run[-1].number in headings):
            yield run
            run = []
        if line.text:
            run.append(line)
    if run:
        yield run


def _headings(lines: Sequence[_Line]) -> dict[int, int]:
    """Line number → form of each heading.

    Neighbouring lines of one form are a list or a table of contents, not headings. Inside a run of text a heading must
    follow a finished sentence, or it is the middle of a wrapped one.
    """
    forms = {line.number: heading_form(line.text) for line in lines if line.text}
    found: dict[int, int] = {}
    for before, line, after in zip([None, *lines[:-1]], lines, [*lines[1:], None], strict=True):
        form = forms.get(line.number)
        if form is None:
            continue
        if any(other is not None and forms.get(other.number) == form for other in (before, after)):
            continue
        opens = before is None or not before.text or before.number in found
        if opens or (before is not None and _ENDS_SENTENCE.search(before.text)):
            found[line.number] = form
    return found
