"""What chunks claim, and what became of it. Pure data; JSON round-trips."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from indexing.blocks import Block, BlockKind, Chunk, ParsedDocument
from indexing.locators import Locator
from indexing.parsers.assemble import BETWEEN_CELLS
from indexing.typed import as_written
from indexing.verification.measure import letters

_SEPARATORS = f"{BETWEEN_CELLS}\n"


class Outcome(StrEnum):
    """What a second reading says of one chunk."""

    FOUND = "found"
    ELSEWHERE = "elsewhere"  # not at the claimed place, or the place does not exist
    # The place exists, and there is no second reading: its text was recognised in a picture, or only our parser reads the file.
    NOT_CHECKABLE = "not_checkable"


@dataclass(frozen=True, slots=True)
class Claim:
    """“These texts stand at this place.”

    `texts` are the lines and cells of `ParsedDocument.text` in the chunk's span, but for what was recognised in pictures. What
    a splitter puts in front of them (a table's header, a question, a lead-in) stands elsewhere and is not claimed. `is_shown`:
    the chunk's own text has them all; else it shows something else than what it points to.
    """

    ordinal: int
    texts: tuple[str, ...]
    locator: Locator
    is_shown: bool = True

    def to_json(self) -> dict[str, Any]:
        return {
            "ordinal": self.ordinal,
            "texts": list(self.texts),
            "locator": self.locator.to_json(),
            "isShown": self.is_shown,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Claim:
        return cls(data["ordinal"], tuple(data["texts"]), Locator.from_json(data["locator"]), data["isShown"])


@dataclass(frozen=True, slots=True)
class Verification:
    """How many chunks were found at their places, the ordinals of those that were not, how many could not be checked."""

    found: int = 0
    failed: tuple[int, ...] = ()
    not_checkable: int = 0

    def is_beyond(self, share: float) -> bool:
        """Whether so many failed that the fault is in the parser, not in one odd place: more than `share`, and several."""
        return len(self.failed) > max(1.0, share * (self.found + len(self.failed)))

    def corrected(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """`chunks`, those that failed without the part of their place that is too exact to be believed."""
        failed = set(self.failed)
        return [
            replace(chunk, locator=_coarser(chunk.locator)) if chunk.ordinal in failed else chunk for chunk in chunks
        ]

    def to_json(self) -> dict[str, Any]:
        return {"found": self.found, "failed": list(self.failed), "notCheckable": self.not_checkable}

    @classmethod
    def from_json(cls, data: Any) -> Verification:
        """Raises `ValueError` for anything that `to_json` would not write."""
        return as_written(cls._read, data)

    @classmethod
    def _read(cls, data: dict[str, Any]) -> Verification:
        return cls(data["found"], tuple(data["failed"]), data["notCheckable"])


def claims_of(document: ParsedDocument, chunks: Sequence[Chunk]) -> list[Claim]:
    begins = [block.locator.span[0] for block in document.blocks]
    return [_claim(document, begins, chunk) for chunk in chunks]


def _claim(document: ParsedDocument, begins: list[int], chunk: Chunk) -> Claim:
    start, end = chunk.locator.span
    inside = 0 <= start < end <= len(document.text)
    text = document.text[start:end]
    # Of a row of empty cells there is nothing to show.
    is_shown = inside and (not text.strip(_SEPARATORS) or letters(text) in letters(chunk.text))
    touched = document.blocks[max(bisect_right(begins, start) - 1, 0) : bisect_left(begins, end)]
    return Claim(chunk.ordinal, tuple(_texts(touched, start, end)), chunk.locator, is_shown)


def _texts(blocks: Sequence[Block], start: int, end: int) -> Iterator[str]:
    for block in blocks:
        if block.confidence is not None:
            continue
        begin = block.locator.span[0]
        for line in block.text[max(0, start - begin) : max(0, end - begin)].split("\n"):
            for text in line.split(BETWEEN_CELLS) if block.kind is BlockKind.TABLE else [line]:
                if text.strip(_SEPARATORS if block.kind is BlockKind.TABLE else None):
                    yield text


def _coarser(locator: Locator) -> Locator:
    """Page, sheet and slide stay: a reader finds the text from there, and nothing is marked that is not it."""
    return replace(locator, region=None, region_end=None, cells=None, areas=(), lines=None)
