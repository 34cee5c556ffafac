"""The numbers that browsers show before the items of open lists. Source: the HTML standard, 4.4.5 and 4.4.8."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from indexing.parsers.numerals import format_number

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_WHOLE = re.compile(r"\s*([-+]?\d{1,6})")
_ROMAN = {"i": "lowerRoman", "I": "upperRoman"}


class ListNumbers:
    """Of one list: a bulleted one has none."""

    def __init__(self, list_node: LexborNode) -> None:
        self._form = list_node.attributes.get("type") or "1"
        self._is_numbered = str(list_node.tag) == "ol"
        self._step = -1 if "reversed" in list_node.attributes else 1
        first = sum(child.tag == "li" for child in list_node.iter()) if self._step < 0 else 1
        self._next = _whole(list_node.attributes.get("start"), first)

    def marker(self, item: LexborNode) -> str:
        """What stands before the text of `item`, the list's next one."""
        if not self._is_numbered:
            return ""
        number = _whole(item.attributes.get("value"), self._next)
        self._next = number + self._step
        return f"{self._written(number)}. "

    def _written(self, number: int) -> str:
        if self._form in ("a", "A") and number > 0:
            return _lettered(number).upper() if self._form == "A" else _lettered(number)
        return format_number(number, _ROMAN.get(self._form, "decimal"))


def _lettered(number: int) -> str:
    """a … z, aa, ab …"""
    text = ""
    while number:
        number, place = divmod(number - 1, 26)
        text = chr(ord("a") + place) + text
    return text


def _whole(value: str | None, default: int) -> int:
    match = _WHOLE.match(value or "")
    return int(match[1]) if match else default
