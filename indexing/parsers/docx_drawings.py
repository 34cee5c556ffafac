"""What is drawn in a paragraph of a DOCX: descriptions of its pictures, charts and diagrams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from docx.oxml.ns import qn

from indexing.blocks import BlockKind
from indexing.parsers.assemble import Piece
from indexing.parsers.office_graphics import chart, description, diagram, read_xml

_PROPERTIES = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"
_GRAPHIC = "{http://schemas.openxmlformats.org/drawingml/2006/main}graphicData"
_OLDER_SHAPE = "{urn:schemas-microsoft-com:vml}shape"
_FALLBACK = (
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"  # the same drawing for older programs
)
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


def drawn(paragraph: Any, content_of: Callable[[str], bytes]) -> Iterator[Piece]:
    """`content_of` gives the part of a relation's id. What it raises, and `lxml.etree.XMLSyntaxError`, is raised."""
    for element in paragraph.iter(_PROPERTIES, _GRAPHIC, _OLDER_SHAPE):
        if next(element.iterancestors(qn("w:p"), _FALLBACK)) is not paragraph:
            continue
        if element.tag == _GRAPHIC:
            yield from _graphic(element, content_of)
        else:
            yield Piece(BlockKind.CAPTION, description(element))


def _graphic(data: Any, content_of: Callable[[str], bytes]) -> Iterator[Piece]:
    for element in data:
        kind = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
        if kind == "chart":
            yield from chart(read_xml(content_of(element.get(f"{_RELATION}id"))))
        elif kind == "relIds":
            texts = diagram(read_xml(content_of(element.get(f"{_RELATION}dm"))))
            yield from (Piece(BlockKind.LIST_ITEM, text) for text in texts)
