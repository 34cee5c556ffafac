"""Characters of a DOCX that are no text in its file: of symbol fonts, boxes that are ticked, choices of a form."""

from __future__ import annotations

import re
from typing import Any

from docx.oxml.ns import qn

_PRIVATE = 0xF000  # where symbol fonts have their characters, on top of their own numbers 0x20–0xFF
_OFF = ("0", "false", "off")

# Greek and mathematics, by the numbers of the font Symbol. Source: the table “Symbol” of Unicode's vendor mappings (Adobe).
_SYMBOL = dict(
    zip(
        [*range(0x41, 0x5B), *range(0x61, 0x7B)],
        "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ",
        strict=True,
    )
) | {
    0xA3: "≤", 0xA5: "∞", 0xAC: "←", 0xAD: "↑", 0xAE: "→", 0xAF: "↓", 0xB0: "°", 0xB1: "±", 0xB3: "≥", 0xB4: "×", 0xB5: "∝",
    0xB6: "∂", 0xB7: "•", 0xB8: "÷", 0xB9: "≠", 0xBA: "≡", 0xBB: "≈", 0xC7: "∩", 0xC8: "∪", 0xCC: "⊂", 0xCE: "∈", 0xCF: "∉",
    0xD0: "∠", 0xD1: "∇", 0xD5: "∏", 0xD6: "√", 0xD7: "⋅", 0xD9: "∧", 0xDA: "∨", 0xDB: "⇔", 0xDE: "⇒", 0xE5: "∑", 0xF2: "∫",
}  # fmt: skip
# What says something: ticks and crosses, with and without a box, and arrows. The others are ornaments.
_WINGDINGS = {
    0x6F: "☐", 0x71: "☐", 0xA8: "☐", 0x78: "☒", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
    0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xEF: "⇐", 0xF0: "⇒", 0xF1: "⇑", 0xF2: "⇓",
}  # fmt: skip
_WINGDINGS_2 = {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0xA3: "☐"}
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS, "wingdings 2": _WINGDINGS_2}


def symbol(element: Any) -> str:
    """The character of a `w:sym`; nothing for one that says nothing without its font."""
    number = element.get(qn("w:char"), "")
    code = int(number, 16) if re.fullmatch(r"[0-9A-Fa-f]{4}", number) else 0
    font = _FONTS.get(element.get(qn("w:font"), "").lower())
    if font is not None:
        shown: str = font.get(code - _PRIVATE if code >= _PRIVATE else code, "")
        return shown
    return chr(code) if code and not 0xD800 <= code <= 0xF8FF else ""


def choice(element: Any) -> str:
    """What a form's field shows that keeps no result: a `w:checkBox` with its tick, of a `w:ddList` the chosen entry."""
    if element.tag == qn("w:checkBox"):
        state = element.find(qn("w:checked"))
        state = element.find(qn("w:default")) if state is None else state
        return "☒" if state is not None and state.get(qn("w:val"), "1") not in _OFF else "☐"
    entries = [entry.get(qn("w:val"), "") for entry in element.iterchildren(qn("w:listEntry"))]
    chosen = element.find(qn("w:result"))
    chosen = element.find(qn("w:default")) if chosen is None else chosen
    at = chosen.get(qn("w:val"), "0") if chosen is not None else "0"
    return str(entries[int(at)]) if re.fullmatch(r"\d{1,3}", at) and int(at) < len(entries) else ""
