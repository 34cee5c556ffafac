"""What charts, diagrams and pictures in Office documents say: the numbers that are drawn, the words in boxes, descriptions.

Source: ECMA-376 part 1, 21.2 (charts) and 21.4 (diagrams); charts of the kinds since 2016: MS-ODRAWXML 2.24.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lxml import etree

from indexing.blocks import BlockKind
from indexing.parsers import limits
from indexing.parsers.assemble import Piece
from indexing.parsers.number_formats import show_serial

Points = dict[int, str]  # what stands at each place of a row of values, as it is shown

# What programs write where nobody described a picture: its file's name, its own number, that a machine did it.
_NO_DESCRIPTION = re.compile(r"(?i)\S+\.[a-z]{2,4}\d?|(?:picture|image|graphic|图片|圖片|图像|图形)\s*\d*")
_BY_A_MACHINE = re.compile(
    r"(?im)[\s,，]*(?:ai-generated content may be incorrect|(?:with \w+ confidence,? )?description automatically generated"
    r"(?: with \w+ confidence)?|ai 生成的内容可能不正确|描述已自动生成|已自动生成说明)[.。]?\s*$"
)


def read_xml(content: bytes) -> Any:
    """The root of a part that the library keeps as bytes. Raises `lxml.etree.XMLSyntaxError`."""
    return etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))


def description(properties: Any) -> str:
    """What an author wrote of a picture for those who do not see it: `properties` is its `docPr`, its `cNvPr` or its older
    `shape`."""
    words = _BY_A_MACHINE.sub("", properties.get("descr") or properties.get("alt") or "").strip()
    return "" if _NO_DESCRIPTION.fullmatch(words) else words


def chart(root: Any) -> Iterator[Piece]:
    """The title, and what is drawn as a table: a row for each category, a column for each series. Raises
    `DocumentTooLarge`."""
    title = root.find("{*}chart/{*}title")
    if title is not None and (text := _text(title)):
        yield Piece(BlockKind.CAPTION, text)
    mac = root.find("{*}date1904")
    since_1904 = mac is not None and mac.get("val", "1") in ("1", "true")
    series = [_series(one, since_1904) for one in root.iter("{*}ser")] or list(_extended(root, since_1904))
    while series:  # series over the same categories are one table
        categories = series[0][1]
        yield from _table(categories, [(name, values) for name, own, values in series if own == categories])
        series = [one for one in series if one[1] != categories]


def _table(categories: Points, columns: list[tuple[str, Points]]) -> Iterator[Piece]:
    places = sorted(set(categories).union(*(values for _, values in columns)))
    limits.CELLS.check(len(places) * len(columns))
    rows = [(categories.get(at, ""), *(values.get(at, "") for _, values in columns)) for at in places]
    if rows:
        names = ("", *(name for name, _ in columns))
        header = [names] if any(names) else []
        yield Piece(BlockKind.TABLE, rows=(*header, *rows), header_rows=len(header))


def _series(element: Any, since_1904: bool) -> tuple[str, Points, Points]:
    """(name, categories, values)"""
    name = element.find("{*}tx")
    return (
        _text(name) if name is not None else "",
        _points(_first(element, "cat", "xVal"), since_1904),
        _points(_first(element, "val", "yVal"), since_1904),
    )


def _extended(root: Any, since_1904: bool) -> Iterator[tuple[str, Points, Points]]:
    names = {
        one.find("{*}dataId").get("val"): one for one in root.iter("{*}series") if one.find("{*}dataId") is not None
    }
    for data in root.iterfind("{*}chartData/{*}data"):
        name = names[data.get("id")].find("{*}tx") if data.get("id") in names else None
        yield (
            _text(name) if name is not None else "",
            _points(data.find("{*}strDim"), since_1904),
            _points(data.find("{*}numDim"), since_1904),
        )


def _first(element: Any, *names: str) -> Any:
    return next((found for name in names if (found := element.find(f"{{*}}{name}")) is not None), None)


def _points(element: Any, since_1904: bool) -> Points:
    """Of labels in levels (a quarter in a year) all together, the outermost in front."""
    if element is None:
        return {}
    levels = [_level(level, since_1904) for level in element.iter("{*}lvl")] or [_level(element, since_1904)]
    points = levels[0]
    for outer in levels[1:]:
        above, named = "", {}
        for at in sorted(set(points) | set(outer)):
            above = outer.get(at, above)
            named[at] = f"{above} {points.get(at, '')}".strip()
        points = named
    return points


def _level(element: Any, since_1904: bool) -> Points:
    code = element.find(".//{*}formatCode")
    number_format = (code.text if code is not None else element.get("formatCode")) or "General"
    is_number = (
        element.tag.rpartition("}")[2] == "numDim" or next(element.iter("{*}numCache", "{*}numLit"), None) is not None
    )
    points: Points = {}
    for point in element.iter("{*}pt"):
        at, value = point.get("idx", ""), point.findtext("{*}v") or point.text or ""
        if at.isdecimal() and len(at) < 8:
            points[int(at)] = _shown(value, number_format, since_1904) if is_number else value
    return points


def _shown(value: str, number_format: str, since_1904: bool) -> str:
    try:
        number = float(value)
    except ValueError:
        return value
    return show_serial(number, number_format, since_1904=since_1904)


def _text(element: Any) -> str:
    """The text of a title or of a series' name: written out, or as it was last in the sheet."""
    written = [part.text or "" for part in element.iter("{*}t")]
    return "".join(written or [part.text or "" for part in element.iter("{*}v")]).strip()


def diagram(root: Any) -> Iterator[str]:
    """The texts of a diagram (SmartArt), each followed by those below it."""
    points = {point.get("modelId"): point for point in root.iter("{*}pt")}
    below: dict[str, list[tuple[int, str]]] = {}
    for connection in root.iter("{*}cxn"):
        order = connection.get("srcOrd", "")
        if connection.get("type", "parOf") == "parOf" and order.isdecimal() and len(order) < 8:
            below.setdefault(connection.get("srcId"), []).append((int(order), connection.get("destId")))
    roots = [identity for identity, point in points.items() if point.get("type") == "doc"]
    waiting = [*reversed(points), *roots]  # what hangs nowhere comes last
    while waiting:
        identity = waiting.pop()
        point = points.pop(identity, None)
        if point is None:
            continue
        waiting += [inner for _, inner in sorted(below.get(identity, ()), reverse=True)]
        paragraphs = ("".join(part.text or "" for part in one.iter("{*}t")) for one in point.iter("{*}p"))
        if point.get("type", "node") in ("node", "asst") and (text := " ".join(filter(str.strip, paragraphs))):
            yield text
