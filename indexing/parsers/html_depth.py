"""How deep, repetitive and large a page will be, found before it is parsed: its parser would spend hours or gigabytes.

The count is of tags that nobody closed, which is what the depth comes from in practice; a page made to deceive it meets the
limits of `indexing.parsers.sandbox`.
"""

from __future__ import annotations

import re
from collections import Counter

from indexing.parsers.limits import HTML_ATTRIBUTES, HTML_DEPTH, HTML_ELEMENTS

TAG = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))"
    r"|<(?P<raw>script|style|textarea|title|xmp|iframe|noframes)\b.*?(?:</(?P=raw)|\Z)"
    r"|<(?P<close>/?)(?P<name>[a-z][a-z0-9-]*)"
    # Quotes count only where a value begins. Nothing is given back, so that the file is read once.
    r"(?P<attributes>(?:[^>\"'=]++|=\s*+(?:\"[^\"]*+\"?|'[^']*+'?)?|[\"'])*+)",
    re.IGNORECASE | re.DOTALL,
)
_VALUE = re.compile(r"=\s*+(?:\"[^\"]*+\"?|'[^']*+'?|[^\s>]*+)")
# Without content, or closed by the next of their kind: thousands may stand open.
_NOT_COUNTED = {
    *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"),
    *("dd", "dt", "li", "optgroup", "option", "p", "rp", "rt"),
    *("caption", "colgroup", "tbody", "td", "tfoot", "th", "thead", "tr"),
}
# Left open in one paragraph they are opened again, all of them, in each that follows.
_FORMATTING = {"a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"}


def refuse_deep(source: str) -> None:
    """Raise `DocumentTooLarge` where more elements are open at once, or there are more elements or attributes of one, than
    `indexing.parsers.limits` allow.
    """
    if source.count("<") <= HTML_DEPTH.value and len(source) <= HTML_ATTRIBUTES.value:
        return
    open_tags: Counter[str] = Counter()
    depth = formatting = elements = 0
    for match in TAG.finditer(source):
        name = (match["name"] or "").lower()
        if not name:
            continue
        if not match["close"]:
            elements += 1 + formatting
            HTML_ELEMENTS.check(elements)
            if len(match["attributes"]) > HTML_ATTRIBUTES.value:
                HTML_ATTRIBUTES.check(len(_VALUE.sub(" ", match["attributes"]).split()))
        if name in _NOT_COUNTED:
            continue
        if not match["close"]:
            step = 1
        elif open_tags[name]:
            step = -1
        else:
            continue
        open_tags[name] += step
        depth += step
        HTML_DEPTH.check(depth)
        if name in _FORMATTING:
            formatting += step
