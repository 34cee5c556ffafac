"""What Word and PowerPoint keep beside the text: each is text, or told as left out."""

from __future__ import annotations

import io
import re
from typing import Any

import docx
import pytest
from docx.oxml import parse_xml
from pptx import Presentation
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.util import Cm

from indexing.blocks import LeftOut, LeftOutReason
from indexing.parsers import pptx
from indexing.parsers.docx import parse
from tests.unit.blocks_asserts import check, outline
from tests.unit.sheets_made import verified

NAMES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
)
LEFT = LeftOutReason.HIDDEN


def saved(document: Any) -> bytes:
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def element(source: str) -> Any:
    """One element, with the namespaces that it needs."""
    return parse_xml(re.sub(r"^<[\w:]+", rf"\g<0> {NAMES}", source))


def run(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


def made(*body: str) -> bytes:
    document = docx.Document()
    document.add_paragraph("Body 正文")
    for source in body:
        document.element.body.insert(len(document.element.body) - 1, element(source))
    return saved(document)


@pytest.mark.parametrize("text", ["Clause 4 of the old text", "原第四条"])
def test_what_was_moved_or_deleted_with_its_row_is_told(text: str) -> None:
    row = "<w:tr>{}<w:tc><w:p>{}</w:p></w:tc><w:tc><w:p>{}</w:p></w:tc></w:tr>".format
    table = f"<w:tbl>{row('', run('Name'), run('Age'))}{row('<w:trPr><w:del/></w:trPr>', run(text), run('3'))}</w:tbl>"
    moved = made(f"<w:p><w:moveFrom>{run(text)}</w:moveFrom></w:p>")
    deleted = made(table)
    for content, left in ((moved, text), (deleted, f"{text} | 3")):
        document = check(parse(content))
        assert text not in document.text
        assert document.left_out == (LeftOut(LEFT, left),)


@pytest.mark.parametrize("text", ["Please check this figure.", "请核对这个数字。"])
def test_comments_are_told(text: str) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("It cost 5 EUR.")
    document.add_comment(paragraph.runs, text=text, author="A", initials="A")
    parsed = check(parse(saved(document)))
    assert parsed.text == "It cost 5 EUR."
    assert parsed.left_out == (LeftOut(LeftOutReason.COMMENT, text),)


def test_comments_of_slides_are_told() -> None:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    slide.shapes.add_textbox(Cm(1), Cm(1), Cm(9), Cm(1)).text_frame.text = "Plan"
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/comments"
    content = '<p:cmLst xmlns:p="p"><p:cm><p:text>Too early? 太早了</p:text></p:cm></p:cmLst>'.encode()
    slide.part.relate_to(Part(PackURI("/ppt/comments/c1.xml"), "application/xml", slide.part.package, content), kinds)
    document = check(pptx.parse(saved(presentation)))
    assert document.text == "Plan"
    assert document.left_out == (LeftOut(LeftOutReason.COMMENT, "Too early? 太早了", slide=1),)


@pytest.mark.parametrize("text", ["Grand Opening", "盛大开业"])
def test_letters_that_are_drawn_are_text(text: str) -> None:
    shape = f'<v:shape><v:textpath string="{text}"/></v:shape>'
    content = made(f"<w:p><w:r><w:pict>{shape}</w:pict></w:r></w:p>")
    assert outline(verified(content, check(parse(content)))) == [("paragraph", "Body 正文"), ("paragraph", text)]
    document = docx.Document()
    document.add_paragraph("Body")
    document.sections[0].header.paragraphs[0]._p.append(element(f"<w:r><w:pict>{shape}</w:pict></w:r>"))
    assert parse(saved(document)).left_out == (LeftOut(LeftOutReason.PAGE_HEADER, text),), "a watermark"


@pytest.mark.parametrize(
    ("ways", "shown"),
    [
        ("<mc:Choice>{new}</mc:Choice><mc:Fallback>{old}</mc:Fallback>", "新条款 New"),
        ("<mc:Choice/><mc:Fallback>{old}</mc:Fallback>", "旧条款 Old"),
        ("<mc:Fallback>{old}</mc:Fallback>", "旧条款 Old"),
    ],
)
def test_of_several_ways_the_first_that_says_something_is_read(ways: str, shown: str) -> None:
    new, old = (f"<w:p>{run(text)}</w:p>" for text in ("新条款 New", "旧条款 Old"))
    around = f"<mc:AlternateContent>{ways.format(new=new, old=old)}</mc:AlternateContent>"
    assert outline(check(parse(made(around)))) == [("paragraph", "Body 正文"), ("paragraph", shown)]
    inside = f"<w:p><w:r><mc:AlternateContent>{ways}</mc:AlternateContent></w:r></w:p>".format(
        new="<w:t>新条款 New</w:t>", old="<w:t>旧条款 Old</w:t>"
    )
    assert outline(check(parse(made(inside)))) == [("paragraph", "Body 正文"), ("paragraph", shown)]


def test_what_a_field_would_say_is_told_unless_it_is_shown() -> None:
    field = (
        '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:helpText w:val="Ask 人事部"/><w:textInput>'
        '<w:default w:val="{}"/></w:textInput></w:ffData></w:fldChar></w:r>'
    ).format
    document = check(
        parse(made(f"<w:p>{field('请填写姓名')}{run('Ann')}</w:p>", f"<w:p>{field('Bob')}{run('Bob')}</w:p>"))
    )
    assert outline(document) == [("paragraph", "Body 正文"), ("paragraph", "Ann"), ("paragraph", "Bob")]
    assert document.left_out == (LeftOut(LEFT, "请填写姓名 | Ask 人事部 | Ask 人事部"),)
