"""Which lines of a PDF are headings, where only their type tells."""

from __future__ import annotations

import pytest
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph

from tests.unit.blocks_asserts import outline
from tests.unit.pdf_making import BODY, LONG, drawn, parsed, typeset


def test_a_title_in_a_font_of_its_own_is_a_heading() -> None:
    def draw(canvas: Canvas) -> None:
        y = 740.0
        for title in ("Boots and shoes", "Gloves"):
            canvas.setFont("Helvetica-Oblique", 11)
            canvas.drawString(72, y, title)
            canvas.setFont("Helvetica", 11)
            for line in (
                "They are given out in the store at the gate and are worn at",
                "all times when the machines are running in the hall.",
            ):
                y -= 13
                canvas.drawString(72, y, line)
            y -= 26

    kinds = outline(parsed(drawn(draw)))
    assert [text for kind, text in kinds if kind == "h1"] == ["Boots and shoes", "Gloves"]
    assert len(kinds) == 4


def test_a_title_a_little_larger_than_the_text_is_a_heading_whatever_begins_the_text() -> None:
    """The first line of the text is in several fonts, as with a number and a mark of a footnote in it."""

    def draw(canvas: Canvas) -> None:
        y = 740.0
        for title in ("(1) Boots and shoes that are worn in the hall of the", "(2) Gloves"):
            canvas.setFont("Helvetica-Oblique", 11.9)
            canvas.drawString(72, y, title)
            for font, text in (
                ("Times-Roman", "2020.1.1. "),
                ("Helvetica", "given out "),
                ("Courier", "in the store and at the gate,"),
            ):
                canvas.setFont(font, 11)
                canvas.drawString({"T": 72, "H": 130, "C": 190}[font[0]], y - 14, text)
            canvas.setFont("Helvetica", 11)
            for number in range(3):
                canvas.drawString(
                    72, y - 28 - 14 * number, "they are worn at all times when the machines are running there"
                )
            y -= 110

    kinds = outline(parsed(drawn(draw)))
    assert [text for kind, text in kinds if kind == "h1"] == [
        "(1) Boots and shoes that are worn in the hall of the",
        "(2) Gloves",
    ]


@pytest.mark.parametrize("text", ["(Please choose all that are right)", "（可以多选）"])
def test_a_bold_aside_is_no_heading(text: str) -> None:
    story = [
        Paragraph(LONG, BODY),
        Paragraph(f"<b>{text}</b>" if text.isascii() else text, BODY),
        Paragraph(LONG, BODY),
    ]
    assert [kind for kind, _ in outline(parsed(typeset(story)))] == ["paragraph"] * 3
