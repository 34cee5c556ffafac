"""What `inspect_document` shows of one file: blocks, chunks or an error. Pure: no Django."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

from indexing.blocks import Block, Chunk, ParsedDocument
from indexing.locators import Locator

_WIDTH = 100
_BETWEEN_HEADINGS = " › "


@dataclass(frozen=True, slots=True)
class Inspection:
    """A file that could be read: `document` and `chunks`; one that could not: `error`, its code and its sentence."""

    name: str
    document: ParsedDocument | None = None
    chunks: tuple[Chunk, ...] = ()
    error: tuple[str, str] | None = None

    def to_json(self) -> dict[str, Any]:
        if self.error is not None or self.document is None:
            code, message = self.error or ("", "")
            return {"errorCode": code, "message": message}
        return {
            "mediaType": self.document.media_type,
            "pages": self.document.pages,
            "blocks": [_block_json(block) for block in self.document.blocks],
            "chunks": [chunk.to_json() for chunk in self.chunks],
        }

    def to_text(self) -> str:
        """For a person: what was read, and how it is cut."""
        if self.error is not None or self.document is None:
            code, message = self.error or ("", "")
            return f"{self.name}\n  Cannot be indexed: {message} ({code})"
        counts = [self.document.media_type]
        if self.document.pages is not None:
            counts.append(_counted(self.document.pages, "page"))
        counts += [_counted(len(self.document.blocks), "block"), _counted(len(self.chunks), "chunk")]
        lines = [self.name, f"  {', '.join(counts)}"]
        if self.document.title:
            lines.append(f"  Title: {self.document.title}")
        lines += ["", "Blocks, as read from the file"]
        lines += [_block_line(block) for block in self.document.blocks]
        lines += ["", "Chunks, as found by a search"]
        for chunk in self.chunks:
            lines += _chunk_lines(chunk)
        return "\n".join(lines)


def _block_json(block: Block) -> dict[str, Any]:
    return {
        "kind": block.kind.value,
        "text": block.text,
        "headingPath": list(block.heading_path),
        "locator": block.locator.to_json(),
    }


def _block_line(block: Block) -> str:
    kind = f"heading {block.level}" if block.level is not None else block.kind.value.replace("_", " ")
    indent = "  " * len(block.heading_path)
    return f"  {kind:<10} {_place(block.locator):<12} {indent}{_shortened(block.text, _WIDTH - 26 - len(indent))}"


def _chunk_lines(chunk: Chunk) -> list[str]:
    path = _BETWEEN_HEADINGS.join(chunk.heading_path) or "(no heading)"
    head = f"  #{chunk.ordinal}  {_place(chunk.locator)}, {_counted(chunk.tokens, 'token')}  {path}"
    body = []
    for line in chunk.text.split("\n"):
        body += textwrap.wrap(line, _WIDTH, initial_indent="      ", subsequent_indent="      ")
    return [head, *body, ""]


def _place(locator: Locator) -> str:
    if locator.page is not None:
        return f"page {locator.page}" + (f"–{locator.page_end}" if locator.page_end is not None else "")
    if locator.lines is not None:
        first, last = locator.lines
        return f"line {first}" if first == last else f"lines {first}–{last}"
    return ""


def _shortened(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: max(width, 10) - 1]}…"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
