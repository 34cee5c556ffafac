"""What a DOCX has beside its text: headers and footers, tables of contents, deleted and hidden text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docx.oxml import parse_xml
from docx.oxml.ns import qn

from indexing.blocks import LeftOut, LeftOutReason
from indexing.parsers import limits
from indexing.parsers.docx_text import is_hidden, paragraph_text

_REASONS = {"header": LeftOutReason.PAGE_HEADER, "footer": LeftOutReason.PAGE_FOOTER}


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


def _unseen(run: Any) -> str:
    """Of a run that is deleted or hidden."""
    deleted = "".join(part.text or "" for part in run.iter(qn("w:delText")))
    hidden = "".join(part.text or "" for part in run.iter(qn("w:t"))) if is_hidden(run) else ""
    return (deleted + hidden).strip()
