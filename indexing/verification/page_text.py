"""HTML: all character data of the file and the texts of its attributes, by Python's own parser; the rest stays as it is.

As they are read aloud: an alternative text in its picture's place, the readings of a ruby after all of its characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html.parser import HTMLParser

from indexing.parsers.encoding import decode
from indexing.parsers.html import declared_encoding
from indexing.verification import flow
from indexing.verification.claims import Claim, Outcome

_SHOWN = ("title", "value", "placeholder", "aria-label", "label", "alttext", "content")
_NO_TEXT = ("script", "style")
_READING, _BASE = "rt", ("rb", "rp", "ruby", "rtc")


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
        self._readings: list[str] = []  # of the open ruby
        self._reads = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent = tag in _NO_TEXT
        self._turn(tag == _READING, tag)
        described = next((value for name, value in attrs if name == "alt" and value), None)
        if described:
            self._take(described)
        self.attributes += [value for name, value in attrs if name in _SHOWN and value]

    def handle_endtag(self, tag: str) -> None:
        if tag in _NO_TEXT:
            self._silent = False
        self._turn(False, tag)
        if tag == "ruby":
            self._put_readings()

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self._take(data)

    def close(self) -> None:
        super().close()
        self._put_readings()

    def _turn(self, reads: bool, tag: str) -> None:
        """A reading ends with its element or where the next one of a ruby begins: its end tag may be left out."""
        if tag == _READING or tag in _BASE:
            self._reads = reads

    def _take(self, text: str) -> None:
        (self._readings if self._reads else self.texts).append(text)

    def _put_readings(self) -> None:
        self.texts += self._readings
        self._readings.clear()
        self._reads = False
