"""Files written out in letters inside a text: a picture in a `data:` address (RFC 2397), or its Base64 (RFC 4648) alone.

They say nothing that a reader could read or search for, and a few of them are longer than all the text around them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from indexing.blocks import LeftOut, LeftOutReason
from indexing.parsers.left_out import leave_out

_FEWEST_OF_ADDRESS = 64  # characters of content; shorter ones may be read: data:,Hello
_FEWEST_ALONE = 200  # longer than any key, digest or signature that somebody may look for
_DATA = re.compile(
    r"(?P<kept>\bdata:(?:[\w.+-]{1,60}/[\w.+-]{1,80})?(?:;[\w.+-]{1,60}(?:=[\w.+%-]{1,60})?){0,8},)"
    rf"[A-Za-z0-9+/=%_.~!$&*@:;?,-]{{{_FEWEST_OF_ADDRESS},}}",
    re.IGNORECASE,
)
_ALONE = re.compile(
    rf"(?<![A-Za-z0-9+/_%-])(?P<kept>[A-Za-z0-9+/]{{16}})[A-Za-z0-9+/]{{{_FEWEST_ALONE - 16},}}+={{0,2}}"
)
_SORTS = (re.compile("[A-Z]"), re.compile("[a-z]"), re.compile("[0-9]"))  # a long word has one or two of them
_SHOWN = 60  # characters of what is kept out: enough to recognise it by


def without_encoded(text: str, found: list[str]) -> str:
    """`text` with the beginning of each such file only; `found` gets what is kept out, shortened. Idempotent."""
    if len(text) <= _FEWEST_OF_ADDRESS or ("data:" not in text.lower() and len(text) < _FEWEST_ALONE):
        return text

    def shortened(match: re.Match[str]) -> str:
        whole = match[0]
        if match.re is _ALONE and not all(sort.search(whole) for sort in _SORTS):
            return whole
        found.append(f"{whole[:_SHOWN]}…")
        return f"{match['kept']}…"

    return _ALONE.sub(shortened, _DATA.sub(shortened, text))


def told(found: Sequence[str]) -> list[LeftOut]:
    return [leave_out(LeftOutReason.ENCODED, found)] if found else []
