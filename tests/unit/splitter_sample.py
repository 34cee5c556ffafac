"""A document with everything in it, and what each strategy makes of it: the same on every machine and Python.

Imports no test library, so that any Python with the splitter's one dependency can run it.
"""

from __future__ import annotations

import hashlib
import json
import random

from documents.media_types import TEXT
from indexing.blocks import BlockKind, ParsedDocument
from indexing.embedders.estimate import upper_estimate
from indexing.parsers.assemble import Piece, assemble
from indexing.splitters import STRATEGIES, split
from indexing.splitters.options import Options

OPTIONS = Options(child_tokens=40, characters=90, overlap=20)
PROSE = (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM, BlockKind.CODE, BlockKind.FAQ, BlockKind.FORMULA, BlockKind.CAPTION)


def sample() -> ParsedDocument:
    """A long document with everything in it, the same on every machine: without the random module's own text functions."""
    rng = random.Random(4)

    def words() -> str:
        number = int(rng.random() * 900)
        return f"第{number}条规定如下：" if number % 2 else f"Rule {number} applies. However, not in case {number % 7}."

    pieces: list[Piece] = []
    line = 1
    for number in range(120):
        kind = (*PROSE, BlockKind.HEADING, BlockKind.TABLE)[number % (len(PROSE) + 2)]
        text = "".join(words() for _ in range(1 + number % 9))
        rows = tuple((words(), words()) for _ in range(1 + number % 12)) if kind is BlockKind.TABLE else ()
        last = line + max(len(rows), 1) - 1
        pieces.append(Piece(kind, text, rows=rows, header_rows=bool(rows), level=1 + number % 3, lines=(line, last)))
        line = last + 2
    return assemble(TEXT, pieces)


def fingerprints() -> dict[str, str]:
    found = {}
    for strategy in STRATEGIES:
        chunks = split(
            sample(), title="Handbook", count_tokens=upper_estimate, budget=80, strategy=strategy, options=OPTIONS
        )
        told = json.dumps([[chunk.to_json(), chunk.context] for chunk in chunks], ensure_ascii=False)
        found[strategy] = hashlib.sha256(told.encode()).hexdigest()
    return found
