"""The sample workbook and the sample presentation, from blocks of a source: a heading of level 2 begins a sheet or a slide."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from openpyxl import Workbook
from openpyxl.styles import Font
from pptx import Presentation
from pptx.util import Inches, Pt

if TYPE_CHECKING:
    from kbsite.demo.make_samples import Block

Section = tuple[str, list["Block"]]
_TITLE, _TITLE_AND_CONTENT, _TITLE_ONLY = 0, 1, 5  # layouts of python-pptx's own template
_NUMBERS = ("0", "0%")  # how a whole number and a share are shown


def make_xlsx(blocks: Iterable[Block], title: str, made_at: datetime) -> bytes:
    """A title over each table is merged over its columns, a note stands below it."""
    book = Workbook()
    book.properties.title, book.properties.creator = title, "Qinglan Instruments"
    book.properties.created = made_at.replace(tzinfo=None)
    book.remove(book.active)
    for name, inside in _sections(blocks):
        sheet = book.create_sheet(name)
        for block in inside:
            for number, row in enumerate(block.rows):
                sheet.append([_typed(text) for text in row])
                for cell in sheet[sheet.max_row]:
                    cell.font = Font(bold=number == 0)
                    cell.number_format = _NUMBERS[1] if isinstance(cell.value, float) else "General"
            if block.kind == "paragraph":
                sheet.append([block.text])
        width = max(len(row) for block in inside for row in block.rows)
        sheet.merge_cells(start_row=1, end_row=1, start_column=1, end_column=width)
    saved = io.BytesIO()
    book.save(saved)
    return saved.getvalue()


def make_pptx(blocks: Iterable[Block], title: str, made_at: datetime) -> bytes:
    """A slide with the title, then one with bullets or a table for each section."""
    deck = Presentation()
    core = deck.core_properties
    core.title, core.author, core.last_modified_by = title, "Qinglan Instruments", "Qinglan Instruments"
    core.created = core.modified = made_at
    deck.slides.add_slide(deck.slide_layouts[_TITLE]).shapes.title.text = title
    for name, inside in _sections(blocks):
        table = next((block.rows for block in inside if block.rows), None)
        slide = deck.slides.add_slide(deck.slide_layouts[_TITLE_ONLY if table else _TITLE_AND_CONTENT])
        slide.shapes.title.text = name
        if table:
            size = Inches(0.7), Inches(1.8), Inches(8.6), Inches(3)
            drawn = slide.shapes.add_table(len(table), len(table[0]), *size).table
            for number, row in enumerate(table):
                for column, text in enumerate(row):
                    drawn.cell(number, column).text = text
        else:
            frame = slide.placeholders[1].text_frame
            for number, block in enumerate(inside):
                paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
                paragraph.text, paragraph.font.size = block.text, Pt(20)
    saved = io.BytesIO()
    deck.save(saved)
    return saved.getvalue()


def _sections(blocks: Iterable[Block]) -> Iterator[Section]:
    found: list[Section] = []
    for block in blocks:
        if block.kind == "heading" and block.level == 2:
            found.append((block.text, []))
        elif found:
            found[-1][1].append(block)
    yield from found


def _typed(text: str) -> str | int | float:
    if text.isdecimal():
        return int(text)
    return int(text[:-1]) / 100 if text.endswith("%") and text[:-1].isdecimal() else text
