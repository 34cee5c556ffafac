"""The values of a JSON file, each with the lines where it stands.

More is accepted than the standard does, and nothing is lost: several values one after the other (JSON Lines), keys that stand
twice, NaN and Infinity, control characters inside strings. Without recursion: files nest deeper than Python's stack.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from indexing.errors import DocumentCorrupt
from indexing.parsers import limits

_TOKEN = re.compile(
    r"[ \t\r]*+(?:(?P<feed>\n)|(?P<mark>[\[\]{},:])|(?P<string>\"(?:[^\"\\]|\\.)*+\")"
    r"|(?P<word>-?(?:0|[1-9]\d*+)(?:\.\d++)?(?:[eE][-+]?\d++)?(?![\w.])|(?:true|false|null|NaN|-?Infinity)\b))",
    re.DOTALL,
)
_SPACE = re.compile(r"\s*")
_LINE_ENDS = re.compile("\r\n?")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A string, without its quotes and escapes, or a number or word as it is written."""

    text: str
    lines: tuple[int, int]


@dataclass(slots=True)
class Array:
    lines: tuple[int, int]
    items: list[Value] = field(default_factory=list)


@dataclass(slots=True)
class Object:
    """`members` in their order; a key that stands twice is there twice."""

    lines: tuple[int, int]
    members: list[tuple[str, Value]] = field(default_factory=list)


Value = Scalar | Array | Object


def read_values(source: str, *, shortened: Callable[[str], str] = str) -> list[Value]:
    """The values that stand one after the other in `source`: one, but for JSON Lines; of strings what `shortened` leaves.

    Raises `DocumentCorrupt` with the line that is not JSON, or `DocumentTooLarge`.
    """
    return _Reader(_LINE_ENDS.sub("\n", source), shortened).read()


class _Reader:
    def __init__(self, source: str, shortened: Callable[[str], str]) -> None:
        self._source = source
        self._shortened = shortened
        self._line = 1
        self._values: list[Value] = []
        self._open: list[Array | Object] = []
        self._key: list[tuple[str, int]] = []  # per open array or object: the key whose value comes next, and its line
        self._expects = "value"  # or what may stand here: "first" (value or end), "key", "first key", "colon", "comma"
        self._count = 0

    def read(self) -> list[Value]:
        position = 0
        while (match := _TOKEN.match(self._source, position)) is not None:
            position = match.end()
            if match["feed"]:
                self._line += 1
            elif match["string"]:
                self._take_string(match["string"])
            elif match["word"]:
                self._take(Scalar(match["word"], (self._line, self._line)))
            else:
                self._take_mark(match["mark"])
        rest = _SPACE.match(self._source, position)
        if self._open or (rest is not None and rest.end() < len(self._source)):
            raise self._corrupt()
        return self._values

    def _take_string(self, token: str) -> None:
        first = self._line
        self._line += token.count("\n")
        text = self._unescaped(token)
        if self._expects in ("key", "first key"):
            self._key[-1], self._expects = (text, first), "colon"
        else:
            self._take(Scalar(self._shortened(text), (first, self._line)))

    def _unescaped(self, token: str) -> str:
        if "\\" not in token:
            return token[1:-1]
        try:
            return str(json.loads(token, strict=False))
        except ValueError:
            raise self._corrupt() from None

    def _take_mark(self, mark: str) -> None:
        if mark == "[":
            self._begin(Array((self._line, self._line)), "first")
        elif mark == "{":
            self._begin(Object((self._line, self._line)), "first key")
        elif mark == ":" and self._expects == "colon":
            self._expects = "value"
        elif mark == "," and self._expects == "comma" and self._open:
            self._expects = "value" if isinstance(self._open[-1], Array) else "key"
        elif mark in "]}" and self._open and self._expects in ("comma", "first", "first key"):
            self._end(mark)
        else:
            raise self._corrupt()

    def _begin(self, value: Array | Object, expects: str) -> None:
        self._take(value)
        self._open.append(value)
        self._key.append(("", 0))
        limits.JSON_DEPTH.check(len(self._open))
        self._expects = expects

    def _end(self, mark: str) -> None:
        value = self._open.pop()
        self._key.pop()
        if isinstance(value, Array) is not (mark == "]"):
            raise self._corrupt()
        value.lines = (value.lines[0], self._line)
        self._expects = "comma" if self._open else "value"

    def _take(self, value: Value) -> None:
        if self._expects not in ("value", "first"):
            raise self._corrupt()
        self._count += 1
        limits.JSON_VALUES.check(self._count)
        around = self._open[-1] if self._open else None
        if isinstance(around, Object):
            key, line = self._key[-1]  # a value's place begins with its key
            if isinstance(value, Scalar):
                value = Scalar(value.text, (line, value.lines[1]))
            else:
                value.lines = (line, self._line)
            around.members.append((key, value))
        elif around is not None:
            around.items.append(value)
        else:
            self._values.append(value)
        self._expects = "comma" if around is not None else "value"

    def _corrupt(self) -> DocumentCorrupt:
        return DocumentCorrupt(limits.NOT_JSON % {"limit": f"{self._line:,}"})
