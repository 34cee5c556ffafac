"""Pictures and scanned pages, drawn here and read by the real models: what they say, where, how sure, and what is a gap."""

from __future__ import annotations

import difflib
import io
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable

import numpy as np
import pypdfium2 as pdfium
import pytest
from PIL import Image, ImageFilter
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from documents.media_types import BY_EXTENSION, JPEG, PDF, PNG, TEXT, TIFF, UnsupportedFile, detect
from indexing.blocks import BlockKind, Gap, GapReason, ParsedDocument
from indexing.errors import DocumentCorrupt, DocumentTooLarge, NoText
from indexing.parsers import image, limits, ocr, parse
from indexing.parsers.pdf_scans import read_scan
from indexing.parsers.sandbox import parse_in_child
from indexing.parsers.scans import ScannedPage, Scans
from tests.environment import ROOT
from tests.hostile.pictures import picture_pdf
from tests.unit.blocks_asserts import check, outline, squeezed
from tests.unit.pictures import EN, ZH, draw, saved, several, written

EN_TEXT = " ".join(EN)
ZH_TEXT = "".join(ZH).replace(" ", "")
MEMORY = 1024**3


def read(content: bytes) -> ParsedDocument:
    return check(image.parse(content))


def likeness(document: ParsedDocument, *expected: str) -> float:
    """Share of characters that are right and in their order, spaces apart."""
    return difflib.SequenceMatcher(None, squeezed(document.text), squeezed("".join(expected)), autojunk=False).ratio()


def pdf(*pages: Image.Image | Callable[[Canvas], None]) -> bytes:
    """Pages of A4: a picture of the whole page, or whatever is drawn."""
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(595, 842), invariant=1)
    for page in pages:
        if isinstance(page, Image.Image):
            canvas.drawImage(ImageReader(page), 0, 0, 595, 842)
        else:
            page(canvas)
        canvas.showPage()
    canvas.save()
    return stream.getvalue()


def scan(*paragraphs: tuple[str, ...]) -> Image.Image:
    """A page of A4 at 150 dpi."""
    return written(*paragraphs, size=(1240, 1754))


def text_page(canvas: Canvas) -> None:
    canvas.drawString(72, 700, "This page has text of its own.")


def fake(page: ScannedPage) -> Callable[..., ScannedPage]:
    """A stand-in for the models, for tests of what is around them."""
    return lambda picture, number, **_: ScannedPage(number, page.size, page.turn, page.skew, page.lines, page.gap)


def test_chinese() -> None:
    document = read(saved(written(ZH, ("联系电话：010-88886666",), size=(1240, 400))))
    assert outline(document) == [("image_text", ZH_TEXT), ("image_text", "联系电话：010-88886666")]
    assert document.media_type == PNG
    assert document.pages == 1
    assert document.gaps == ()


def test_english() -> None:
    document = read(saved(written(EN, ("Contact: Li Wei",), size=(1240, 400)), "JPEG", quality=85))
    assert outline(document) == [("image_text", EN_TEXT), ("image_text", "Contact: Li Wei")]
    assert document.media_type == JPEG


def test_a_page_of_both_is_98_per_cent_right() -> None:
    document = read(saved(scan(ZH, EN, ZH, EN, ZH, EN)))
    assert likeness(document, *([*ZH, *EN] * 3)) >= 0.98


def test_places_and_confidence() -> None:
    document = read(saved(written(ZH, EN, size=(1240, 500))))
    first, second = document.blocks
    assert first.confidence is not None
    assert 0.9 <= first.confidence <= 1
    assert first.locator.page == second.locator.page == 1
    assert first.locator.lines is None
    left, top, right, bottom = first.locator.region or pytest.fail("it has none")
    assert (left, top) == pytest.approx((80, 60), abs=14)
    assert (right, bottom) == pytest.approx((1010, 60 + 3 * 45), abs=40)
    assert [document.text[slice(*part.span)] for part in second.parts] == list(EN)
    for above, below in zip(second.parts, second.parts[1:], strict=False):
        assert above.region is not None
        assert below.region is not None
        assert below.region[1] - above.region[1] == pytest.approx(45, abs=8)


@pytest.mark.parametrize("quarters", [1, 2, 3])
@pytest.mark.parametrize("lines", [ZH, EN], ids=["zh", "en"])
def test_every_way_round(quarters: int, lines: tuple[str, ...]) -> None:
    """Read from the top as an upright page is, and found where it stands on the picture as it is."""
    upright = written(lines, lines, size=(1240, 600))
    document = read(saved(upright.rotate(90 * quarters, expand=True)))
    assert likeness(document, *lines, *lines) >= 0.98
    assert document.text.startswith(lines[0][:1])
    left, top, _, _ = document.blocks[0].locator.region or pytest.fail("it has none")
    start = {1: (60, None), 2: (None, 600 - 60 - 3 * 45), 3: (600 - 60 - 3 * 45, 80)}[quarters]
    for found, expected in zip((left, top), start, strict=True):
        assert expected is None or found == pytest.approx(expected, abs=25)


def test_a_photo_is_turned_as_its_exif_data_says() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    content = saved(written(EN, size=(1240, 300)).rotate(90, expand=True), "JPEG", exif=exif, quality=90)
    document = read(content)
    assert outline(document) == [("image_text", EN_TEXT)]
    assert document.blocks[0].locator.region == pytest.approx((80, 60, 1040, 190), abs=15), "of the picture as shown"


@pytest.mark.parametrize("degrees", [-4, 4])
def test_a_page_that_lay_askew(degrees: float) -> None:
    """The short line stands beside the middle of the long one below or above it, as pixels go."""
    page = Image.new("L", (1240, 1754), 255)
    draw(page, ["第一章总则", *ZH, "第二章附则"], (80, 400))
    turned = page.rotate(degrees, fillcolor=255, resample=Image.Resampling.BICUBIC)
    assert outline(read(saved(turned))) == [("h1", "第一章总则"), ("image_text", ZH_TEXT), ("h1", "第二章附则")]


def test_a_bad_copy() -> None:
    """Blurred, grey, noisy, and compressed hard."""
    chance = np.random.default_rng(1)
    blurred = np.asarray(written(ZH, EN, size=(1240, 500)).filter(ImageFilter.GaussianBlur(1)), dtype=np.float32)
    noisy = Image.fromarray((blurred * 0.7 + 40 + chance.normal(0, 18, blurred.shape)).clip(0, 255).astype(np.uint8))
    assert likeness(read(saved(noisy, "JPEG", quality=40)), *ZH, *EN) >= 0.95


def test_two_columns_and_a_line_across() -> None:
    page = Image.new("L", (1500, 700), 255)
    draw(page, ["The council met in the old town hall and voted on all of its nine items"], (80, 40), 34)
    draw(page, [f"left line {word} of the first" for word in ("one", "two", "three", "four", "five")], (80, 130))
    draw(page, [f"right line {word} of the second" for word in ("six", "seven", "eight", "nine")], (800, 130))
    text = read(saved(page)).text
    assert [text.index(word) for word in ("council", "one", "five", "six", "nine of")] == sorted(
        text.index(word) for word in ("council", "one", "five", "six", "nine of")
    )


def test_a_long_screenshot_is_read_in_strips() -> None:
    long = Image.new("RGB", (720, 5200), (20, 22, 30))
    lines = [f"message number {number} of the group" for number in range(1, 61)]
    for at, line in enumerate(lines):
        draw(long, [line], (40, 40 + at * 85), fill=(230, 230, 230))
    document = read(saved(long))
    assert likeness(document, *lines) >= 0.98
    assert document.blocks[-1].locator.region is not None
    assert document.blocks[-1].locator.region[3] == pytest.approx(40 + 59 * 85 + 35, abs=15)


@pytest.mark.parametrize(("ink", "paper"), [(255, (0, 0, 0, 0)), (0, (0, 0, 0, 0)), (255, (0, 0, 90, 255))])
def test_transparent_and_dark_pictures(ink: int, paper: tuple[int, int, int, int]) -> None:
    picture = Image.new("RGBA", (900, 160), paper)
    draw(picture, ["Light or dark on nothing"], (60, 50), 40, fill=(ink, ink, ink, 255))
    assert read(saved(picture)).text == "Light or dark on nothing"


def test_sixteen_bits_of_grey() -> None:
    deep = Image.fromarray(np.asarray(written(EN, size=(1240, 300)), dtype=np.uint16) * 128)
    assert read(saved(deep, "TIFF")).text == EN_TEXT


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF"])
def test_every_kind_is_accepted_by_content_and_name(kind: str) -> None:
    content = saved(Image.new("RGB", (9, 9), "white"), kind)
    extension = {"JPEG": ".jpg", "TIFF": ".tif"}.get(kind, f".{kind.lower()}")
    assert detect(content, f"a{extension}") == BY_EXTENSION[extension]
    for wrong in {".png", ".jpeg", ".pdf", ".txt"} - {extension}:
        if BY_EXTENSION[wrong] != BY_EXTENSION[extension]:
            with pytest.raises(UnsupportedFile):
                detect(content, f"a{wrong}")
    with pytest.raises(NoText, match="sharper"):
        parse(content, BY_EXTENSION[extension], f"a{extension}")


def test_a_text_that_begins_like_a_picture() -> None:
    assert detect(b"BMW sells cars.", "a.txt") == TEXT
    assert detect(b"II* is no chord.", "a.txt") == TEXT


def test_a_tiff_of_several_pages() -> None:
    blank = Image.new("L", (1240, 300), 255)
    content = several([written(ZH, size=(1240, 300)), blank, written(EN, size=(1240, 300))], "TIFF")
    document = read(content)
    assert [(block.locator.page, block.text) for block in document.blocks] == [(1, ZH_TEXT), (3, EN_TEXT)]
    assert (document.media_type, document.pages, document.gaps) == (TIFF, 3, ()), "a blank page is no gap"


def test_a_broken_page_of_a_tiff_is_a_gap() -> None:
    pages = [written(EN, size=(1240, 300)), scan(ZH), written(EN, size=(1240, 300))]
    content = bytearray(several(pages, "TIFF", compression="tiff_lzw"))
    frame = Image.open(io.BytesIO(content))
    frame.seek(1)
    strips = zip(frame.tag_v2[273], frame.tag_v2[279], strict=True)  # where they are, and how long
    for start, length in strips:
        content[start : start + length] = b"\xff" * length
    document = read(bytes(content))
    assert [block.locator.page for block in document.blocks] == [1, 3]
    assert document.gaps == (Gap(GapReason.UNREADABLE, page=2),)


def test_of_an_animation_the_first_picture_is_read() -> None:
    content = several([written(EN, size=(1240, 300)), written(ZH, size=(1240, 300))], "GIF")
    document = read(content)
    assert (document.text, document.pages) == (EN_TEXT, 1)


def test_a_drawing_without_text() -> None:
    grey = (np.add.outer(np.arange(600), np.arange(600)) % 256).astype(np.uint8)
    with pytest.raises(NoText):
        image.parse(saved(Image.fromarray(grey)))


def declared(width: int, height: int) -> bytes:
    """The head of a PNG of this size, and nothing of its pixels."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(b"\0" * 100)), (b"IEND", b""))
    parts = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize("size", [(50_000, 50_000), (limits.PIXELS.value + 1, 1), (2**31 - 1, 2**31 - 1)])
def test_a_size_over_the_limit_is_refused_before_anything_is_decoded(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image, "_decoded", lambda _: pytest.fail("it was decoded"))
    with pytest.raises(DocumentTooLarge, match="80 million pixels"):
        image.parse(declared(*size))


@pytest.mark.parametrize(
    "content",
    [
        declared(200, 200),
        saved(written(EN), "JPEG")[:3000],
        saved(written(EN))[:2000],
        saved(written(EN), "TIFF")[:5000],
        b"\xff\xd8\xff",
        b"II*\0\xff\xff\xff\xff",
        b"BM" + bytes(60),
        b"GIF89a",
        b"RIFF\0\0\0\0WEBPVP8 ",
    ],
    ids=["no-pixels", "cut-jpeg", "cut-png", "cut-tiff", "jpeg", "tiff", "bmp", "gif", "webp"],
)
def test_damaged_pictures(content: bytes) -> None:
    with pytest.raises(DocumentCorrupt):
        image.parse(content)


def test_scanned_pages_between_pages_with_text() -> None:
    document = check(parse(pdf(text_page, scan(ZH), text_page), PDF, "a.pdf"))
    assert [(block.kind, block.locator.page, block.text) for block in document.blocks] == [
        (BlockKind.PARAGRAPH, 1, "This page has text of its own."),
        (BlockKind.IMAGE_TEXT, 2, ZH_TEXT),
        (BlockKind.PARAGRAPH, 3, "This page has text of its own."),
    ]
    assert document.blocks[1].locator.region == pytest.approx((38, 28, 485, 94), abs=16), "in points"
    assert document.gaps == ()


def test_a_scanned_page_that_the_pdf_turns() -> None:
    def turned(canvas: Canvas) -> None:
        canvas.setPageRotation(90)
        canvas.drawImage(ImageReader(written(EN, size=(1754, 1240)).rotate(90, expand=True)), 0, 0, 595, 842)

    document = check(parse(pdf(turned), PDF, "a.pdf"))
    assert document.text == EN_TEXT


def test_pages_with_text_are_not_read_from_their_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the text is invisible, as a scanner lays it under its picture."""
    monkeypatch.setattr(ocr, "read_page", lambda *_, **__: pytest.fail("it was read from the picture"))

    def recognised(canvas: Canvas) -> None:
        canvas.drawImage(ImageReader(scan(EN)), 0, 0, 595, 842)
        text = canvas.beginText(72, 700)
        text.setTextRenderMode(3)
        text.textLine("What the scanner recognised.")
        canvas.drawText(text)

    document = check(parse(pdf(text_page, recognised, lambda _: None), PDF, "a.pdf"))
    assert [block.kind for block in document.blocks] == [BlockKind.PARAGRAPH] * 2
    assert document.blocks[1].text == "What the scanner recognised."
    assert (document.pages, document.gaps) == (3, ()), "an empty page is no gap"


def test_unsure_pages_and_those_over_the_limit_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "read_page", fake(ScannedPage(0, gap=GapReason.NOT_RECOGNISED)))
    monkeypatch.setattr(limits, "SCANNED_PAGES", 1)
    picture = Image.linear_gradient("L")
    document = check(parse(pdf(text_page, picture, picture), PDF, "a.pdf"))
    assert document.gaps == (Gap(GapReason.NOT_RECOGNISED, page=2), Gap(GapReason.OVER_LIMIT, page=3))


def test_a_picture_in_a_pdf_that_is_too_large_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PIXELS", limits.Limit(1_000, limits.PIXELS.sentence))
    document = check(parse(pdf(text_page, Image.new("L", (60, 90), 128)), PDF, "a.pdf"))
    assert document.gaps == (Gap(GapReason.UNREADABLE, page=2),)


def test_a_damaged_picture_is_no_blank_page() -> None:
    """PDFium draws nothing of it."""
    damaged = picture_pdf(900, 900, b"\xff\xd8\xff\xe0broken", b"/DCTDecode")
    for content, gap in ((damaged, GapReason.UNREADABLE), (pdf(Image.new("L", (60, 90), 255)), None)):
        with pdfium.PdfDocument(content) as document:
            assert read_scan(document[0], 1) == ScannedPage(1, gap=gap)


def test_known_pages_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    content = pdf(scan(EN), scan(ZH))
    told: list[ScannedPage] = []
    whole = parse(content, PDF, "a.pdf", Scans(report=told.append))
    monkeypatch.setattr(ocr, "read_page", lambda *_, **__: pytest.fail("it was read again"))
    assert parse(content, PDF, "a.pdf", Scans({page.number: page for page in told})) == whole


def test_the_locked_process_reads_the_same_and_tells_each_page() -> None:
    content = pdf(scan(EN), scan(ZH))
    told: list[ScannedPage] = []
    options = {"timeout": 60.0, "memory_bytes": MEMORY}
    document = parse_in_child(content, PDF, "a.pdf", keep_scan=told.append, **options)  # type: ignore[arg-type]
    assert document == parse(content, PDF, "a.pdf")
    assert [page.number for page in told] == [1, 2]
    again: list[ScannedPage] = []
    assert parse_in_child(content, PDF, "a.pdf", known_scans=told, keep_scan=again.append, **options) == document  # type: ignore[arg-type]
    assert again == []


def test_whoever_keeps_the_pages_may_end_the_reading() -> None:
    class Told(Exception):
        pass

    def stop(_: ScannedPage) -> None:
        raise Told

    with pytest.raises(Told):
        parse_in_child(
            saved(written(EN, size=(1240, 300))), PNG, "a.png", timeout=60, memory_bytes=MEMORY, keep_scan=stop
        )


def test_other_files_do_not_pay_for_ocr() -> None:
    """Neither its import nor its memory."""
    program = (
        "import sys; from indexing.parsers import parse\n"
        f"parse({pdf(text_page)!r}, 'application/pdf', 'a.pdf')\n"
        "assert not {'cv2', 'onnxruntime', 'rapidocr', 'PIL.TiffImagePlugin'} & set(sys.modules), sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
