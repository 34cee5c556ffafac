"""What was read from the scanned pages of one document, so that no page is read twice. Pure data and one small object.

Reading a scanned page takes seconds, and a book of them longer than a worker may live: each page is told as soon as it is
read, kept, and handed back to the next attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from indexing.blocks import GapReason
from indexing.locators import Region
from indexing.parsers import limits
from indexing.typed import as_written


@dataclass(frozen=True, slots=True)
class ScannedLine:
    """One line of a picture. `region` lies on the page set upright and straight, in points from its top left corner. `is_row`:
    pieces with wide gaps between them, as in a form or a table."""

    text: str
    confidence: float  # 0–1: the mean of its characters'
    region: Region
    is_row: bool = False


@dataclass(frozen=True, slots=True)
class ScannedPage:
    """What a picture says, in reading order, or why nothing or not all of it.

    `size` is (width, height) of the page set upright, in points. `turn`: quarter turns, counterclockwise, from the page as
    displayed to that; `skew`: degrees, clockwise, by which it was laid askew. A page without lines and without `gap` is blank.
    """

    number: int
    size: tuple[float, float] = (0.0, 0.0)
    turn: int = 0
    skew: float = 0.0
    lines: tuple[ScannedLine, ...] = ()
    gap: GapReason | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "size": list(self.size),
            "turn": self.turn,
            "skew": self.skew,
            "lines": [[line.text, line.confidence, list(line.region), line.is_row] for line in self.lines],
            "gap": self.gap.value if self.gap else None,
        }

    @classmethod
    def from_json(cls, data: Any) -> ScannedPage:
        """Raises `ValueError` for anything that `to_json` would not write."""
        return as_written(cls._read, data)

    @classmethod
    def _read(cls, data: dict[str, Any]) -> ScannedPage:
        return cls(
            number=data["number"],
            size=(data["size"][0], data["size"][1]),
            turn=data["turn"],
            skew=data["skew"],
            lines=tuple(
                ScannedLine(text, confidence, (region[0], region[1], region[2], region[3]), is_row)
                for text, confidence, region, is_row in data["lines"]
            ),
            gap=GapReason(data["gap"]) if data["gap"] else None,
        )


class Scans:
    """The scanned pages of one document, each read once. `known` are those of an earlier attempt; each new one is told to
    `report`."""

    def __init__(
        self, known: Mapping[int, ScannedPage] | None = None, report: Callable[[ScannedPage], None] = lambda _: None
    ) -> None:
        self._known, self._report, self._count = known or {}, report, 0

    def read(self, number: int, recognise: Callable[[], ScannedPage]) -> ScannedPage:
        """Page `number`, 1-based: known, or by `recognise`. Those beyond the limit are gaps: a limit of number, not of time,
        so that a slow machine reads the same pages as a fast one."""
        self._count += 1
        if self._count > limits.SCANNED_PAGES:
            return ScannedPage(number, gap=GapReason.OVER_LIMIT)
        if number not in self._known:
            page = recognise()
            self._report(page)
            return page
        return self._known[number]
