"""Which paragraphs of a shape are list items, and the numbers before them: told by the paragraph, its shape, or its master.

Source: ECMA-376 part 1, 21.1.2.4 (bullets and numbering) and 20.1.10.61 (kinds of numbers).
"""

from __future__ import annotations

from typing import Any

from pptx.enum.shapes import PP_PLACEHOLDER

from indexing.parsers.numerals import format_number

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_BULLETS = ("buChar", "buBlip", "buAutoNum", "buNone")
_LEVELS = 9
_BODIES = (PP_PLACEHOLDER.BODY, PP_PLACEHOLDER.OBJECT, PP_PLACEHOLDER.VERTICAL_BODY, PP_PLACEHOLDER.VERTICAL_OBJECT)
_DIGITS = {
    "arabic": "decimal",
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
    "ea1Chs": "chineseCounting",
    "ea1Cht": "chineseCounting",
    "ea1JpnChs": "chineseCounting",
}
_MARKS = {"Period": "{}.", "ParenR": "{})", "ParenBoth": "({})", "Plain": "{}"}


class Labels:
    """Walks over the paragraphs of one shape in their order, counting as PowerPoint does."""

    def __init__(self, shape: Any) -> None:
        self._styles = list(_styles(shape))
        self._counts: list[int] = [0] * _LEVELS
        self._kinds: list[str] = [""] * _LEVELS

    def next(self, paragraph: Any) -> str | None:
        """The label before a list item, empty for a bullet; None for what is no list item."""
        level = min(max(paragraph.level, 0), _LEVELS - 1)
        if not paragraph.text.strip() and paragraph._p.find(".//{*}oMath") is None:
            return None
        bullet = self._bullet(paragraph, level)
        for deeper in range(level + 1, _LEVELS):
            self._counts[deeper], self._kinds[deeper] = 0, ""
        kind = bullet.get("type", "") if bullet is not None and bullet.tag == f"{_A}buAutoNum" else ""
        if kind != self._kinds[level]:
            self._counts[level], self._kinds[level] = 0, kind
        if bullet is None or bullet.tag == f"{_A}buNone":
            return None
        if not kind:
            return ""
        start = bullet.get("startAt", "1")
        self._counts[level] += 1
        return _label(kind, self._counts[level] - 1 + (int(start) if start.isdecimal() and len(start) < 6 else 1))

    def _bullet(self, paragraph: Any, level: int) -> Any:
        own = paragraph._p.find(f"{_A}pPr")
        found = _bullet_in(own)
        for style in self._styles:
            if found is not None:
                break
            found = _bullet_in(style.find(f"{_A}lvl{level + 1}pPr"))
        return found


def _styles(shape: Any) -> Any:
    """Lists of styles, from the nearest: of the shape, of its layout's and master's placeholder, of the master."""
    holder = shape
    for _ in range(3):
        style = holder.element.find(f".//{_A}lstStyle")
        if style is not None:
            yield style
        holder = getattr(holder, "_base_placeholder", None) if holder.is_placeholder else None
        if holder is None:
            break
    if shape.is_placeholder and shape.placeholder_format.type in _BODIES:
        layout = getattr(getattr(shape.part, "slide_layout", None), "slide_master", None)
        if layout is not None:
            body = layout.element.find(f".//{_P}txStyles/{_P}bodyStyle")
            if body is not None:
                yield body


def _bullet_in(properties: Any) -> Any:
    if properties is None:
        return None
    return next((found for name in _BULLETS if (found := properties.find(f"{_A}{name}")) is not None), None)


def _label(kind: str, number: int) -> str:
    for digits, form in _DIGITS.items():
        for marks, shown in _MARKS.items():
            if kind == digits + marks:
                return shown.format(format_number(number, form))
    return f"{number}."
