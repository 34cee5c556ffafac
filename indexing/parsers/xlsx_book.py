"""What the sheets of an XLSX share: their names and parts, texts, and how numbers are shown.

Read as XML, element by element and whatever the namespace (there are two, “transitional” and “strict”): programs that keep
a model of the whole file refuse those in which a colour or a filter is not as they expect.
Elements: ECMA-376 part 1, 18.2 (workbook), 18.4.8 (texts), 18.8 (styles).
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lxml import etree

from indexing.locators import Cells, cells_from_name
from indexing.parsers import limits
from indexing.parsers.builtin_formats import BUILTIN, GENERAL

_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384  # of a sheet
WORKBOOK = "xl/workbook.xml"


@dataclass(frozen=True, slots=True)
class SheetPart:
    """A sheet as the workbook lists it, of cells or of one chart. `path` is None where the file does not say where it is."""

    name: str
    path: str | None
    is_hidden: bool


@dataclass(frozen=True, slots=True)
class Style:
    number_format: str = GENERAL
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Book:
    sheets: tuple[SheetPart, ...]
    texts: list[str]
    styles: list[Style]
    since_1904: bool
    title: str | None


def read_book(package: zipfile.ZipFile) -> Book:
    """Raises `XMLSyntaxError`, or `DocumentTooLarge`."""
    workbook = _parsed(package, WORKBOOK)
    relations = relations_of(package, WORKBOOK)
    by_kind = dict(relations.values())
    sheets = []
    for sheet in workbook.iter("{*}sheet"):
        _, path = relations.get(attribute(sheet, "id"), ("", None))
        sheets.append(SheetPart(sheet.get("name", ""), path, is_hidden=sheet.get("state", "visible") != "visible"))
    properties = next(workbook.iter("{*}workbookPr"), None)
    return Book(
        sheets=tuple(sheets),
        texts=list(_texts(package, by_kind.get("sharedStrings"))),
        styles=_styles(package, by_kind.get("styles")),
        since_1904=properties is not None and properties.get("date1904") in ("1", "true"),
        title=_title(package),
    )


def relations_of(package: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """By id: the kind (the last word of its type) and the path of every part that `part` refers to."""
    folder, name = posixpath.split(part)
    path = f"{folder}/_rels/{name}.rels"
    if path not in package.NameToInfo:
        return {}
    found = {}
    for relation in _parsed(package, path):
        target, kind = relation.get("Target", ""), relation.get("Type", "").rsplit("/", 1)[-1]
        if relation.get("TargetMode") != "External":
            found[relation.get("Id", "")] = kind, posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
    return found


def elements(package: zipfile.ZipFile, part: str, *names: str) -> Iterator[Any]:
    """The elements of these names, whatever their namespace, each forgotten before the next is read."""
    with package.open(part) as stream:
        tags = [f"{{*}}{name}" for name in names]
        for _, element in etree.iterparse(stream, tag=tags, resolve_entities=False, no_network=True):
            yield element
            element.clear()
            parent = element.getparent()
            while parent is not None and parent[0] is not element:
                del parent[0]


def text_of(element: Any) -> str:
    """A text and all its runs; how it is pronounced is not part of it."""
    parts = [part.text or "" for part in element.iter("{*}t") if not part.getparent().tag.endswith("}rPh")]
    return unescaped("".join(parts))


def unescaped(text: str) -> str:
    """With characters that XML cannot hold, which are written as _x000D_ (ECMA-376 part 1, 22.9.2.19)."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


def _parsed(package: zipfile.ZipFile, part: str) -> Any:
    return etree.fromstring(package.read(part), etree.XMLParser(resolve_entities=False, no_network=True))


def attribute(element: Any, name: str) -> str:
    """An attribute of another namespace, which differs between the two kinds of files."""
    return next((str(value) for key, value in element.items() if etree.QName(key).localname == name), "")


def _texts(package: zipfile.ZipFile, part: str | None) -> Iterator[str]:
    if part is None or part not in package.NameToInfo:
        return
    characters = 0
    for element in elements(package, part, "si"):
        text = text_of(element)
        characters += len(text)
        limits.CHARACTERS.check(characters)
        yield text


def _styles(package: zipfile.ZipFile, part: str | None) -> list[Style]:
    if part is None or part not in package.NameToInfo:
        return []
    root = _parsed(package, part)
    formats = dict(BUILTIN)
    for found in root.iter("{*}numFmt"):
        if (number := found.get("numFmtId", "")).isdecimal():
            formats[int(number)] = found.get("formatCode", GENERAL)
    bold = [_is_bold(font) for fonts in root.iterfind("{*}fonts") for font in fonts]
    styles = []
    for cell_format in (one for formats_ in root.iterfind("{*}cellXfs") for one in formats_):
        number, font = cell_format.get("numFmtId", "0"), cell_format.get("fontId", "0")
        shown = formats.get(int(number), GENERAL) if number.isdecimal() else GENERAL
        styles.append(Style(shown, font.isdecimal() and int(font) < len(bold) and bold[int(font)]))
    return styles


def _is_bold(font: Any) -> bool:
    found = font.find("{*}b")
    return found is not None and found.get("val", "1") not in ("0", "false")


def _title(package: zipfile.ZipFile) -> str | None:
    if "docProps/core.xml" not in package.NameToInfo:
        return None
    found = next(_parsed(package, "docProps/core.xml").iter("{*}title"), None)
    return found.text if found is not None else None


def range_of(name: str) -> Cells:
    """B4:F17, $B$4 or B4, as far as a sheet reaches. Raises `ValueError`."""
    name = name.replace("$", "")
    left, top, right, bottom = cells_from_name(name if ":" in name else f"{name}:{name}")
    return min(left, right), min(top, bottom), min(max(left, right), MOST_COLUMNS), min(max(top, bottom), MOST_ROWS)
