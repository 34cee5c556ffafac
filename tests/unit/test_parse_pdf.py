from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reportlab.lib import pagesizes
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import PageBreak, Paragraph, Spacer, Table, TableStyle

from indexing.blocks import BlockKind
from indexing.errors import DocumentCorrupt, DocumentEncrypted, NoText
from indexing.parsers.pdf import parse
from tests.unit.blocks_asserts import outline, squeezed
from tests.unit.pdf_making import (
    BODY,
    BODY_ZH,
    CHINESE,
    GRID,
    H1,
    H1_ZH,
    H2,
    H2_ZH,
    LONG,
    LONG_ZH,
    drawn,
    parsed,
    typeset,
)


def test_paragraphs_and_headings_in_english() -> None:
    document = parsed(
        typeset(
            [
                Paragraph("Leave Policy", H1),
                Paragraph(LONG, BODY),
                Paragraph("1.1 Sick leave", H2),
                Paragraph(LONG, BODY),
                Paragraph("Call before nine.", BODY),
            ]
        )
    )
    assert document.pages == 1
    assert document.title == "Leave Policy"
    assert outline(document) == [
        ("h1", "Leave Policy"),
        ("paragraph", LONG),
        ("h2", "1.1 Sick leave"),
        ("paragraph", LONG),
        ("paragraph", "Call before nine."),
    ]
    assert document.blocks[3].heading_path == ("Leave Policy", "1.1 Sick leave")


def test_paragraphs_and_headings_in_chinese() -> None:
    document = parsed(
        typeset(
            [
                Paragraph("员工休假管理办法", H1_ZH),
                Paragraph("第一章 总则", H2_ZH),
                Paragraph(LONG_ZH, BODY_ZH),
                Paragraph(LONG_ZH, BODY_ZH),
                Paragraph("第二章 年休假", H2_ZH),
                Paragraph("年休假为十五天。", BODY_ZH),
            ]
        )
    )
    assert document.title == "员工休假管理办法"
    assert outline(document) == [
        ("h1", "员工休假管理办法"),
        ("h2", "第一章 总则"),
        ("paragraph", LONG_ZH),
        ("paragraph", LONG_ZH),
        ("h2", "第二章 年休假"),
        ("paragraph", "年休假为十五天。"),
    ]


def test_a_full_line_that_ends_a_sentence_does_not_end_an_indented_paragraph() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont(CHINESE, 12)
        for number, (indent, text) in enumerate(
            [(24, "每位员工只有一个账号，不得共用。"), (0, "系统管理员使用单独的管理账号。"), (24, "第二段。")]
        ):
            canvas.drawString(72 + indent, 700 - 22 * number, text)

    assert outline(parsed(drawn(draw))) == [
        ("paragraph", "每位员工只有一个账号，不得共用。系统管理员使用单独的管理账号。"),
        ("paragraph", "第二段。"),
    ]


def test_regions_are_points_from_the_top_left_corner() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        canvas.drawString(100, pagesizes.A4[1] - 200, "Here")

    left, top, right, bottom = parsed(drawn(draw)).blocks[0].locator.region or (0, 0, 0, 0)
    assert left == pytest.approx(100, abs=1)
    assert right == pytest.approx(100 + pdfmetrics.stringWidth("Here", "Helvetica", 10), abs=1)
    assert top < 200 < bottom
    assert 8 < bottom - top < 16


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_regions_of_turned_pages_are_as_displayed(rotation: int) -> None:
    """The text stands at the same place of the page as stored; where a reader sees it depends on the turn."""
    width, height = pagesizes.A4  # as displayed: reportlab swaps them for a quarter turn

    def draw(canvas: Canvas) -> None:
        canvas.setPageRotation(rotation)
        canvas.setFont("Helvetica", 10)
        canvas.drawString(100, 400, "Here")

    region = parsed(drawn(draw)).blocks[0].locator.region
    assert region is not None
    origins = {0: (100, height - 400), 90: (400, 100), 180: (width - 100, 400), 270: (width - 400, height - 100)}
    x, y = origins[rotation]
    assert region[0] - 1 <= x <= region[2] + 1
    assert region[1] - 1 <= y <= region[3] + 1
    wide = region[2] - region[0] > region[3] - region[1]
    assert wide == (rotation in (0, 180))


def test_words_broken_at_the_end_of_a_line_are_joined() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 11)
        canvas.drawString(72, 700, "All employ-")
        canvas.drawString(72, 686, "ees may")
        canvas.drawString(72, 672, "apply.")

    assert outline(parsed(drawn(draw))) == [("paragraph", "All employees may apply.")]


def test_a_broken_word_goes_on_whatever_the_layout_says() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 11)
        canvas.drawString(72, 714, "A line that is much longer than all of the others, and full")
        canvas.drawString(72, 700, "Trans-")
        canvas.drawString(72, 686, "Siberian")

    assert outline(parsed(drawn(draw)))[-1][1].endswith("TransSiberian")


def test_letter_spaced_chinese_is_joined_and_other_spaces_stay() -> None:
    def draw(canvas: Canvas) -> None:
        text = canvas.beginText(72, 700)
        text.setFont(CHINESE, 12, 40)
        text.textLine("放 假 通 知 书")
        text.textLine("第一章 总则")
        canvas.drawText(text)

    assert [text for _, text in outline(parsed(drawn(draw)))] == ["放假通知书", "第一章 总则"]


def test_a_ruled_table_is_rows_and_not_text_again() -> None:
    rows = [["项目", "Days", "备注"], ["Annual leave", "15", "每年\n一月"], ["Sick leave", "30", ""]]
    table = Table(rows, style=GRID)
    document = parsed(typeset([Paragraph("Before the table.", BODY), table, Paragraph("After the table.", BODY)]))
    assert outline(document) == [
        ("paragraph", "Before the table."),
        ("table", "项目 | Days | 备注\nAnnual leave | 15 | 每年一月\nSick leave | 30 | "),
        ("paragraph", "After the table."),
    ]
    block = document.blocks[1]
    assert block.header_rows == 1
    assert block.locator.page == 1
    region = block.locator.region
    assert region is not None
    assert document.blocks[0].locator.region[3] <= region[1] < region[3] <= document.blocks[2].locator.region[1]


def test_a_cell_merged_over_rows_is_in_each_and_a_label_over_each_of_its_columns() -> None:
    style = TableStyle([*GRID.getCommands(), ("SPAN", (0, 0), (1, 0)), ("SPAN", (0, 1), (0, 2))])
    rows = [["Across", "", "C"], ["Down", "1", "2"], ["", "3", "4"]]
    block = next(b for b in parsed(typeset([Table(rows, style=style)])).blocks if b.kind is BlockKind.TABLE)
    assert block.rows == (("Across", "Across", "C"), ("Down", "1", "2"), ("Down", "3", "4"))
    assert block.header_rows == 1


@pytest.mark.parametrize("header", [["No.", "Name"], ["序号", "姓名"]])
def test_a_table_over_a_page_break_is_one_with_its_header_once(header: list[str]) -> None:
    rows = [header, *([str(i), f"Person {i}"] for i in range(60))]
    document = parsed(typeset([Table(rows, style=GRID, repeatRows=1)]))
    (table,) = document.blocks
    assert table.kind is BlockKind.TABLE
    assert (table.locator.page, table.locator.page_end) == (1, 2)
    assert table.rows == tuple(map(tuple, rows))
    assert table.header_rows == 1
    assert [document.text[slice(*part.span)] for part in table.parts] == table.text.split("\n")
    pages = [part.page for part in table.parts]
    assert pages == sorted(pages)
    assert set(pages) == {1, 2}
    first_on_2 = table.parts[pages.index(2)]
    assert first_on_2.region is not None
    assert 90 < first_on_2.region[1] < 120  # below the header drawn again, not on it


def test_two_tables_on_two_pages_with_their_own_headers_stay_two() -> None:
    one = [["Country", "Cases"], *([f"Land {i}", str(i)] for i in range(5))]
    other = [["Country", "Deaths"], *([f"Land {i}", str(2 * i)] for i in range(5))]
    document = parsed(typeset([Table(one, style=GRID), PageBreak(), Table(other, style=GRID)]))
    assert [block.rows for block in document.blocks] == [tuple(map(tuple, one)), tuple(map(tuple, other))]


def test_a_box_round_a_paragraph_is_no_table() -> None:
    box = Table([[Paragraph(LONG, BODY)]], style=GRID)
    assert outline(parsed(typeset([box]))) == [("paragraph", LONG)]


def test_running_heads_and_page_numbers_are_left_out() -> None:
    def furniture(canvas: Canvas, template: object) -> None:
        canvas.setFont("Helvetica", 9)
        canvas.drawString(72, 810, "Company handbook")
        canvas.drawCentredString(300, 30, f"Page {canvas.getPageNumber()} of 4")
        canvas.drawCentredString(300, 55, ["i", "ii", "iii", "iv"][canvas.getPageNumber() - 1])

    story: list[object] = []
    for number in range(1, 5):
        story += [Paragraph(f"Chapter {number} text is here and nowhere else.", BODY), PageBreak()]
    document = parsed(typeset(story, furniture))
    assert document.pages == 4
    assert outline(document) == [("paragraph", f"Chapter {n} text is here and nowhere else.") for n in range(1, 5)]
    assert [block.locator.page for block in document.blocks] == [1, 2, 3, 4]


def test_in_two_pages_nothing_is_taken_for_a_running_head() -> None:
    def furniture(canvas: Canvas, template: object) -> None:
        canvas.drawString(72, 810, "Confidential draft")

    document = parsed(typeset([Paragraph(LONG, BODY), PageBreak(), Paragraph(LONG, BODY)], furniture))
    assert [text for _, text in outline(document)].count("Confidential draft") == 2


def test_a_paragraph_goes_on_over_a_page_break() -> None:
    story = [Spacer(1, 640), Paragraph(f"{LONG} {LONG}", BODY)]
    document = parsed(typeset(story))
    assert document.pages == 2
    assert outline(document) == [("paragraph", f"{LONG} {LONG}")]
    locator = document.blocks[0].locator
    assert (locator.page, locator.page_end) == (1, 2)
    assert locator.region is not None
    assert locator.region_end is not None
    assert locator.region[3] > 700  # the foot of one page
    assert locator.region_end[1] < 100  # the head of the next
    lines = [document.text[slice(*part.span)] for part in document.blocks[0].parts]
    assert " ".join(lines) == document.text
    assert [part.page for part in document.blocks[0].parts] == sorted(
        part.page or 0 for part in document.blocks[0].parts
    )


def test_what_is_printed_on_a_page_is_told_where_it_is_not_its_number() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.addPageLabel(0, "ROMAN_LOWER", start=3)
        canvas.addPageLabel(1, "ARABIC", start=2)
        for text in ("Preface.", "Text."):
            canvas.drawString(72, 700, text)
            canvas.showPage()

    assert [(block.locator.page, block.locator.page_label) for block in parsed(drawn(draw)).blocks] == [
        (1, "iii"),
        (2, None),
    ]


def test_the_outline_makes_headings_and_gives_their_level() -> None:
    def draw(canvas: Canvas) -> None:
        for level, title in enumerate(["Duties", "Details of duties"]):
            canvas.bookmarkPage(title)
            canvas.addOutlineEntry(title, title, level=level)
        canvas.setFont("Helvetica", 11)
        canvas.drawString(72, 760, "Duties")
        canvas.drawString(72, 720, "Everybody has some.")
        canvas.drawString(72, 680, "Details of Duties")
        canvas.drawString(72, 640, "They are many.")

    assert outline(parsed(drawn(draw))) == [
        ("h1", "Duties"),
        ("paragraph", "Everybody has some."),
        ("h2", "Details of Duties"),
        ("paragraph", "They are many."),
    ]


def test_lists_and_questions() -> None:
    story = [
        Paragraph("Bring with you:", BODY),
        Paragraph("• your passport", BODY),
        Paragraph("• a photograph", BODY),
        Paragraph("Q: When do I get paid?", BODY),
        Paragraph("A: On the tenth.", BODY),
    ]
    assert outline(parsed(typeset(story))) == [
        ("paragraph", "Bring with you:"),
        ("list_item", "• your passport"),
        ("list_item", "• a photograph"),
        ("faq", "Q: When do I get paid?\nA: On the tenth."),
    ]


def sample() -> bytes:
    return typeset([Paragraph("Leave Policy", H1), *[Paragraph(LONG, BODY)] * 40])


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_file_is_damaged_even_where_pages_could_be_shown(share: float) -> None:
    content = sample()
    with pytest.raises(DocumentCorrupt):
        parse(content[: int(len(content) * share)])


def test_a_file_without_its_last_lines_is_damaged() -> None:
    """PDFium would find its way without them."""
    content = sample()
    with pytest.raises(DocumentCorrupt):
        parse(content[: content.rindex(b"startxref")])


def test_garbage_between_header_and_end_mark() -> None:
    with pytest.raises(DocumentCorrupt):
        parse(b"%PDF-1.7\n" + b"nothing here\n" * 50 + b"startxref\n0\n%%EOF\n")


def test_padding_after_the_end_mark_is_no_damage() -> None:
    assert parse(sample() + b"\r\n\0\0\0" * 2000).title == "Leave Policy"


def test_a_password_to_open() -> None:
    encryption = StandardEncryption("secret", ownerPassword="owner", strength=128)
    with pytest.raises(DocumentEncrypted):
        parse(drawn(lambda canvas: canvas.drawString(72, 700, "hidden"), encrypt=encryption))


def test_a_password_against_printing_only() -> None:
    encryption = StandardEncryption("", ownerPassword="owner", strength=128, canPrint=0)
    content = drawn(lambda canvas: canvas.drawString(72, 700, "Everybody may read"), encrypt=encryption)
    assert parse(content).text == "Everybody may read"


def test_no_text() -> None:
    with pytest.raises(NoText):
        parse(drawn(lambda canvas: canvas.rect(50, 50, 300, 300)))


SENTENCES = st.lists(
    st.text(st.sampled_from("abcdefgh ABC 年假制度员工，。0123"), min_size=3, max_size=60).filter(str.strip),
    min_size=1,
    max_size=8,
)


@settings(max_examples=25, deadline=None)
@given(SENTENCES)
def test_no_drawn_text_is_lost_or_invented(sentences: list[str]) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont(CHINESE, 9)
        for number, sentence in enumerate(sentences):
            canvas.drawString(40, 780 - 30 * number, sentence)

    assert squeezed(parsed(drawn(draw)).text) == squeezed("".join(sentences))
