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
    """The title, what stands at the axis of values, what is drawn as a table (a row for each category, a column for each
    series, in its corner what the categories are), and what is written at single points. Raises `DocumentTooLarge`."""
    title = root.find("{*}chart/{*}title")
    categories, others = _axes(root)
    for text in (_text(title) if title is not None else "", *others):
        if text:
            yield Piece(BlockKind.CAPTION, text)
    mac = root.find("{*}date1904")
    since_1904 = mac is not None and mac.get("val", "1") in ("1", "true")
    series = [_series(one, since_1904) for one in root.iter("{*}ser")] or list(_extended(root, since_1904))
    while series:  # series over the same categories are one table
        shared = series[0][1]
        yield from _table(categories, shared, [(name, values) for name, own, values in series if own == shared])
        series = [one for one in series if one[1] != shared]
    labels = [_text(label) for label in root.iter("{*}dLbl")]
    if any(labels):
        yield Piece(BlockKind.PARAGRAPH, "\n".join(filter(None, labels)))


def _axes(root: Any) -> tuple[str, list[str]]:
    """The titles of the axis of categories, and of the others. Two axes of values are those of x and y."""
    titled = [(axis, _text(title)) for axis in root.iterfind(".//{*}plotArea/*") for title in axis.iterfind("{*}title")]
    of_categories = [
        text
        for axis, text in titled
        if axis.tag.rpartition("}")[2] in ("catAx", "dateAx") or axis.find("{*}catScaling") is not None
    ]
    if not of_categories and next(root.iter("{*}catAx", "{*}dateAx", "{*}catScaling"), None) is None:
        of_categories = [text for axis, text in titled if _lies(axis)]
    first = of_categories[0] if of_categories else ""
    return first, [text for _, text in titled if text != first]


def _lies(axis: Any) -> bool:
    position = axis.find("{*}axPos")
    return position is not None and position.get("val") in ("b", "t")


def _table(corner: str, categories: Points, columns: list[tuple[str, Points]]) -> Iterator[Piece]:
    places = sorted(set(categories).union(*(values for _, values in columns)))
    limits.CELLS.check(len(places) * len(columns))
    rows = [(categories.get(at, ""), *(values.get(at, "") for _, values in columns)) for at in places]
    if rows:
        names = (corner, *(name for name, _ in columns))
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
    """The text of a title, a label or a series' name: written out, or as it was last in the sheet."""
    lines = ("".join(part.text or "" for part in line.iter("{*}t")) for line in element.iter("{*}p"))
    written = " ".join(line for line in lines if line.strip())
    return (written or "".join(part.text or "" for part in element.iter("{*}t", "{*}v"))).strip()


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
