"""Running text: sentences, and which of them belong together because one takes back or restricts what the other grants."""

from __future__ import annotations

import re
from collections.abc import Iterator

from indexing.splitters import cuts
from indexing.splitters.cuts import Interval
from indexing.splitters.units import Unit

_RESTRICTS = re.compile(
    r"""[\s"“‘(（]*(?:
        (?:except|unless|provided|however|but|notwithstanding|otherwise|exceptions?|save\ (?:that|where|as|for)|subject\ to
            |(?:this|these|the\ (?:above|foregoing|preceding))\b[^.:]{0,60}?
                \b(?:(?:do|does|shall)\ not\ apply|is\ not\ applicable)
            |the\ (?:foregoing|preceding)\ (?:paragraph|sentence|rule|provision))\b
        |但(?!凡)|除非|除[^。；\n]{1,80}?(?:之外|以外|外)|否则|否則|不过|不過|然而|例外|前[款项項]|上述(?:规定|規定|情形|期限|标准|標準)
        |有下列[^。；\n]{0,20}(?:除外|不适用|不適用)|本[条條款][^。；\n]{0,20}不[适適]用
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_INTRODUCES = re.compile(r"[:：]\s*$")
_ANNOUNCES = re.compile(r"[:：]\s*$|下列|以下|如下|\b(?:following|as follows|below)\b", re.IGNORECASE)


def restricts(text: str) -> bool:
    """Whether a sentence begins as a condition or an exception of what stands before it: “However, …”, “但……除外”."""
    return _RESTRICTS.match(text) is not None


def introduces(text: str) -> bool:
    """Whether a text ends in a colon: what it is about comes next."""
    return _INTRODUCES.search(text, max(len(text) - 20, 0)) is not None


def announces(text: str) -> bool:
    """Whether a sentence speaks of the list after it, so that the items say less without it."""
    return _ANNOUNCES.search(text) is not None


def clauses(text: str, start: int, end: int) -> list[list[Interval]]:
    """The sentences of text[start:end], those together that must not be taken from each other."""
    found: list[list[Interval]] = []
    for s, e in cuts.sentences(text[start:end]):
        sentence = (start + s, start + e)
        tied = found and (introduces(text[slice(*found[-1][-1])]) or restricts(text[slice(*sentence)]))
        if tied:
            found[-1].append(sentence)
        else:
            found.append([sentence])
    return found


def prose(text: str, start: int, end: int) -> Unit:
    """Text that comes apart into clauses, and these into sentences."""
    return Unit(start, end, parts=lambda: (clause(sentences) for sentences in clauses(text, start, end)))


def clause(sentences: list[Interval]) -> Unit:
    """Sentences as one unit."""
    if len(sentences) == 1:
        return Unit(*sentences[0])

    def parts() -> Iterator[Unit]:
        return (Unit(*sentence) for sentence in sentences)

    return Unit(sentences[0][0], sentences[-1][1], parts=parts)


def introduction(text: str, start: int, end: int, members: list[Unit]) -> Unit:
    """Text that leads to `members`: they stay with its last clause, which is repeated before those that have to go without it
    if it announces them."""
    *earlier, last = clauses(text, start, end)
    lead = (last[0][0], last[-1][1]) if announces(text[last[0][0] : last[-1][1]]) else None
    finish = members[-1].end

    def parts() -> Iterator[Unit]:
        yield from map(clause, earlier)
        yield Unit(last[0][0], finish, lead, lambda: iter(members))

    return Unit(start, finish, parts=parts)
