"""What was read, as a `Reading`: from Markdown, in one way for every tool, and from our blocks."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from indexing.blocks import Block, BlockKind, ParsedDocument
from tests.benchmarks.parsing_scores import Reading, Table, written

_MARKDOWN = MarkdownIt("commonmark").enable("table")
_TAG = re.compile(r"<!--.*?-->|<[^>]*>", re.DOTALL)
_MARKS = re.compile(r"([\\`*_{}\[\]<>#+!|~])")
_LEADING = re.compile(r"^(\s*)([-+>#]|\d+(?=[.)]))", re.MULTILINE)


def from_markdown(source: str) -> Reading:
    """Markup, pictures and addresses of links left out; marks of lists are none of the text."""
    parts: list[str] = []
    headings: list[tuple[int, str]] = []
    tables: list[Table] = []
    level, grid = 0, None
    for token in _MARKDOWN.parse(source):
        if token.type == "heading_open":
            level = int(token.tag[1])
        elif token.type == "table_open":
            grid = list[list[str]]()
        elif token.type == "table_close" and grid is not None:
            tables.append(Table.of(grid))
            parts.append(written(grid))
            grid = None
        elif token.type == "tr_open" and grid is not None:
            grid.append([])
        elif token.type == "inline":
            text = _inline(token.children or [])
            if grid is not None:
                grid[-1].append(text)
                continue
            parts.append(text)
            if level:
                headings.append((level, text))
        elif token.type == "heading_close":
            level = 0
        elif token.type in ("fence", "code_block"):
            parts.append(token.content)
        elif token.type == "html_block":
            parts.append(_without_tags(token.content))
    return Reading("\n".join(parts), tuple(headings), tuple(tables))


def from_blocks(document: ParsedDocument) -> Reading:
    """As the splitter gets it."""
    headings = [(block.level or 1, block.text) for block in document.blocks if block.kind is BlockKind.HEADING]
    tables = [Table.of(block.rows) for block in document.blocks if block.rows]
    parts = [written(block.rows) if block.rows else block.text for block in document.blocks]
    return Reading("\n".join(parts), tuple(headings), tuple(tables))


def to_markdown(document: ParsedDocument) -> str:
    """Our blocks as the tools beside us give a document, so that they go through the same reader."""
    return "\n\n".join(_block(block) for block in document.blocks)


def _block(block: Block) -> str:
    if block.rows:
        return _table(block.rows)
    if block.kind is BlockKind.HEADING:
        return f"{'#' * (block.level or 1)} {_escaped(' '.join(block.text.split()))}"
    if block.kind is BlockKind.CODE:
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", block.text)), default=0))
        return f"{fence}\n{block.text}\n{fence}"
    text = _escaped(block.text)
    return "- " + text.replace("\n", "\n  ") if block.kind is BlockKind.LIST_ITEM else text


def _table(rows: Sequence[Sequence[str]]) -> str:
    width = max(map(len, rows))
    lines = [
        "| " + " | ".join([*(" ".join(_escaped(c).split()) for c in row), *[""] * (width - len(row))]) + " |"
        for row in rows
    ]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def _escaped(text: str) -> str:
    text = _MARKS.sub(r"\\\1", text.replace("&", "&amp;"))
    # A line that would begin a list, and lines of spaces that would begin code.
    return "\n".join(
        _LEADING.sub(r"\1\\\2", line.strip()) if line.strip()[:1] in "-+" else line.strip() for line in text.split("\n")
    )


def _inline(tokens: Sequence[Token]) -> str:
    parts = []
    for token in tokens:
        if token.type in ("text", "code_inline"):
            parts.append(token.content)
        elif token.type in ("softbreak", "hardbreak") or (
            token.type == "html_inline" and "<br" in token.content.lower()
        ):
            parts.append("\n")
    return html.unescape("".join(parts)).strip()


def _without_tags(source: str) -> str:
    return html.unescape(_TAG.sub(" ", source)).strip()
