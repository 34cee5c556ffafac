"""What a PDF's pages hold beside their text: running heads, contents, footnotes, captions, code; and pages that fail."""

from __future__ import annotations

import pytest
from reportlab.lib import pagesizes
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import PageBreak, Paragraph

from documents.media_types import PDF
from indexing.blocks import BlockKind, Gap, GapReason, LeftOut, LeftOutReason
from indexing.errors import DocumentTooLarge
from indexing.parsers import limits
from indexing.parsers.pdf import parse
from indexing.parsers.sandbox import parse_in_child
from tests.unit.blocks_asserts import outline, squeezed
from tests.unit.pdf_making import BODY, BODY_ZH, CHINESE, LONG, LONG_ZH, drawn, parsed, typeset


def test_letters_alone_in_their_run_are_read_without_the_fonts_of_a_machine() -> None:
    """Of a font that the file does not bring along. Drawn downwards, as on the back of a book."""

    def draw(canvas: Canvas) -> None:
        canvas.setFont(CHINESE, 14)
        for number, letter in enumerate("安全第一预防为主"):
            canvas.drawString(500, 780 - 18 * number, letter)

    document = parse_in_child(drawn(draw), PDF, "a.pdf", timeout=60.0, memory_bytes=2**30)
    assert outline(document) == [("paragraph", "安全第一预防为主")]


def test_what_repeats_is_told_with_its_pages() -> None:
    def furniture(canvas: Canvas, template: object) -> None:
        page = canvas.getPageNumber()
        canvas.setFont(CHINESE, 9)
        canvas.drawString(72, 810, "员工手册" if page % 2 else "Staff handbook")
        canvas.drawString(72, 40, "Company confidential")
        canvas.drawCentredString(300, 25, f"第 {page} 页 共 6 页")

    story: list[object] = []
    for number in range(1, 7):
        story += [Paragraph(f"Only page {number} says this.", BODY), PageBreak()]
    document = parsed(typeset(story, furniture))
    assert [text for _, text in outline(document)] == [f"Only page {number} says this." for number in range(1, 7)]
    assert set(document.left_out) == {
        LeftOut(LeftOutReason.PAGE_HEADER, "员工手册", (1, 3, 5)),
        LeftOut(LeftOutReason.PAGE_HEADER, "Staff handbook", (2, 4, 6)),
        LeftOut(LeftOutReason.PAGE_FOOTER, "Company confidential", (1, 2, 3, 4, 5, 6)),
        LeftOut(LeftOutReason.PAGE_NUMBER, "第 1 页共 6 页", (1, 2, 3, 4, 5, 6)),
    }


def test_running_heads_that_name_the_chapter_are_left_out_and_its_heading_stays() -> None:
    chapters = ["第一章 总则"] * 3 + ["第二章 年休假"] * 3

    def furniture(canvas: Canvas, template: object) -> None:
        canvas.setFont(CHINESE, 9)
        canvas.drawString(72, 810, chapters[canvas.getPageNumber() - 1])

    story: list[object] = []
    for number, chapter in enumerate(chapters):
        story += [Paragraph(chapter, BODY_ZH)] if number % 3 == 0 else []
        story += [Paragraph(f"这一页的内容是第{number}条，别处没有。", BODY_ZH), PageBreak()]
    document = parsed(typeset(story, furniture))
    assert [text for kind, text in outline(document) if kind == "h1"] == ["第一章 总则", "第二章 年休假"]
    assert [text for _, text in outline(document)].count("第一章 总则") == 1
    assert {(left.text, left.pages) for left in document.left_out} == {
        ("第一章 总则", (1, 2, 3)),
        ("第二章 年休假", (4, 5, 6)),
    }


@pytest.mark.parametrize("shape", ["Page {} of 2", "- {} -", "第{}页/共2页"])
def test_page_numbers_of_short_documents_are_left_out(shape: str) -> None:
    def furniture(canvas: Canvas, template: object) -> None:
        canvas.setFont(CHINESE, 9)
        canvas.drawCentredString(300, 30, shape.format(canvas.getPageNumber()))

    document = parsed(typeset([Paragraph("One.", BODY), PageBreak(), Paragraph("Two.", BODY)], furniture))
    assert [text for _, text in outline(document)] == ["One.", "Two."]
    assert {left.reason for left in document.left_out} == {LeftOutReason.PAGE_NUMBER}


@pytest.mark.parametrize(
    ("title", "entries"),
    [
        ("Contents", ["1 Scope", "2 Leave of the staff", "2.1 Sick leave", "2.2 Days without pay", "3 Travel"]),
        ("目 录", ["第一章 总则", "第二章 年休假", "第三章 病假", "第四章 差旅", "附则"]),
    ],
)
@pytest.mark.parametrize("dots", [True, False])
def test_a_table_of_contents_is_left_out(title: str, entries: list[str], dots: bool) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont(CHINESE, 11)
        canvas.drawString(72, 760, title)
        for number, entry in enumerate(entries):
            y = 730 - 18 * number
            canvas.drawString(72, y, f"{entry} {'.' * 60}" if dots else entry)
            canvas.drawRightString(520, y, str(3 + 2 * number))
        canvas.drawString(72, 600, "What follows is ordinary text.")

    document = parsed(drawn(draw))
    assert outline(document) == [("paragraph", "What follows is ordinary text.")]
    (left,) = document.left_out
    assert (left.reason, left.pages) == (LeftOutReason.CONTENTS, (1,))
    assert [entry for entry in entries if entry not in left.text] == []
    assert squeezed(left.text).startswith(squeezed(title))


def test_dots_before_prices_are_no_contents() -> None:
    def draw(canvas: Canvas) -> None:
        for number, (what, price) in enumerate([("Coffee", 30), ("Tea", 20), ("Water", 10), ("Soup", 55), ("Rice", 8)]):
            canvas.drawString(72, 700 - 18 * number, f"{what} .......... {price}")

    document = parsed(drawn(draw))
    assert not document.left_out
    assert "Coffee" in document.text


@pytest.mark.parametrize("chinese", [False, True])
def test_a_footnote_is_not_in_the_middle_of_a_sentence(chinese: bool) -> None:
    lines = (
        [
            [
                "本办法适用于与公司签订劳动合同的全体员工，实习生参照",
                "执行，但劳务派遣人员按照派遣单位与公司之间的协议办理",
            ],
            ["手续。"],
        ]
        if chinese
        else [
            [
                "The leave is granted to every member of the staff who has",
                "worked for the company for a year and who has not",
            ],
            ["resigned."],
        ]
    )
    note = "1 见《劳动合同法》第三条。" if chinese else "1 See the act on labour, part three."

    def draw(canvas: Canvas) -> None:
        for page, texts in enumerate(lines):
            canvas.setFont(CHINESE, 12)
            for number, text in enumerate(texts):
                canvas.drawString(72, 140 - 18 * number if page == 0 else 760, text)
            if page == 0:
                canvas.setFont(CHINESE, 8)
                canvas.drawString(72, 60, note)
                canvas.showPage()

    document = parsed(drawn(draw))
    sentence = ("" if chinese else " ").join([*lines[0], *lines[1]])
    assert outline(document) == [("paragraph", sentence), ("paragraph", note)]
    assert [(block.locator.page, block.locator.page_end) for block in document.blocks] == [(1, 2), (1, None)]


def test_captions() -> None:
    story = [
        "Figure 3. The way to the office",
        "图 2-1 组织结构",
        "Table 4 shows that nobody was ill.",
        LONG,
        "表3：各地人数",
    ]
    styled = [Paragraph(text, BODY if text.isascii() else BODY_ZH) for text in story]
    assert outline(parsed(typeset(styled))) == [
        ("caption", story[0]),
        ("caption", story[1]),
        ("paragraph", story[2]),
        ("paragraph", LONG),
        ("caption", story[4]),
    ]


def test_code_keeps_its_lines_and_how_far_they_are_moved_in() -> None:
    code = ["def days(years):", "    if years < 1:", "        return 0", "    return 15"]

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 11)
        for number in range(8):
            canvas.drawString(
                72, 740 - 14 * number, "The days of leave follow from the years that somebody worked here,"
            )
        canvas.setFont("Courier", 10)
        for number, line in enumerate(code):
            canvas.drawString(72 + 6 * (len(line) - len(line.lstrip())), 600 - 12 * number, line.lstrip())

    block = parsed(drawn(draw)).blocks[-1]
    assert (block.kind, block.text) == (BlockKind.CODE, "\n".join(code))
    assert len(block.parts) == 4


def test_a_page_over_its_limit_is_a_gap_and_the_rest_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PAGE_CHARACTERS", limits.Limit(100, limits.PAGE_CHARACTERS.sentence))
    document = parsed(
        typeset([Paragraph("Short.", BODY), PageBreak(), Paragraph(LONG, BODY), PageBreak(), Paragraph("Also.", BODY)])
    )
    assert [(block.locator.page, block.text) for block in document.blocks] == [(1, "Short."), (3, "Also.")]
    assert document.gaps == (Gap(GapReason.UNREADABLE, page=2),)
    assert document.pages == 3
    with pytest.raises(DocumentTooLarge):
        parse(typeset([Paragraph(LONG_ZH * 3, BODY_ZH)]))


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_a_table_on_a_turned_page(rotation: int) -> None:
    """Drawn so that a reader sees it upright."""
    rows = [("Land", "Cases"), ("Austria", "12"), ("Belgium", "7"), ("Chile", "31")]

    def draw(canvas: Canvas) -> None:
        width, height = pagesizes.A4
        canvas.setPageRotation(rotation)
        canvas.translate(*{90: (width, 0), 180: (width, height), 270: (0, height)}[rotation])
        canvas.rotate(rotation)
        for number, cells in enumerate(rows):
            for column, text in enumerate(cells):
                canvas.drawString(100 + 150 * column, 400 - 16 * number, text)

    (block,) = parsed(drawn(draw)).blocks
    assert block.rows == tuple(rows)


@pytest.mark.parametrize(("label", "value"), [("Name:", "Jane Doe"), ("姓名：", "Zhang San")])
def test_what_was_filled_in_stands_behind_its_label(label: str, value: str) -> None:
    def draw(canvas: Canvas) -> None:
        form = canvas.acroForm
        canvas.setFont(CHINESE, 11)
        canvas.drawString(72, 700, label)
        form.textfield(name="name", value=value, x=150, y=694, width=200, height=20)
        canvas.drawString(72, 650, "Paid leave")
        for number, (text, ticked) in enumerate([("yes", True), ("no", False)]):
            form.checkbox(name=text, checked=ticked, x=150 + 80 * number, y=648, size=14)
            canvas.drawString(170 + 80 * number, 650, text)

    assert [text for _, text in outline(parsed(drawn(draw)))] == [f"{label} {value}", "Paid leave ☑ yes ☐ no"]


def test_what_readers_noted_is_told_and_is_no_text() -> None:
    def draw(canvas: Canvas) -> None:
        for page, (text, note) in enumerate(
            [("The leave is paid.", "Is it?"), ("Nobody works on Sunday.", "除了保安 (why?)")]
        ):
            if page:
                canvas.showPage()
            canvas.drawString(72, 700, text)
            canvas.textAnnotation(note, (300, 690, 320, 710))
            canvas.highlightAnnotation("Check this", (72, 695, 120, 712))

    document = parsed(drawn(draw))
    assert [text for _, text in outline(document)] == ["The leave is paid.", "Nobody works on Sunday."]
    assert document.left_out == (
        LeftOut(LeftOutReason.COMMENT, "Is it? | Check this", (1,)),
        LeftOut(LeftOutReason.COMMENT, "除了保安 (why?) | Check this", (2,)),
    )


def test_a_form_without_any_other_text() -> None:
    document = parsed(
        drawn(lambda canvas: canvas.acroForm.textfield(name="a", value="Only this", x=72, y=600, width=200, height=20))
    )
    (block,) = document.blocks
    assert block.text == "Only this"
    assert block.locator.region is not None
    assert 200 < block.locator.region[1] < 250


@pytest.mark.parametrize("first_lines", [
    [f"Invoice No. {number}" for number in (4711, 4748, 4785, 4822, 4859, 4896)],
    [f"员工编号:{number}" for number in (4711, 4748, 4785, 4822, 4859, 4896)],
    [f"第{number}章" for number in range(1, 7)],
    [f"Chapter {number}" for number in range(1, 7)],
])  # fmt: skip
def test_first_lines_that_differ_in_a_number_are_content(first_lines: list[str]) -> None:
    """A number that does not count the pages is what the line says; a chapter on each page counts like they do."""

    def draw(canvas: Canvas) -> None:
        for at, text in enumerate(first_lines):
            if at:
                canvas.showPage()
            canvas.setFont(CHINESE, 11)
            canvas.drawString(72, 800, text)
            for row in range(12):
                canvas.drawString(72, 760 - 16 * row, f"What page {at} says in its row {row}, with some more words.")

    document = parsed(drawn(draw))
    assert [text for text in first_lines if text not in document.text] == []
    assert not [left for left in document.left_out if left.text in first_lines]


WORDS = ("one", "two", "three", "four")


@pytest.mark.parametrize("form", ["第 {0} 页 / Page {0} of 4", "Page {0} of 4", "第{0}页 共4页", "- {0} -"])
def test_page_numbers_in_one_language_or_two(form: str) -> None:
    def draw(canvas: Canvas) -> None:
        for number in range(1, 5):
            canvas.setFont(CHINESE, 11)
            canvas.drawString(250, 30, form.format(number))
            canvas.drawString(72, 600, f"Only this stands on page {WORDS[number - 1]}.")
            if number < 4:
                canvas.showPage()

    document = parsed(drawn(draw))
    assert form.format(2) not in document.text
    assert {left.reason for left in document.left_out} == {LeftOutReason.PAGE_NUMBER}


def test_a_price_list_is_no_table_of_contents() -> None:
    def draw(canvas: Canvas) -> None:
        for page in range(3):
            for row in range(30):
                number = 30 * page + row
                text = f"Replacement part {number} " + "." * 20 + f" {100 + number}"
                canvas.drawString(72, 780 - 20 * row, text)
            if page < 2:
                canvas.showPage()

    document = parsed(drawn(draw))
    assert [number for number in range(90) if f"Replacement part {number}" not in document.text] == []
    assert not [left for left in document.left_out if left.reason is LeftOutReason.CONTENTS]
