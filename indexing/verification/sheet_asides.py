"""What lies on a sheet of an XLSX beside its cells, which calamine does not read: the texts and numbers of drawings, charts,
diagrams and comments, as XML, each with the cells that it lies on."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from typing import Any

from lxml import etree

from indexing.locators import Cells, cells_from_name
from indexing.verification.relations import relations

_WORKBOOK = "xl/workbook.xml"
_COMMENTS = ("/comments", "/threadedComment")
_DRAWN = ("/chart", "/chartEx", "/diagramData")
_ANCHORS = ("{*}twoCellAnchor", "{*}oneCellAnchor", "{*}absoluteAnchor")
_ROWS, _COLUMNS = 1_048_576, 16_384  # of a sheet
_PLACE = re.compile(r"[A-Z]{1,3}\d{1,7}")
Beside = list[tuple[Cells | None, list[str | float]]]
"""Where something lies, None for the whole sheet, and its text with the numbers that it draws, as they are stored."""


def values_beside(package: zipfile.ZipFile, sheet: str) -> Beside:
    """Raises `lxml.etree.XMLSyntaxError`, or `KeyError`."""
    found: Beside = [(None, [sheet])]
    targets = {identity: target for identity, _, target in relations(package, _WORKBOOK)}
    for element in _root(package, _WORKBOOK).iter("{*}sheet"):
        if element.get("name") == sheet:
            for part in (targets[name] for name in _names(element) if name in targets):
                for _, kind, target in relations(package, part):
                    if kind.endswith("/drawing"):
                        found += _drawing(package, target)
                    elif kind.endswith(_COMMENTS):
                        found += _comments(package, target)
    return found


def _comments(package: zipfile.ZipFile, part: str) -> Iterator[tuple[Cells | None, list[str | float]]]:
    for comment in _root(package, part).iter("{*}comment", "{*}threadedComment"):
        place = comment.get("ref", "")
        yield cells_from_name(f"{place}:{place}") if _PLACE.fullmatch(place) else None, list(_values(comment))


def _drawing(package: zipfile.ZipFile, part: str) -> Iterator[tuple[Cells | None, list[str | float]]]:
    drawn = {identity: target for identity, kind, target in relations(package, part) if kind.endswith(_DRAWN)}
    for anchor in _root(package, part).iter(*_ANCHORS):
        shown = {drawn[name] for element in anchor.iter() for name in _names(element) if name in drawn}
        values = [value for target in sorted(shown) for value in _values(_root(package, target))]
        yield _cells(anchor), [*_values(anchor), *values]


def _cells(anchor: Any) -> Cells | None:
    corners = [
        (_inside(corner.findtext("{*}col", "0"), _COLUMNS), _inside(corner.findtext("{*}row", "0"), _ROWS))
        for corner in (anchor.find("{*}from"), anchor.find("{*}to"))
        if corner is not None
    ]
    return (*corners[0], *corners[-1]) if corners else None


def _inside(number: str, most: int) -> int:
    """1-based, as far as a sheet reaches."""
    return min(max(int(number) + 1, 1), most)


def _names(element: Any) -> Iterator[str]:
    """What may be names of relations: attributes of another namespace."""
    return (str(value) for key, value in element.items() if str(key).startswith("{"))


def _values(root: Any) -> Iterator[str | float]:
    texts = list[str]()
    for element in root.iter():
        name = etree.QName(element).localname if isinstance(element.tag, str) else ""
        if name in ("t", "text", "v", "pt"):
            texts.append(element.text or "")
            if name in ("v", "pt"):
                yield from _numbers(element.text or "")
        elif name == "cNvPr":
            texts.append(element.get("descr", ""))
        if name not in ("t", "r"):
            texts.append("\n")
    yield "".join(texts)


def _numbers(text: str) -> Iterator[float]:
    try:
        yield float(text)
    except ValueError:
        return


def _root(package: zipfile.ZipFile, part: str) -> Any:
    return etree.fromstring(package.read(part), etree.XMLParser(resolve_entities=False, no_network=True))
