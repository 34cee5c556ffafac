"""PPTX: slides with their titles, lists, tables, charts, diagrams and speaker's notes, in the order of their places."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

from lxml import etree
from pptx import Presentation
from pptx.enum.shapes import MSO_SHAPE_TYPE, PP_PLACEHOLDER
from pptx.exc import PythonPptxError

from documents.media_types import PPTX
from indexing.blocks import BlockKind, Gap, GapReason, LeftOut, LeftOutReason, ParsedDocument
from indexing.errors import DocumentCorrupt
from indexing.parsers import limits
from indexing.parsers.assemble import Piece, Rows, assemble
from indexing.parsers.package import check_package
from indexing.parsers.pptx_lists import Labels
from indexing.parsers.pptx_order import in_reading_order

_TITLES = (PP_PLACEHOLDER.TITLE, PP_PLACEHOLDER.CENTER_TITLE, PP_PLACEHOLDER.VERTICAL_TITLE)
_FURNITURE = {
    PP_PLACEHOLDER.FOOTER: LeftOutReason.PAGE_FOOTER,
    PP_PLACEHOLDER.HEADER: LeftOutReason.PAGE_HEADER,
    PP_PLACEHOLDER.DATE: LeftOutReason.PAGE_FOOTER,
    PP_PLACEHOLDER.SLIDE_NUMBER: LeftOutReason.PAGE_NUMBER,
}
_JUNK_TITLE = re.compile(r"(?i)(?:microsoft )?powerpoint|presentation|slide ?1|演示文稿|幻灯片 ?1|untitled|无标题")
_FILE_NAME = re.compile(r"(?i)[^\s]+\.(?:png|jpe?g|gif|emf|wmf|bmp|tiff?|svg)")
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_BROKEN = (PythonPptxError, etree.LxmlError, KeyError, ValueError, TypeError, AttributeError, IndexError, OSError)


def parse(content: bytes) -> ParsedDocument:
    """Raises `DocumentCorrupt`, `DocumentEncrypted`, `DocumentTooLarge`, `UnsupportedDocument` or `NoText`."""
    check_package(content, main_part="ppt/presentation.xml", old_stream="PowerPoint Document")
    try:
        presentation = Presentation(io.BytesIO(content))
        slides = list(presentation.slides)
        title = presentation.core_properties.title or ""
    except _BROKEN as error:
        raise DocumentCorrupt() from error
    limits.PAGES.check(len(slides))
    pieces, gaps, left_out = list[Piece](), list[Gap](), list[LeftOut]()
    for number, slide in enumerate(slides, 1):
        found = _Slide(number)
        try:
            on_slide = list(found.pieces(slide))
        except _BROKEN:
            gaps.append(Gap(GapReason.UNREADABLE, slide=number))
            continue
        if slide.element.get("show") in ("0", "false"):
            left_out.append(LeftOut(LeftOutReason.HIDDEN, limits.excerpt(piece.text for piece in on_slide), (number,)))
        else:
            pieces += on_slide
            left_out += found.left_out
    if _JUNK_TITLE.match(title):
        title = ""
    first = next((piece.text for piece in pieces if piece.kind is BlockKind.HEADING and piece.slide == 1), "")
    return assemble(PPTX, pieces, title=title or first, pages=len(slides), gaps=gaps, left_out=left_out)


class _Slide:
    """One slide. What is the same on every slide goes to `left_out`."""

    def __init__(self, number: int) -> None:
        self._number = number
        self.left_out: list[LeftOut] = []

    def pieces(self, slide: Any) -> Iterator[Piece]:
        shapes = list(slide.shapes)
        titles = [shape for shape in shapes if _placeholder(shape) in _TITLES]
        for shape in titles:
            yield self._piece(BlockKind.HEADING, shape.text_frame.text, level=1)
        for shape in in_reading_order([shape for shape in shapes if shape not in titles]):
            yield from self._shape(shape, depth=0)
        if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
            for paragraph in notes.paragraphs:
                yield self._piece(BlockKind.PARAGRAPH, paragraph.text)

    def _piece(self, kind: BlockKind, text: str = "", **more: Any) -> Piece:
        return Piece(kind, text, slide=self._number, **more)

    def _shape(self, shape: Any, depth: int) -> Iterator[Piece]:
        limits.DOCX_DEPTH.check(depth)
        reason = _FURNITURE.get(_placeholder(shape))
        if reason is not None:
            if text := shape.text_frame.text.strip():
                self.left_out.append(LeftOut(reason, text, (self._number,)))
        elif shape.shape_type == MSO_SHAPE_TYPE.GROUP:
            for inner in in_reading_order(list(shape.shapes)):
                yield from self._shape(inner, depth + 1)
        elif getattr(shape, "has_table", False) and shape.has_table:
            rows, header_rows = _table(shape.table)
            yield self._piece(BlockKind.TABLE, rows=rows, header_rows=header_rows)
        elif getattr(shape, "has_chart", False) and shape.has_chart:
            yield from self._chart(shape.chart)
        elif shape.has_text_frame:
            yield from self._texts(shape)
        elif (element := _diagram(shape)) is not None:
            yield from self._diagram(element)
        elif words := _description(shape):
            yield self._piece(BlockKind.CAPTION, words)

    def _texts(self, shape: Any) -> Iterator[Piece]:
        labels = Labels(shape)
        for paragraph in shape.text_frame.paragraphs:
            label = labels.next(paragraph)
            if not paragraph.text.strip():
                continue
            if label is None:
                yield self._piece(BlockKind.PARAGRAPH, paragraph.text)
            else:
                yield self._piece(BlockKind.LIST_ITEM, f"{label} {paragraph.text}" if label else paragraph.text)

    def _chart(self, chart: Any) -> Iterator[Piece]:
        """Its title, and the numbers that it draws as a table."""
        if chart.has_title and chart.chart_title.has_text_frame:
            yield self._piece(BlockKind.CAPTION, chart.chart_title.text_frame.text)
        try:
            series = [one for plot in chart.plots for one in plot.series]
            names = [str(label) for label in chart.plots[0].categories] if len(chart.plots) else []
            values = [[_number(value) for value in one.values] for one in series]
        except _BROKEN:
            return  # a kind of chart that the library does not know; its title is there
        header = ("", *(str(one.name) for one in series))
        rows = [(name, *(some[at] if at < len(some) else "" for some in values)) for at, name in enumerate(names)]
        if rows:
            yield self._piece(BlockKind.TABLE, rows=(header, *rows), header_rows=1)

    def _diagram(self, root: Any) -> Iterator[Piece]:
        for point in root.iter(f"{_DIAGRAM}pt"):
            text = " ".join(part.text or "" for part in point.iter(f"{_DRAWING}t"))
            if point.get("type", "node") == "node" and text.strip():
                yield self._piece(BlockKind.LIST_ITEM, text)


def _placeholder(shape: Any) -> Any:
    return shape.placeholder_format.type if shape.is_placeholder else None


def _table(table: Any) -> tuple[Rows, int]:
    """Cells merged over rows are repeated in each; in the header, those merged over columns too."""
    rows = [list(row.cells) for row in table.rows]
    header = 1 if table.first_row and len(rows) > 1 else 0
    if header:
        header = max([1, *(cell.span_height for cell in rows[0] if cell.is_merge_origin)])
        # A row of labels under cells that are merged over columns belongs to the header.
        if header == 1 and len(rows) > 2 and any(cell.is_merge_origin and cell.span_width > 1 for cell in rows[0]):
            header = 2
        header = min(header, len(rows) - 1)
    texts = [[cell.text if not cell.is_spanned else "" for cell in row] for row in rows]
    for top, row in enumerate(rows):
        for left, cell in enumerate(row):
            if not cell.is_merge_origin:
                continue
            width = cell.span_width if top < header else 1
            for r in range(top, min(top + cell.span_height, len(rows))):
                for c in range(left, min(left + width, len(row))):
                    texts[r][c] = cell.text
    return tuple(map(tuple, texts)), header


def _diagram(shape: Any) -> Any:
    """The text of a diagram (SmartArt) stands in a part of its own."""
    for identifiers in shape.element.iter(f"{_DIAGRAM}relIds"):
        part = shape.part.related_part(identifiers.get(f"{_RELATION}dm"))
        return etree.fromstring(part.blob, etree.XMLParser(resolve_entities=False, no_network=True))
    return None


def _description(shape: Any) -> str:
    """What the author wrote of a picture for those who do not see it."""
    for properties in shape.element.iter("{*}cNvPr"):
        words = (properties.get("descr") or "").strip()
        return "" if _FILE_NAME.fullmatch(words) else words
    return ""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.15g}"
