"""What was filled in on a PDF: values of form fields, ticks, text written over the page; and what was noted at its text."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pypdfium2.raw as pdfium_c

from indexing.locators import Region, around
from indexing.parsers.clean import tidy
from indexing.parsers.pdf_lines import Transform
from indexing.parsers.pdf_types import Glyph
from indexing.parsers.pdf_words import Row, Word, rows_of

_MOST_FIELDS = 1_000  # of a page
_MOST_BYTES = 40_000  # of one value
_TICKS = {True: "☑", False: "☐"}
_TICKED = (pdfium_c.FPDF_FORMFIELD_CHECKBOX, pdfium_c.FPDF_FORMFIELD_RADIOBUTTON)
_WRITTEN = (pdfium_c.FPDF_FORMFIELD_TEXTFIELD, pdfium_c.FPDF_FORMFIELD_COMBOBOX, pdfium_c.FPDF_FORMFIELD_LISTBOX)
_COMMENTS = (
    pdfium_c.FPDF_ANNOT_TEXT,
    pdfium_c.FPDF_ANNOT_HIGHLIGHT,
    pdfium_c.FPDF_ANNOT_UNDERLINE,
    pdfium_c.FPDF_ANNOT_SQUIGGLY,
    pdfium_c.FPDF_ANNOT_STRIKEOUT,
    pdfium_c.FPDF_ANNOT_CARET,
    pdfium_c.FPDF_ANNOT_SQUARE,
    pdfium_c.FPDF_ANNOT_CIRCLE,
    pdfium_c.FPDF_ANNOT_LINE,
    pdfium_c.FPDF_ANNOT_POLYGON,
    pdfium_c.FPDF_ANNOT_POLYLINE,
    pdfium_c.FPDF_ANNOT_INK,
    pdfium_c.FPDF_ANNOT_STAMP,
)
_UNSEEN = pdfium_c.FPDF_ANNOT_FLAG_HIDDEN | pdfium_c.FPDF_ANNOT_FLAG_NOVIEW
_LETTER = 0.5  # of a field's height: the most that one takes
_NEAR = 40.0  # points between a box and its label
_STEP = 1e-6  # between two characters of a field, in the order of the page


@dataclass(frozen=True, slots=True)
class Field:
    text: str
    region: Region
    is_tick: bool = False


def read_fields(document: Any, page: Any, to_display: Transform) -> list[Field]:
    """Those that a reader sees, in the file's order. `document` has its forms loaded, if it has some."""
    return [field for annotation in _annotations(page) for field in _read(document.formenv, annotation, to_display)]


def read_comments(page: Any) -> list[str]:
    """What readers noted at the page's text: at marks in it, and in notes that open beside it."""
    texts = [
        tidy(_string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"Contents"))
        for annotation in _annotations(page)
        if pdfium_c.FPDFAnnot_GetSubtype(annotation) in _COMMENTS
    ]
    return [text for text in texts if text]


def with_fields(glyphs: list[Glyph], fields: Sequence[Field]) -> list[Glyph]:
    """The page's characters with those of the fields behind their labels; a tick stands before its label."""
    rows = rows_of(glyphs)
    used: Counter[float] = Counter()
    added = []
    for field in fields:
        place = _place(field, rows)
        left, top, right, bottom = field.region
        width = min((right - left) / (len(field.text) + 1), _LETTER * (bottom - top))
        for at, text in enumerate(f"{field.text} " if field.is_tick else f" {field.text}"):
            used[place] += 1
            x = left + at * width
            order = place + used[place] * _STEP
            added.append(Glyph(text, order, (x, top, x + width, bottom), int(place)))
    return sorted([*glyphs, *added], key=lambda glyph: glyph.order)


def _annotations(page: Any) -> Iterator[Any]:
    """Those that a reader sees."""
    for number in range(min(pdfium_c.FPDFPage_GetAnnotCount(page.raw), _MOST_FIELDS)):
        annotation = pdfium_c.FPDFPage_GetAnnot(page.raw, number)
        if not annotation:
            continue
        try:
            if not pdfium_c.FPDFAnnot_GetFlags(annotation) & _UNSEEN:
                yield annotation
        finally:
            pdfium_c.FPDFPage_CloseAnnot(annotation)


def _read(forms: Any, annotation: Any, to_display: Transform) -> Iterator[Field]:
    box = pdfium_c.FS_RECTF()
    kind = pdfium_c.FPDFAnnot_GetSubtype(annotation)
    if not pdfium_c.FPDFAnnot_GetRect(annotation, box):
        return
    (x0, y0), (x1, y1) = to_display(box.left, box.top), to_display(box.right, box.bottom)
    region = around([(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))])
    text = ""
    if kind == pdfium_c.FPDF_ANNOT_FREETEXT:
        text = _string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"Contents")
    elif kind == pdfium_c.FPDF_ANNOT_WIDGET and forms is not None:
        field = pdfium_c.FPDFAnnot_GetFormFieldType(forms.raw, annotation)
        if field in _TICKED:
            yield Field(_TICKS[bool(pdfium_c.FPDFAnnot_IsChecked(forms.raw, annotation))], region, is_tick=True)
        elif field in _WRITTEN:
            text = _string(pdfium_c.FPDFAnnot_GetFormFieldValue, forms.raw, annotation)
    lines = [line for line in text.replace("\r", "\n").split("\n") if line.strip()]
    height = (region[3] - region[1]) / max(len(lines), 1)
    for number, line in enumerate(lines):
        top = region[1] + number * height
        yield Field(line, (region[0], top, region[2], top + height))


def _string(read: Any, *of: Any) -> str:
    length = min(read(*of, None, 0), _MOST_BYTES)
    buffer = ctypes.create_string_buffer(length + 2)
    read(*of, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), length)
    return buffer.raw[:length].decode("utf-16-le", "ignore").rstrip("\0")


def _place(field: Field, rows: Sequence[Row]) -> float:
    """Behind which character of the page the field is read."""
    left, top, right, bottom = field.region
    beside = [word for row in rows for word in row.words if top < (word.region[1] + word.region[3]) / 2 < bottom]
    before = [word for word in beside if word.region[2] <= left + 2]
    behind = [word for word in beside if 0 <= word.region[0] - right + 2 < _NEAR]
    if field.is_tick and behind:
        return min(glyph.order for glyph in min(behind, key=lambda word: word.region[0]).glyphs) - 0.5
    if before:
        return _end(max(before, key=lambda word: word.region[2]))
    above = [word for row in rows for word in row.words if word.region[3] <= top + 2]
    nearest = max(above, key=lambda word: (word.region[3], -abs(word.region[0] - left)), default=None)
    return -0.5 if nearest is None else _end(nearest)


def _end(word: Word) -> float:
    return max(glyph.order for glyph in word.glyphs)
