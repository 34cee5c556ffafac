"""Raw HTML in Markdown: what a page would not show of the text around it.

An element may begin in one block and end in another, with Markdown between them.
"""

from __future__ import annotations

from collections.abc import Iterator

from indexing.blocks import LeftOutReason
from indexing.parsers.assemble import Piece
from indexing.parsers.html_depth import TAG
from indexing.parsers.html_furniture import Aside, Fate

_WITHOUT_CONTENT = {
    "area",
    "base",
    "br",
    "col",
    "embed",
    "hr",
    "img",
    "input",
    "link",
    "meta",
    "source",
    "track",
    "wbr",
}


class RawHtml:
    """What the tags so far say about the text that comes next. What is kept out goes to `aside`."""

    def __init__(self, aside: Aside) -> None:
        self.aside = aside
        self._fate = Fate.KEPT  # of the element that is open
        self._name = ""
        self._open = 0  # elements of its name, in each other
        self._level = 0  # of the list or quotation that it stands in

    def shown(self, piece: Piece) -> Iterator[Piece]:
        if self.passes(piece.text or "\n".join(map(" ".join, piece.rows))):
            yield piece

    def passes(self, text: str) -> bool:
        """Whether `text`, the next one, is shown."""
        if self._fate is not Fate.KEPT and isinstance(self._fate.value, LeftOutReason):
            self.aside.add_text(self._fate.value, " ".join(text.split()))
        return self._fate is Fate.KEPT

    def leave(self, level: int) -> None:
        """Out of a list or quotation: it ends with all that is open in it."""
        if level < self._level:
            self._fate, self._level = Fate.KEPT, 0

    def read(self, source: str, level: int = 0) -> str:
        """Follow the tags of `source`. Returns what comes after the end of what was open before."""
        was_shown, begin = self._fate is Fate.KEPT, 0
        for match in TAG.finditer(source):
            name = (match["name"] or match["raw"] or "").lower()
            if not name or name in _WITHOUT_CONTENT or (match["raw"] and match[0].lower().endswith(f"</{name}")):
                continue
            if self._fate is Fate.KEPT:
                if not match["close"] and (what := _fate(match[0], name)) is not Fate.KEPT:
                    self._fate, self._name, self._open, self._level = what, name, 1, level
                continue
            self._open += (name == self._name) * (-1 if match["close"] else 1)
            if self._open:
                continue
            if not was_shown:
                self.passes(_words(source[: match.start()]))
                was_shown, begin = True, match.end() + 1
            self._fate = Fate.KEPT
        if not was_shown:
            self.passes(_words(source))
        return source[begin:] if was_shown else ""


def _fate(tag: str, name: str) -> Fate:
    from indexing.parsers.html import fate_of_tag  # only here: most files hold none, and its library takes time to load

    return Fate.KEPT if name == "button" else fate_of_tag(tag)  # which may stand in a sentence


def _words(source: str) -> str:
    from indexing.parsers.html import words_of

    return words_of(source) if source.strip() else ""
