r"""Formulas of Office documents (OMML) as text: LaTeX for what has a structure, the characters themselves for what has none.

Source: ECMA-376 part 1, 22.1 (Office Math). A fraction is `\frac{a}{b}`, a sum `∑_{i=1}^{n}`: a reader and a language model
understand both, and a search finds the letters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from indexing.parsers import limits

MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_ACCENTS = {
    "\u0300": r"\grave", "\u0301": r"\acute", "\u0302": r"\hat", "\u0303": r"\tilde", "\u0304": r"\bar", "\u0305": r"\overline",
    "\u0306": r"\breve", "\u0307": r"\dot", "\u0308": r"\ddot", "\u030c": r"\check", "\u20d7": r"\vec", "¯": r"\bar",
}  # fmt: skip
_BREAK = r" \\ "  # between lines and rows
_INTEGRAL = "∫"  # what a large operator is that names no sign
_NAMES = {
    "sin",
    "cos",
    "tan",
    "cot",
    "sec",
    "csc",
    "log",
    "ln",
    "lg",
    "exp",
    "lim",
    "max",
    "min",
    "sup",
    "inf",
    "det",
    "arg",
}


def formula_text(element: Any) -> str:
    """The text of an `m:oMath` or `m:oMathPara` (its formulas in lines). Raises `DocumentTooLarge`."""
    if element.tag == f"{MATH}oMathPara":
        return "\n".join(filter(None, map(formula_text, element.iterchildren(f"{MATH}oMath"))))
    return _inside(element, 0)


def _inside(parent: Any, depth: int) -> str:
    limits.DOCX_DEPTH.check(depth)
    return "".join(_texts(parent, depth + 1)).strip() if parent is not None else ""


def _texts(parent: Any, depth: int) -> Iterator[str]:
    for child in parent:
        tag = child.tag
        if not isinstance(tag, str):
            continue
        name = tag.rpartition("}")[2]
        if name == "t":
            yield child.text or ""
        elif tag.startswith(MATH) and name in _FORMS:
            yield _FORMS[name](child, depth)
        elif not name.endswith("Pr") and name not in ("del", "moveFrom", "instrText"):
            yield from _texts(child, depth)


def _part(element: Any, name: str, depth: int) -> str:
    return _inside(element.find(f"{MATH}{name}"), depth)


def _property(element: Any, group: str, name: str, default: str) -> str:
    found = element.find(f"{MATH}{group}/{MATH}{name}")
    value: str = default if found is None else found.get(f"{MATH}val", default)
    return value


def _scripts(element: Any, depth: int) -> str:
    """What stands below and above, `_{i}^{n}`; nothing for what is empty."""
    below, above = _part(element, "sub", depth), _part(element, "sup", depth)
    return (f"_{{{below}}}" if below else "") + (f"^{{{above}}}" if above else "")


def _fraction(element: Any, depth: int) -> str:
    top, bottom = _part(element, "num", depth), _part(element, "den", depth)
    form = _property(element, "fPr", "type", "bar")
    if form == "noBar":
        return rf"\binom{{{top}}}{{{bottom}}}"
    return f"{top}/{bottom}" if form in ("lin", "skw") else rf"\frac{{{top}}}{{{bottom}}}"


def _root(element: Any, depth: int) -> str:
    degree = _part(element, "deg", depth)
    return rf"\sqrt{f'[{degree}]' if degree else ''}{{{_part(element, 'e', depth)}}}"


def _scripted(element: Any, depth: int) -> str:
    return _part(element, "e", depth) + _scripts(element, depth)


def _operator(element: Any, depth: int) -> str:
    return f"{_property(element, 'naryPr', 'chr', _INTEGRAL)}{_scripts(element, depth)} {_part(element, 'e', depth)}"


def _delimited(element: Any, depth: int) -> str:
    left, between, right = (
        _property(element, "dPr", name, default)
        for name, default in (("begChr", "("), ("sepChr", "|"), ("endChr", ")"))
    )
    return left + between.join(_inside(part, depth) for part in element.iterchildren(f"{MATH}e")) + right


def _function(element: Any, depth: int) -> str:
    name, of = _part(element, "fName", depth), _part(element, "e", depth)
    return rf"\{name} {of}" if name in _NAMES else f"{name} {of}"


def _accent(element: Any, depth: int) -> str:
    mark = _ACCENTS.get(_property(element, "accPr", "chr", "\u0302"), r"\overset")
    return f"{mark}{{{_part(element, 'e', depth)}}}"


def _bar(element: Any, depth: int) -> str:
    where = "over" if _property(element, "barPr", "pos", "bot") == "top" else "under"
    return rf"\{where}line{{{_part(element, 'e', depth)}}}"


def _lines(element: Any, depth: int) -> str:
    return _BREAK.join(_inside(line, depth) for line in element.iterchildren(f"{MATH}e"))


def _matrix(element: Any, depth: int) -> str:
    rows = _BREAK.join(
        " & ".join(_inside(cell, depth) for cell in row.iterchildren(f"{MATH}e"))
        for row in element.iterchildren(f"{MATH}mr")
    )
    return rf"\matrix{{{rows}}}"


_FORMS: dict[str, Callable[[Any, int], str]] = {
    "f": _fraction,
    "rad": _root,
    "sSup": _scripted,
    "sSub": _scripted,
    "sSubSup": _scripted,
    "sPre": lambda element, depth: f"{{}}{_scripts(element, depth)}{_part(element, 'e', depth)}",
    "nary": _operator,
    "d": _delimited,
    "func": _function,
    "acc": _accent,
    "bar": _bar,
    "eqArr": _lines,
    "m": _matrix,
    "limLow": lambda element, depth: f"{_part(element, 'e', depth)}_{{{_part(element, 'lim', depth)}}}",
    "limUpp": lambda element, depth: f"{_part(element, 'e', depth)}^{{{_part(element, 'lim', depth)}}}",
}
