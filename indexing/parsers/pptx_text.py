"""The text of one paragraph of a PPTX as it is shown."""

from __future__ import annotations

from typing import Any

from indexing.parsers.office_math import MATH, formula_text

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_FORMULAS = (f"{MATH}oMath", f"{MATH}oMathPara")


def paragraph_text(paragraph: Any) -> str:
    """Runs, line breaks, fields and formulas, in order; without the slide's own number."""
    parts = []
    for child in paragraph:
        if child.tag == f"{_A}br":
            parts.append("\n")
        elif child.tag == f"{_A}r" or (child.tag == f"{_A}fld" and child.get("type") != "slidenum"):
            parts.append(child.findtext(f"{_A}t") or "")
        else:
            parts += [formula_text(formula) for formula in child if formula.tag in _FORMULAS]
    return "".join(parts)


def is_formula(paragraph: Any) -> bool:
    """Whether a formula stands in a paragraph by itself."""
    return next(paragraph.iter(*_FORMULAS), None) is not None and not any(
        (text.text or "").strip() for text in paragraph.iter(f"{_A}t")
    )
