"""Source code comes apart into its functions and classes, and these into lines, each part with the signature above it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from indexing.splitters import cuts
from indexing.splitters.cuts import Interval
from indexing.splitters.units import Unit

DEEPEST = 8  # definitions in definitions; deeper ones are only lines
LONGEST_SIGNATURE = 5  # lines
LOOKED_AT = 500  # characters of a line: minified code has lines without end

_DEFINES = re.compile(
    r"""\s*(?:
        (?:(?:public|private|protected|internal|static|final|abstract|async|export|default|pub(?:\([^)\n]*\))?|unsafe|virtual
            |override|inline|extern|open|sealed|data|suspend|partial)[^\S\n]+)*
        (?:def|class|function|func|fn|fun|interface|struct|enum|trait|impl|module|namespace|record|sub|procedure)\b
        |create[^\S\n]+(?:or[^\S\n]+replace[^\S\n]+)?(?:function|procedure|table|view|trigger)\b
        |(?!(?:if|for|while|switch|catch|else|return|do|with)\b)
            [A-Za-z_][\w<>\[\],.*&:~ \t]*\([^;{}\n]*\)[^;{}\n]*\{[^\S\n]*$
    )""",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
_BELONGS_BELOW = re.compile(r"\s*(?:@|\#|//|/\*|\*|--|\"\"\"|\[)")
_OPENS = re.compile(r"[:{]\s*$")
_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)*")


def code(text: str, start: int, end: int) -> Unit:
    """The code in text[start:end], as one unit."""
    lines = [(start + s, start + e) for s, e in cuts.lines(text[start:end])]
    return Unit(start, end, parts=lambda: _stretches(text, lines, 0))


def _stretches(text: str, lines: Sequence[Interval], depth: int) -> Iterator[Unit]:
    """Definitions, and the lines between them, at the smallest indentation of `lines`."""
    outermost = min((_indentation(text, line) for line in lines), default=0)
    begins = [
        number
        for number, line in enumerate(lines)
        if number and _indentation(text, line) == outermost and _defines(text, line)
    ]
    begins = [_with_comments(text, lines, number) for number in begins]
    borders = sorted({0, *begins, len(lines)})
    for first, last in pairwise(borders):
        yield from _stretch(text, lines[first:last], depth)


def _with_comments(text: str, lines: Sequence[Interval], number: int) -> int:
    """A definition begins with the comments and decorators right above it."""
    while number > 1 and _BELONGS_BELOW.match(text, *lines[number - 1]):
        number -= 1
    return number


def _stretch(text: str, lines: Sequence[Interval], depth: int) -> Iterator[Unit]:
    defined = next((n for n, line in enumerate(lines) if _defines(text, line)), None)
    if defined is None or depth == DEEPEST or defined == len(lines) - 1:
        yield from (Unit(*line) for line in lines)
        return
    following = lines[defined : defined + LONGEST_SIGNATURE]
    opened = next((n for n, line in enumerate(following) if _OPENS.search(text[slice(*line)])), 0)
    body = lines[defined + opened + 1 :]
    if not body:
        yield from (Unit(*line) for line in lines)
        return
    above = lines[:defined]
    lead = (lines[defined][0], lines[defined + opened][1])

    def parts() -> Iterator[Unit]:
        yield from (Unit(*line) for line in above)
        yield Unit(lead[0], lines[-1][1], lead, lambda: _stretches(text, body, depth + 1))

    yield Unit(lines[0][0], lines[-1][1], parts=parts)


def _defines(text: str, line: Interval) -> bool:
    return _DEFINES.match(text, line[0], min(line[1], line[0] + LOOKED_AT)) is not None


def _indentation(text: str, line: Interval) -> int:
    start, end = line
    blank = _BLANK_LINES.match(text, start, end)  # blank lines go with the next one
    start = blank.end() if blank else start
    return next((position for position in range(end - start) if not text[start + position].isspace()), end - start)
