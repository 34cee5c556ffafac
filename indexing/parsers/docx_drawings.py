"""What is drawn in a paragraph of a DOCX: its pictures, by their descriptions or their texts, charts and diagrams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import takewhile
from typing import Any

from docx.oxml.ns import qn

from indexing.blocks import BlockKind, GapReason
from indexing.parsers.assemble import Piece
from indexing.parsers.office_graphics import chart, description, diagram, read_xml
from indexing.parsers.pictures import Pictures

_PROPERTIES = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"
_GRAPHIC = "{http://schemas.openxmlformats.org/drawingml/2006/main}graphicData"
_PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/main}blip"
_OLDER_PICTURE = "{urn:schemas-microsoft-com:vml}imagedata"
WORD_ART = "{urn:schemas-microsoft-com:vml}textpath"  # letters that are drawn
_OLDER_SHAPE = "{urn:schemas-microsoft-com:vml}shape"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


def drawn(
    paragraph: Any, content_of: Callable[[str], bytes], pictures: Pictures, missed: Callable[[GapReason], None]
) -> Iterator[Piece]:
    """`content_of` gives the part of a relation's id. What it raises, and `lxml.etree.XMLSyntaxError`, is raised; what
    cannot be read of a picture is told to `missed`."""
    for element in paragraph.iter(_PROPERTIES, _GRAPHIC, _OLDER_SHAPE, _PICTURE, _OLDER_PICTURE, WORD_ART):
        if next(element.iterancestors(qn("w:p"))) is not paragraph:
            continue
        if element.tag == _GRAPHIC:
            yield from _graphic(element, content_of)
        elif element.tag == WORD_ART:
            yield Piece(BlockKind.PARAGRAPH, element.get("string", ""))
        elif element.tag in (_PICTURE, _OLDER_PICTURE, WORD_ART):
            if not _is_described(element):
                relation = element.get(f"{_RELATION}embed") or element.get(f"{_RELATION}id") or ""
                yield from pictures.read(partial(content_of, relation), missed)
        else:
            yield Piece(BlockKind.CAPTION, description(element))


def _is_described(picture: Any) -> bool:
    """By an author: its own properties, or those of what it stands in."""
    inside = picture.iterancestors()
    properties = (
        found
        for above in takewhile(lambda above: above.tag not in (qn("w:r"), qn("w:p")), inside)
        for found in (above if above.tag == _OLDER_SHAPE else above.find("{*}docPr"), above.find("{*}nvPicPr/{*}cNvPr"))
    )
    return any(description(found) for found in properties if found is not None)


def _graphic(data: Any, content_of: Callable[[str], bytes]) -> Iterator[Piece]:
    for element in data:
        kind = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
        if kind == "chart":
            yield from chart(read_xml(content_of(element.get(f"{_RELATION}id"))))
        elif kind == "relIds":
            texts = diagram(read_xml(content_of(element.get(f"{_RELATION}dm"))))
            yield from (Piece(BlockKind.LIST_ITEM, text) for text in texts)
