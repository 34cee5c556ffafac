"""What a parser produces and a splitter reads: text in blocks, each with the place where it stands.

Pure data; JSON round-trips through `to_json` / `from_json`. Character positions are Unicode code points.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class BlockKind(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE = "table"
    CODE = "code"
    FAQ = "faq"  # a question with its answer


@dataclass(frozen=True, slots=True)
class Locator:
    """Where a piece of text is in the original.

    `span` is [start, end) in `ParsedDocument.text`. `page` is 1-based, as a PDF reader counts; `region` is
    (left, top, right, bottom) in points from the page's top left corner. `lines` is the first and last line, 1-based:
    of the file for plain text and Markdown, of the extracted text for HTML and DOCX, which have no lines of their own.
    """

    span: tuple[int, int]
    page: int | None = None
    page_end: int | None = None  # last page, where the piece goes on over a page break
    region: tuple[float, float, float, float] | None = None
    lines: tuple[int, int] | None = None

    def to_json(self) -> dict[str, Any]:
        result: dict[str, Any] = {"span": list(self.span)}
        if self.page is not None:
            result["page"] = self.page
        if self.page_end is not None:
            result["pageEnd"] = self.page_end
        if self.region is not None:
            result["region"] = list(self.region)
        if self.lines is not None:
            result["lines"] = list(self.lines)
        return result

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Locator:
        region, lines = data.get("region"), data.get("lines")
        return cls(
            span=(data["span"][0], data["span"][1]),
            page=data.get("page"),
            page_end=data.get("pageEnd"),
            region=(region[0], region[1], region[2], region[3]) if region else None,
            lines=(lines[0], lines[1]) if lines else None,
        )


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of the document in reading order.

    `heading_path` holds the headings above it, outermost first (for a heading: those above it, not itself).
    `level` is 1–6 for headings. `rows` holds a table's cells; the first `header_rows` of them are its header.
    """

    kind: BlockKind
    text: str
    locator: Locator
    heading_path: tuple[str, ...] = ()
    level: int | None = None
    rows: tuple[tuple[str, ...], ...] = ()
    header_rows: int = 0

    def to_json(self) -> dict[str, Any]:
        result: dict[str, Any] = {
            "kind": self.kind.value,
            "text": self.text,
            "headingPath": list(self.heading_path),
            "locator": self.locator.to_json(),
        }
        if self.level is not None:
            result["level"] = self.level
        if self.rows:
            result["rows"] = [list(row) for row in self.rows]
            result["headerRows"] = self.header_rows
        return result

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Block:
        return cls(
            kind=BlockKind(data["kind"]),
            text=data["text"],
            locator=Locator.from_json(data["locator"]),
            heading_path=tuple(data["headingPath"]),
            level=data.get("level"),
            rows=tuple(tuple(row) for row in data.get("rows", ())),
            header_rows=data.get("headerRows", 0),
        )


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A whole document: `text` is the extracted text that every locator's span points into.

    `pages` is the number of pages, or None where the format has none.
    """

    media_type: str
    text: str
    blocks: tuple[Block, ...]
    title: str | None = None
    pages: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "mediaType": self.media_type,
            "text": self.text,
            "blocks": [block.to_json() for block in self.blocks],
            "title": self.title,
            "pages": self.pages,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ParsedDocument:
        return cls(
            media_type=data["mediaType"],
            text=data["text"],
            blocks=tuple(Block.from_json(block) for block in data["blocks"]),
            title=data.get("title"),
            pages=data.get("pages"),
        )


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of one document that is embedded and found as one.

    `text` is what a reader is shown. `context` (the heading path, with the document's title in front) is embedded before
    it but never shown. `tokens` counts context and text together in the pipeline's own tokenizer.
    """

    ordinal: int
    text: str
    heading_path: tuple[str, ...]
    locator: Locator
    tokens: int
    context: str = field(default="")

    @property
    def embedded_text(self) -> str:
        return f"{self.context}\n{self.text}" if self.context else self.text

    def to_json(self) -> dict[str, Any]:
        return {
            "ordinal": self.ordinal,
            "text": self.text,
            "headingPath": list(self.heading_path),
            "locator": self.locator.to_json(),
            "tokens": self.tokens,
        }
