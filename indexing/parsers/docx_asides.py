"""What a DOCX has beside its text: headers and footers, deleted and hidden text, what its author says of pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docx.oxml import parse_xml
from docx.oxml.ns import qn

from indexing.blocks import LeftOut, LeftOutReason
from indexing.parsers import limits
from indexing.parsers.docx_text import is_hidden, paragraph_text

_REASONS = {"header": LeftOutReason.PAGE_HEADER, "footer": LeftOutReason.PAGE_FOOTER}
_FILE_NAME = re.compile(r"(?i)\S+\.(?:png|jpe?g|gif|emf|wmf|bmp|tiff?|svg)|(?:picture|image|图片|圖片)\s*\d*")
_PROPERTIES = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"


def left_out(document: Any, contents: list[str]) -> Iterator[LeftOut]:
    """Each text once. `contents`: the lines of the table of contents."""
    seen = set()
    for relation in document.part.rels.values():
        kind = relation.reltype.rpartition("/")[2]
        if kind in _REASONS and not relation.is_external:
            root = parse_xml(relation.target_part.blob)
            text = limits.excerpt(filter(None, (paragraph_text(one).strip() for one in root.iter(qn("w:p")))))
            if text and (kind, text) not in seen:
                seen.add((kind, text))
                yield LeftOut(_REASONS[kind], text)
    if contents:
        yield LeftOut(LeftOutReason.CONTENTS, limits.excerpt(contents))
    if hidden := [text for run in document.element.body.iter(qn("w:r")) if (text := _unseen(run))]:
        yield LeftOut(LeftOutReason.HIDDEN, limits.excerpt(hidden))


def descriptions(paragraph: Any) -> Iterator[str]:
    """What the author wrote of the pictures in a paragraph, for those who do not see them."""
    for properties in paragraph.iter(_PROPERTIES):
        if next(properties.iterancestors(qn("w:p"))) is paragraph:
            words = (properties.get("descr") or "").strip()
            if words and not _FILE_NAME.fullmatch(words):
                yield words


def _unseen(run: Any) -> str:
    """Of a run that is deleted or hidden."""
    deleted = "".join(part.text or "" for part in run.iter(qn("w:delText")))
    hidden = "".join(part.text or "" for part in run.iter(qn("w:t"))) if is_hidden(run) else ""
    return (deleted + hidden).strip()
