"""Blocks in, chunks out: a registry of strategies by name. Pure: no Django, no model, no database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from indexing.blocks import Chunk, ParsedDocument
from indexing.errors import VerificationFailed
from indexing.splitters import fixed, parent_child, sentence, structure
from indexing.splitters.measure import Meter, no_checkpoint
from indexing.splitters.options import DEFAULT, Options

SPLITTER_REVISION = "4"
"""Part of every pipeline's digest: change it with every change of what any strategy returns."""

BUDGET_UNIT = "tokens of the pipeline's embedding model"
"""What a budget counts, in words: it stands in the configuration and in what `inspect_document` shows."""


class Splitter(Protocol):
    """Splits one document deterministically. Every chunk, with its context, counts at most `budget` tokens."""

    def __call__(
        self, document: ParsedDocument, *, title: str, meter: Meter, budget: int, options: Options
    ) -> Iterator[Chunk]: ...


STRATEGIES: dict[str, Splitter] = {
    "structure": structure.split,
    "fixed": fixed.split,
    "sentence": sentence.split,
    "parent-child": parent_child.split,
}


def split(
    document: ParsedDocument,
    *,
    title: str,
    count_tokens: Callable[[str], int],
    budget: int,
    strategy: str = "structure",
    options: Options = DEFAULT,
    checkpoint: Callable[[], None] = no_checkpoint,
) -> list[Chunk]:
    """Split `document` by the named strategy. `checkpoint` is called again and again, after short times whatever the
    document; what it raises ends the work.

    Raises `KeyError` for an unknown strategy, `ValueError` for a tiny budget, `DocumentTooLarge` for too many chunks, and
    `VerificationFailed` if nothing came of a document with text.
    """
    meter = Meter(count_tokens, checkpoint)
    chunks = list(STRATEGIES[strategy](document, title=title, meter=meter, budget=budget, options=options))
    if not chunks and document.text.strip():
        raise VerificationFailed("No passage was made of a document that has text.")
    return chunks


def split_as_configured(
    config: Mapping[str, Any],
    document: ParsedDocument,
    *,
    title: str,
    count_tokens: Callable[[str], int],
    most_tokens: int,
    checkpoint: Callable[[], None] = no_checkpoint,
) -> list[Chunk]:
    """Split as the splitter's part of a pipeline's configuration says. `most_tokens`: what the embedding model reads.

    Raises what `split` does.
    """
    budget, options = min(config["tokens"], most_tokens), DEFAULT
    if config["strategy"] == "parent-child":  # only children are embedded
        budget, options = config["tokens"], Options(child_tokens=min(config["childTokens"], most_tokens))
    elif config["strategy"] == "fixed":
        options = Options(characters=config["characters"], overlap=config["overlap"])
    return split(
        document,
        title=title,
        count_tokens=count_tokens,
        budget=budget,
        strategy=config["strategy"],
        options=options,
        checkpoint=checkpoint,
    )
