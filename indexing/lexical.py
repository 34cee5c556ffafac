"""Words to search by, made the same way at index and at query time. Pure.

Chinese, Japanese and Korean runs become single characters and pairs of neighbours, everything else lower-cased words.
That needs no dictionary and beat two Chinese segmenters on three question sets (see docs/search.md).
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise

TOKENIZER_REVISION = "cjk-bigrams-1"
MAX_POSITION = 16383  # PostgreSQL's limit in a tsvector
MAX_TOKEN = 100  # code points; longer runs are no words
MAX_BYTES = 1_000_000  # of tokens and positions; PostgreSQL refuses a tsvector of 1 MiB

# Words that ask and words that only hold a sentence together, as tokens.
ASKING = frozenset(
    (
        *(
            "怎么",
            "么办",
            "么样",
            "怎样",
            "什么",
            "如何",
            "请问",
            "多少",
            "哪里",
            "哪些",
            "哪个",
            "为何",
            "为什",
            "是否",
        ),
        *(
            "a",
            "an",
            "and",
            "are",
            "be",
            "can",
            "do",
            "does",
            "for",
            "from",
            "how",
            "i",
            "in",
            "is",
            "it",
            "me",
            "my",
            "of",
        ),
        *(
            "on",
            "or",
            "our",
            "the",
            "to",
            "was",
            "we",
            "were",
            "what",
            "when",
            "where",
            "which",
            "who",
            "whom",
            "whose",
        ),
        *("why", "with", "you", "your"),
    )
)

_CJK = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af\U00020000-\U0003ffff"
_RUNS = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_IS_CJK = re.compile(rf"[{_CJK}]")


def normalise(text: str) -> str:
    """Width and compatibility variants folded, case folded."""
    return unicodedata.normalize("NFKC", text).casefold()


def index_tokens(text: str) -> list[str]:
    """All tokens of a text in order: for a CJK run each character and each pair, else each word."""
    found: list[str] = []
    for run in _RUNS.findall(normalise(text)):  # as `_tokens`, whose places cost more than the tokens
        if _IS_CJK.match(run):
            for first, second in pairwise(run):
                found += (first, first + second)
            found.append(run[-1])
        else:
            found.append(run[:MAX_TOKEN])
    return found


def token_spans(text: str) -> list[tuple[str, int, int]]:
    """Tokens of a text with the [start, end) where each stands in `text` itself, in code points."""
    pieces = [(normalise(text[begin:end]), begin, end) for begin, end in _pieces(text)]
    places = [(begin, end) for normal, begin, end in pieces for _ in normal]
    found = _tokens("".join(normal for normal, _, _ in pieces))
    return [(token, places[start][0], places[end - 1][1]) for token, start, end in found]


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """[start, end) of the pieces of `text` that are normalised each by itself: a character with the marks after it."""
    begin = 0
    for place in range(1, len(text)):
        if not _joins(text[begin:place], text[place]):
            yield begin, place
            begin = place
    if text:
        yield begin, len(text)


def _joins(piece: str, character: str) -> bool:
    if character.isascii() or "\u4e00" <= character <= "\u9fff":
        return False  # nearly every character: these are never drawn to the one before
    alone = normalise(character)
    if unicodedata.combining(alone[0]):  # half-width voicing marks become combining ones
        return True
    return normalise(piece + character) != normalise(piece) + alone


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    for match in _RUNS.finditer(text):
        run, start = match.group(), match.start()
        if _IS_CJK.match(run):
            for place, character in enumerate(run, start):
                yield character, place, place + 1
                if place + 1 < match.end():
                    yield text[place : place + 2], place, place + 2
        else:
            yield run[:MAX_TOKEN], start, match.end()


def query_tokens(text: str) -> list[str]:
    """Distinct tokens of a query, in order. A single character is used only where the run has no pair: it would match
    nearly every chunk. Words that only ask are left out unless there is nothing else: in a small tenant they are rare, so
    by their frequency they would outweigh what is asked about."""
    tokens: dict[str, None] = {}
    for run in _RUNS.findall(normalise(text)):
        if not _IS_CJK.match(run):
            tokens[run[:MAX_TOKEN]] = None
        elif len(run) == 1:
            tokens[run] = None
        else:
            for position in range(len(run) - 1):
                tokens[run[position : position + 2]] = None
    # “IT” and “WHO” are names.
    names = {word.casefold() for word in text.split() if len(word) > 1 and word.isupper()}
    return [token for token in tokens if token not in ASKING - names] or list(tokens)


def tsvector(*texts: str) -> str:
    """The tokens of `texts` as a tsvector literal with positions, to be cast with `::tsvector`. A monster of a text is
    searchable by its beginning: what does not fit is left out."""
    tokens = [token for text in texts for token in index_tokens(text)]
    positions: defaultdict[str, list[int]] = defaultdict(list)
    for position, token in enumerate(_fitting(tokens), 1):
        positions[token].append(position if position < MAX_POSITION else MAX_POSITION)
    return " ".join(
        # A token is made of letters and digits: nothing in it needs an escape.
        f"'{token}':{','.join(map(str, dict.fromkeys(places[:255])))}"
        for token, places in sorted(positions.items())
    )


def _fitting(tokens: list[str]) -> list[str]:
    """The first tokens that are at most `MAX_BYTES` with their positions."""
    if sum(map(len, tokens)) * 4 + len(tokens) * 5 <= MAX_BYTES:
        return tokens
    known: set[str] = set()
    size = 0
    for count, token in enumerate(tokens):
        size += 2 if token in known else len(token.encode()) + 5  # with its alignment and count
        if size > MAX_BYTES:
            return tokens[:count]
        known.add(token)
    return tokens


def quoted(token: str) -> str:
    """A token as a literal of a tsvector or tsquery."""
    escaped = token.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def any_of(tokens: Iterable[str]) -> str:
    """A tsquery that matches a text with any of the tokens; none for no tokens."""
    return " | ".join(quoted(token) for token in tokens)
