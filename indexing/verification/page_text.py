"""HTML: all character data of the file and the texts of its attributes, by Python's own parser; the rest stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html.parser import HTMLParser

from indexing.parsers.encoding import decode
from indexing.parsers.html import declared_encoding
from indexing.verification import flow
from indexing.verification.claims import Claim, Outcome

_SHOWN = ("alt", "title", "value", "placeholder", "aria-label", "label", "alttext", "content")
_NO_TEXT = ("script", "style")


def outcomes(content: bytes, claims: Sequence[Claim]) -> Iterable[Outcome]:
    reader = _Reader()
    reader.feed(decode(content, declared=declared_encoding(content)))
    reader.close()
    return flow.outcomes("\n".join([*reader.texts, *reader.attributes]), claims)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self.attributes: list[str] = []
        self._silent = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent = tag in _NO_TEXT
        self.attributes += [value for name, value in attrs if name in _SHOWN and value]

    def handle_endtag(self, tag: str) -> None:
        if tag in _NO_TEXT:
            self._silent = False

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.texts.append(data)
