"""From a format's pieces to a `ParsedDocument`: clean text, heading paths, spans. Every parser ends here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from indexing.blocks import Block, BlockKind, Gap, LeftOut, ParsedDocument
from indexing.errors import NoText
from indexing.locators import Cells, Locator, Region
from indexing.parsers import limits
from indexing.parsers.clean import clean, one_line, tidy
from indexing.parsers.encoded import told, without_encoded
from indexing.parsers.language import language_of

BETWEEN_BLOCKS = "\n\n"
BETWEEN_CELLS = " | "
LONGEST_HEADING = 500  # characters; every block below a heading repeats it
_BLANK_START = re.compile(r"(?:[^\S\n]*\n)+")

Rows = tuple[tuple[str, ...], ...]


@dataclass(slots=True)
class Piece:
    """What a format's parser found, before spans are known. Fields as in `indexing.blocks.Block` and `Locator`.

    `path` holds the headings above it where these are other ones than the pieces before it say: the names of functions.
    The spans of `parts` are positions in `text`; of a table, numbers of its rows: (3, 4) is the fourth one.
    """

    kind: BlockKind
    text: str = ""
    level: int | None = None
    rows: Rows = ()
    header_rows: int = 0
    page: int | None = None
    page_end: int | None = None
    region: Region | None = None
    lines: tuple[int, int] | None = None
    region_end: Region | None = None
    page_label: str | None = None
    sheet: str | None = None
    cells: Cells | None = None
    slide: int | None = None
    parts: Sequence[Locator] = ()
    language: str | None = None
    confidence: float | None = None
    depth: int | None = None
    path: tuple[str, ...] | None = None


def assemble(
    media_type: str,
    pieces: Iterable[Piece],
    *,
    title: str | None = None,
    pages: int | None = None,
    language: str | None = None,
    gaps: Iterable[Gap] = (),
    left_out: Iterable[LeftOut] = (),
) -> ParsedDocument:
    """Join `pieces` in their order. Pieces without text are dropped; none left is `NoText`. A heading as long as a
    paragraph is one; on a slide it holds up to the slide's end. Of files written out in letters only the beginning stays.
    More of anything than `limits` allow is `DocumentTooLarge`.

    `language`: where the file declares it reliably; else it is told by the text.
    A piece without a place has only its span: nobody can look up a line that is not the file's.
    """
    blocks: list[Block] = []
    texts: list[str] = []
    encoded: list[str] = []
    above: list[tuple[int, str]] = []  # open headings, outermost first
    start, cells = 0, 0
    slide: int | None = None
    for piece in (_readable(piece, encoded) for piece in pieces):
        rows, header_rows, text = _text_of(piece)
        if not text.strip():
            continue
        if piece.slide != slide:
            slide, above = piece.slide, []
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
        end = start + len(text)
        blocks.append(
            Block(
                kind,
                text,
                _locator(piece, (start, end)),
                heading_path=_path(piece, above),
                level=level,
                rows=rows,
                header_rows=header_rows,
                parts=_parts(piece, text, start),
                language=piece.language,
                confidence=piece.confidence,
                depth=piece.depth,
            )
        )
        texts.append(text)
        if level is not None:
            above.append((level, text))
        start = end + len(BETWEEN_BLOCKS)
    if not blocks:
        raise NoText()
    text = BETWEEN_BLOCKS.join(texts)
    return ParsedDocument(
        media_type,
        text,
        tuple(blocks),
        title=one_line(title or "") or None,
        pages=pages,
        language=language or language_of(text),
        gaps=tuple(gaps),
        left_out=(*left_out, *told(encoded)),
    )


def _readable(piece: Piece, encoded: list[str]) -> Piece:
    known = len(encoded)
    text = without_encoded(piece.text, encoded)
    rows = tuple(tuple(without_encoded(cell, encoded) for cell in row) for row in piece.rows)
    if len(encoded) == known:
        return piece
    return replace(piece, text=text, rows=rows, parts=piece.parts if piece.kind is BlockKind.TABLE else ())


def _path(piece: Piece, above: list[tuple[int, str]]) -> tuple[str, ...]:
    if piece.path is None:
        return tuple(heading for _, heading in above)
    names = (one_line(name) for name in piece.path)
    return tuple(name for name in names if 0 < len(name) <= LONGEST_HEADING)


def _locator(piece: Piece, span: tuple[int, int]) -> Locator:
    return Locator(
        span,
        page=piece.page,
        page_end=piece.page_end,
        region=piece.region,
        lines=piece.lines,
        region_end=piece.region_end,
        page_label=piece.page_label,
        sheet=piece.sheet,
        cells=piece.cells,
        slide=piece.slide,
    )


def _parts(piece: Piece, text: str, start: int) -> tuple[Locator, ...]:
    """Their spans in the document's text. None, where cleaning moved characters: the whole piece's place is still right."""
    if not piece.parts:
        return ()
    if piece.kind is BlockKind.TABLE:
        return tuple(_row_parts(piece, start))
    if text != piece.text:
        return ()
    return tuple(replace(part, span=(start + part.span[0], start + part.span[1])) for part in piece.parts)


def _row_parts(piece: Piece, start: int) -> Iterator[Locator]:
    places = {part.span[0]: part for part in piece.parts}
    for number, row in enumerate(piece.rows):
        line = BETWEEN_CELLS.join(map(one_line, row))
        if not any(map(one_line, row)):
            continue
        if number in places:
            yield replace(places[number], span=(start, start + len(line)))
        start += len(line) + 1


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
