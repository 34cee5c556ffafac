"""Formulas of a page: MathML, with its source in TeX where it holds one, and TeX in scripts for a program to draw."""

from __future__ import annotations

from selectolax.lexbor import LexborNode


def formula(node: LexborNode) -> str | None:
    """The source of a formula, best as TeX; None where `node` is none."""
    tag = str(node.tag)
    if tag == "script":
        kind = (node.attributes.get("type") or "").lower()
        return node.text().strip() if kind.startswith("math/tex") else None
    if tag != "math":
        return None
    for annotation in node.css("annotation"):
        if "tex" in (annotation.attributes.get("encoding") or "").lower():
            return " ".join(annotation.text().split())
    if written := node.attributes.get("alttext"):
        return " ".join(written.split())
    return " ".join(node.text(separator=" ").split())


def is_displayed(node: LexborNode) -> bool:
    """Whether it stands on a line of its own."""
    attributes = node.attributes
    return attributes.get("display") == "block" or "mode=display" in (attributes.get("type") or "").replace(" ", "")
