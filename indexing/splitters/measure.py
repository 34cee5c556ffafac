"""Counting tokens without counting often: a tokenizer call costs more than everything else a splitter does.

It may also cost more than in proportion to its text, so that a long text is never counted in one call.
"""

from __future__ import annotations

from collections.abc import Callable

WINDOW = 8_000  # characters: more than any chunk has, and soon counted
MUCH = 8  # characters for each token of room: text that is longer than that seldom fits


def no_checkpoint() -> None:
    """For callers that cannot be stopped."""


class Meter:
    """Costs that can be added up. The sum is an estimate; what is emitted is counted as a whole.

    A tokenizer counts its own marks in every text; `cost` leaves them out, `base` is their number. `checkpoint` is
    called before every count.
    """

    def __init__(self, count_tokens: Callable[[str], int], checkpoint: Callable[[], None] = no_checkpoint) -> None:
        self._count, self._checkpoint = count_tokens, checkpoint
        self.base = self.count("")
        self.gap = max(self.cost("a\n\na") - 2 * self.cost("a"), 0)  # of the blank line between two blocks

    def count(self, text: str) -> int:
        """All tokens of what is emitted."""
        self._checkpoint()
        return self._count(text)

    def cost(self, text: str) -> int:
        """At least 1 for any text: what costs nothing would be packed without end."""
        return sum(max(self.count(text[i : i + WINDOW]) - self.base, 1) for i in range(0, len(text), WINDOW))

    def cost_within(self, text: str, room: int) -> int | None:
        """The cost, or None if it is more than `room`: a long text is counted no further than it takes to know that."""
        step = min(WINDOW, max(room * MUCH, 256))
        cost = 0
        for begin in range(0, len(text), step):
            cost += max(self.count(text[begin : begin + step]) - self.base, 1)
            if cost > room:
                return None
        return cost
