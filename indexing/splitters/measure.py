"""Counting tokens without counting often: a tokenizer call costs more than everything else a splitter does."""

from __future__ import annotations

from collections.abc import Callable


class Meter:
    """Costs that can be added up. The sum is an estimate; what is emitted is counted as a whole.

    A tokenizer counts its own marks in every text; `cost` leaves them out, `base` is their number.
    """

    def __init__(self, count_tokens: Callable[[str], int]) -> None:
        self.count = count_tokens
        self.base = count_tokens("")
        self.gap = max(self.cost("a\n\na") - 2 * self.cost("a"), 0)  # of the blank line between two blocks

    def cost(self, text: str) -> int:
        return max(self.count(text) - self.base, 0)
