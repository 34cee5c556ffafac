"""The truth that stands beside a document: `X.truth.json` (docling's document), `X.truth.xml` (table structure of the ICDAR
2013 competition) or `X.truth.md`. The first of them counts, for it says most.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tests.benchmarks.parsing_readings import from_markdown
from tests.benchmarks.parsing_scores import Cell, Merged, Reading, Table, written

MARK = ".truth."


def truth_of(path: Path) -> tuple[str, Reading] | None:
    """The name of the truth's file and what it says, or None where none stands beside `path`."""
    for ending, read in (("json", from_docling), ("xml", from_icdar), ("md", from_markdown)):
        beside = path.with_name(f"{path.name}{MARK}{ending}")
        if beside.is_file():
            return beside.name, read(beside.read_text(encoding="utf-8"))
    return None


def from_icdar(source: str) -> Reading:
    """Tables alone. A table's regions are parts of it, moved by their increments."""
    tables = []
    for table in ElementTree.fromstring(source).iter("table"):
        cells = [
            _icdar_cell(cell, int(region.get("row-increment", 0)), int(region.get("col-increment", 0)))
            for region in table.iter("region")
            for cell in region.iter("cell")
        ]
        tables.append(Table(tuple(cells)))
    return Reading(tables=tuple(tables))


def _icdar_cell(cell: ElementTree.Element, down: int, right: int) -> Cell:
    row, column = int(cell.attrib["start-row"]), int(cell.attrib["start-col"])
    last_row, last_column = int(cell.get("end-row", row)), int(cell.get("end-col", column))
    text = cell.findtext("content") or ""
    return Cell(row + down, column + right, text, max(row, last_row) + down, max(column, last_column) + right)


def from_docling(source: str) -> Reading:
    """The body in reading order; headers, footers and notes are other layers, what stands in pictures is not text."""
    document = json.loads(source)
    parts: list[str] = []
    headings: list[tuple[int, str]] = []
    tables: list[Table] = []
    for item in _items(document, document["body"]):
        label = item["label"]
        if label == "sheet":  # its name stands above its tables, as in docling's own Markdown
            headings.append((0, item["name"]))
            parts.append(item["name"])
            continue
        if label == "table":
            table = _docling_table(item)
            tables.append(table)
            parts.append(written(table.grid(Merged.ONCE)))
            continue
        parts.append(item["text"])
        if label in ("title", "section_header") and item["text"].strip():
            headings.append((0 if label == "title" else item.get("level", 1), item["text"]))
    return Reading("\n".join(parts), tuple(headings), tuple(tables))


def _items(document: dict[str, Any], parent: dict[str, Any], told: set[str] | None = None) -> Iterator[dict[str, Any]]:
    """Each once: a caption may be a child of the body, too."""
    told = set() if told is None else told
    for reference in parent.get("children", ()):
        item = _item(document, reference)
        kind = reference["$ref"].split("/")[1]
        if item.get("content_layer", "body") != "body" or reference["$ref"] in told:
            continue
        told.add(reference["$ref"])
        if kind in ("texts", "tables") or item["label"] == "sheet":
            yield item
        if kind in ("texts", "groups"):
            yield from _items(document, item, told)
            continue
        # Of a table or a picture the captions alone, a table's cells hold the rest once more; a chart is its numbers.
        chart = (item.get("meta") or {}).get("tabular_chart")
        if chart:
            yield {"label": "table", "data": chart["chart_data"]}
        yield from _items(document, {"children": item.get("captions", ())}, told)


def _item(document: dict[str, Any], reference: dict[str, str]) -> dict[str, Any]:
    kind, number = reference["$ref"].split("/")[1:]
    result: dict[str, Any] = document[kind][int(number)]
    return result


def _docling_table(item: dict[str, Any]) -> Table:
    return Table(
        tuple(
            Cell(
                cell["start_row_offset_idx"],
                cell["start_col_offset_idx"],
                cell["text"],
                cell["end_row_offset_idx"] - 1,
                cell["end_col_offset_idx"] - 1,
            )
            for cell in item["data"]["table_cells"]
        )
    )
