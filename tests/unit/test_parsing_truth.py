"""Readings of Markdown, of our blocks and of the files of truth."""

from __future__ import annotations

import json
from pathlib import Path

from documents.media_types import MARKDOWN
from indexing.blocks import BlockKind
from indexing.parsers import parse
from tests.benchmarks.parsing_readings import from_blocks, from_markdown, to_markdown
from tests.benchmarks.parsing_report import summary, text_report
from tests.benchmarks.parsing_scores import Cell, Merged, Table, scores
from tests.benchmarks.parsing_truth import from_docling, from_icdar, truth_of

SOURCE = """# Travel *budget*

The limit is **300**, see [rules](https://example.org/x).

## 住宿标准

- first
- second

| City | Limit |
| --- | --- |
| 北京 | a \\| b |

```
x = 1
```

![picture](x.png)
"""


def test_markdown_without_its_markup() -> None:
    reading = from_markdown(SOURCE)
    assert reading.headings == ((1, "Travel budget"), (2, "住宿标准"))
    assert reading.tables == (Table.of([["City", "Limit"], ["北京", "a | b"]]),)
    assert reading.text is not None
    lines = [
        "Travel budget",
        "The limit is 300, see rules.",
        "住宿标准",
        "first",
        "second",
        "City Limit",
        "北京 a | b",
        "x = 1",
    ]
    assert [line for line in reading.text.split("\n") if line] == lines


def test_our_blocks_read_alike_as_blocks_and_as_markdown() -> None:
    document = parse(
        SOURCE.replace("![picture](x.png)", "Stars * and _ and # and a < b & 1. stay").encode(), MARKDOWN, "x.md"
    )
    assert any(block.kind is BlockKind.TABLE for block in document.blocks)
    as_blocks, as_markdown = from_blocks(document), from_markdown(to_markdown(document))
    assert scores(as_blocks, as_markdown) == dict.fromkeys(scores(as_blocks, as_blocks), 1.0)
    assert "Stars * and _ and # and a < b & 1. stay" in (as_markdown.text or "")


def test_icdar_regions_are_parts_of_one_table_moved_by_their_increments() -> None:
    source = """<document><table id='1'>
      <region id='1' col-increment='0' row-increment='0' page='1'>
        <cell id='1' start-row='0' start-col='0' end-row='1'><content>Region</content></cell>
        <cell id='2' start-row='0' start-col='1'><content>2010</content></cell></region>
      <region id='2' col-increment='1' row-increment='2' page='2'>
        <cell id='3' start-row='0' start-col='0'><content>5</content></cell></region>
    </table><table id='2'/></document>"""
    first, second = from_icdar(source).tables or ()
    assert first.cells == (Cell(0, 0, "Region", 1, 0), Cell(0, 1, "2010", 0, 1), Cell(2, 1, "5", 2, 1))
    assert second.cells == ()


_BODY = ("texts/0", "groups/0", "texts/2", "texts/3", "groups/1", "pictures/0")


def _docling() -> str:
    cell = {"start_row_offset_idx": 0, "end_row_offset_idx": 1, "start_col_offset_idx": 0, "end_col_offset_idx": 2}
    body = {"content_layer": "body"}
    return json.dumps(
        {
            "body": {"children": [{"$ref": f"#/{name}"} for name in _BODY]},
            "groups": [
                body | {"label": "list", "name": "list", "children": [{"$ref": "#/texts/1"}, {"$ref": "#/tables/0"}]},
                body | {"label": "sheet", "name": "Prices", "children": []},
            ],
            "texts": [
                body | {"label": "section_header", "level": 2, "text": "Scope", "children": []},
                body | {"label": "list_item", "text": "an item", "children": []},
                body | {"label": "caption", "text": "Table 1", "children": []},
                {"content_layer": "furniture", "label": "page_footer", "text": "7", "children": []},
            ],
            "pictures": [
                body
                | {
                    "label": "picture",
                    "meta": {"tabular_chart": {"chart_data": {"table_cells": [cell | {"text": "2019"}]}}},
                },
            ],
            "tables": [
                body
                | {
                    "label": "table",
                    "captions": [{"$ref": "#/texts/2"}],
                    "children": [{"$ref": "#/texts/1"}],
                    "data": {"table_cells": [cell | {"text": "merged"}]},
                }
            ],
        }
    )


def test_docling_in_reading_order_without_furniture() -> None:
    reading = from_docling(_docling())
    assert reading.headings == ((2, "Scope"), (0, "Prices"))
    assert [table.grid(Merged.EVERYWHERE) for table in reading.tables or ()] == [
        [["merged", "merged"]],
        [["2019", "2019"]],
    ]
    assert reading.text == "Scope\nan item\nmerged\nTable 1\nPrices\n2019"


def test_the_truth_that_says_most_counts(tmp_path: Path) -> None:
    path = tmp_path / "x.docx"
    assert truth_of(path) is None
    (tmp_path / "x.docx.truth.md").write_text("# Markdown", encoding="utf-8")
    (tmp_path / "x.docx.truth.json").write_text(_docling(), encoding="utf-8")
    found = truth_of(path)
    assert found is not None
    assert found[0] == "x.docx.truth.json"


def _file(name: str, code: str = "OK", **more: object) -> dict[str, object]:
    return {"file": name, "format": "pdf", "code": code, "peers": {}, "gaps": []} | more


def test_a_crash_stands_on_top_and_an_absent_tool_is_named() -> None:
    files = [_file("a.pdf"), _file("b.pdf", "PARSE_CRASHED")]
    report = {"summary": summary(files, []), "peers": {"docling": {"absent": "not installed"}}, "files": files}
    lines = text_report(report).split("\n")
    assert lines[0] == "THE PARSER CRASHED on b.pdf"
    assert lines[1] == "ABSENT: docling, not installed"
    assert report["summary"]["codes"] == {"OK": 1, "PARSE_CRASHED": 1}


def test_who_reads_better_is_named_with_the_greatest_lead_first() -> None:
    told = {
        "kb": {"text": 0.5, "cells": 0.9},
        "kb (Markdown)": {"text": 0.5, "cells": 0.9},
        "x": {"text": 0.8, "cells": 0.905},
    }
    timed = {"kbParse": 2.0, "pages": 4, "peers": {"x": {"code": "OK", "seconds": 1.0}}, "scores": told}
    whole = summary([_file("a.pdf", **timed), _file("b.pdf", **(timed | {"scores": told | {"x": {}}}))], ["x"])
    assert whole["better"] == [{"file": "a.pdf", "measure": "text", "kb": 0.5, "peer": "x", "theirs": 0.8}]
    pdf = whole["formats"]["pdf"]
    assert pdf["scores"]["x"] == {"text": 0.4, "cells": 0.453}  # a file that it cannot read counts nothing for it
    assert pdf["times"]["x"] == {
        "files": 2,
        "secondsPerPage": 0.25,
        "kbSecondsPerPage": 0.5,
        "ratio": 2.0,
        "equalQuality": False,
    }


def test_without_other_tools_there_is_no_section_about_them() -> None:
    files = [_file("a.pdf")]
    report = {"summary": summary(files, []), "peers": {}, "files": files}
    assert "tool is better" not in text_report(report)
    assert "No other tool is better anywhere." in text_report(report | {"peers": {"x": {"version": "1"}}})
