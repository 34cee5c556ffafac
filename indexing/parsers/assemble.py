"""From a format's pieces to a `ParsedDocument`: clean text, heading paths, spans. Every parser ends here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from indexing.blocks import Block, BlockKind, Locator, ParsedDocument
from indexing.errors import NoText
from indexing.parsers import limits
from indexing.parsers.clean import clean, one_line, tidy

BETWEEN_BLOCKS = "\n\n"
BETWEEN_CELLS = " | "
LONGEST_HEADING = 500  # characters; every block below a heading repeats it
_BLANK_START = re.compile(r"(?:[^\S\n]*\n)+")

Region = tuple[float, float, float, float]
Rows = tuple[tuple[str, ...], ...]


@dataclass(slots=True)
class Piece:
    """What a format's parser found, before spans are known. Fields as in `indexing.blocks.Block` and `Locator`."""

    kind: BlockKind
    text: str = ""
    level: int | None = None
    rows: Rows = ()
    header_rows: int = 0
    page: int | None = None
    page_end: int | None = None
    region: Region | None = None
    lines: tuple[int, int] | None = None


def assemble(
    media_type: str, pieces: Iterable[Piece], *, title: str | None = None, pages: int | None = None
) -> ParsedDocument:
    """Join `pieces` in their order. Pieces without text are dropped; none left is `NoText`. A heading as long as a
    paragraph is one. More of anything than `limits` allow is `DocumentTooLarge`.

    A piece without a page and without lines gets the lines of the extracted text, where the format has no own ones.
    """
    blocks: list[Block] = []
    parts: list[str] = []
    above: list[tuple[int, str]] = []  # open headings, outermost first
    start, line, cells = 0, 1, 0
    for piece in pieces:
        rows, header_rows, text = _text_of(piece)
        if not text.strip():
            continue
        cells += sum(map(len, rows))
        limits.CELLS.check(cells)
        limits.BLOCKS.check(len(blocks) + 1)
        limits.CHARACTERS.check(start + len(text))
        kind = piece.kind
        if kind is BlockKind.HEADING and len(text) > LONGEST_HEADING:
            kind = BlockKind.PARAGRAPH
        level = min(max(piece.level or 1, 1), 6) if kind is BlockKind.HEADING else None
        if level is not None:
            above = [heading for heading in above if heading[0] < level]
        end, last_line = start + len(text), line + text.count("\n")
        own_lines = piece.lines or ((line, last_line) if piece.page is None else None)
        locator = Locator((start, end), piece.page, piece.page_end, piece.region, own_lines)
        path = tuple(heading for _, heading in above)
        blocks.append(Block(kind, text, locator, path, level, rows, header_rows))
        parts.append(text)
        if level is not None:
            above.append((level, text))
        start, line = end + len(BETWEEN_BLOCKS), last_line + BETWEEN_BLOCKS.count("\n")
    if not blocks:
        raise NoText()
    return ParsedDocument(media_type, BETWEEN_BLOCKS.join(parts), tuple(blocks), one_line(title or "") or None, pages)


def _text_of(piece: Piece) -> tuple[Rows, int, str]:
    """The cleaned rows and the number of header rows among them (of a table), and the text of a piece."""
    if piece.kind is BlockKind.TABLE:
        cleaned = [tuple(one_line(cell) for cell in row) for row in piece.rows]
        rows = tuple(row for row in cleaned if any(row))
        header_rows = sum(1 for row in cleaned[: piece.header_rows] if any(row))
        return rows, header_rows, "\n".join(BETWEEN_CELLS.join(row) for row in rows)
    if piece.kind is BlockKind.CODE:
        code = clean(piece.text).rstrip()
        start = _BLANK_START.match(code)
        return (), 0, code[start.end() :] if start else code
    if piece.kind is BlockKind.HEADING:
        return (), 0, one_line(piece.text)
    return (), 0, tidy(piece.text)
