"""What stands on a sheet of an XLSX beside its cells: text boxes, charts, diagrams, pictures, notes and comments, each with
the cells it lies on.

Elements: ECMA-376 part 1, 20.5.2 (drawings), 18.7 (notes); [MS-XLSX] 2.6.205 (comments that are answered).
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lxml import etree

from indexing.blocks import BlockKind, GapReason
from indexing.locators import Cells
from indexing.parsers.assemble import Piece
from indexing.parsers.office_graphics import chart, description, diagram, read_xml
from indexing.parsers.pictures import Pictures
from indexing.parsers.sheet_grid import Room
from indexing.parsers.xlsx_book import (
    MOST_COLUMNS,
    MOST_ROWS,
    attribute,
    elements,
    range_of,
    relations_of,
    text_of,
)
from indexing.parsers.xlsx_sheet import DAMAGED

_ANCHORS = ("twoCellAnchor", "oneCellAnchor", "absoluteAnchor")
_SHAPES = ("sp", "grpSp", "graphicFrame", "pic", "cxnSp")
_BELOW_ALL = 1 << 30  # a row: what lies at a place of the page and not of a cell comes last


@dataclass(slots=True)
class Asides:
    """What was read, with its place; `hidden`: texts of what is not shown; `is_whole`: whether all could be read but for
    pictures; `missed`: why those could not, and where they lie."""

    pieces: list[Piece] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    is_whole: bool = True
    missed: list[tuple[GapReason, Cells | None]] = field(default_factory=list)


def read_asides(package: zipfile.ZipFile, sheet: str, room: Room, pictures: Pictures | None) -> Asides:
    """Drawings from the top down, then comments; without `pictures` those stay unread. Raises `DocumentTooLarge`."""
    found = Asides()
    try:
        parts = [(kind, path) for kind, path in relations_of(package, sheet).values() if path in package.NameToInfo]
        for kind, path in parts:
            if kind == "drawing":
                _Drawing(package, path, room, pictures, found).read()
        found.pieces.sort(key=lambda piece: (piece.cells[1], piece.cells[0]) if piece.cells else (_BELOW_ALL, 0))
        for comment in _all_comments(package, parts):
            room.take(comment.text)
            found.pieces.append(comment)
    except DAMAGED:
        found.is_whole = False
    return found


class _Drawing:
    """One drawing. An object of it that cannot be read costs only itself."""

    def __init__(
        self, package: zipfile.ZipFile, path: str, room: Room, pictures: Pictures | None, found: Asides
    ) -> None:
        self._package, self._path, self._room, self._pictures, self._found = package, path, room, pictures, found
        self._relations = relations_of(package, path)

    def read(self) -> None:
        for anchor in elements(self._package, self._path, *_ANCHORS):
            cells = _cells(anchor)
            for piece in self._pieces(anchor, cells):
                if piece.text or piece.rows:
                    for text in (piece.text, *(cell for row in piece.rows for cell in row)):
                        self._room.take(text)  # one chart may be shown ten thousand times
                    piece.cells = cells
                    self._found.pieces.append(piece)

    def _pieces(self, anchor: Any, cells: Cells | None) -> Iterator[Piece]:
        """Of what is shown, once: newer shapes are there again as older programs can draw them."""
        lines: list[str] = []
        described: dict[Any, bool] = {}
        pending = [anchor]
        while pending:
            element = pending.pop()
            name = etree.QName(element).localname if isinstance(element.tag, str) else ""
            if name in _SHAPES and _is_hidden(element):
                self._found.hidden += [text for line in element.iter("{*}p") if (text := _line(line).strip())]
            elif name == "p":
                lines.append(_line(element))
            elif name == "cNvPr":
                yield Piece(BlockKind.CAPTION, description(element))
            elif name in ("chart", "relIds"):
                yield from self._graphic(name, element)
            elif name == "blip" and self._pictures is not None:
                relation = attribute(element, "embed")
                _, path = self._relations.get(relation, ("", ""))
                name = path if path in self._package.NameToInfo else None
                if not _is_described(element, described):
                    yield from self._pictures.read(name, partial(self._content, relation), partial(self._miss, cells))
            elif name != "Fallback":
                pending += reversed(element)
        yield Piece(BlockKind.PARAGRAPH, "\n".join(lines).strip())

    def _miss(self, cells: Cells | None, reason: GapReason) -> None:
        self._found.missed.append((reason, cells))

    def _content(self, relation: str) -> bytes:
        return self._package.read(self._relations[relation][1])

    def _graphic(self, name: str, element: Any) -> Iterator[Piece]:
        try:
            root = read_xml(self._content(attribute(element, "id" if name == "chart" else "dm")))
            if name == "chart":
                yield from chart(root)
            else:
                yield from (Piece(BlockKind.LIST_ITEM, text) for text in diagram(root))
        except DAMAGED:
            self._found.is_whole = False


def _line(paragraph: Any) -> str:
    return "".join(part.text or "" for part in paragraph.iter("{*}t"))


def _is_hidden(shape: Any) -> bool:
    own = next(shape.iter("{*}cNvPr"), None)
    return own is not None and own.get("hidden") in ("1", "true")


def _is_described(picture: Any, known: dict[Any, bool]) -> bool:
    """`known`: of what was asked before, as one shape may have thousands of pictures."""
    above = next(picture.iterancestors("{*}pic"), None)
    if above is not None and above not in known:
        own = next(above.iter("{*}cNvPr"), None)
        known[above] = own is not None and bool(description(own))
    return above is not None and known[above]


def _cells(anchor: Any) -> Cells | None:
    """None for what lies at a place of the page."""
    start, end = anchor.find("{*}from"), anchor.find("{*}to")
    if start is None:
        return None
    left, top = _corner(start)
    right, bottom = _corner(end) if end is not None else (left, top)
    return left, top, max(left, right), max(top, bottom)


def _corner(corner: Any) -> tuple[int, int]:
    """(column, row), as far as a sheet reaches."""
    column, row = int(corner.findtext("{*}col", "0")) + 1, int(corner.findtext("{*}row", "0")) + 1
    return min(max(column, 1), MOST_COLUMNS), min(max(row, 1), MOST_ROWS)


def _all_comments(package: zipfile.ZipFile, parts: list[tuple[str, str]]) -> Iterator[Piece]:
    answered = [found for kind, path in parts if kind == "threadedComment" for found in _comments(package, path)]
    yield from answered
    places = {piece.cells for piece in answered}
    for kind, path in parts:
        if kind == "comments":  # for older programs an answered comment stands here again
            yield from (note for note in _comments(package, path) if note.cells not in places)


def _comments(package: zipfile.ZipFile, path: str) -> Iterator[Piece]:
    for comment in elements(package, path, "comment", "threadedComment"):
        written = comment.find("{*}text")
        text = "" if written is None else (text_of(written) or written.text or "").strip()
        if text:
            yield Piece(BlockKind.PARAGRAPH, text, cells=range_of(comment.get("ref", "")))
