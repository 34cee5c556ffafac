"""Files whose chunks and vectors are known before anybody has read them.

A content is a title and some sections; a section is a heading and one short sentence, so it becomes exactly one chunk.
`expected` says what must come out, by construction; `observed` is what the product's own pure functions make of the same
bytes. A test compares the two, and publishers refuse to upload a file where they differ.
"""

from __future__ import annotations

import hashlib
import io
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from tests.provider_stub import embedding

DIMENSIONS = 64
MODEL = "stub"
CHUNK_TOKENS = 60  # budget of a chunk: a section fits, two do not stand under one heading anyway
FORMATS = ("md", "html", "docx", "pdf")
TITLES = ("Travel", "Leave", "Security", "差旅")
VOCABULARY = (
    "limit hotel train night month manager receipt office badge visitor password remote contract laptop holiday sickness "
    "parent notice supplier budget quarter archive backup incident review approval meeting training canteen parking"
)
WORDS = VOCABULARY.split()
CHARACTERS = "差旅住宿火车上限经理审批发票办公访客密码远程合同假期病假通知预算备份会议培训"


@dataclass(frozen=True, slots=True)
class Section:
    """One heading with one sentence. `marker` stands in no other section's text."""

    number: int
    marker: str
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Content:
    """A file to be: `sections` are numbers, in order, each at most once."""

    title: str
    format: str
    sections: tuple[int, ...]

    @property
    def file_name(self) -> str:
        return f"rules.{self.format}"


@dataclass(frozen=True, slots=True)
class Expected:
    """A chunk as it must be stored."""

    ordinal: int
    text: str
    embedded: str  # what the provider is asked to embed

    @property
    def text_digest(self) -> str:
        return _digest(self.text)

    @property
    def embedded_digest(self) -> str:
        return _digest(self.embedded)

    @property
    def vector(self) -> list[float]:
        return embedding(self.embedded, DIMENSIONS, MODEL)


@cache
def section(number: int) -> Section:
    """The same for every seed and tenant: tenants have texts in common."""
    rng = random.Random(f"section {number}")
    marker = "mk" + "".join(chr(97 + number // 26**power % 26) for power in range(4))
    if not is_latin(number):
        words = "".join(rng.sample(CHARACTERS, 12))
        return Section(number, marker, f"条款 {marker}", f"{marker} {words}。")
    words = " ".join(rng.sample(WORDS, rng.randint(5, 8)))
    return Section(number, marker, f"Clause {marker}", f"{marker} {words}.")


def is_latin(number: int) -> bool:
    """Whether a section is English; the others are Chinese."""
    return number % 4 != 0


def expected(content: Content) -> list[Expected]:
    """The chunks of a content, by construction."""
    found = []
    for ordinal, number in enumerate(content.sections):
        part = section(number)
        found.append(Expected(ordinal, part.text, f"{content.title} › {part.heading}\n{part.text}"))
    return found


def observed(content: Content, data: bytes) -> list[tuple[int, str, str]]:
    """(ordinal, text, embedded text) of each chunk that the product's pure functions make of the bytes."""
    from documents import media_types
    from indexing.embedders.estimate import upper_estimate
    from indexing.parsers import parse
    from indexing.splitters import split

    parsed = parse(data, media_types.detect(data, content.file_name), content.file_name)
    chunks = split(parsed, title=content.title, count_tokens=upper_estimate, budget=CHUNK_TOKENS)
    return [(chunk.ordinal, chunk.text, chunk.embedded_text) for chunk in chunks]


@lru_cache(maxsize=512)
def rendered(content: Content) -> bytes:
    """The file. Raises `AssertionError` if the product would read something else in it than the oracle says."""
    data = {"md": _markdown, "html": _html, "docx": _docx, "pdf": _pdf}[content.format](
        [section(number) for number in content.sections]
    )
    wanted = [(chunk.ordinal, chunk.text, chunk.embedded) for chunk in expected(content)]
    assert observed(content, data) == wanted, f"the oracle does not know what becomes of {content}"
    return data


def record(connection: Any, content: Content) -> str:
    """Write down what must become of a content, before it is uploaded; return the digest of its bytes."""
    digest = hashlib.sha256(rendered(content)).hexdigest()
    chunks = expected(content)
    with connection.transaction(), connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO chaos.expected_chunk VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
            [(digest, chunk.ordinal, chunk.text_digest) for chunk in chunks],
        )
        cursor.executemany(
            "INSERT INTO chaos.expected_vector VALUES (%s, %s) ON CONFLICT DO NOTHING",
            [(chunk.embedded_digest, str(chunk.vector)) for chunk in sorted(chunks, key=lambda c: c.embedded_digest)],
        )
    return digest


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _markdown(sections: Sequence[Section]) -> bytes:
    return "\n\n".join(f"## {part.heading}\n\n{part.text}" for part in sections).encode()


def _html(sections: Sequence[Section]) -> bytes:
    body = "".join(f"<h2>{part.heading}</h2><p>{part.text}</p>" for part in sections)
    return f'<!doctype html><html><head><meta charset="utf-8"></head><body>{body}</body></html>'.encode()


def _docx(sections: Sequence[Section]) -> bytes:
    import docx

    document = docx.Document()
    for part in sections:
        document.add_heading(part.heading, level=2)
        document.add_paragraph(part.text)
    target = io.BytesIO()
    document.save(target)
    return target.getvalue()


def _pdf(sections: Sequence[Section]) -> bytes:
    """Latin letters only: a font with Chinese ones would have to be embedded."""
    from reportlab.pdfgen.canvas import Canvas

    target = io.BytesIO()
    canvas = Canvas(target, pagesize=(595, 842), invariant=1)
    for place, part in enumerate(sections):
        assert is_latin(part.number), "a PDF of the oracle holds no Chinese"
        if place and place % 8 == 0:
            canvas.showPage()
        top = 780 - (place % 8) * 90
        canvas.setFont("Helvetica-Bold", 18)
        canvas.drawString(60, top, part.heading)
        canvas.setFont("Helvetica", 11)
        canvas.drawString(60, top - 35, part.text)
    canvas.save()
    return target.getvalue()
