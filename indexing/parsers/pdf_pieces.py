"""Paragraphs and tables of a PDF to pieces of the document, each with the places of its lines or rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from indexing.blocks import BlockKind
from indexing.locators import Locator, Region, covering
from indexing.parsers.assemble import Piece
from indexing.parsers.outline import is_list_item
from indexing.parsers.pdf_paragraphs import Paragraph

Labels = Mapping[int, str]  # page → what is printed on it, where that is not its number


def pieces_of_text(found: Sequence[Paragraph], levels: Mapping[int, int], labels: Labels) -> Iterator[Piece]:
    """`levels`: position of a heading → its level."""
    for position, paragraph in enumerate(found):
        if paragraph.tables:
            yield _placed(_table(paragraph, labels))
            continue
        text, spans = paragraph.joined()
        places = zip(paragraph.lines, spans, strict=True)
        parts = [_place(span, line.page, line.region, labels) for line, span in places]
        piece = Piece(BlockKind.PARAGRAPH, text, parts=parts)
        if position in levels:
            piece.kind, piece.level = BlockKind.HEADING, levels[position]
        elif paragraph.kind is not None:
            piece.kind = paragraph.kind
        elif is_list_item(text) and not paragraph.is_note:
            piece.kind = BlockKind.LIST_ITEM
        yield _placed(piece)


def _table(paragraph: Paragraph, labels: Labels) -> Piece:
    parts: list[Locator] = []
    for table in paragraph.tables:
        for region in table.regions:
            number = len(parts)
            parts.append(_place((number, number + 1), table.page, region, labels))
    rows = tuple(row for table in paragraph.tables for row in table.rows)
    return Piece(BlockKind.TABLE, rows=rows, header_rows=paragraph.tables[0].header_rows, parts=parts)


def _place(span: tuple[int, int], page: int, region: Region, labels: Labels) -> Locator:
    left, top, right, bottom = (round(side, 2) for side in region)
    return Locator(span, page=page, region=(left, top, right, bottom), page_label=labels.get(page))


def _placed(piece: Piece) -> Piece:
    whole = covering((0, 0), piece.parts)
    piece.page, piece.page_end, piece.page_label = whole.page, whole.page_end, whole.page_label
    piece.region, piece.region_end = whole.region, whole.region_end
    return piece
