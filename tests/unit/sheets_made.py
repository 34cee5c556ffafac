"""Spreadsheets made in tests, and what is asked of every one that was read."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

from openpyxl import Workbook

from documents.media_types import ODS
from indexing.blocks import ParsedDocument
from indexing.locators import cells_name
from indexing.parsers import xlsx
from indexing.splitters import split
from indexing.verification import claims_of, verify
from tests.unit.blocks_asserts import check

Fill = Callable[[Workbook], None]


def made(fill: Fill) -> bytes:
    book = Workbook()
    fill(book)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def parsed(fill: Fill) -> ParsedDocument:
    content = made(fill)
    return verified(content, check(xlsx.parse(content)))


def verified(content: bytes, document: ParsedDocument) -> ParsedDocument:
    """With every chunk found again at its place by a second reading."""
    chunks = split(document, title="t", count_tokens=len, budget=200)
    found = verify(content, document.media_type, claims_of(document, chunks))
    assert not found.failed, [chunks[number] for number in found.failed]
    return document


def places(document: ParsedDocument) -> list[tuple[str | None, str | None]]:
    found = [block.locator for block in document.blocks]
    return [(place.sheet, cells_name(place.cells) if place.cells else None) for place in found]


def changed(content: bytes, part: str, old: bytes, new: bytes, **added: bytes) -> bytes:
    """A package with something else in one of its parts, and with others: of “a__b_xml” the name is “a/b.xml”."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target:
        assert old in source.read(part)
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, data.replace(old, new) if name == part else data)
        for name, data in added.items():
            target.writestr(name.replace("__", "/").replace("_xml", ".xml"), data)
    return stream.getvalue()


def ods_file(table: str, *, styles: str = "", manifest: str = "<m/>") -> bytes:
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{long or name}:1.0"'
        for name, long in (("office", ""), ("table", ""), ("text", ""), ("style", ""), ("fo", "xsl-fo-compatible"))
    )
    content = (
        f'<?xml version="1.0"?><office:document-content {names}><office:automatic-styles>{styles}</office:automatic-styles>'
        f"<office:body><office:spreadsheet>{table}</office:spreadsheet></office:body></office:document-content>"
    )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as package:
        package.writestr("mimetype", ODS)
        package.writestr("content.xml", content)
        package.writestr("META-INF/manifest.xml", manifest)
    return stream.getvalue()


def rows_into(book: Workbook, *rows: list[Any]) -> Any:
    for row in rows:
        book.active.append(row)
    return book.active


def with_drawing(content: bytes, anchors: str, *, kind: str = "worksheets", **added: str) -> bytes:
    """A book whose first sheet has a drawing; parts that the drawing refers to by “c1”, “c2”… are `added`, charts all."""
    relations = "".join(
        f'<Relationship Id="c{number}" Type="x/chart" Target="/{name.replace("__", "/").replace("_xml", ".xml")}"/>'
        for number, name in enumerate(added, 1)
    )
    drawing = f'<d:wsDr xmlns:d="x" xmlns:a="y" xmlns:c="z" xmlns:r="r">{anchors}</d:wsDr>'
    parts = {
        "xl__drawings__drawing1_xml": drawing,
        "xl__drawings___rels__drawing1_xml.rels": f'<Relationships xmlns="y">{relations}</Relationships>',
        f"xl__{kind}___rels__sheet1_xml.rels": '<Relationships xmlns="y"><Relationship Id="d" Type="x/drawing" '
        'Target="../drawings/drawing1.xml"/></Relationships>',
        **added,
    }
    return changed(content, "xl/workbook.xml", b"", b"", **{name: part.encode() for name, part in parts.items()})
