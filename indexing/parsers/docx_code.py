"""Code in a DOCX that no style calls so: lines in a font whose letters are all equally wide.

Letters, forms and screenplays are typed in such fonts, too: one line at least must look like code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from docx.oxml.ns import qn

from indexing.parsers.docx_styles import Styles

_EQUALLY_WIDE = re.compile(
    r"(?i)courier.*|consolas|menlo.*|monaco|lucida console|inconsolata.*|.*\bmono\b.*|.*\bcode\b.*|hack|fixedsys|terminal"
)
_CODE = re.compile(
    r"[{}\\`|]|;\s*$|\w\(|[=!<>+-]=|\w\s=\s\S|->|=>|^\s*(?:[#$>%]|//|/\*|<\w)\s?\S"
    r"|^\s*(?:def|class|return|import|from|while|public|private|func|let|const|var|SELECT|INSERT|UPDATE|CREATE|sudo|git|pip)\s"
)


def lines_of_code(elements: Iterable[Any], styles: Styles) -> set[Any]:
    """The paragraphs among `elements` that are code: lines that follow one another are judged together."""
    found: set[Any] = set()
    for equally_wide, lines in groupby(elements, lambda element: _is_equally_wide(element, styles)):
        together = list(lines) if equally_wide else []
        if any(_CODE.search(_text(line)) for line in together):
            found.update(together)
    return found


def _is_equally_wide(element: Any, styles: Styles) -> bool:
    """Whether an element is a paragraph that has text, all of it in such a font."""
    if element.tag != qn("w:p"):
        return False
    own = styles.of(element).font or ""
    runs = [
        run for run in element.iter(qn("w:r")) if any((text.text or "").strip() for text in run.iterchildren(qn("w:t")))
    ]
    return bool(runs) and all(_EQUALLY_WIDE.fullmatch(_font(run) or own) for run in runs)


def _font(run: Any) -> str | None:
    fonts = run.find(f"{qn('w:rPr')}/{qn('w:rFonts')}")
    name: str | None = fonts.get(qn("w:ascii")) if fonts is not None else None
    return name


def _text(line: Any) -> str:
    return "".join(text.text or "" for text in line.iter(qn("w:t")))
