"""Captions of tables and figures in a PDF, in Chinese and English."""

from __future__ import annotations

import re
from collections.abc import Sequence

from indexing.blocks import BlockKind
from indexing.parsers.pdf_paragraphs import Paragraph

_NUMBER = r"[A-Z]?[\dIVX一二三四五六七八九十]+(?:[.\-–—－]\d{1,3}){0,3}[a-z]?"
_LABEL = re.compile(
    rf"[\[【(（]?(?:(?:Figure|Fig\.|Table|Tab\.|Exhibit|Chart|Box|Scheme|FIGURE|TABLE|FIG\.)\s?|(?:附?[图表圖]|图表|표|그림)\s?){_NUMBER}"
    r"(?P<after>[\]】)）]?\s?[.:：．—–|]\s?|[\]】)）]\s?|[\s\u3000]|$)"
)
_ENDS = re.compile(r"[.。;；,，]\Z")
_LONGEST = 300  # characters


def mark_captions(found: Sequence[Paragraph]) -> None:
    """Sets the kind of those that are captions: a label and punctuation, or beside a table, or no whole sentence."""
    for position, paragraph in enumerate(found):
        if not paragraph.lines or paragraph.is_note or paragraph.kind is not None:
            continue
        label = opens_caption(paragraph.lines[0].text)
        if label is None or len(paragraph.text) > _LONGEST:
            continue
        beside = [found[at] for at in (position - 1, position + 1) if 0 <= at < len(found)]
        by_table = any(other.tables for other in beside)
        if label["after"].strip() or by_table or not _ENDS.search(paragraph.text):
            paragraph.kind = BlockKind.CAPTION


def opens_caption(text: str) -> re.Match[str] | None:
    return _LABEL.match(text)
