"""What only some strategies are told, besides the longest chunk."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    child_tokens: int = 96  # parent-child: the longest chunk, its context included; the budget is for parents then
    characters: int = 600  # fixed: of a chunk, in code points
    overlap: int = 100  # fixed: what a chunk repeats of the one before it, in code points; at most half of it


DEFAULT = Options()
