"""Blocks in, chunks out: a registry of strategies by name. Pure: no Django, no model, no database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from indexing.blocks import Chunk, ParsedDocument
from indexing.splitters import structure
from indexing.splitters.measure import no_checkpoint

SPLITTER_REVISION = "3"
"""Part of every pipeline's digest: change it with every change of what any strategy returns."""


class Splitter(Protocol):
    """Splits one document deterministically. Every chunk, with its context, counts at most `budget` tokens.

    `checkpoint` is called again and again, after short times whatever the document; what it raises ends the work.
    """

    def __call__(
        self,
        document: ParsedDocument,
        *,
        title: str,
        count_tokens: Callable[[str], int],
        budget: int,
        checkpoint: Callable[[], None],
    ) -> list[Chunk]: ...


STRATEGIES: dict[str, Splitter] = {"structure": structure.split}


def split(
    document: ParsedDocument,
    *,
    title: str,
    count_tokens: Callable[[str], int],
    budget: int,
    strategy: str = "structure",
    checkpoint: Callable[[], None] = no_checkpoint,
) -> list[Chunk]:
    """Split `document` by the named strategy.

    Raises `KeyError` for an unknown one, `ValueError` for a tiny budget, `DocumentTooLarge` for too many chunks.
    """
    return STRATEGIES[strategy](document, title=title, count_tokens=count_tokens, budget=budget, checkpoint=checkpoint)
