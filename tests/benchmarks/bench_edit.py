"""What a small edit costs: how many chunks of a document of some 200 are embedded again after it.

`python -m tests.benchmarks.bench_edit --seeds 20` prints JSON. A chunk that touches an edit has to be sent; one that does
not is sent only because boundaries moved. Texts are random words, so that no two sentences are equal; the tokenizer is the
bundled model's.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from documents.media_types import TEXT
from indexing.blocks import BlockKind, Chunk
from indexing.embedders.local import LocalEmbedder
from indexing.parsers.assemble import Piece, assemble
from indexing.splitters import split

BUDGET = 320  # tokens, the default of KB_CHUNK_TOKENS
CHUNKS = 200  # about
PLACES = 4  # at which an edit "in place" changes words

Text = list[list[str]]
"""Paragraphs of sentences; one whose only sentence begins with `#` is a heading."""


@dataclass(frozen=True, slots=True)
class Language:
    words: tuple[str, ...]
    between: str  # words
    stop: str  # ends a sentence
    after: str  # follows the end of a sentence

    def sentence(self, rng: random.Random) -> str:
        words = [rng.choice(self.words) for _ in range(rng.randint(6, 24))]
        return self.between.join(words).capitalize() + self.stop


_ENGLISH = (
    "the travel budget of a manager covers every train hotel and meal when report is approved within two weeks after "
    "return each invoice needs number date name total tax code cost centre signature before finance pays it on friday"
)
_CHINESE = (
    "员工 出差 报销 必须 提供 发票 原件 部门 经理 批准 之后 财务 支付 每月 十日 以前 提交 申请 住宿 标准 交通 费用 超出 部分 "
    "自行 承担 按照 公司 制度 执行"
)
LANGUAGES = {
    "en": Language(tuple(_ENGLISH.split()), " ", ".", " "),
    "zh": Language(tuple(_CHINESE.split()), "", "。", ""),
}
LAYOUTS = {
    # sentences in a paragraph, paragraphs under a heading
    "one long section": ((2, 8), 10_000),
    "one long section of one-sentence paragraphs": ((1, 1), 10_000),
    "sections of some chunks": ((2, 8), 12),
    "one endless paragraph": ((10_000, 10_000), 10_000),
}


def write(language: Language, layout: tuple[tuple[int, int], int], rng: random.Random) -> Text:
    """About `CHUNKS` chunks of text."""
    sizes, under_heading = layout
    text: Text = []
    left = CHUNKS * 14  # sentences of some 20 tokens
    while left > 0:
        if under_heading < left and len(text) % (under_heading + 1) == 0:
            text.append([f"# {language.sentence(rng)[:20]}"])
        paragraph = [language.sentence(rng) for _ in range(min(rng.randint(*sizes), left))]
        left -= len(paragraph)
        text.append(paragraph)
    return text


def chunks_of(text: Text, language: Language, count: Callable[[str], int]) -> list[Chunk]:
    pieces = [
        Piece(BlockKind.HEADING, paragraph[0][2:], level=1)
        if paragraph[0].startswith("# ")
        else Piece(BlockKind.PARAGRAPH, language.after.join(paragraph))
        for paragraph in text
    ]
    return split(assemble(TEXT, pieces), title="Handbook", count_tokens=count, budget=BUDGET)


def edits(text: Text, language: Language, rng: random.Random) -> Iterator[tuple[str, Text, int, set[str]]]:
    """(name, edited text, places, sentences that are new or stand where something was removed)."""
    bodies = [number for number, paragraph in enumerate(text) if not paragraph[0].startswith("# ")]

    def copy() -> Text:
        return [list(paragraph) for paragraph in text]

    changed, new = copy(), set()
    for _ in range(PLACES):  # a hundredth of the sentences, each with other words
        number = rng.choice(bodies)
        at = rng.randrange(len(text[number]))
        for index in range(at, min(at + sum(map(len, text)) // 100 // PLACES, len(text[number]))):
            changed[number][index] = language.sentence(rng)
            new.add(changed[number][index])
    yield "1 % of the words replaced in place", changed, PLACES, new

    changed, sentence = copy(), language.sentence(rng)
    changed[bodies[1] if len(bodies) > 1 else 0].insert(1, sentence)
    yield "a sentence inserted near the beginning", changed, 1, {sentence}

    changed, paragraph = copy(), [language.sentence(rng) for _ in range(4)]
    changed.insert(bodies[len(bodies) // 4] + (len(bodies) > 1), paragraph)
    yield "a paragraph inserted", changed, 1, set(paragraph)

    if len(bodies) > 1:
        changed = copy()
        gone = bodies[len(bodies) // 3]
        del changed[gone]
        yield "a paragraph deleted", changed, 1, {changed[gone - 1][-1], changed[min(gone, len(changed) - 1)][0]}


def resent(old: Sequence[Chunk], new: Sequence[Chunk]) -> list[Chunk]:
    known = {chunk.embedded_text for chunk in old}
    return [chunk for chunk in new if chunk.embedded_text not in known]


def measure(seeds: int) -> dict[str, Any]:
    count = cache(LocalEmbedder().count_tokens)
    found: dict[tuple[str, str, str], list[tuple[int, int, int]]] = {}
    sizes: dict[str, list[int]] = {}
    for code, language in LANGUAGES.items():
        for name, layout in LAYOUTS.items():
            for seed in range(seeds):
                rng = random.Random(f"{seed} {code} {name}")
                text = write(language, layout, rng)
                old = chunks_of(text, language, count)
                sizes.setdefault(name, []).extend(chunk.tokens for chunk in old)
                for edit, changed, places, new in edits(text, language, rng):
                    again = resent(old, chunks_of(changed, language, count))
                    touched = sum(any(sentence in chunk.text for sentence in new) for chunk in again)
                    found.setdefault((code, name, edit), []).append((len(again), touched, places))
    rows = [
        {
            "language": code,
            "layout": layout,
            "edit": edit,
            "changed": round(statistics.mean(touched for _, touched, _ in runs), 2),
            "sent": round(statistics.mean(sent for sent, _, _ in runs), 2),
            "sentAtMost": max(sent for sent, _, _ in runs),
            "withinAim": round(
                statistics.mean(sent <= 1.2 * touched + 2 * places for sent, touched, places in runs), 3
            ),
        }
        for (code, layout, edit), runs in found.items()
    ]
    return {
        "budget": BUDGET,
        "seeds": seeds,
        "edits": rows,
        "tokens": {
            name: {
                "chunks": len(tokens) // seeds // len(LANGUAGES),
                "mean": round(statistics.mean(tokens)),
                "belowQuarter": round(statistics.mean(size < BUDGET // 4 for size in tokens), 4),
            }
            for name, tokens in sizes.items()
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="documents for each language and layout")
    print(json.dumps(measure(parser.parse_args().seeds), indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
