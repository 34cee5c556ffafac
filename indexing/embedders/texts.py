"""What every embedder asks of a text before it leaves Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from indexing.errors import EmbeddingInputRejected

CANARY = "The library opens at nine o’clock, except on public holidays. 图书馆九点开门，法定节假日除外。"
"""A text of nobody's that any model can read. It is part of what is stored about a model: never change it."""


def check_batch(texts: Sequence[str], batch_size: int) -> None:
    """Refuse texts no model can read whole, naming their index; `ValueError` for more than `batch_size` of them.

    NUL ends a text in C, and a lone surrogate has no UTF-8. Cleaning belongs to the caller: embedding what is left
    of such a text would store a vector of something else than the chunk says.
    """
    if len(texts) > batch_size:
        raise ValueError(f"{len(texts)} texts in one call, at most {batch_size} are allowed")
    for index, text in enumerate(texts):
        if "\0" in text:
            raise EmbeddingInputRejected(f"Text {index} holds a NUL character.")
        if not _has_utf8(text):
            raise EmbeddingInputRejected(f"Text {index} holds a lone surrogate.")


def _has_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def capped(text: str, limit: int, count: Callable[[str], int]) -> str:
    """`text`, or a longest prefix of it (in code points) for which `count` is at most `limit`.

    Deterministic. Token counts of growing prefixes go down by one here and there, so another, slightly longer prefix
    may fit as well; the one returned always fits.
    """
    if count(text) <= limit:
        return text
    fits, too_long = 0, len(text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if count(text[:middle]) <= limit:
            fits = middle
        else:
            too_long = middle
    return text[:fits]
