"""What a DOCX has beside its text: headers and footers, comments, tables of contents, and what is not shown: deleted, moved
away, hidden, or only in the properties of a form's field.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docx.oxml import parse_xml
from docx.oxml.ns import qn

from indexing.blocks import LeftOut, LeftOutReason
from indexing.parsers.docx_drawings import WORD_ART
from indexing.parsers.docx_text import is_deleted, is_hidden, paragraph_text
from indexing.parsers.left_out import leave_out
from indexing.parsers.office_alternatives import resolve_alternatives

_REASONS = {
    "header": LeftOutReason.PAGE_HEADER,
    "footer": LeftOutReason.PAGE_FOOTER,
    "comments": LeftOutReason.COMMENT,
}
_NOTES = ("footnotes", "endnotes")
_OF_FIELDS = ("w:textInput/w:default", "w:helpText", "w:statusText")  # of a form: what may be shown on the way


def left_out(document: Any, contents: list[str]) -> Iterator[LeftOut]:
    """Each text once. `contents`: the lines of the table of contents."""
    seen = set()
    roots = [document.element.body]
    for relation in document.part.rels.values():
        kind = relation.reltype.rpartition("/")[2]
        if relation.is_external or kind not in (*_REASONS, *_NOTES):
            continue
        root = parse_xml(relation.target_part.blob)
        resolve_alternatives(root)
        if kind in _NOTES:
            roots.append(root)
        elif (texts := tuple(_texts(root))) and (kind, texts) not in seen:
            seen.add((kind, texts))
            yield leave_out(_REASONS[kind], texts)
    if contents:
        yield leave_out(LeftOutReason.CONTENTS, contents)
    if hidden := [text for root in roots for text in _not_shown(root)]:
        yield leave_out(LeftOutReason.HIDDEN, hidden)


def _texts(root: Any) -> Iterator[str]:
    """Of its paragraphs, and what is drawn as letters over or under them."""
    for element in root.iter(qn("w:p"), WORD_ART):
        text = element.get("string", "") if element.tag == WORD_ART else paragraph_text(element)
        if text.strip():
            yield text.strip()


def _not_shown(root: Any) -> Iterator[str]:
    for element in root.iter(qn("w:r"), qn("w:ffData")):
        texts = [_unseen(element)] if element.tag == qn("w:r") else _of_field(element)
        yield from filter(None, texts)


def _unseen(run: Any) -> str:
    """Of a run that is deleted, moved away or hidden."""
    deleted = "".join(part.text or "" for part in run.iter(qn("w:delText")))
    unseen = is_hidden(run) or any(
        above.tag == qn("w:moveFrom") or (above.tag == qn("w:tr") and is_deleted(above))
        for above in run.iterancestors()
    )
    return (deleted + ("".join(part.text or "" for part in run.iter(qn("w:t"))) if unseen else "")).strip()


def _of_field(field: Any) -> list[str]:
    """What is in the properties of a form's field and not in its paragraph."""
    paragraph = next(field.iterancestors(qn("w:p")), None)
    shown = "" if paragraph is None else paragraph_text(paragraph)
    found = (field.find("/".join(map(qn, path.split("/")))) for path in _OF_FIELDS)
    texts = (element.get(qn("w:val"), "").strip() for element in found if element is not None)
    return [text for text in dict.fromkeys(texts) if text and text not in shown]
