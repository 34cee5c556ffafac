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
    paragraph: Any, part_of: Callable[[str], Any], pictures: Pictures, missed: Callable[[GapReason], None]
) -> Iterator[Piece]:
    """`part_of` gives the part of a relation's id. What it raises, and `lxml.etree.XMLSyntaxError`, is raised; what
    cannot be read of a picture is told to `missed`."""
    described: dict[Any, bool] = {}
    for element in paragraph.iter(_PROPERTIES, _GRAPHIC, _OLDER_SHAPE, _PICTURE, _OLDER_PICTURE, WORD_ART):
        if next(element.iterancestors(qn("w:p"))) is not paragraph:
            continue
        if element.tag == _GRAPHIC:
            yield from _graphic(element, part_of)
        elif element.tag == WORD_ART:
            yield Piece(BlockKind.PARAGRAPH, element.get("string", ""))
        elif element.tag in (_PICTURE, _OLDER_PICTURE, WORD_ART):
            if not _is_described(element, described):
                relation = element.get(f"{_RELATION}embed") or element.get(f"{_RELATION}id") or ""
                part = _part(part_of, relation)
                yield from pictures.read(part and part.partname, partial(getattr, part, "blob"), missed)
        else:
            yield Piece(BlockKind.CAPTION, description(element))


def _part(part_of: Callable[[str], Any], relation: str) -> Any:
    """None for a picture that is not in the file: one on another machine, too."""
    try:
        return part_of(relation)
    except KeyError:
        return None


def _is_described(picture: Any, known: dict[Any, bool]) -> bool:
    """By an author: in the properties of something that it stands in. `known`: of what was asked before, as one drawing may
    have thousands of pictures."""
    for above in takewhile(lambda above: above.tag not in (qn("w:r"), qn("w:p")), picture.iterancestors()):
        if above not in known:
            own = above if above.tag == _OLDER_SHAPE else None
            properties = (own, above.find("{*}docPr"), above.find("{*}nvPicPr/{*}cNvPr"))
            known[above] = any(description(found) for found in properties if found is not None)
        if known[above]:
            return True
    return False


def _graphic(data: Any, part_of: Callable[[str], Any]) -> Iterator[Piece]:
    for element in data:
        kind = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
        if kind == "chart":
            yield from chart(read_xml(part_of(element.get(f"{_RELATION}id")).blob))
        elif kind == "relIds":
            texts = diagram(read_xml(part_of(element.get(f"{_RELATION}dm")).blob))
            yield from (Piece(BlockKind.LIST_ITEM, text) for text in texts)
