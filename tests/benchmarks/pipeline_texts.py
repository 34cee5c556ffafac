"""Documents made from a seed for bench_pipeline: Markdown, every other one Chinese, each with a word of its own."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.benchmarks.bench_edit import LANGUAGES

PARAGRAPHS = 4  # under a heading


@dataclass(frozen=True, slots=True)
class Made:
    """`marker` stands once in every paragraph and in no other document: a search for it finds the whole document."""

    number: int
    language: str
    marker: str
    paragraphs: tuple[tuple[str, ...], ...]  # of sentences; one that begins with `#` is a heading

    @property
    def text(self) -> str:
        after = LANGUAGES[self.language].after
        return "\n\n".join(after.join(sentences) for sentences in self.paragraphs) + "\n"


def make(number: int, *, characters: int, seed: int) -> Made:
    """A document of at least `characters` characters, by less than a paragraph."""
    rng = random.Random(f"{seed} {number}")
    code = ("zh", "en")[number % 2]
    language, marker = LANGUAGES[code], f"kb{number:05d}"
    paragraphs: list[tuple[str, ...]] = []
    size = 0
    while size < characters:
        if len(paragraphs) % (PARAGRAPHS + 1) == 0:
            paragraphs.append((f"# {language.sentence(rng)[:20]}",))
        sentences = (marker + language.stop, *(language.sentence(rng) for _ in range(rng.randint(3, 6))))
        paragraphs.append(sentences)
        size += sum(map(len, sentences))
    return Made(number, code, marker, tuple(paragraphs))


def with_one_sentence_changed(made: Made, *, seed: int) -> Made:
    """Another sentence of other words in the place of one."""
    rng = random.Random(f"edit {seed} {made.number}")
    place = rng.choice([index for index, part in enumerate(made.paragraphs) if not part[0].startswith("#")])
    sentences = list(made.paragraphs[place])
    sentences[rng.randrange(1, len(sentences))] = LANGUAGES[made.language].sentence(rng)
    return Made(
        made.number,
        made.language,
        made.marker,
        (*made.paragraphs[:place], tuple(sentences), *made.paragraphs[place + 1 :]),
    )
