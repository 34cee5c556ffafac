"""Plain text: paragraphs by blank lines, headings by evident form, list items, questions and answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from documents.media_types import TEXT
from indexing.blocks import BlockKind, ParsedDocument
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.clean import one_line
from indexing.parsers.encoding import decode_text
from indexing.parsers.faq import pair_questions
from indexing.parsers.outline import heading_form, is_list_item, levels

_LINE_END = re.compile("\r\n|\r|\n")  # what editors count as lines
_ENDS_SENTENCE = re.compile(r"[.!?。！？；;:：…][”’」』）)\"']*\Z")


@dataclass(frozen=True, slots=True)
class _Line:
    number: int  # 1-based, in the file
    text: str  # clean, on one line; empty where the file's line is blank


def parse(content: bytes) -> ParsedDocument:
    """Raises `NoText` or `DocumentTooLarge`. Every visible character of the file is in exactly one block; locators give
    the file's lines.
    """
    lines = [_Line(i, one_line(line)) for i, line in enumerate(_LINE_END.split(decode_text(content)), start=1)]
    forms = _headings(lines)
    level_of = levels(forms.values())
    pieces = []
    for run in _runs(lines, forms):
        first, last = run[0].number, run[-1].number
        text = "\n".join(line.text for line in run)
        if first in forms:
            kind, level = BlockKind.HEADING, level_of[forms[first]]
        else:
            kind, level = (BlockKind.LIST_ITEM if is_list_item(text) else BlockKind.PARAGRAPH), None
        pieces.append(Piece(kind, text, level=level, lines=(first, last)))
    return assemble(TEXT, pair_questions(pieces))


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
