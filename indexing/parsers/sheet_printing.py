"""What a spreadsheet prints above and below its sheets: texts with codes in them.

Codes: ECMA-376 part 1, 18.3.1.46 (oddHeader).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lxml import etree

from indexing.blocks import LeftOutReason

# A font in quotes, its colour (six digits, or a number of the theme with a shade), its size, else one letter. “&&” is “&”.
_CODE = re.compile(r'&(?:"[^"]*"|K(?:[0-9A-Fa-f]{6}|\d\d[+-]\d{3})|\d{1,3}|(?P<letter>.))', re.DOTALL)
_SECTIONS = ("L", "C", "R")


def printed(element: Any) -> Iterator[tuple[LeftOutReason, str]]:
    """The texts of a `headerFooter` without what a program puts in (page, date, names): “left | middle | right”."""
    for part in element:
        name = etree.QName(part).localname if isinstance(part.tag, str) else ""
        reason = LeftOutReason.PAGE_HEADER if name.endswith("Header") else LeftOutReason.PAGE_FOOTER
        sections = (" ".join(section.split()) for section in _CODE.sub(_shown, part.text or "").split("\0"))
        if text := " | ".join(section for section in sections if section.strip(" /-–—")):
            yield reason, text


def _shown(code: re.Match[str]) -> str:
    letter = code["letter"]
    return "&" if letter == "&" else "\0" if letter in _SECTIONS else ""
