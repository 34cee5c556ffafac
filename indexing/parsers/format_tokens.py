"""A number format of a spreadsheet in pieces: its parts for positive, negative and zero, each as tokens. Pure.

Source: ECMA-376 part 1, 18.8.31.
"""

from __future__ import annotations

import re
from functools import lru_cache

LONGEST = 255  # characters of a format; Excel allows no more

Token = tuple[str, str]
"""Kind (literal, general, digit, point, comma, percent, power, letters, elapsed, ampm or condition) and text."""

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_(?P<space>.)|\*(?P<fill>.)|\[(?P<bracket>[^\]]*)\]|(?P<ampm>AM/PM|A/P|上午/下午)'
    r"|(?P<power>[Ee][+-])|(?P<letters>(?P<one>[ymdhseYMDHS])(?P=one)*)|(?P<point>\.)|(?P<digit>[0#?])|(?P<comma>,)|(?P<percent>%)|(?P<other>.)",
    re.DOTALL,
)
CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?\d+(?:\.\d+)?)")


@lru_cache(maxsize=512)  # a sheet has few formats and many cells
def sections_of(number_format: str) -> list[list[Token]]:
    sections: list[list[Token]] = [[]]
    position = 0
    if re.fullmatch(r"(?i)general|@|", number_format):
        return [[("general", "")]]
    while match := _TOKEN.match(number_format, position):
        position = match.end()
        kind, text = match.lastgroup or "other", match[0]
        if text == ";":
            sections.append([])
        elif number_format[match.start() :].lower().startswith("general"):
            sections[-1].append(("general", ""))
            position = match.start() + len("general")
        else:
            sections[-1].extend(_token(kind, text, match))
    return sections[:3]  # the fourth is for text


def _token(kind: str, text: str, match: re.Match[str]) -> list[Token]:
    if kind == "quoted":
        return [("literal", match["quoted"])]
    if kind == "escaped":
        return [("literal", match["escaped"])]
    if kind == "space":
        return [("literal", " ")]
    if kind == "fill":
        return []
    if kind == "bracket":
        return _bracket(match["bracket"])
    if kind == "other":
        return [("literal", text)]
    return [(kind, text)]


def _bracket(text: str) -> list[Token]:
    """[$€-407] is a currency, [h] counts hours beyond the day, [>5] is a condition; colours and countries are not shown."""
    if text.startswith("$"):
        return [("literal", text[1:].split("-")[0])]
    if re.fullmatch(r"(?i)h+|m+|s+", text):
        return [("elapsed", text.lower())]
    return [("condition", text)] if CONDITION.fullmatch(text) else []
