"""Every chunk is found again at its place, and nowhere else: of each format a document made here, then with wrong places."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import date

import pytest
from docx import Document as Word
from openpyxl import Workbook
from pptx import Presentation
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import PageBreak, Paragraph

from documents.media_types import CSV, DOCX, HTML, MARKDOWN, PDF, PNG, PPTX, TEXT, XLSX
from indexing.blocks import Block, BlockKind, Chunk, ParsedDocument
from indexing.locators import Locator
from indexing.parsers import parse
from indexing.parsers.sandbox import verify_apart
from indexing.splitters import split
from indexing.verification import Claim, Verification, claims_of, is_plain, verify
from indexing.verification import sheets as cells_again
from indexing.verification.measure import Place, letters, units
from tests.unit.pictures import saved, written
from tests.unit.test_parse_pdf import BODY, BODY_ZH, H1, H1_ZH, LONG, LONG_ZH, typeset

Wrong = Callable[[Locator], Locator]


def counted(text: str) -> int:
    return len(text) // 2 + 2


def made(content: bytes, media_type: str) -> list[Claim]:
    document = parse(content, media_type, "file")
    return claims_of(document, split(document, title="T", count_tokens=counted, budget=60))


def pdf() -> bytes:
    story = [Paragraph("Leave", H1), *[Paragraph(LONG, BODY)] * 2, PageBreak(), Paragraph("休假", H1_ZH)]
    return typeset([*story, Paragraph(LONG_ZH, BODY_ZH), Paragraph("Ask the office for a form before you go.", BODY)])


def turned() -> bytes:
    """Pages that are shown turned, with a margin cut off: their own coordinates are others."""
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(840, 840), invariant=1, cropBox=(20, 30, 800, 820))
    for quarter in range(4):
        canvas.setPageRotation(90 * quarter)
        for number in range(30):
            canvas.drawString(72, 780 - 24 * number, f"Rule {quarter}.{number} says what group {number * 7} may spend.")
        canvas.showPage()
    canvas.save()
    return stream.getvalue()


def sheets() -> bytes:
    book = Workbook()
    prices = book.active
    assert prices is not None
    prices.title = "Prices"
    prices.append(["Item", "Price", "Share", "Since"])
    for number in range(1, 40):
        prices.append([f"品名 {number}", number * 1234.5, number / 400, date(2024, 1 + number % 12, 1 + number % 28)])
    for row in prices.iter_rows(min_row=2):
        row[1].number_format, row[2].number_format, row[3].number_format = "#,##0.00", "0.0%", 'yyyy"年"m"月"d"日"'
    book.create_sheet("Other").append(["Nothing of this", "is priced"])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def slides() -> bytes:
    show = Presentation()
    for title, text in (("Goals", "Grow by a tenth in the north"), ("计划", "明年在三个城市开设分店")):
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = title, text
        slide.notes_slide.notes_text_frame.text = f"Say why: {text}"
    stream = io.BytesIO()
    show.save(stream)
    return stream.getvalue()


def word() -> bytes:
    document = Word()
    document.add_heading("Leave", 1)
    document.add_paragraph(LONG)
    document.add_paragraph("First ask your manager.", style="List Number")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip([*table.rows[0].cells, *table.rows[1].cells], ["种类", "天数", "病假", "30"], strict=True):
        cell.text = text
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


LIST = "<ol><li>First <b>ask</b>.</li></ol>"
PAGE = f"<title>T</title><nav>Menu</nav><main><h1>Leave</h1><p>{LONG}</p>{LIST}<p>{LONG_ZH}</p></main>"
TABLE = "| 种类 | 天数 |\n|---|---|\n| 病假 | 30 |"
SOURCE = f"# Leave\n\n**{LONG}** [More](http://example.org/x)\n\n## 休假\n\n{TABLE}\n\n{LONG_ZH}\n"
ROWS = "name,price\n" + "".join(f"item {number},{number * 3}\n" for number in range(60))
LINES = "\n\n".join(f"Rule {number}: group {number * 7} may spend {number * 13} yuan." for number in range(30))


def one_page_on(place: Locator) -> Locator:
    assert place.page is not None
    return replace(place, page=place.page % 2 + 1, page_end=None, region_end=None)


def shifted(place: Locator) -> Locator:
    assert place.region is not None
    left, top, right, bottom = place.region
    return replace(place, region=(left, top - 150, right, bottom - 150))


def outside(place: Locator) -> Locator:
    return replace(place, page=99)


def other_cells(place: Locator) -> Locator:
    assert place.cells is not None
    left, top, right, bottom = place.cells
    return replace(place, cells=(left, top + 20, right, bottom + 20))


def other_sheet(place: Locator) -> Locator:
    return replace(place, sheet="Other")


def other_slide(place: Locator) -> Locator:
    assert place.slide is not None
    return replace(place, slide=3 - place.slide)


def other_lines(place: Locator) -> Locator:
    assert place.lines is not None
    return replace(place, lines=(1, 1))


MADE = [
    ("pdf", pdf(), PDF),
    ("turned", turned(), PDF),
    ("sheets", sheets(), XLSX),
    ("slides", slides(), PPTX),
    ("word", word(), DOCX),
    ("page", PAGE.encode(), HTML),
    ("markdown", SOURCE.encode(), MARKDOWN),
    ("rows", ROWS.encode(), CSV),
    ("lines", LINES.encode(), TEXT),
    ("gb18030", LINES.replace("Rule", "规定").encode("gb18030"), TEXT),
]


@pytest.mark.parametrize(("content", "media_type"), [made[1:] for made in MADE], ids=[made[0] for made in MADE])
def test_every_chunk_is_found(content: bytes, media_type: str) -> None:
    claims = made(content, media_type)
    assert len(claims) > 1
    assert verify(content, media_type, claims) == Verification(found=len(claims))


@pytest.mark.parametrize(
    ("content", "media_type", "wrong"),
    [
        (pdf(), PDF, one_page_on),
        (pdf(), PDF, outside),
        (turned(), PDF, shifted),
        (sheets(), XLSX, other_cells),
        (sheets(), XLSX, other_sheet),
        (slides(), PPTX, other_slide),
        (SOURCE.encode(), MARKDOWN, other_lines),
        (ROWS.encode(), CSV, other_lines),
        (LINES.encode(), TEXT, other_lines),
    ],
)
def test_no_chunk_is_found_at_a_wrong_place(content: bytes, media_type: str, wrong: Wrong) -> None:
    claims = [replace(claim, locator=wrong(claim.locator)) for claim in made(content, media_type)]
    # The first line is right for the first one, the other sheet for its own.
    moved = claims[1:] if wrong is other_lines else claims[:-1] if wrong is other_sheet else claims
    assert verify(content, media_type, moved).failed == tuple(claim.ordinal for claim in moved)


@pytest.mark.parametrize(("content", "media_type"), [(word(), DOCX), (PAGE.encode(), HTML)])
def test_text_that_is_not_in_the_file(content: bytes, media_type: str) -> None:
    foreign = ("Every employer receives sixty weeks of monthly pay.",)
    claims = [replace(claim, texts=foreign) for claim in made(content, media_type)]
    assert verify(content, media_type, claims).found == 0


@pytest.mark.parametrize(
    "paragraph",
    [
        "<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rp>(</rp><rt>じ</rt><rp>)</rp></ruby>を読む。",
        "会社<img alt='しるし'>の<ruby>規則<rt>きそく</rt></ruby>は<img alt=重要><ruby>大切<rt>たいせつ</rt></ruby>です。",
        "<img alt='公司标志'><ruby>北<rt>běi<rt>x<rb>京<rt>jīng</ruby>市的<ruby>海<rt>hǎi</rt>淀<rt>diàn</rt></ruby>区。",
        "Press <img alt='the red button'> and read <ruby>Tōkyō<rt>the capital</rt></ruby> aloud.",
        "<ruby>末<rt>まつ",
    ],
)
def test_readings_of_characters_beside_alternative_texts(paragraph: str) -> None:
    content = f"<main><p>{paragraph}</p></main>".encode()
    document = parse(content, HTML, "a.html")
    chunks = split(document, title="", count_tokens=counted, budget=60)
    assert verify(content, HTML, claims_of(document, chunks)) == Verification(found=len(chunks))


def test_what_a_splitter_repeats_in_front_is_not_claimed() -> None:
    claims = made(ROWS.encode(), CSV)
    assert len(claims) > 3
    assert not any("price" in text for claim in claims[1:] for text in claim.texts)


def test_a_chunk_that_shows_something_else_than_its_place() -> None:
    document = parse(LINES.encode(), TEXT, "a.txt")
    chunks = split(document, title="T", count_tokens=counted, budget=60)
    chunks[1] = replace(chunks[1], text="Spend what you like.")
    assert verify(LINES.encode(), TEXT, claims_of(document, chunks)).failed == (1,)


def test_recognised_text_is_counted_apart() -> None:
    text = "Read from a picture"
    blocks = (Block(BlockKind.IMAGE_TEXT, text, Locator((0, 19), page=1, region=(10, 10, 200, 40)), confidence=0.9),)
    document = ParsedDocument(PNG, text, blocks, pages=1)
    content = saved(written(("Some picture",)))
    inside = Chunk(0, text, (), blocks[0].locator, 5)
    beyond = Chunk(1, text, (), replace(blocks[0].locator, region=(10, 10, 99_999, 40)), 5)
    no_page = Chunk(2, text, (), replace(blocks[0].locator, page=2), 5)
    found = verify(content, PNG, claims_of(document, [inside, beyond, no_page]))
    assert found == Verification(0, (1, 2), 1)


def test_the_locked_process_says_the_same() -> None:
    for content, media_type in ((pdf(), PDF), (sheets(), XLSX), (PAGE.encode(), HTML)):
        claims = made(content, media_type)
        claims[0] = replace(claims[0], texts=("Not there at all",))
        found = verify_apart(content, media_type, claims, timeout=60, memory_bytes=1024**3)
        assert found == verify(content, media_type, claims)
        assert found.failed == (0,)


def test_a_file_that_breaks_the_second_reader_says_nothing_against_the_first() -> None:
    claim = Claim(0, ("x",), Locator((0, 1), sheet="A", cells=(1, 1, 1, 1)))
    for content, media_type in ((b"PK\x03\x04", PPTX), (b"%PDF-1.7", PDF)):
        assert verify_apart(content, media_type, [claim], timeout=60, memory_bytes=1024**3) == Verification(
            not_checkable=1
        )


def test_lines_of_utf_8_need_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_plain(LINES.encode(), TEXT)
    assert is_plain(ROWS.encode(), CSV)
    assert not is_plain("规定".encode("gb18030"), TEXT)
    assert not is_plain(PAGE.encode(), HTML)
    monkeypatch.setattr("indexing.parsers.sandbox._start", None)
    stops: list[int] = []
    claims = made(LINES.encode(), TEXT)
    verify_apart(LINES.encode(), TEXT, claims, timeout=60, memory_bytes=1, checkpoint=lambda: stops.append(1))
    assert len(stops) == len(claims)


def test_the_measure() -> None:
    assert letters("Ｆｕｌｌ ﬁt-ness…") == "Fullfitness"
    assert letters("→ !") == "→!"
    assert units("The in\xadter-national 年假 plan") == ["The", "international", "年假", "plan"]
    assert units("年休假") == ["年休", "休假"]
    place = Place("左栏 one two three\nright column four five 12")
    assert place.holds(["right column", "one two three"])
    assert place.holds(["(a) right column"])  # a label that only one reading has
    assert not place.holds(["One Two Three"])  # case counts
    assert not place.holds(["1"])  # not inside of 12
    assert not place.holds(["one two six"])


class Watched(str):
    """Counts the characters among which something is looked for."""

    looked_through = 0

    def find(self, text: str, start: int = 0, end: int | None = None) -> int:
        found = super().find(text, start, len(self) if end is None else end)
        self.looked_through += (found if found >= 0 else len(self) if end is None else end) - start
        return found


def test_a_ligature_of_lam_and_alef_is_taken_apart_in_either_order() -> None:
    """As PDFium does, and as people write; another word of the same letters beside others is not found."""
    assert Place("\u0627\u0625\u0644\u0646\u062a\u0627\u062c\u064a\u0629 \u062e\u0627\u0644\u0644").holds(
        ["\u0627\u0644\u0625\u0646\u062a\u0627\u062c\u064a\u0629 \u062e\u0644\u0627\u0644"]
    )
    assert not Place("\u062e\u0627\u0644\u0644").holds(["\u0645\u0644\u0627\u0644"])


@pytest.mark.parametrize("back", [0, 3])
def test_one_long_line_is_not_looked_through_for_each_of_its_words(back: int) -> None:
    words = [f"word{number}字" for number in range(20_000)]
    place = Place(", ".join(words))
    line = place.__dict__["letters"] = Watched(place.letters)
    assert all(place.holds(words[max(at - back, 0) : at + 10]) for at in range(0, len(words), 10))
    assert line.looked_through < 100 * len(line)
    assert place.holds(words[:3])  # wherever one was before
    assert place.holds(words[-3:])
    assert not place.holds(["word77777字"])


def sheet_of(rows: int, *merged: tuple[int, int]) -> bytes:
    """Rows of a word and four numbers; the first column merged over these rows."""
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for number in range(1, rows + 1):
        sheet.append([f"城市 {number}", *(number * 7.25 + column for column in range(4))])
    for first, last in merged:
        sheet.merge_cells(start_row=first, end_row=last, start_column=1, end_column=1)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


@pytest.mark.parametrize("merged", [(), ((990, 1010), (3, 4), (1100, 2400))])
def test_the_cells_of_a_sheet_are_found_by_looking_at_each_about_once(
    merged: tuple[tuple[int, int], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = sheet_of(2_500, *merged)
    document = parse(content, XLSX, "x")
    claims = claims_of(document, split(document, title="", count_tokens=len, budget=4_000))
    looked_at, really = 0, cells_again._is_shown_as

    def counted(value: object, text: str, numbers: list[str]) -> bool:
        nonlocal looked_at
        looked_at += 1
        return really(value, text, numbers)

    monkeypatch.setattr(cells_again, "_is_shown_as", counted)
    found = verify(content, XLSX, claims)
    assert (found.found, found.failed, found.not_checkable) == (len(claims), (), 0)
    assert 0 < looked_at <= 40_000  # of 10,000 numbers


def test_a_few_failures_cost_the_exact_place_and_many_the_task() -> None:
    place = Locator((0, 1), page=1, region=(0, 0, 1, 1), sheet="A", cells=(1, 1, 1, 1), lines=(1, 1))
    chunks = [Chunk(number, "x", (), place, 1) for number in range(3)]
    found = Verification(2, (1,))
    assert [chunk.locator for chunk in found.corrected(chunks)] == [place, Locator((0, 1), page=1, sheet="A"), place]
    assert not found.is_beyond(0.05)  # one odd place is no fault of the parser
    assert Verification(38, (1, 2)).is_beyond(0.04)
    assert not Verification(38, (1, 2)).is_beyond(0.05)
    assert Verification.from_json(found.to_json()) == found


def test_a_workbook_that_the_second_reader_cannot_read_is_not_checkable() -> None:
    content = sheets()
    place = next(block.locator for block in parse(content, XLSX, "x.xlsx").blocks if block.locator.cells)
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    torn = {name: part.replace(b"<sheetData>", b"<sheetData", 1) for name, part in parts.items()}
    for damaged in (
        {"xl/workbook.xml": parts["xl/workbook.xml"]},
        torn,
    ):
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as package:
            for name, part in damaged.items():
                package.writestr(name, part)
        assert verify(written.getvalue(), XLSX, [Claim(0, ("text",), place)]) == Verification(not_checkable=1)


def test_empty_cells_claim_nothing() -> None:
    """A wide table that is mostly empty is cut between its separators, too."""
    content = b"|" + b"a|" * 300 + b"\n|" + b"-|" * 300 + b"\n" + b"|b\n" * 40
    document = parse(content, MARKDOWN, "a.md")
    chunks = split(document, title="t", count_tokens=len, budget=200)
    assert verify(content, MARKDOWN, claims_of(document, chunks)).failed == ()
