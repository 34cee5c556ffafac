"""What `inspect_document` shows of files: blocks, chunks, places, gaps, times, or an error. No database."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from indexing.blocks import Block, Chunk, ParsedDocument
from indexing.locators import Locator
from indexing.messages import locator_words
from indexing.remarks import gap_words, left_out_words
from indexing.splitters import BUDGET_UNIT
from indexing.verification import Verification

_WIDTH = 100
_BETWEEN_HEADINGS = " › "


@dataclass(frozen=True, slots=True)
class Inspection:
    """A file that could be read: `document` and `chunks`; one that could not: `error`, its code and its sentence.

    `seconds`: how long parse, split and verify took, each in its process where it has one. `pictures`: drawn pages by number,
    PNG with the size of the page.
    """

    name: str
    document: ParsedDocument | None = None
    chunks: tuple[Chunk, ...] = ()
    error: tuple[str, str] | None = None
    verification: Verification = field(default_factory=Verification)
    seconds: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        if self.error is not None or self.document is None:
            code, message = self.error or ("", "")
            return {"file": self.name, "errorCode": code, "message": message, "seconds": self.seconds}
        return {
            "file": self.name,
            "mediaType": self.document.media_type,
            "title": self.document.title,
            "language": self.document.language,
            "pages": self.document.pages,
            "blocks": [block.to_json() for block in self.document.blocks],
            "tokensAre": BUDGET_UNIT,
            "chunks": [{**chunk.to_json(), "context": chunk.context} for chunk in self.chunks],
            "gaps": [gap.to_json() for gap in self.document.gaps],
            "leftOut": [left_out.to_json() for left_out in self.document.left_out],
            "places": self.verification.to_json(),
            "seconds": self.seconds,
        }

    def to_text(self) -> str:
        """For a person: what was read, and how it is cut."""
        if self.error is not None or self.document is None:
            code, message = self.error or ("", "")
            return f"{self.name}\n  Cannot be indexed: {message} ({code})"
        lines = [self.name, f"  {', '.join(self.counts())}"]
        if self.document.title:
            lines.append(f"  Title: {self.document.title}")
        lines += [f"  {line}" for line in self.facts()]
        lines += ["", "Blocks, as read from the file"]
        lines += [_block_line(block) for block in self.document.blocks]
        lines += ["", f"Chunks, as found by a search; in {BUDGET_UNIT}"]
        for chunk in self.chunks:
            lines += _chunk_lines(chunk, is_there=chunk.ordinal not in self.verification.failed)
        return "\n".join(lines)

    def counts(self) -> list[str]:
        assert self.document is not None, "it could be read"
        pages = [] if self.document.pages is None else [counted(self.document.pages, "page")]
        blocks, chunks = counted(len(self.document.blocks), "block"), counted(len(self.chunks), "chunk")
        return [self.document.media_type, *pages, blocks, chunks]

    def facts(self) -> list[str]:
        """Places, gaps, what was kept out, and times, each in a line."""
        assert self.document is not None, "it could be read"
        found = self.verification
        places = f"Places: {found.found} verified, {len(found.failed)} not found, {found.not_checkable} not checkable"
        gaps = [f"Gap: {gap_words(gap.to_json())}" for gap in self.document.gaps]
        kept_out = [f"Left out: {left_out_words(item)}: {_shortened(item.text, 80)}" for item in self.document.left_out]
        times = ", ".join(f"{step} {seconds:.2f} s" for step, seconds in self.seconds.items())
        return [places, *gaps, *kept_out, *([f"Time: {times}"] if times else [])]


@dataclass(frozen=True, slots=True)
class Summary:
    """Many files in a few numbers."""

    files: int
    pages: int
    blocks: int
    chunks: int
    found: int
    failed: int
    not_checkable: int
    gaps: int
    errors: dict[str, int]  # files by code
    seconds: dict[str, float]

    @classmethod
    def of(cls, inspections: Sequence[Inspection]) -> Summary:
        documents = [item.document for item in inspections if item.document is not None]
        seconds: Counter[str] = Counter()
        for item in inspections:
            seconds.update(item.seconds)
        return cls(
            files=len(inspections),
            pages=sum(document.pages or 0 for document in documents),
            blocks=sum(len(document.blocks) for document in documents),
            chunks=sum(len(item.chunks) for item in inspections),
            found=sum(item.verification.found for item in inspections),
            failed=sum(len(item.verification.failed) for item in inspections),
            not_checkable=sum(item.verification.not_checkable for item in inspections),
            gaps=sum(len(document.gaps) for document in documents),
            errors=dict(Counter(item.error[0] for item in inspections if item.error is not None)),
            seconds={step: round(value, 3) for step, value in seconds.items()},
        )

    def lines(self) -> list[str]:
        errors = ", ".join(f"{count} {code}" for code, count in sorted(self.errors.items())) or "none"
        checked = self.found + self.failed
        share = f" ({100 * self.found / checked:.2f} % of those that can be checked)" if checked else ""
        return [
            ", ".join(
                counted(number, noun)
                for number, noun in (
                    (self.files, "file"),
                    (self.pages, "page"),
                    (self.blocks, "block"),
                    (self.chunks, "chunk"),
                )
            ),
            f"Places: {self.found} verified{share}, {self.failed} not found, {self.not_checkable} not checkable",
            f"Gaps: {self.gaps}",
            f"Files that cannot be indexed: {errors}",
            f"Time: {', '.join(f'{step} {seconds:.2f} s' for step, seconds in self.seconds.items()) or 'none'}",
        ]


def head_line(chunk: Chunk, *, is_there: bool, between: str) -> str:
    """Place, tokens and headings of a chunk. A format without places of its own has none."""
    place = place_line(chunk.locator)
    facts = [place if is_there else f"{place}, NOT FOUND THERE".removeprefix(", "), counted(chunk.tokens, "token")]
    return between.join([", ".join(filter(None, facts)), _path_line(chunk)])


def place_line(locator: Locator) -> str:
    """“pages 3–4”, “sheet “Prices”, cells B4:F17”, “lines 7–9”; empty where the format has no places of its own."""
    return locator_words(locator.to_json())


def _path_line(chunk: Chunk) -> str:
    return _BETWEEN_HEADINGS.join(chunk.heading_path) or "(no heading)"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _block_line(block: Block) -> str:
    kind = f"heading {block.level}" if block.level is not None else block.kind.value.replace("_", " ")
    indent = "  " * len(block.heading_path)
    return f"  {kind:<10} {place_line(block.locator):<12} {indent}{_shortened(block.text, _WIDTH - 26 - len(indent))}"


def _chunk_lines(chunk: Chunk, *, is_there: bool) -> list[str]:
    head = f"  #{chunk.ordinal}  {head_line(chunk, is_there=is_there, between='  ')}"
    body = []
    for line in chunk.text.split("\n"):
        body += textwrap.wrap(line, _WIDTH, initial_indent="      ", subsequent_indent="      ")
    return [head, *body, ""]


def _shortened(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: max(width, 10) - 1]}…"
