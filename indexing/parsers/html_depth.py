"""How deeply a page is nested, found before it is parsed: to an HTML parser every level makes each next tag dearer.

Browsers stop at 512 levels. The count is of tags that nobody closed, which is what the depth comes from in practice; a
page made to deceive it meets the limits of `indexing.parsers.sandbox`.
"""

from __future__ import annotations

import re
from collections import Counter

from indexing.errors import DocumentTooLarge
from indexing.parsers.assemble import TOO_DEEP

MOST_OPEN = 2_000
_TAG = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))"
    r"|<(?P<raw>script|style|textarea|title|xmp|iframe|noframes)\b.*?(?:</(?P=raw)|\Z)"
    r"|<(?P<close>/?)(?P<name>[a-z][a-z0-9-]*)",
    re.IGNORECASE | re.DOTALL,
)
# Without content, or closed by the next of their kind: thousands may stand open.
_NOT_COUNTED = {
    *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"),
    *("dd", "dt", "li", "optgroup", "option", "p", "rp", "rt"),
    *("caption", "colgroup", "tbody", "td", "tfoot", "th", "thead", "tr"),
}


def refuse_deep(source: str) -> None:
    """Raise `DocumentTooLarge` where more than `MOST_OPEN` elements are open at once."""
    if source.count("<") <= MOST_OPEN:
        return
    open_tags: Counter[str] = Counter()
    depth = 0
    for match in _TAG.finditer(source):
        name = (match["name"] or "").lower()
        if not name or name in _NOT_COUNTED:
            continue
        if not match["close"]:
            open_tags[name] += 1
            depth += 1
            if depth > MOST_OPEN:
                raise DocumentTooLarge(TOO_DEEP)
        elif open_tags[name]:
            open_tags[name] -= 1
            depth -= 1
