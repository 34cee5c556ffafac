"""The text of one DOCX paragraph as a reader sees it, and what hangs on it: text boxes, footnotes, endnotes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docx.oxml import parse_xml
from docx.oxml.ns import nsmap, qn

from indexing.parsers.docx_symbols import choice, symbol
from indexing.parsers.office_alternatives import resolve_alternatives
from indexing.parsers.office_math import MATH, formula_text

# Deleted and moved-away text, field codes, the reading above a character.
_SKIPPED = {
    *(qn(name) for name in ("w:del", "w:moveFrom", "w:instrText", "w:delText", "w:rt", "w:pPr", "w:rPr", "w:pict")),
    *(qn(name) for name in ("w:drawing", "w:object", "w:txbxContent")),
}
_AS_CHARACTER = {
    qn("w:tab"): "\t",
    qn("w:br"): "\n",
    qn("w:cr"): "\n",
    qn("w:noBreakHyphen"): "-",
    qn("w:ptab"): "\t",
}
_FORMULAS = {f"{MATH}oMath", f"{MATH}oMathPara"}
_CHOICES = {qn("w:checkBox"), qn("w:ddList")}


def paragraph_text(paragraph: Any) -> str:
    """Runs, links, insertions, fields' results and formulas, in order; without what is in text boxes. Formulas that follow
    one another are in lines. Raises `DocumentTooLarge` for a formula that is nested too deeply.
    """
    parts: list[str] = []
    waiting = [iter(paragraph)]
    after_formula = False
    while waiting:
        element = next(waiting[-1], None)
        if element is None:
            waiting.pop()
        elif element.tag == qn("w:t"):
            parts.append(element.text or "")
            after_formula = after_formula and not parts[-1].strip()
        elif element.tag in _FORMULAS:
            parts.append(f"\n{formula_text(element)}" if after_formula else formula_text(element))
            after_formula = True
        elif element.tag in _AS_CHARACTER:
            parts.append(_AS_CHARACTER[element.tag])
        elif element.tag == qn("w:sym"):
            parts.append(symbol(element))
        elif element.tag in _CHOICES:
            parts.append(choice(element))
        elif element.tag not in _SKIPPED and not (element.tag == qn("w:r") and is_hidden(element)):
            waiting.append(iter(element))
    return "".join(parts)


def is_hidden(run: Any) -> bool:
    """Whether a run's text is not shown."""
    mark = run.find(f"{qn('w:rPr')}/{qn('w:vanish')}")
    return mark is not None and mark.get(qn("w:val"), "1") not in ("0", "false", "off")


def is_deleted(element: Any) -> bool:
    """Whether a tracked change takes a row of a table, or a paragraph's end, away."""
    marks = (f"{qn('w:trPr')}/{qn('w:del')}", f"{qn('w:pPr')}/{qn('w:rPr')}/{qn('w:del')}")
    return any(element.find(mark) is not None for mark in marks)


def is_formula(paragraph: Any) -> bool:
    """Whether a formula stands in a paragraph by itself."""
    return next(paragraph.iter(*_FORMULAS), None) is not None and not any(
        (text.text or "").strip() for text in paragraph.iter(qn("w:t"))
    )


def text_boxes(paragraph: Any) -> Iterator[Any]:
    """The contents of text boxes anchored in a paragraph, each once, not those inside another box."""
    for box in paragraph.iterfind(f".//{qn('w:txbxContent')}", nsmap):
        above = [ancestor.tag for ancestor in box.iterancestors()]
        inside = above[: above.index(qn("w:p"))]
        if qn("w:txbxContent") in inside:
            continue
        if next(box.iterancestors(qn("w:p"))) is paragraph:
            yield box


class Notes:
    """The footnotes and endnotes of one document. They are in parts of their own, which python-docx does not read."""

    def __init__(self, document: Any) -> None:
        self._parts: dict[Any, Any] = {document.element: document.part.related_parts}
        self._notes: dict[tuple[str, str | None], Any] = {}
        for relation in document.part.rels.values():
            kind = relation.reltype.rpartition("/")[2]
            if kind in ("footnotes", "endnotes") and not relation.is_external:
                root = parse_xml(relation.target_part.blob)
                resolve_alternatives(root)
                self._parts[root] = relation.target_part.related_parts
                for note in root:
                    if note.get(qn("w:type"), "normal") == "normal":  # else it is the line above the notes
                        self._notes[kind, note.get(qn("w:id"))] = note

    def part(self, element: Any, relation: str) -> Any:
        """What `element`, in the text or in a note, refers to. Raises `KeyError`."""
        return self._parts[element.getroottree().getroot()][relation]

    def of(self, paragraph: Any) -> Iterator[Any]:
        """The notes referred to in a paragraph, in order, each once in the document: notes may refer to each other."""
        for reference in paragraph.iter(qn("w:footnoteReference"), qn("w:endnoteReference")):
            kind = "footnotes" if reference.tag == qn("w:footnoteReference") else "endnotes"
            note = self._notes.pop((kind, reference.get(qn("w:id"))), None)
            if note is not None:
                yield note
