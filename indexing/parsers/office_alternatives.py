"""One thing that a file has in several ways, for programs of several ages (ECMA-376 part 3, 7.6)."""

from __future__ import annotations

from typing import Any

_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"


def resolve_alternatives(root: Any) -> None:
    """Put what newer programs show in the place of each choice: of its ways the first that has anything in it."""
    for choice in list(root.iter(_ALTERNATIVES)):
        if choice.getparent() is None:
            continue
        for element in next((list(way) for way in choice if len(way)), []):
            choice.addprevious(element)
        choice.getparent().remove(choice)
