"""What stands at the edge of a PDF's pages: a line that says something stays, whatever it looks like."""

from __future__ import annotations

import pytest
from reportlab.pdfgen.canvas import Canvas

from indexing.blocks import LeftOut, LeftOutReason, ParsedDocument
from tests.unit.pdf_making import CHINESE, drawn, parsed

NAMES = ("Ann Lee", "Bo Wu", "Cy Day", "Di Ray", "Ed Fox", "Flo May")
NUMERALS = "一二三四五六七八九"

Edge = tuple[float, float, str]  # from left, from below, text


def edged(pages: list[list[Edge]], *, size: float = 11) -> ParsedDocument:
    """Pages with these lines at their edges and a body of ten lines, all in type of one size."""

    def draw(canvas: Canvas) -> None:
        for number, edges in enumerate(pages):
            if number:
                canvas.showPage()
            canvas.setFont(CHINESE, size)
            for left, bottom, text in edges:
                canvas.drawString(left, bottom, text)
            for row in range(10):
                canvas.drawString(
                    72, 700 - 16 * row, f"What page {NUMERALS[number]} says in its row {row} of the text."
                )

    return parsed(drawn(draw))


@pytest.mark.parametrize("bottom", [805, 40])
@pytest.mark.parametrize(
    "form",
    [
        "Patient {n}",  # the same on all pages but for a number that counts like these
        "患者 {n}：",
        "患者{n}号的记录",
        "{n} patients were seen",
        "{n}. Heat the oven",
        "Step {n} of 6",
        "The step {n} is done by two",
        "第{n}条",
        "Batch 2024-06-0{n}",
        "Patient {n}: {name}",  # and different ones
        "{name} is patient {n}",
        "The patient {n} is {name}.",
        "step {n}.{m}: set {m} volts",
    ],
)
def test_a_line_with_a_number_is_text(form: str, bottom: float) -> None:
    texts = [form.format(n=number, m=7 * number, name=NAMES[number - 1]) for number in range(1, 7)]
    document = edged([[(72, bottom, text)] for text in texts])
    assert [text for text in texts if text not in document.text] == []
    assert not document.left_out


def test_a_record_that_is_named_on_each_of_its_pages_keeps_its_name_once() -> None:
    texts = [f"Patient {number}: {name}" for number, name in zip((71, 93, 18), NAMES, strict=False) for _ in range(2)]
    document = edged([[(72, 805, text)] for text in texts])
    assert [document.text.count(text) for text in texts[::2]] == [1, 1, 1]
    assert {(left.text, left.pages) for left in document.left_out} == {
        (text, (2 * at + 2,)) for at, text in enumerate(texts[::2])
    }


def test_a_page_of_its_own_among_running_heads_keeps_its_first_line() -> None:
    texts = ["Leave"] * 4 + ["Travel"] * 3 + ["Ask Ann Lee about shoes"]
    document = edged([[(72, 805, text)] for text in texts])
    assert "Ask Ann Lee about shoes" in document.text


@pytest.mark.parametrize(
    "form", ["Staff handbook | {n}", "{n} · 员工手册", "员工手册 — {n} —", "Leave | {n} | Ann Lee"]
)
def test_a_number_that_a_mark_parts_counts_the_pages(form: str) -> None:
    texts = [form.format(n=number) for number in range(1, 5)]
    document = edged([[(72, 30, text)] for text in texts])
    assert document.left_out == (LeftOut(LeftOutReason.PAGE_FOOTER, " | ".join(texts), (1, 2, 3, 4)),)


def test_a_number_far_from_the_words_counts_the_pages() -> None:
    document = edged([[(72, 30, "Staff handbook"), (480, 30, str(number))] for number in range(1, 5)])
    (left,) = document.left_out
    assert left.text.startswith("Staff handbook 1 | Staff handbook 2")
    assert "handbook" not in document.text


@pytest.mark.parametrize("text", ["12 of 20", "12/20", "12", "xii", "Page 3", "第3页", "Page 3 of the book"])
def test_one_page_tells_no_number_of_it_beside_the_text(text: str) -> None:
    """What stands close to the text, or is no page's number in so many words, is text."""
    document = edged([[(72, 800, "Ann Lee has seen"), (72, 784, text), (72, 60, text), (72, 44, "in all.")]])
    assert not document.left_out
    assert document.text.count(text) == 2


@pytest.mark.parametrize("text", ["12 of 20", "12/20", "12"])
def test_one_page_tells_no_number_that_is_not_named(text: str) -> None:
    document = edged([[(280, 30, text)]])
    assert text in document.text
    assert not document.left_out


@pytest.mark.parametrize("text", ["Page 3", "- 3 -", "第 3 页", "Page 3 of 9", "第3页 共9页"])
def test_one_page_tells_its_number_where_it_is_named_and_alone(text: str) -> None:
    (left,) = edged([[(280, 30, text)]]).left_out
    assert left.reason is LeftOutReason.PAGE_NUMBER
