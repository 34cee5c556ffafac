"""What stands on a sheet of an XLSX beside its cells: text boxes, notes and comments, each with the cells it lies on.

Elements: ECMA-376 part 1, 20.5.2 (drawings), 18.7 (notes); [MS-XLSX] 2.6.205 (comments that are answered).
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import Any

from lxml import etree

from indexing.locators import Cells
from indexing.parsers.xlsx_book import elements, range_of, relations_of, text_of

_ANCHORS = ("twoCellAnchor", "oneCellAnchor")


def asides(package: zipfile.ZipFile, sheet: str) -> Iterator[tuple[Cells, str]]:
    """Text boxes from the top down, then comments. Raises as `indexing.parsers.xlsx_sheet.DAMAGED` says."""
    parts = [(kind, path) for kind, path in relations_of(package, sheet).values() if path in package.NameToInfo]
    boxes = [box for kind, path in parts if kind == "drawing" for box in _boxes(package, path)]
    yield from sorted(boxes, key=lambda box: (box[0][1], box[0][0]))
    answered = [found for kind, path in parts if kind == "threadedComment" for found in _comments(package, path)]
    yield from answered
    places = {cells for cells, _ in answered}
    for kind, path in parts:
        if kind == "comments":  # for older programs an answered comment stands here again
            yield from (note for note in _comments(package, path) if note[0] not in places)


def _boxes(package: zipfile.ZipFile, path: str) -> Iterator[tuple[Cells, str]]:
    for anchor in elements(package, path, *_ANCHORS):
        left, top = _corner(anchor, "from", (1, 1))
        right, bottom = _corner(anchor, "to", (left, top))
        text = "\n".join("".join(part.text or "" for part in line.iter("{*}t")) for line in _lines(anchor)).strip()
        if text:
            yield (left, top, max(left, right), max(top, bottom)), text


def _lines(anchor: Any) -> Iterator[Any]:
    """Paragraphs of what is shown, once: newer shapes are there again as older programs can draw them."""
    pending = [anchor]
    while pending:
        element = pending.pop()
        name = etree.QName(element).localname if isinstance(element.tag, str) else ""
        if name == "p":
            yield element
        elif name != "Fallback" and not (name == "sp" and _is_hidden(element)):
            pending += reversed(element)


def _is_hidden(shape: Any) -> bool:
    return any(found.get("hidden") in ("1", "true") for found in shape.iter("{*}cNvPr"))


def _corner(anchor: Any, name: str, default: tuple[int, int]) -> tuple[int, int]:
    corner = anchor.find(f"{{*}}{name}")
    if corner is None:
        return default
    return int(corner.findtext("{*}col", "0")) + 1, int(corner.findtext("{*}row", "0")) + 1


def _comments(package: zipfile.ZipFile, path: str) -> Iterator[tuple[Cells, str]]:
    for comment in elements(package, path, "comment", "threadedComment"):
        written = comment.find("{*}text")
        text = "" if written is None else (text_of(written) or written.text or "").strip()
        if text:
            yield range_of(comment.get("ref", "")), text
