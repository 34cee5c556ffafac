"""Questions and answers: a pair is one block, because either half alone answers nobody's search."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from indexing.blocks import BlockKind
from indexing.locators import Locator, covering
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
    text = f"{question.text}\n{answer.text}"
    shift = len(question.text) + 1
    moved = [replace(part, span=(part.span[0] + shift, part.span[1] + shift)) for part in answer.parts]
    whole = covering((0, len(text)), [_place(question), _place(answer)])
    return Piece(
        BlockKind.FAQ,
        text,
        page=whole.page,
        page_end=whole.page_end,
        region=whole.region,
        lines=(question.lines[0], answer.lines[1]) if question.lines and answer.lines else None,
        region_end=whole.region_end,
        page_label=whole.page_label,
        slide=question.slide,
        parts=[*question.parts, *moved] if question.parts and answer.parts else (),
    )


def _place(piece: Piece) -> Locator:
    return Locator(
        (0, len(piece.text)),
        page=piece.page,
        page_end=piece.page_end,
        region=piece.region,
        region_end=piece.region_end,
        page_label=piece.page_label,
    )
