"""A page of a PDF that is a scan below a few words of real text: a stamp, a header, “Scanned by …”."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from indexing.blocks import BlockKind, Gap, GapReason
from indexing.parsers import ocr, pdf
from indexing.parsers.scans import ScannedPage
from tests.unit.blocks_asserts import check, squeezed
from tests.unit.pictures import EN, ZH, written

STAMP = "Received 12 May 2024, No. 4711"


def made(draw: Callable[[Canvas], None]) -> bytes:
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(595, 842))
    draw(canvas)
    canvas.showPage()
    canvas.save()
    return stream.getvalue()


def stamped(*lines: str, words: str = STAMP) -> bytes:
    def page(canvas: Canvas) -> None:
        canvas.drawImage(ImageReader(written(lines, size=(1240, 1754))), 0, 0, 595, 842)
        for number in range(0, len(words), 80):
            canvas.drawString(72, 500 - number / 4, words[number : number + 80])

    return made(page)


@pytest.mark.parametrize("lines", [ZH, EN])
def test_the_scan_and_its_stamp_are_read_each_once(lines: tuple[str, ...]) -> None:
    document = check(pdf.parse(stamped(*lines)))
    assert [(block.kind, block.locator.page) for block in document.blocks] == [
        (BlockKind.PARAGRAPH, 1),
        (BlockKind.IMAGE_TEXT, 1),
    ]
    assert document.blocks[0].text == STAMP
    assert squeezed(document.blocks[1].text) == squeezed("".join(lines) if lines is ZH else " ".join(lines))
    assert document.text.count("4711") == 1
    assert document.gaps == ()


def test_what_is_unsure_below_a_stamp_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "read_page", lambda *_, **__: ScannedPage(1, gap=GapReason.NOT_RECOGNISED))
    document = pdf.parse(stamped(*EN))
    assert document.text == STAMP
    assert document.gaps == (Gap(GapReason.NOT_RECOGNISED, page=1),)


def test_a_picture_behind_a_title_is_no_gap() -> None:
    def page(canvas: Canvas) -> None:
        canvas.drawImage(ImageReader(Image.radial_gradient("L")), 0, 0, 595, 842)
        canvas.drawString(72, 500, "Annual Report")

    document = pdf.parse(made(page))
    assert document.text == "Annual Report"
    assert document.gaps == ()


def logo(canvas: Canvas) -> None:
    canvas.drawImage(ImageReader(written(EN)), 0, 700, 595, 142)
    canvas.drawString(72, 500, STAMP)


@pytest.mark.parametrize("content", [stamped(*EN, words="A page of text of its own. " * 12), made(logo)])
def test_pages_that_are_text_are_not_read_from_their_pictures(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "read_page", lambda *_, **__: pytest.fail("it was read from the picture"))
    assert pdf.parse(content).gaps == ()
