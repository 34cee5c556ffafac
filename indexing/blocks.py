"""What a parser produces and a splitter reads: text in blocks, each with the place where it stands.

Pure data; JSON round-trips through `to_json` / `from_json`. Character positions are Unicode code points.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from indexing.locators import Cells, Locator, cells_from_name, cells_name
from indexing.typed import as_written

_SURROGATE = re.compile("[\ud800-\udfff]")


class BlockKind(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE = "table"
    CODE = "code"
    FORMULA = "formula"
    CAPTION = "caption"
    FAQ = "faq"  # a question with its answer
    IMAGE_TEXT = "image_text"  # read from a picture, with a `confidence`


class GapReason(StrEnum):
    """Why a part of a document is not in its text."""

    UNREADABLE = "unreadable"  # damaged, or no parser understands it
    NOT_RECOGNISED = "not_recognised"  # a picture in which no text was found, or none surely enough
    NOT_CALCULATED = "not_calculated"  # formulas of a sheet whose results are not in the file
    PICTURE = "picture"  # in an Office file: damaged, in a format that is not read, or with lines that are unsure
    OVER_LIMIT = "over_limit"  # a picture beyond the number of pictures that are read


class LeftOutReason(StrEnum):
    """Why text of the file is in no chunk: it says nothing about the document's subject."""

    PAGE_HEADER = "page_header"
    PAGE_FOOTER = "page_footer"
    PAGE_NUMBER = "page_number"
    CONTENTS = "contents"  # a table of contents or an index
    NAVIGATION = "navigation"  # menus, cookie notices and other parts of a web page beside its text
    HIDDEN = "hidden"  # not shown to readers of the original, or deleted in a tracked change
    COMMENT = "comment"  # a remark at the edge of a text or a slide
    CONTROL = "control"  # buttons, fields and choices of a form
    FALLBACK = "fallback"  # for programs that cannot show what it stands for: a frame, a film
    ENCODED = "encoded"  # a file written out in letters: a picture in a `data:` address


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of the document in reading order.

    `heading_path` holds the headings above it, outermost first (for a heading: those above it, not itself).
    `level` is 1–6 for headings. `rows` holds a table's cells, one line of `text` each; the first `header_rows` of them are its
    header. A cell merged over rows is repeated in each of them, in a header also one merged over columns, so that a row can be
    read by itself. `parts` are places of parts of the text, in order, where the block's own is not exact enough: of lines
    of a page, of rows of a sheet. `depth` is how deep a list item is nested, 0 for the outermost, where the format says it.
    `language` is a code block's, `confidence` (0–1) that of text read from a picture.
    """

    kind: BlockKind
    text: str
    locator: Locator
    heading_path: tuple[str, ...] = ()
    level: int | None = None
    rows: tuple[tuple[str, ...], ...] = ()
    header_rows: int = 0
    parts: tuple[Locator, ...] = ()
    language: str | None = None
    confidence: float | None = None
    depth: int | None = None

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
        if self.parts:
            result["parts"] = [part.to_json() for part in self.parts]
        if self.language is not None:
            result["language"] = self.language
        if self.confidence is not None:
            result["confidence"] = self.confidence
        if self.depth is not None:
            result["depth"] = self.depth
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
            parts=tuple(Locator.from_json(part) for part in data.get("parts", ())),
            language=data.get("language"),
            confidence=data.get("confidence"),
            depth=data.get("depth"),
        )


@dataclass(frozen=True, slots=True)
class Gap:
    """A named part of the original that could not be read: the rest of the document is searchable without it."""

    reason: GapReason
    page: int | None = None
    sheet: str | None = None
    slide: int | None = None
    cells: Cells | None = None  # of the sheet; the whole sheet, or no cell in particular, where None

    def to_json(self) -> dict[str, Any]:
        cells = cells_name(self.cells) if self.cells else None
        values = {"page": self.page, "sheet": self.sheet, "slide": self.slide, "cells": cells}
        return {"reason": self.reason.value, **_known(values)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Gap:
        return cls(
            GapReason(data["reason"]),
            data.get("page"),
            data.get("sheet"),
            data.get("slide"),
            cells_from_name(data["cells"]) if "cells" in data else None,
        )


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Text of the file that is kept out of the document's text on purpose, and where it stands: on these pages, or on this
    sheet (in these cells, where it is not all over it) or slide. `omitted`: how many characters of it follow behind `text`,
    which has the beginning of a very long one."""

    reason: LeftOutReason
    text: str
    pages: tuple[int, ...] = ()
    sheet: str | None = None
    cells: Cells | None = None
    slide: int | None = None
    omitted: int = 0

    def to_json(self) -> dict[str, Any]:
        cells = cells_name(self.cells) if self.cells else None
        values = {"sheet": self.sheet, "cells": cells, "slide": self.slide, "omitted": self.omitted or None}
        return {"reason": self.reason.value, "text": self.text, "pages": list(self.pages), **_known(values)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LeftOut:
        return cls(
            LeftOutReason(data["reason"]),
            data["text"],
            tuple(data["pages"]),
            data.get("sheet"),
            cells_from_name(data["cells"]) if "cells" in data else None,
            data.get("slide"),
            data.get("omitted", 0),
        )


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A whole document: `text` is the extracted text that every locator's span points into.

    `pages` is the number of pages (of slides, for a presentation), or None where the format has none. `language` is the one
    that most of the text is in, as in BCP 47 (“zh”, “en”), or None where there is no telling.
    """

    media_type: str
    text: str
    blocks: tuple[Block, ...]
    title: str | None = None
    pages: int | None = None
    language: str | None = None
    gaps: tuple[Gap, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "mediaType": self.media_type,
            "text": self.text,
            "blocks": [block.to_json() for block in self.blocks],
            "title": self.title,
            "pages": self.pages,
            "language": self.language,
            "gaps": [gap.to_json() for gap in self.gaps],
            "leftOut": [left_out.to_json() for left_out in self.left_out],
        }

    @classmethod
    def from_json(cls, data: Any) -> ParsedDocument:
        """It comes from another process or from a store. Raises `ValueError` for anything that `to_json` would not write."""
        document = as_written(cls._read, data)
        if not document._is_sound():
            raise ValueError("The document does not fit its text.")
        return document

    def _is_sound(self) -> bool:
        """Whether every block is where it says, after the one before it, and its fields agree with each other."""
        last = 0
        for block in self.blocks:
            start, end = block.locator.span
            if start < last or self.text[start:end] != block.text or len(block.text) != end - start:
                return False
            if any(not start <= part.span[0] <= part.span[1] <= end for part in block.parts):
                return False
            if (block.kind is BlockKind.HEADING) != (block.level is not None and 1 <= block.level <= 6):
                return False
            if block.header_rows > len(block.rows) or not 0 <= (block.confidence or 0) <= 1:
                return False
            last = end
        return "\0" not in self.text and not _SURROGATE.search(self.text)

    @classmethod
    def _read(cls, data: dict[str, Any]) -> ParsedDocument:
        return cls(
            media_type=data["mediaType"],
            text=data["text"],
            blocks=tuple(Block.from_json(block) for block in data["blocks"]),
            title=data["title"],
            pages=data["pages"],
            language=data["language"],
            gaps=tuple(Gap.from_json(gap) for gap in data["gaps"]),
            left_out=tuple(LeftOut.from_json(left_out) for left_out in data["leftOut"]),
        )


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of one document that is embedded and found as one.

    `text` is what a reader is shown. `context` (the heading path, with the document's title in front) is embedded before
    it but never shown, and so is `situation`, a sentence of a language model, where the pipeline has one. `tokens` counts
    context and text together in the pipeline's own tokenizer.
    """

    ordinal: int
    text: str
    heading_path: tuple[str, ...]
    locator: Locator
    tokens: int
    context: str = field(default="")
    situation: str = ""

    @property
    def embedded_text(self) -> str:
        return "\n".join(part for part in (self.context, self.situation, self.text) if part)

    def to_json(self) -> dict[str, Any]:
        return {
            "ordinal": self.ordinal,
            "text": self.text,
            "headingPath": list(self.heading_path),
            "locator": self.locator.to_json(),
            "tokens": self.tokens,
        }


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
