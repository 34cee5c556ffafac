"""Pictures inside DOCX, PPTX and XLSX: read where nobody has described them, named as a gap where that is not possible."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from docx import Document
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from openpyxl import Workbook
from openpyxl.drawing.image import Image as SheetPicture
from PIL import Image
from pptx import Presentation
from pptx.util import Cm

from documents.media_types import DOCX, PPTX, XLSX
from indexing.blocks import BlockKind, Chunk, Gap, GapReason, ParsedDocument
from indexing.parsers import limits, ocr, parse
from indexing.parsers.sandbox import parse_in_child
from indexing.parsers.scans import ScannedLine, ScannedPage, Scans
from indexing.verification import claims_of, verify
from tests.unit.pictures import EN, ZH, written
from tests.unit.sheets_made import changed

Make = Callable[[Sequence[bytes]], bytes]
DRAWN_IN_LINES = b"\x01\x00\x00\x00\x6c\x00\x00\x00" + bytes(32) + b" EMF" + bytes(60)


def png(image: Image.Image) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def saved(document: object) -> bytes:
    stream = io.BytesIO()
    document.save(stream)  # type: ignore[attr-defined]
    return stream.getvalue()


def in_docx(pictures: Sequence[bytes], described: str = "") -> bytes:
    document = Document()
    document.add_paragraph("Before")
    for picture in pictures:
        document.add_picture(io.BytesIO(picture))
        document.element.body.findall(".//{*}docPr")[-1].set("descr", described)
    document.add_paragraph("After")
    return saved(document)


def in_pptx(pictures: Sequence[bytes], described: str = "") -> bytes:
    presentation = Presentation()
    for picture in pictures:
        slide = presentation.slides.add_slide(presentation.slide_layouts[6])
        slide.shapes.add_textbox(Cm(1), Cm(1), Cm(9), Cm(1)).text_frame.text = "Above"
        shape = slide.shapes.add_picture(io.BytesIO(picture), Cm(1), Cm(3))
        shape._element._nvXxPr.cNvPr.set("descr", described)
    return saved(presentation)


def in_xlsx(pictures: Sequence[bytes]) -> bytes:
    book = Workbook()
    book.active.append(["Name", "Age"])
    for number, picture in enumerate(pictures):
        book.active.add_image(SheetPicture(io.BytesIO(picture)), f"D{3 + 40 * number}")
    return saved(book)


KINDS: tuple[tuple[str, Make], ...] = ((DOCX, in_docx), (PPTX, in_pptx), (XLSX, in_xlsx))


def read(media_type: str, content: bytes, scans: Scans | None = None) -> ParsedDocument:
    return parse(content, media_type, "a", scans)


def texts(document: ParsedDocument) -> list[str]:
    return [block.text for block in document.blocks if block.kind is BlockKind.IMAGE_TEXT]


@pytest.fixture
def recognised(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the pictures that were recognised, without the work of it."""
    numbers = list[int]()

    def fake(picture: object, number: int, **_: object) -> ScannedPage:
        numbers.append(number)
        return ScannedPage(
            number, (300.0, 200.0), lines=(ScannedLine(f"picture {number}", 0.9, (0.0, 0.0, 90.0, 9.0)),)
        )

    monkeypatch.setattr(ocr, "read_page", fake)
    return numbers


def blank(shade: int, size: tuple[int, int] = (300, 200)) -> bytes:
    return png(Image.new("L", size, shade))


@pytest.mark.parametrize(("media_type", "make"), KINDS)
@pytest.mark.parametrize("lines", [EN, ZH])
def test_what_a_picture_says_is_found_where_it_stands(media_type: str, make: Make, lines: Sequence[str]) -> None:
    document = read(media_type, make([png(written(lines))]))
    (block,) = (block for block in document.blocks if block.kind is BlockKind.IMAGE_TEXT)
    wanted, got = ("".join("".join(text).split()) for text in (lines, block.text))
    assert sum(letter in got for letter in wanted) >= 0.98 * len(wanted)
    assert block.confidence is not None
    assert block.confidence > 0.9
    place = block.locator
    assert (place.sheet, place.slide, place.page) == (
        *("Sheet" if media_type == XLSX else None, 1 if media_type == PPTX else None),
        None,
    )
    assert (place.cells is not None) is (media_type == XLSX)
    assert document.gaps == ()


@pytest.mark.parametrize(("media_type", "make"), KINDS)
def test_its_place_cannot_be_checked_again(media_type: str, make: Make, recognised: list[int]) -> None:
    content = make([blank(9)])
    document = read(media_type, content)
    (block,) = (block for block in document.blocks if block.kind is BlockKind.IMAGE_TEXT)
    chunk = Chunk(0, block.text, (), block.locator, tokens=2)
    assert verify(content, media_type, claims_of(document, [chunk])).not_checkable == 1


@pytest.mark.parametrize(("media_type", "make"), KINDS)
def test_icons_are_not_read_and_one_picture_once(media_type: str, make: Make, recognised: list[int]) -> None:
    document = read(media_type, make([blank(1, (128, 128)), blank(2), blank(2), blank(3)]))
    assert texts(document) == ["picture 1", "picture 2"]
    assert document.gaps == ()


@pytest.mark.parametrize(("make", "media_type"), [(in_docx, DOCX), (in_pptx, PPTX)])
def test_a_description_stands_for_its_picture(
    make: Callable[..., bytes], media_type: str, recognised: list[int]
) -> None:
    document = read(media_type, make([blank(1)], described="各部门人数 Staff by department"))
    assert [block.text for block in document.blocks if block.kind is BlockKind.CAPTION] == [
        "各部门人数 Staff by department"
    ]
    assert recognised == []
    assert texts(read(media_type, make([blank(1)], described="image1.png"))) == ["picture 1"], "nobody wrote that"


@pytest.mark.parametrize(("media_type", "make"), KINDS)
def test_what_is_not_read_is_named(
    media_type: str, make: Make, recognised: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def at(reason: GapReason, number: int) -> Gap:
        return Gap(reason, slide=number if media_type == PPTX else None, sheet="Sheet" if media_type == XLSX else None)

    def gaps(document: ParsedDocument) -> list[Gap]:
        assert all((gap.cells is not None) is (media_type == XLSX) for gap in document.gaps)
        return [replace(gap, cells=None) for gap in document.gaps]

    monkeypatch.setattr(limits, "PICTURES", 1)
    document = read(media_type, make([blank(1), blank(2)]))
    assert texts(document) == ["picture 1"]
    assert gaps(document) == [at(GapReason.OVER_LIMIT, 2)]
    monkeypatch.setattr(limits, "PICTURES", 100)
    monkeypatch.setattr(limits, "PICTURES_PIXELS", 70_000)
    assert gaps(read(media_type, make([blank(1), blank(2)]))) == [at(GapReason.OVER_LIMIT, 2)]
    monkeypatch.setattr(limits, "PIXELS", limits.Limit(50_000, limits.PIXELS.sentence))
    assert gaps(read(media_type, make([blank(1)]))) == [at(GapReason.PICTURE, 1)]


@pytest.mark.parametrize("failure", [MemoryError(), ScannedPage(1, gap=GapReason.NOT_RECOGNISED)])
@pytest.mark.parametrize(("media_type", "make"), KINDS)
def test_a_picture_that_fails_costs_only_itself(
    media_type: str, make: Make, failure: MemoryError | ScannedPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fake(*_: object, **__: object) -> ScannedPage:
        if isinstance(failure, MemoryError):
            raise failure
        return failure

    monkeypatch.setattr(ocr, "read_page", fake)
    document = read(media_type, make([blank(1)]))
    assert [gap.reason for gap in document.gaps] == [GapReason.PICTURE]
    assert document.text


def test_a_picture_drawn_in_lines_is_a_gap() -> None:
    content = in_docx([blank(1)])
    drawn = changed(content, "word/media/image1.png", blank(1), DRAWN_IN_LINES)
    assert read(DOCX, drawn).gaps == (Gap(GapReason.PICTURE),)
    missing = changed(content, "word/document.xml", b'r:embed="', b'r:embed="no')
    assert read(DOCX, missing).gaps == (Gap(GapReason.PICTURE),)


def test_a_picture_of_a_footnote_is_its_own_and_not_one_of_the_text(recognised: list[int]) -> None:
    """Relations are named by part: “rId1” of a note is another one than that of the text."""
    w, a = (f"http://schemas.openxmlformats.org/{name}/2006/main" for name in ("wordprocessingml", "drawingml"))
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    document = Document()
    document.add_picture(io.BytesIO(blank(1)))
    (own,) = (name for name, relation in document.part.rels.items() if relation.reltype.endswith("/image"))
    notes = (
        f'<w:footnotes xmlns:w="{w}" xmlns:a="{a}" xmlns:r="{office}"><w:footnote w:id="2"><w:p><w:r><w:drawing>'
        f'<a:blip r:embed="{own}"/></w:drawing></w:r></w:p></w:footnote></w:footnotes>'
    )
    part = Part(PackURI("/word/footnotes.xml"), "application/xml", notes.encode(), document.part.package)
    part.rels.add_relationship(
        f"{office}/image", Part(PackURI("/word/media/n.png"), "image/png", blank(2), document.part.package), own
    )
    document.part.relate_to(part, f"{office}/footnotes")
    document.add_paragraph()._p.append(parse_xml(f'<w:r xmlns:w="{w}"><w:footnoteReference w:id="2"/></w:r>'))
    found = read(DOCX, saved(document))
    assert texts(found) == ["picture 1", "picture 2"]
    assert found.gaps == ()


def test_pictures_that_were_read_before_are_not_read_again(recognised: list[int]) -> None:
    reported = list[ScannedPage]()
    content = in_docx([blank(1), blank(2)])
    first = read(DOCX, content, Scans({}, reported.append))
    assert recognised == [1, 2]
    again = read(DOCX, content, Scans({page.number: page for page in reported}))
    assert recognised == [1, 2]
    assert again == first


@pytest.mark.parametrize(("media_type", "make"), KINDS)
def test_in_the_locked_process(media_type: str, make: Make) -> None:
    kept = list[ScannedPage]()
    content = make([png(written(EN))])
    document = parse_in_child(content, media_type, "a", timeout=60, memory_bytes=2**30, keep_scan=kept.append)
    assert "fifteen days" in " ".join(texts(document))
    assert [page.number for page in kept] == [1]


def test_photographs_are_no_gaps() -> None:
    """Where no line is found, nothing is missing."""
    shades = Image.radial_gradient("L").resize((600, 400))
    document = read(DOCX, in_docx([png(shades)]))
    assert texts(document) == []
    assert document.gaps == ()
