"""Text in columns beside each other, and what else only looks like a table of a PDF."""

from __future__ import annotations

import pytest
from reportlab.lib.utils import simpleSplit
from reportlab.pdfgen.canvas import Canvas

from indexing.blocks import BlockKind
from tests.unit.blocks_asserts import outline
from tests.unit.pdf_making import CHINESE, drawn, parsed

STORY = (
    "The committee met on Tuesday to discuss the new rules for the harbour. Nobody had expected that so many people would "
    "come, and the hall was soon full. Fishermen, traders and the owners of small boats asked for more time before the rules "
    "take effect. The mayor promised an answer within a month. She said that the town had to think of its visitors, too, and "
    "that the quay would stay open at night for all who pay the fee of the harbour. "
)
STORY_ZH = (
    "委员会星期二开会讨论港口的新规定。来的人比预计的多，会场很快就坐满了。渔民、商人和小船的主人都要求推迟实施，"
    "市长答应一个月之内给出答复，并且说港口也要为游客考虑，夜间仍然开放。"
)


def in_columns(text: str, columns: int, *, by_rows: bool, size: float = 9, title: str = "") -> bytes:
    """The text broken into lines and set in columns of one length, but for the last; drawn row by row or column by column."""
    width = 460 / columns - 16
    if text.isascii():
        lines = simpleSplit(text, "Helvetica", size, width)
    else:
        letters = int(width / size)
        lines = [text[at : at + letters] for at in range(0, len(text), letters)]
    rows = -(-len(lines) // columns)
    places = [(at // rows, at % rows) for at in range(len(lines))]

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica" if text.isascii() else CHINESE, size)
        if title:
            canvas.drawString(60, 790, title)
        drawing = sorted(zip(places, lines, strict=True), key=lambda item: item[0][::-1] if by_rows else item[0])
        for (column, row), line in drawing:
            canvas.drawString(60 + 460 / columns * column, 760 - 1.3 * size * row, line)

    return drawn(draw)


@pytest.mark.parametrize("by_rows", [True, False])
@pytest.mark.parametrize("columns", [2, 3, 4])
@pytest.mark.parametrize("text", [STORY * 4, STORY_ZH * 6], ids=["en", "zh"])
def test_columns_of_text_are_read_one_after_the_other(text: str, columns: int, by_rows: bool) -> None:
    document = parsed(in_columns(text, columns, by_rows=by_rows))
    assert "".join(document.text.split()) == "".join(text.split())
    assert {block.kind for block in document.blocks} == {BlockKind.PARAGRAPH}


def test_columns_of_words_without_a_mark_are_read_one_after_the_other() -> None:
    words = STORY.lower().replace(".", "").replace(",", "").split()
    document = parsed(in_columns(" ".join(words * 3), 3, by_rows=True))
    assert "".join(document.text.split()) == "".join(words * 3)


def test_a_title_over_columns_comes_before_them() -> None:
    document = parsed(in_columns(STORY * 4, 3, by_rows=True, title="News of the harbour"))
    assert "".join(document.text.split()).startswith("NewsoftheharbourThecommitteemet")


def test_terms_and_what_they_mean_stay_beside_each_other() -> None:
    """The left column is no text that goes on: read by itself, it would say nothing."""
    terms = {
        "Berth": ["the place at a quay where a ship", "lies and is loaded"],
        "Draught": ["how deep a ship lies in the water", "when it is loaded"],
        "Pilot": ["somebody who knows the harbour and", "brings the ship to its berth"],
        "Quay": ["the wall at which ships are made", "fast with their ropes"],
    }

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        y = 760
        for term, lines in terms.items():
            canvas.drawString(72, y, term)
            for line in lines:
                canvas.drawString(160, y, line)
                y -= 13

    text = " ".join(parsed(drawn(draw)).text.replace("|", " ").split())
    assert [term for term, lines in terms.items() if f"{term} {lines[0]}" not in text] == []


@pytest.mark.parametrize(
    "cells",
    [
        [("annual leave", "fifteen days"), ("sick leave", "as needed"), ("unpaid leave", "by agreement")] * 3,
        [("张小明", "财务部", "北京市"), ("李明", "技术部", "上海市"), ("王大伟", "行政部", "广州市")] * 3,
    ],
)
def test_words_in_ruled_columns_are_a_table(cells: list[tuple[str, ...]]) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont(CHINESE, 10)
        for number, row in enumerate(cells):
            for column, text in enumerate(row):
                canvas.drawString(72 + 130 * column, 700 - 16 * number, text)
            canvas.line(72, 696 - 16 * number, 440, 696 - 16 * number)

    (table,) = parsed(drawn(draw)).blocks
    assert table.rows == tuple(cells)


def test_phrases_in_a_few_rows_are_a_table() -> None:
    cells = [
        ("annual leave", "fifteen days", "every January"),
        ("sick leave", "as needed by", "doctor on duty"),
        ("unpaid leave", "by agreement", "head of office"),
    ] * 3

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for number, row in enumerate(cells):
            for column, text in enumerate(row):
                canvas.drawString(72 + 130 * column, 700 - 16 * number, text)

    (table,) = parsed(drawn(draw)).blocks
    assert table.rows == tuple(cells)


PROGRAM = [f"    x{number:<6} = {number * 7:<8} # the {number}" for number in range(12)]
PROGRAM_C = [
    "int    count   = 0;    /* of all  */",
    'char  *name    = "a";  /* a name  */',
    "double ratio   = 1.5;  /* a ratio */",
    "long   size    = 9;    /* in kB   */",
]


@pytest.mark.parametrize("lines", [PROGRAM, PROGRAM_C])
def test_a_program_with_its_signs_below_each_other_is_no_table(lines: list[str]) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for number in range(9):
            canvas.drawString(72, 780 - 14 * number, "What the program does is told above it in a few words of prose.")
        canvas.setFont("Courier", 10)
        for number, line in enumerate(lines):
            canvas.drawString(72, 600 - 14 * number, line)

    block = parsed(drawn(draw)).blocks[-1]
    assert block.kind is BlockKind.CODE
    assert [line.split() for line in block.text.split("\n")] == [line.split() for line in lines]


def test_a_table_of_a_typewriter_is_one() -> None:
    rows = [("Country", "Cases", "Share"), *((f"Land {n}", f"{n}50", f"{n}.5") for n in range(1, 7))]

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Courier", 10)
        for number, (land, cases, share) in enumerate(rows):
            canvas.drawString(72, 700 - 14 * number, f"{land:<14}{cases:>8}{share:>10}")

    (table,) = parsed(drawn(draw)).blocks
    assert table.rows == tuple(rows)


def test_labels_between_the_lines_of_a_chart_are_no_table() -> None:
    """Panels beside and below each other, each with its name on top and lines across it."""

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 7)
        for row in range(2):
            for column in range(4):
                left, bottom = 72 + 90 * column, 500 - 120 * row
                canvas.rect(left, bottom, 90, 120)
                canvas.drawString(left + 20, bottom + 112, f"Land{row}{column}")
                for line in range(6):
                    canvas.line(left, bottom + 18 * line, left + 90, bottom + 18 * line)

    document = parsed(drawn(draw))
    assert "table" not in {kind for kind, _ in outline(document)}
    assert [
        text for text in (f"Land{row}{column}" for row in range(2) for column in range(4)) if text not in document.text
    ] == []


def test_a_legend_beside_the_axis_of_a_chart_is_no_table() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 9)
        for number in range(5):
            canvas.drawString(72, 700 - 24 * number, f"{14 - 2 * number}000")
            canvas.line(105, 703 - 24 * number, 420, 703 - 24 * number)
        for number, text in enumerate(["Typhus", "Other kinds", "Unknown"]):
            canvas.drawString(140, 700 - 12 * number, text)
        for number, text in enumerate(["Jan", "Feb", "Mar", "Apr"]):
            canvas.drawString(120 + 80 * number, 560, text)

    assert "table" not in {kind for kind, _ in outline(parsed(drawn(draw)))}


def test_a_form_that_is_not_filled_in_is_a_table() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 9)
        for row in range(6):
            for column in range(3):
                canvas.rect(72 + 120 * column, 700 - 20 * row, 120, 20)
        for column, text in enumerate(["Day", "Hours", "Signed"]):
            canvas.drawString(80 + 120 * column, 706, text)
        for row, text in enumerate(["Monday", "Tuesday", "Wednesday"], start=1):
            canvas.drawString(80, 706 - 20 * row, text)
        canvas.drawString(200, 686, "8")

    (table,) = parsed(drawn(draw)).blocks
    assert table.rows == (("Day", "Hours", "Signed"), ("Monday", "8", ""), ("Tuesday", "", ""), ("Wednesday", "", ""))
