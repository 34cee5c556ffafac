"""Text that is kept out of a document, as it is told: whole, but for a very long one."""

from __future__ import annotations

from collections.abc import Iterable

from indexing.blocks import LeftOut, LeftOutReason
from indexing.locators import Cells
from indexing.parsers import limits

_BETWEEN = " | "


def leave_out(
    reason: LeftOutReason,
    texts: Iterable[str],
    *,
    pages: tuple[int, ...] = (),
    sheet: str | None = None,
    cells: Cells | None = None,
    slide: int | None = None,
) -> LeftOut:
    """`texts`, beside each other. Of what is longer than `limits.LEFT_OUT_CHARACTERS` the rest is counted."""
    whole = _BETWEEN.join(texts)
    shown = whole[: limits.LEFT_OUT_CHARACTERS]
    return LeftOut(reason, shown, pages, sheet, cells, slide, omitted=len(whole) - len(shown))
