"""The text of one DOCX paragraph as a reader sees it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docx.oxml.ns import nsmap, qn

_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"

# Deleted and moved-away text, field codes, the reading above a character, the second rendering of the same drawing.
_SKIPPED = {
    *(qn(name) for name in ("w:del", "w:moveFrom", "w:instrText", "w:delText", "w:rt", "w:pPr", "w:rPr", "w:pict")),
    *(qn(name) for name in ("w:drawing", "w:object", "w:txbxContent")),
    f"{_COMPATIBILITY}Fallback",
}
_AS_CHARACTER = {
    qn("w:tab"): "\t",
    qn("w:br"): "\n",
    qn("w:cr"): "\n",
    qn("w:noBreakHyphen"): "-",
    qn("w:ptab"): "\t",
}
_TEXT = {qn("w:t"), f"{_MATH}t"}


def paragraph_text(paragraph: Any) -> str:
    """Runs, links, insertions, fields' results and formulas' symbols, in order; without what is in text boxes."""
    parts: list[str] = []
    waiting = [iter(paragraph)]
    while waiting:
        element = next(waiting[-1], None)
        if element is None:
            waiting.pop()
        elif element.tag in _TEXT:
            parts.append(element.text or "")
        elif element.tag in _AS_CHARACTER:
            parts.append(_AS_CHARACTER[element.tag])
        elif element.tag not in _SKIPPED:
            waiting.append(iter(element))
    return "".join(parts)


def text_boxes(paragraph: Any) -> Iterator[Any]:
    """The contents of text boxes anchored in a paragraph, each once, not those inside another box."""
    for box in paragraph.iterfind(f".//{qn('w:txbxContent')}", nsmap):
        above = [ancestor.tag for ancestor in box.iterancestors()]
        inside = above[: above.index(qn("w:p"))]
        if f"{_COMPATIBILITY}Fallback" in inside or qn("w:txbxContent") in inside:
            continue
        if next(box.iterancestors(qn("w:p"))) is paragraph:
            yield box
