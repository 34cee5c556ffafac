"""Questions and answers: a pair is one block, because either half alone answers nobody's search."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from indexing.blocks import BlockKind
from indexing.parsers import limits
from indexing.parsers.assemble import Piece

_QUESTION = re.compile(r"(?:Q|Question|问|问题|問|問題)\s?\d{0,3}\s?[:：]", re.IGNORECASE)
_ANSWER = re.compile(r"(?:A|Answer|答|答案|回答)\s?\d{0,3}\s?[:：]", re.IGNORECASE)
_PROSE = (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM, BlockKind.HEADING)


def pair_questions(pieces: Iterable[Piece]) -> list[Piece]:
    """Merge each piece that asks (`Q:`, `问：`) with the answer right after it into one FAQ piece.

    The answer ends with its paragraph: what follows is ordinary text. A question without an answer, or an answer
    without a question, stays what it was. Raises `DocumentTooLarge`.
    """
    result: list[Piece] = []
    for piece in _one_voice_each(pieces):
        asked = result[-1] if result else None
        if asked is not None and _asks(asked) and _begins(piece, _ANSWER):
            result[-1] = _merge(asked, piece)
        else:
            result.append(piece)
            limits.BLOCKS.check(len(result))
    return result


def opens_turn(text: str) -> bool:
    """Whether a paragraph starts with the mark of a question or of an answer."""
    return _QUESTION.match(text) is not None or _ANSWER.match(text) is not None


def _asks(piece: Piece) -> bool:
    return _begins(piece, _QUESTION)


def _begins(piece: Piece, voice: re.Pattern[str]) -> bool:
    return piece.kind in _PROSE and voice.match(piece.text) is not None


def _one_voice_each(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Cut paragraphs with several questions and answers on their own lines into one piece each."""
    for piece in pieces:
        if piece.kind not in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM):
            yield piece
            continue
        lines = piece.text.split("\n")
        starts = [i for i, line in enumerate(lines) if i and opens_turn(line)]
        # Lines can be cut apart where each stands for one line of the file.
        exact = piece.lines is not None and piece.lines[1] - piece.lines[0] + 1 == len(lines)
        for start, end in zip([0, *starts], [*starts, len(lines)], strict=True):
            own = (piece.lines[0] + start, piece.lines[0] + end - 1) if exact and piece.lines else piece.lines
            yield replace(piece, text="\n".join(lines[start:end]), lines=own)


def _merge(question: Piece, answer: Piece) -> Piece:
    last_page = answer.page_end or answer.page
    return Piece(
        BlockKind.FAQ,
        f"{question.text}\n{answer.text}",
        page=question.page,
        page_end=last_page if last_page != question.page else None,
        region=_around(question, answer) if last_page == question.page else None,
        lines=(question.lines[0], answer.lines[1]) if question.lines and answer.lines else None,
    )


def _around(one: Piece, other: Piece) -> tuple[float, float, float, float] | None:
    if one.region is None or other.region is None:
        return None
    a, b = one.region, other.region
    return (min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3]))
