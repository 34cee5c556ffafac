"""Lists: an item stays with the items in it, and what restricts a list stays with the list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from indexing.blocks import Block
from indexing.splitters.prose import prose
from indexing.splitters.units import Unit

DEEPEST = 8  # lists in lists; deeper items stand beside each other

_FORMS = tuple(
    re.compile(form)
    for form in (
        r"\d{1,3}(?:\.\d{1,3}){2}",
        r"\d{1,3}\.\d{1,3}",
        r"[（(]\d{1,3}[）)]",
        r"\d{1,3}[.)）、]",
        r"[（(][一二三四五六七八九十]{1,3}[）)]",
        r"[一二三四五六七八九十]{1,3}、",
        r"[（(][a-zA-Z][）)]",
        r"[a-zA-Z][.)]\s",
        r"[①-⑳]",
        r"[-*+–·]\s",
        r"[•●]",
        r"[◦○]",
        r"[▪■]",
    )
)


def items(blocks: Sequence[Block], text: str) -> list[Unit]:
    """The outermost items of a list, each with what is nested in it."""
    return list(_nested(text, list(zip(_depths(blocks), blocks, strict=True))))


def _nested(text: str, found: Sequence[tuple[int, Block]]) -> Iterator[Unit]:
    outermost = min((depth for depth, _ in found), default=0)
    begins = [number for number, (depth, _) in enumerate(found) if depth == outermost or not number]
    for first, last in zip(begins, [*begins[1:], len(found)], strict=True):
        start, end = found[first][1].locator.span
        inner = found[first + 1 : last]
        yield _with_inner(text, start, end, inner) if inner else prose(text, start, end)


def _with_inner(text: str, start: int, end: int, inner: Sequence[tuple[int, Block]]) -> Unit:
    return Unit(start, inner[-1][1].locator.span[1], (start, end), lambda: _nested(text, inner))


def _depths(blocks: Sequence[Block]) -> list[int]:
    """How deep each item is nested: as the format says or, where it does not, by the forms of their numbers and bullets.

    A form that was not used yet begins a list in the item before it, one that was goes on with that list.
    """
    open_forms: list[int | None] = []
    depths = []
    for block in blocks:
        if block.depth is not None:
            depths.append(min(block.depth, DEEPEST))
            continue
        form = _form(block.text)
        if form in open_forms:
            del open_forms[open_forms.index(form) + 1 :]
        elif len(open_forms) <= DEEPEST:
            open_forms.append(form)
        depths.append(len(open_forms) - 1)
    return depths


def _form(text: str) -> int | None:
    return next((number for number, form in enumerate(_FORMS) if form.match(text)), None)
