"""The data in front of a Markdown text, in YAML or TOML: what tells about its subject is read, the rest is left out.

Not a reader of YAML: its references can make gigabytes of a line, and only a few plain fields are wanted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from indexing.blocks import BlockKind, LeftOut, LeftOutReason
from indexing.parsers.assemble import Piece
from indexing.parsers.left_out import leave_out

_FRONT_MATTER = re.compile(
    r"\A(?:---[ \t]*\n(?P<yaml>(?:.*\n)*?)(?:---|\.\.\.)|\+\+\+[ \t]*\n(?P<toml>(?:.*\n)*?)\+\+\+)[ \t]*(?:\n|\Z)"
)
_FIELD = re.compile(r"(?P<name>[\w-]+)[ \t]*[:=](?:[ \t]+|\Z|(?<==))(?P<value>.*)")
_ABOUT = ("description", "summary", "abstract", "subtitle", "摘要", "描述", "简介")
_WORDS = ("tags", "keywords", "categories", "标签", "关键词")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """`lines` is how many lines of the file it takes."""

    lines: int = 0
    title: str | None = None
    pieces: tuple[Piece, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def read_front_matter(source: str) -> FrontMatter:
    """That of `source`, empty where it has none."""
    match = _FRONT_MATTER.match(source)
    if match is None:
        return FrontMatter()
    title = None
    pieces, others = [], []
    for name, value, first, last in _fields((match["yaml"] or match["toml"] or "").split("\n")):
        if name.lower() == "title" and title is None:
            title = _plain(value) or None
        elif name.lower() in _ABOUT:
            pieces.append(Piece(BlockKind.PARAGRAPH, _plain(value), lines=(first, last)))
        elif name.lower() in _WORDS:
            pieces.append(Piece(BlockKind.PARAGRAPH, f"{name}: {', '.join(_items(value))}", lines=(first, last)))
        else:
            others.append(f"{name}: {', '.join(_items(value))}")
    left_out = (leave_out(LeftOutReason.HIDDEN, others),) if others else ()
    return FrontMatter(match[0].count("\n"), title, tuple(pieces), left_out)


def _fields(lines: list[str]) -> list[tuple[str, str, int, int]]:
    """(name, value, first and last line of the file) of the outermost fields; a value may have lines of its own."""
    found: list[tuple[str, list[str], int, int]] = []
    for number, line in enumerate(lines, start=2):
        field = _FIELD.match(line)
        if field is not None:
            found.append((field["name"], [field["value"].strip()], number, number))
        elif found and line.strip():
            name, values, first, _ = found[-1]
            values.append(line.strip())
            found[-1] = (name, values, first, number)
    return [(name, "\n".join(filter(None, values)), first, last) for name, values, first, last in found]


def _plain(value: str) -> str:
    """Without quotes and without the mark of a text of several lines."""
    lines = value.split("\n")
    if len(lines) > 1 and re.fullmatch(r"[|>][-+]?|\"\"\"|'''", lines[0]):
        lines = [line for line in lines[1:] if line not in ('"""', "'''")]
    text = " ".join(lines)
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _items(value: str) -> list[str]:
    """Of “[a, b]”, of lines that begin with a dash, or of “a, b”."""
    if "\n" in value and not value.startswith("["):
        parts = [line.removeprefix("-").strip() for line in value.split("\n")]
    else:
        parts = value.strip("[]").replace("\n", " ").split(",")
    return [plain for part in parts if (plain := _plain(part.strip()))]
