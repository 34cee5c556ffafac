"""A cited passage in its surroundings: the text behind a permalink, for whoever is served that version now."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from documents.errors import NotFound
from documents.querysets import User
from indexing import cache
from indexing.blocks import Block, BlockKind, ParsedDocument
from indexing.locators import Locator, covering
from indexing.statements import row, rows

AROUND = 3  # blocks shown before and after the passage
MARKER = re.compile(
    r"[-*+•◦▪●■–·\uf000-\uf0ff]|[（(]?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{2,4}|[一二三四五六七八九十]{1,3})[.)）、]"
)
LONGEST = 20_000  # code points of a passage, however long a span the address names


@dataclass(frozen=True, slots=True)
class Piece:
    """One block of text. `marked` is the part that was cited; for a table, `rows` are shown and marked as a whole."""

    kind: BlockKind
    before: str = ""
    marked: str = ""
    after: str = ""
    rows: tuple[tuple[str, ...], ...] = ()
    header_rows: int = 0

    @property
    def needs_bullet(self) -> bool:
        """An item of a list that brings no number or bullet of its own."""
        return self.kind is BlockKind.LIST_ITEM and not MARKER.match(self.before + self.marked + self.after)


@dataclass(frozen=True, slots=True)
class Passage:
    """`pieces` is empty where a newer version than the cited one is served, or none until a newer one is searchable: old text
    is not shown again."""

    title: str
    version_number: int  # of the version that is served, or is held back
    is_current: bool  # the cited version is the served one
    is_withheld: bool = False  # nothing of the document is served until a newer version is searchable
    heading_path: tuple[str, ...] = ()
    locator: dict[str, Any] | None = None
    pieces: tuple[Piece, ...] = ()
    previous: tuple[int, int] | None = None  # span of the passage before, as many blocks as this one
    next: tuple[int, int] | None = None


def find(
    *,
    user: User,
    document_id: uuid.UUID,
    version_number: int,
    span: tuple[int, int],
    within: tuple[int, int] | None = None,
) -> Passage:
    """The passage at `span` of a version, if `user` is served that version, with some blocks around it or with all of
    `within`. That a citation of the version was followed is noted: its chunks stay longer once it is replaced.

    Raises `NotFound` if they are served nothing of the document, or a version older than the cited one.
    """
    served = row("passages", "served", document=document_id, user=user.pk)
    if served is None:
        return _withheld(user, document_id, version_number)
    if served["version_number"] < version_number:
        raise NotFound
    rows("passages", "note_citation", document=document_id, version=version_number)
    if served["version_number"] > version_number:
        return Passage(served["title"], served["version_number"], is_current=False)
    start, end = span[0], min(span[1], span[0] + LONGEST)
    parsed = cache.find_parsed(
        tenant_id=served["tenant_id"], content_digest=served["content_digest"], media_type=served["media_type"]
    )
    if parsed is None:  # swept, or made by another parser: the chunks themselves are still there
        return _from_chunks(served, document_id, start, end)
    around = (within[0], min(within[1], within[0] + LONGEST)) if within else None
    return _from_blocks(served, parsed, start, end, around)


def _withheld(user: User, document_id: uuid.UUID, version_number: int) -> Passage:
    held = row("passages", "withheld", document=document_id, user=user.pk)
    if held is None or held["requested_version"] < version_number:
        raise NotFound
    return Passage(held["title"], held["version_number"], is_current=False, is_withheld=True)


def _from_blocks(
    served: dict[str, Any], parsed: ParsedDocument, start: int, end: int, around: tuple[int, int] | None
) -> Passage:
    inside = [number for number, block in enumerate(parsed.blocks) if _overlaps(block.locator, start, end)]
    first, last = (inside[0], inside[-1]) if inside else (0, -1)
    if around is not None:
        shown = [block for block in parsed.blocks if _overlaps(block.locator, *around)]
    else:
        shown = list(parsed.blocks[max(0, first - AROUND) : last + 1 + AROUND])
    cited = [parsed.blocks[number] for number in inside]
    return Passage(
        title=served["title"],
        version_number=served["version_number"],
        is_current=True,
        heading_path=cited[0].heading_path if cited else (),
        locator=_place(cited),
        pieces=tuple(_piece(block, start, end) for block in shown),
        previous=_span(parsed.blocks[max(0, first - len(cited)) : first]),
        next=_span(parsed.blocks[last + 1 : last + 1 + len(cited)]),
    )


def _span(blocks: Sequence[Block]) -> tuple[int, int] | None:
    return (blocks[0].locator.span[0], blocks[-1].locator.span[1]) if blocks else None


def _overlaps(locator: Locator, start: int, end: int) -> bool:
    return locator.span[0] < end and locator.span[1] > start


def _piece(block: Block, start: int, end: int) -> Piece:
    begin = block.locator.span[0]
    a, b = max(0, start - begin), max(0, end - begin)
    marked = block.text[a:b] if _overlaps(block.locator, start, end) else ""
    if not marked:
        a = b = len(block.text)
    return Piece(block.kind, block.text[:a], marked, block.text[b:], block.rows, block.header_rows)


def _place(cited: Sequence[Block]) -> dict[str, Any] | None:
    if not cited:
        return None
    first, last = cited[0].locator, cited[-1].locator
    return covering((first.span[0], last.span[1]), [block.locator for block in cited]).to_json()


def _from_chunks(served: dict[str, Any], document_id: uuid.UUID, start: int, end: int) -> Passage:
    chunks = rows(
        "passages",
        "overlapping_chunks",
        document=document_id,
        pipeline=served["pipeline_id"],
        version=served["version_number"],
        generation=served["generation"],
        start=start,
        end=end,
    )
    return Passage(
        title=served["title"],
        version_number=served["version_number"],
        is_current=True,
        heading_path=tuple(chunks[0]["heading_path"]) if chunks else (),
        locator=chunks[0]["locator"] if chunks else None,
        pieces=tuple(Piece(BlockKind.PARAGRAPH, marked=chunk["text"]) for chunk in chunks),
    )
