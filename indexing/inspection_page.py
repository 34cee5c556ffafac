"""`inspect_document --format html`: one page that needs nothing beside it. Left the drawn page or the text, right the chunks.

Everything that comes from a file is escaped, and a policy in the page forbids what would get through. No database.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from indexing.blocks import Chunk
from indexing.inspection import Inspection, Summary, counted, head_line
from indexing.rendering import Picture
from indexing.side_by_side import Grid, Placed, marks, parts

SCRIPT = Path(__file__).with_name("static") / "indexing" / "marks.js"
STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 110rem; padding: 1rem; }
.file { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1rem; margin-bottom: 3rem; }
.file > * { max-height: 92vh; overflow: auto; }
.file > header { grid-column: 1 / -1; max-height: none; }
h2 { overflow-wrap: anywhere; margin-bottom: 0; }
svg { display: block; width: 100%; height: auto; border: 1px solid #8888; margin-bottom: .5rem; background: white; }
rect { fill: #1a73e81a; stroke: #1a73e8; stroke-width: .7; cursor: pointer; }
.text, .chunk p { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; font: inherit; }
.grid { overflow-x: auto; white-space: normal; }
.grid table { border-collapse: collapse; font-size: .85rem; }
.grid td, .grid th { border: 1px solid #8888; padding: .1rem .4rem; white-space: pre-wrap; text-align: left; }
.text [data-chunks] { background: #1a73e81a; outline: 1px dotted #1a73e888; cursor: pointer; }
.chunk { border: 1px solid #8888; border-radius: 6px; padding: .5rem .8rem; margin-bottom: .5rem; cursor: pointer; }
.chunk h3 { font-size: .85rem; margin: 0; font-weight: normal; opacity: .75; overflow-wrap: anywhere; }
.chunk.absent { border-color: #c5221f; }
.kb-lit { outline: 2px solid #e37400 !important; fill: #e3740033; background-color: #e3740022 !important; }
.problem { color: #c5221f; }
@media (max-width: 800px) { .file { grid-template-columns: minmax(0, 1fr); } }
"""


def page(inspections: Sequence[Inspection], pictures: Mapping[int, Mapping[int, Picture]]) -> str:
    """All files. `pictures`: by the file's position, then by page."""
    script = SCRIPT.read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return "".join(
        [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>Inspected: {counted(len(inspections), 'file')}</title><style>{STYLE}</style></head><body>",
            "<h1>Summary</h1>",
            _list(Summary.of(inspections).lines()),
            *(
                part
                for number, item in enumerate(inspections)
                for part in _file(number, item, pictures.get(number, {}))
            ),
            f"<script>{script}</script></body></html>",
        ]
    )


def _file(number: int, item: Inspection, pictures: Mapping[int, Picture]) -> Iterator[str]:
    yield f'<section class="file"><header><h2>{escape(item.name)}</h2>'
    if item.document is None:
        code, message = item.error or ("", "")
        yield f'<p class="problem">{escape(message)} ({escape(code)})</p></header></section>'
        return
    yield _list([", ".join(item.counts()), *item.facts()])
    yield "</header><div data-side>"
    placed = [(chunk.ordinal, chunk.locator) for chunk in item.chunks]
    if pictures:
        for page_number, picture in pictures.items():
            yield _drawn(number, page_number, picture, placed)
        if len(pictures) < (item.document.pages or 0):
            yield f"<p>{counted((item.document.pages or 0) - len(pictures), 'more page')} not drawn.</p>"
    else:
        yield '<div class="text">'
        for part in parts(item.document, placed):
            if isinstance(part, Grid):
                yield from _grid(number, part)
            else:
                named = _names(number, part.chunks)
                yield f"<span{named}>{escape(part.text)}</span>" if named else escape(part.text)
        yield "</div>"
    yield "</div><div data-side>"
    for chunk in item.chunks:
        yield _chunk(number, chunk, is_there=chunk.ordinal not in item.verification.failed)
    yield "</div></section>"


def _grid(number: int, grid: Grid) -> Iterator[str]:
    yield '<div class="grid"><table>'
    if grid.columns:
        yield f"<tr><th></th>{''.join(f'<th>{name}</th>' for name in grid.columns)}</tr>"
    for row in grid.rows:
        label = f"<th>{row.number}</th>" if row.number else ""
        tag = "th" if row.is_header else "td"
        cells = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row.cells)
        yield f"<tr{_names(number, row.chunks)}>{label}{cells}</tr>"
    yield "</table>"
    for left, noun in ((grid.rows_left, "more row"), (grid.columns_left, "more column")):
        if left:
            yield f"<p>and {counted(left, noun)}</p>"
    yield "</div>"


def _drawn(number: int, page_number: int, picture: Picture, placed: Sequence[Placed]) -> str:
    width, height = picture.width, picture.height
    rects = "".join(
        f'<rect x="{mark.region[0]}" y="{mark.region[1]}" width="{mark.width}" '
        f'height="{mark.height}"{_names(number, [mark.chunk])}/>'
        for mark in marks(placed, page=page_number, width=width, height=height)
    )
    data = base64.b64encode(picture.png).decode()
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="page {page_number}">'
        f'<image href="data:image/png;base64,{data}" width="{width}" height="{height}"/>{rects}</svg>'
    )


def _chunk(number: int, chunk: Chunk, *, is_there: bool) -> str:
    head = f"#{chunk.ordinal} · {head_line(chunk, is_there=is_there, between=' · ')}"
    context = f"<h3>embedded with: {escape(chunk.context)}</h3>" if chunk.context else ""
    return (
        f'<article class="chunk{"" if is_there else " absent"}" tabindex="0"{_names(number, [chunk.ordinal])}>'
        f"<h3>{escape(head)}</h3>{context}<p>{escape(chunk.text)}</p></article>"
    )


def _names(number: int, chunks: Iterable[int]) -> str:
    named = " ".join(f"{number}-{chunk}" for chunk in chunks)
    return f' data-chunks="{named}"' if named else ""


def _list(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"
