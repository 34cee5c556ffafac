"""PPTX: slides with their titles, lists, tables, charts, diagrams, formulas and speaker's notes.

A title is a heading for its slide alone. Layouts and masters are not content; comments are not either, and told.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from lxml import etree
from pptx.exc import PythonPptxError
from pptx.package import Package

from documents.media_types import PPTX
from indexing.blocks import BlockKind, Gap, GapReason, LeftOut, LeftOutReason, ParsedDocument
from indexing.errors import DocumentCorrupt
from indexing.parsers import limits
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.clean import is_cjk
from indexing.parsers.left_out import leave_out
from indexing.parsers.office_alternatives import resolve_alternatives
from indexing.parsers.office_graphics import chart, description, diagram, read_xml
from indexing.parsers.package import check_package
from indexing.parsers.pictures import Pictures
from indexing.parsers.pptx_lists import Labels
from indexing.parsers.pptx_order import in_reading_order
from indexing.parsers.pptx_slides import is_title, left_out_reason, slides_of
from indexing.parsers.pptx_tables import read_table
from indexing.parsers.pptx_text import is_formula, paragraph_text
from indexing.parsers.scans import Scans

# What programs call a presentation that nobody has named.
_NO_TITLE = re.compile(
    r"(?i)(?:microsoft )?powerpoint(?: presentation| 演示文稿)?|(?:presentation|演示文稿)\s?\d*"
    r"|slide ?1|幻灯片 ?1|untitled|无标题"
)
_PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/main}blip"
_GRAPHIC = "{http://schemas.openxmlformats.org/drawingml/2006/main}graphic"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
# What the library raises for parts that are missing or not what they should be.
_DAMAGE = (
    *(PythonPptxError, etree.LxmlError, KeyError, ValueError, TypeError, AttributeError, IndexError, OSError),
    *(NotImplementedError, AssertionError),
)


def parse(content: bytes, scans: Scans | None = None) -> ParsedDocument:
    """Raises `DocumentCorrupt`, `DocumentEncrypted`, `DocumentTooLarge`, `UnsupportedDocument` or `NoText`.

    The title is that of the first slide, else the one in the file's properties, which templates leave behind.
    """
    check_package(content, main_part="ppt/presentation.xml", old_stream="PowerPoint Document")
    try:
        package = Package.open(io.BytesIO(content))
        slides = slides_of(package.presentation_part)
        title = package.core_properties.title or ""
    except _DAMAGE as error:
        if "Excessive depth" in str(error):
            raise limits.DOCX_DEPTH.exceeded() from error
        raise DocumentCorrupt() from error
    limits.PAGES.check(len(slides))
    pieces, gaps, left_out, pictures = list[Piece](), list[Gap](), list[LeftOut](), Pictures(scans)
    for number, slide in enumerate(slides, 1):
        is_hidden = slide.element.get("show") in ("0", "false")
        found = _Slide(number, None if is_hidden else pictures)
        try:
            on_slide = list(found.pieces(slide))
        except _DAMAGE:
            gaps.append(Gap(GapReason.UNREADABLE, slide=number))
            continue
        if is_hidden:
            texts = (piece.text or " ".join(map(" ".join, piece.rows)) for piece in on_slide)
            left_out.append(leave_out(LeftOutReason.HIDDEN, texts, slide=number))
        else:
            pieces += on_slide
            limits.BLOCKS.check(len(pieces))  # before all slides are read: one may be shown ten thousand times
            gaps += dict.fromkeys(found.gaps)
        left_out += found.left_out
    first = next((piece.text for piece in pieces if piece.kind is BlockKind.HEADING and piece.slide == 1), "")
    properties = "" if _NO_TITLE.fullmatch(title.strip()) else title
    return assemble(PPTX, pieces, title=first or properties, pages=len(slides), gaps=gaps, left_out=left_out)


class _Slide:
    """One slide. What is not shown, or the same on every slide, goes to `left_out`. `pictures`: None leaves them unread."""

    def __init__(self, number: int, pictures: Pictures | None) -> None:
        self._number, self._pictures = number, pictures
        self.left_out: list[LeftOut] = []
        self.gaps: list[Gap] = []

    def pieces(self, slide: Any) -> Iterator[Piece]:
        for piece in self._all(slide):
            piece.slide = self._number
            yield piece

    def _all(self, slide: Any) -> Iterator[Piece]:
        resolve_alternatives(slide.element)
        shapes = [shape for shape in slide.shapes if not self._leave_out(shape)]
        titles = [shape for shape in shapes if is_title(shape)]
        for shape in titles:
            text = "\n".join(paragraph_text(paragraph._p) for paragraph in shape.text_frame.paragraphs)
            yield Piece(BlockKind.HEADING, text, level=1)
        yield from self._shapes([shape for shape in shapes if not is_title(shape)], depth=0)
        yield from _notes(slide)
        try:
            self._comments(slide.part)
        except _DAMAGE:
            self.gaps.append(Gap(GapReason.UNREADABLE, slide=self._number))

    def _comments(self, part: Any) -> None:
        for relation in part.rels.values():
            if relation.reltype.endswith("/comments") and not relation.is_external:
                root = read_xml(relation.target_part.blob)
                texts = [found.text.strip() for found in root.iter("{*}text", "{*}t") if (found.text or "").strip()]
                if texts:
                    self.left_out.append(leave_out(LeftOutReason.COMMENT, texts, slide=self._number))

    def _leave_out(self, shape: Any) -> bool:
        reason = left_out_reason(shape)
        text = "".join(part.text or "" for part in shape.element.iter("{*}t")).strip() if reason else ""
        if reason and text:
            self.left_out.append(leave_out(reason, [text], slide=self._number))
        return reason is not None

    def _shapes(self, shapes: list[Any], depth: int) -> Iterator[Piece]:
        limits.DOCX_DEPTH.check(depth)
        for shape in in_reading_order(shapes):
            try:
                yield from self._shape(shape, depth)
            except _DAMAGE:
                self.gaps.append(Gap(GapReason.UNREADABLE, slide=self._number))

    def _shape(self, shape: Any, depth: int) -> Iterator[Piece]:
        kind = shape.element.tag.rpartition("}")[2]
        if kind == "grpSp":
            yield from self._shapes([inner for inner in shape.shapes if not self._leave_out(inner)], depth + 1)
        elif kind == "graphicFrame":
            yield from _graphic(shape)
        elif kind == "sp":
            yield from _texts(shape)
        if kind == "graphicFrame" or next(shape.element.iter(_PICTURE), None) is not None:
            yield from self._pictures_of(shape)

    def _pictures_of(self, shape: Any) -> Iterator[Piece]:
        """What an author says that it shows, else what the pictures in it say."""
        words = description(shape.element._nvXxPr.cNvPr)
        if words:
            yield Piece(BlockKind.CAPTION, words)
        elif self._pictures is not None:
            for picture in shape.element.iter(_PICTURE):
                part = _part(shape.part, picture.get(f"{_RELATION}embed", ""))
                yield from self._pictures.read(part and part.partname, partial(getattr, part, "blob"), self._missed)

    def _missed(self, reason: GapReason) -> None:
        self.gaps.append(Gap(reason, slide=self._number))


def _part(part: Any, relation: str) -> Any:
    """None for what is not in the file."""
    try:
        return part.related_part(relation)
    except (KeyError, ValueError):
        return None


def _graphic(frame: Any) -> Iterator[Piece]:
    """A table, chart or diagram."""
    if frame.has_table:
        yield read_table(frame.table)
        return
    data = frame.element.find(f".//{_GRAPHIC}/*")
    inner: Any = data[0] if data is not None and len(data) else None
    kind = inner.tag.rpartition("}")[2] if inner is not None else ""
    if kind == "chart":
        yield from chart(read_xml(frame.part.related_part(inner.get(f"{_RELATION}id")).blob))
    elif kind == "relIds":
        root = read_xml(frame.part.related_part(inner.get(f"{_RELATION}dm")).blob)
        yield from (Piece(BlockKind.LIST_ITEM, text) for text in diagram(root))


def _texts(shape: Any) -> Iterator[Piece]:
    if not shape.has_text_frame:
        return
    labels = Labels(shape)
    for paragraph in shape.text_frame.paragraphs:
        text = paragraph_text(paragraph._p)
        if not text.strip():
            continue
        label = labels.next(paragraph)
        if is_formula(paragraph._p):
            yield Piece(BlockKind.FORMULA, text)
        elif label is None:
            yield Piece(BlockKind.PARAGRAPH, text)
        else:
            yield Piece(BlockKind.LIST_ITEM, f"{label} {text}" if label else text, depth=paragraph.level)


def _notes(slide: Any) -> Iterator[Piece]:
    """What the speaker says, under a heading of its own: nobody saw it on the slide."""
    frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    paragraphs = [paragraph_text(paragraph._p) for paragraph in frame.paragraphs] if frame is not None else []
    if text := "".join(paragraphs).strip():
        yield Piece(BlockKind.HEADING, "备注" if any(map(is_cjk, text)) else "Notes", level=2)
        yield from (Piece(BlockKind.PARAGRAPH, paragraph) for paragraph in paragraphs)
