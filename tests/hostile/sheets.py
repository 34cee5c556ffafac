"""Hostile spreadsheets: ranges that never end, archives that lie, a binary format with every byte in doubt."""

from __future__ import annotations

import io
import random
import zipfile
from functools import cache

import xlwt
from openpyxl import Workbook

from indexing.locators import column_name
from tests.hostile.catalogue import HARMLESS, add
from tests.hostile.packages import CORRUPT, ENCRYPTED, LARGE, NONE, OLE, archive

SHEET = "xl/worksheets/sheet1.xml"
RELATIONS = "xl/_rels/workbook.xml.rels"
CHECKERS = (
    [name.encode() for name in map(column_name, range(1, 51, 2))],
    [name.encode() for name in map(column_name, range(2, 51, 2))],
)
_ODS = "application/vnd.oasis.opendocument.spreadsheet"


@cache
def parts() -> dict[str, bytes]:
    """An ordinary workbook, by its parts."""
    book, stream = Workbook(), io.BytesIO()
    book.active.append(["What", "it says"])
    book.active.append(["a number", 7])
    book.save(stream)
    with zipfile.ZipFile(stream) as package:
        return {name: package.read(name) for name in package.namelist()}


def sheet(old: bytes, new: bytes, *, text: bytes = b"") -> bytes:
    """With something else in its sheet, and with `text` as the first of the texts that sheets share."""
    assert old in parts()[SHEET]
    relation = b'<Relationship Id="s" Type="x/sharedStrings" Target="strings.xml"/></Relationships>'
    relations = parts()[RELATIONS].replace(b"</Relationships>", relation)
    strings = b"<sst><si><t>" + text + b"</t></si></sst>"
    changed = {SHEET: parts()[SHEET].replace(old, new, 1), RELATIONS: relations, "xl/strings.xml": strings}
    return archive({**parts(), **changed})


@cache
def xls() -> bytes:
    book, stream = xlwt.Workbook(), io.BytesIO()
    table = book.add_sheet("s")
    for row in range(40):
        table.write(row, 0, f"row {row}")
        table.write(row, 1, row / 7)
    book.save(stream)
    return stream.getvalue()


def fuzzed(seed: int) -> bytes:
    content, chance = bytearray(xls()), random.Random(seed)
    for _ in range(4):
        content[chance.randrange(512, len(content))] = chance.randrange(256)
    return bytes(content)


def ods(body: str) -> bytes:
    names = " ".join(f'xmlns:{n}="urn:oasis:names:tc:opendocument:xmlns:{n}:1.0"' for n in ("office", "table", "text"))
    content = f"<office:d {names}><office:body><office:spreadsheet>{body}</office:spreadsheet></office:body></office:d>"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("mimetype", _ODS, zipfile.ZIP_STORED)
        package.writestr("content.xml", content)
    return stream.getvalue()


def drawn(anchors: str, chart: str) -> bytes:
    """A sheet with a drawing, which may refer to a chart as “c”."""
    kinds, name = "http://schemas.openxmlformats.org/officeDocument/2006/relationships", "Relationship"
    relation = f'<Relationships><{name} Id="{{}}" Type="{kinds}/{{}}" Target="{{}}"/></Relationships>'
    added = {
        "xl/worksheets/_rels/sheet1.xml.rels": relation.format("d", "drawing", "/xl/drawings/drawing1.xml"),
        "xl/drawings/drawing1.xml": f'<d:wsDr xmlns:d="d" xmlns:c="c" xmlns:r="r">{anchors}</d:wsDr>',
        "xl/drawings/_rels/drawing1.xml.rels": relation.format("c", "chart", "/xl/charts/chart1.xml"),
        "xl/charts/chart1.xml": chart,
    }
    return archive({**parts(), **{name: part.encode() for name, part in added.items()}})


ANCHOR = "<d:twoCellAnchor><d:from><d:col>{}</d:col><d:row>3</d:row></d:from>{}</d:twoCellAnchor>"
CHART = '<c:chart r:id="c"/>'
POINTS = "<c:x xmlns:c='c'><c:ser><c:val>" + "".join(f"<c:pt idx='{n}'><c:v>1</c:v></c:pt>" for n in range(1_000))
CELL = '<table:table-cell table:number-columns-repeated="{}"><text:p>x</text:p></table:table-cell>'
ROW = '<table:table table:name="t"><table:table-row table:number-rows-repeated="{}">{}</table:table-row></table:table>'

add(
    "chart-shown-again.xlsx",
    lambda _: drawn(ANCHOR.format(1, CHART) * 1_000, f"{POINTS}</c:val></c:ser></c:x>"),
    LARGE,
    "one chart in a thousand places",
)
add("chart-cut.xlsx", lambda _: drawn(ANCHOR.format(1, CHART), POINTS), HARMLESS, "a chart that ends in its middle")
add(
    "chart-beyond.xlsx",
    lambda _: drawn(ANCHOR.format(10**30, CHART), f"{POINTS}</c:val></c:ser></c:x>"),
    HARMLESS,
    "a chart where no sheet has cells",
)
add("chart-itself.xlsx", lambda _: drawn(CHART, ANCHOR.format(1, CHART) * 100), HARMLESS, "a chart that is a drawing")
add("good.xlsx", lambda _: archive(parts()), HARMLESS, "an ordinary one")
add(
    "doctype.xlsx",
    lambda _: sheet(b"<worksheet", b'<!DOCTYPE x [<!ENTITY a "b">]><worksheet'),
    CORRUPT,
    "declares an entity",
)
add(
    "range.xlsx",
    lambda _: sheet(b'ref="A1:B2"', b'ref="A1:XFD1048576"'),
    HARMLESS,
    "says that it has billions of cells",
)
add("row.xlsx", lambda _: sheet(b'r="A1"', b'r="A99999999999"'), f"{HARMLESS} | {CORRUPT}", "a row that no sheet has")
add(
    "column.xlsx", lambda _: sheet(b'r="A1"', b'r="ZZZZZZZZ1"'), f"{HARMLESS} | {CORRUPT}", "a column that no sheet has"
)
add(
    "merged.xlsx",
    lambda _: sheet(b"</sheetData>", b'</sheetData><mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>'),
    HARMLESS,
    "a cell over the whole sheet",
)
add(
    "columns.xlsx",
    lambda _: sheet(b"<sheetData>", b'<cols><col min="1" max="4294967295" hidden="1" width="1"/></cols><sheetData>'),
    f"{HARMLESS} | {NONE} | {CORRUPT}",
    "more hidden columns than numbers",
)
add(
    "cells.xlsx",
    lambda _: sheet(b"</sheetData>", b'<row r="9">' + b'<c r="A9"><v>1</v></c>' * 600_000 + b"</row></sheetData>"),
    LARGE,
    "more cells than are read",
)
add(
    "strings.xlsx",
    lambda _: sheet(b't="n"><v>7</v>', b't="s"><v>99999999</v>'),
    f"{HARMLESS} | {CORRUPT}",
    "a text that is not there",
)
add("format.xlsx", lambda _: sheet(b"<v>7</v>", b"<v>1e308</v>"), HARMLESS, "a number at the end of numbers")
add("infinite.xlsx", lambda _: sheet(b"<v>7</v>", b"<v>INF</v>"), f"{HARMLESS} | {CORRUPT}", "no number")
add(
    "date.xlsx",
    lambda _: sheet(b'<c r="B2" t="n">', b'<c r="B2" t="d">'),
    f"{HARMLESS} | {CORRUPT}",
    "a number as a date",
)
add(
    "external.xlsx",
    lambda _: sheet(b"<v>7</v>", b"<f>WEBSERVICE(&quot;http://127.0.0.1/&quot;)</f><v>7</v>"),
    HARMLESS,
    "fetches",
)
add(
    "no-sheet.xlsx",
    lambda _: archive({n: c for n, c in parts().items() if n != SHEET}),
    CORRUPT,
    "its sheet is missing",
)
add(
    "no-relations.xlsx",
    lambda _: archive({n: c for n, c in parts().items() if "rels" not in n}),
    CORRUPT,
    "no relations",
)
add("cut.xlsx", lambda _: archive(parts())[:2000], CORRUPT, "cut off")
add("ole.xlsx", lambda _: OLE + "EncryptedPackage".encode("utf-16-le") + bytes(999), ENCRYPTED, "protected")
add(
    "long.xlsx",
    lambda _: sheet(
        b"</sheetData>",
        b'<row r="9">' + b'<c t="s"><v>0</v></c>' * 10_000 + b"</row></sheetData>",
        text=b"x" * 10_000,
    ),
    LARGE,
    "one long text in every cell",
)
add(
    "checkers.xlsx",
    lambda _: sheet(
        b"</sheetData>",
        b"".join(
            b'<row r="%d">' % row + b"".join(b'<c r="%s%d"><v>1</v></c>' % (n, row) for n in names) + b"</row>"
            for row in range(9, 8_000, 2)
            for names in (CHECKERS[row // 2 % 2],)
        )
        + b"</sheetData>",
    ),
    HARMLESS,
    "a hundred thousand cells of which none touches another",
)
add("good.xls", lambda _: xls(), HARMLESS, "an ordinary one")
add("cut.xls", lambda _: xls()[:700], CORRUPT, "cut off")
add("empty.xls", lambda _: OLE + bytes(5_000), f"{CORRUPT} | PARSE_CRASHED", "a container of nothing")
for number in range(12):
    add(
        f"fuzzed-{number}.xls",
        lambda _, seed=number: fuzzed(seed),
        f"{HARMLESS} | {CORRUPT} | {ENCRYPTED} | {NONE} | {LARGE} | PARSE_CRASHED",
        "bytes by chance",
    )
add("good.ods", lambda _: ods(ROW.format(1, CELL.format(1))), HARMLESS, "an ordinary one")
add("rows.ods", lambda _: ods(ROW.format(99_999_999, CELL.format(1))), LARGE, "a hundred million rows")
add(
    "square.ods",
    lambda _: ods(ROW.format(10**6, CELL.format(10**6))),
    LARGE,
    "a million times a million cells",
)
add("many.ods", lambda _: ods(ROW.format(1000, CELL.format(1000)) * 9), LARGE, "millions of cells")
add("bomb.ods", lambda _: ods(ROW.format(1, CELL.format(1)) + " " * 60_000_000), LARGE, "spaces packed small")
