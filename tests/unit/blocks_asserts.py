"""What must hold for every parsed document, whatever its format. Shared by the parsers' tests."""

from __future__ import annotations

import json

from indexing.blocks import BlockKind, ParsedDocument


def check(document: ParsedDocument) -> ParsedDocument:
    """Spans are right, in order and the whole text; tables agree with their rows; JSON round-trips."""
    assert document.text == "\n\n".join(block.text for block in document.blocks)
    end = 0
    for block in document.blocks:
        start, end_of_block = block.locator.span
        assert start >= end
        end = end_of_block
        assert document.text[start:end] == block.text != ""
        assert (block.level is not None) == (block.kind is BlockKind.HEADING)
        if block.kind is BlockKind.TABLE:
            assert block.text == "\n".join(" | ".join(row) for row in block.rows)
            assert 0 <= block.header_rows <= len(block.rows)
    assert ParsedDocument.from_json(json.loads(json.dumps(document.to_json()))) == document
    return document


def outline(document: ParsedDocument) -> list[tuple[str, str]]:
    """(kind, text) of every block; headings as `h1`, `h2`…"""
    return [(f"h{b.level}" if b.level else b.kind.value, b.text) for b in check(document).blocks]


def squeezed(text: str) -> str:
    """Its visible characters."""
    return "".join(text.split())
