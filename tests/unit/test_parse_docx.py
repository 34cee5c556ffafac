from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

import docx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import qn

from documents.media_types import DOCX, UnsupportedFile, detect
from indexing.blocks import Gap, GapReason, LeftOutReason
from indexing.errors import DocumentCorrupt, DocumentEncrypted, DocumentTooLarge, NoText, UnsupportedDocument
from indexing.locators import Locator
from indexing.parsers import limits
from indexing.parsers.docx import parse
from indexing.parsers.docx_numbering import format_number
from indexing.parsers.limits import Limit
from tests.unit.blocks_asserts import check, outline

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 512


def saved(document: docx.document.Document) -> bytes:
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def repacked(content: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """The same package with each part passed through `change(name, part)`."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return stream.getvalue()


def xml(element: str, **attributes: str) -> OxmlElement:
    made = OxmlElement(element)
    for name, value in attributes.items():
        made.set(qn(f"w:{name}"), value)
    return made


def small() -> bytes:
    document = docx.Document()
    document.add_paragraph("Text")
    return saved(document)


def test_headings_lists_tables_in_body_order() -> None:
    document = docx.Document()
    document.add_heading("采购管理办法", 0)
    document.add_heading("Scope", 1)
    document.add_paragraph("适用于全部采购。")
    document.add_paragraph("laptops", style="List Bullet")
    document.add_paragraph("first", style="List Number")
    document.add_paragraph("second", style="List Number")
    table = document.add_table(2, 2)
    for cell, text in zip(table._cells, ["Amount", "审批", "< 1,000", "manager"], strict=True):
        cell.text = text
    document.add_heading("Details", 2)
    document.add_paragraph("After\nthe table\tend")
    parsed = check(parse(saved(document)))
    assert parsed.title == "采购管理办法"
    assert parsed.pages is None
    assert outline(parsed) == [
        ("h1", "采购管理办法"),
        ("h1", "Scope"),
        ("paragraph", "适用于全部采购。"),
        ("list_item", "laptops"),
        ("list_item", "1. first"),
        ("list_item", "2. second"),
        ("table", "Amount | 审批\n< 1,000 | manager"),
        ("h2", "Details"),
        ("paragraph", "After\nthe table end"),
    ]
    assert parsed.blocks[6].header_rows == 1
    assert parsed.blocks[8].heading_path == ("Scope", "Details")
    assert parsed.blocks[8].locator == Locator(span=(95, 114))  # Word shows no lines that one could count


def test_headings_by_chinese_style_names_and_outline_levels() -> None:
    document = docx.Document()
    chinese = document.styles.add_style("标题 1", WD_STYLE_TYPE.PARAGRAPH)
    child = document.styles.add_style("公司小节", WD_STYLE_TYPE.PARAGRAPH)
    child.base_style = chinese
    by_outline = document.styles.add_style("条款", WD_STYLE_TYPE.PARAGRAPH)
    by_outline.element.get_or_add_pPr().append(xml("w:outlineLvl", val="2"))
    document.add_paragraph("总则", style=chinese)
    document.add_paragraph("小节", style=child)
    document.add_paragraph("第一条", style=by_outline)
    direct = document.add_paragraph("Direct")
    direct._p.get_or_add_pPr().append(xml("w:outlineLvl", val="1"))
    not_one = document.add_paragraph("Body", style=chinese)
    not_one._p.get_or_add_pPr().append(xml("w:outlineLvl", val="9"))
    assert outline(parse(saved(document))) == [
        ("h1", "总则"),
        ("h1", "小节"),
        ("h3", "第一条"),
        ("h2", "Direct"),
        ("paragraph", "Body"),
    ]


def numbering(document: docx.document.Document, levels: list[tuple[str, str]]) -> str:
    """A multilevel list of (form, pattern); its numId."""
    root = document.part.numbering_part.element
    abstract = xml("w:abstractNum", abstractNumId="77")
    for depth, (form, pattern) in enumerate(levels):
        level = xml("w:lvl", ilvl=str(depth))
        for name, value in (("w:start", "1"), ("w:numFmt", form), ("w:lvlText", pattern)):
            level.append(xml(name, val=value))
        abstract.append(level)
    root.insert(0, abstract)
    number = xml("w:num", numId="77")
    number.append(xml("w:abstractNumId", val="77"))
    root.append(number)
    return "77"


def test_clauses_carry_the_numbers_that_word_shows() -> None:
    document = docx.Document()
    num_id = numbering(document, [("chineseCounting", "第%1章"), ("decimal", "%1.%2"), ("bullet", "•")])
    for text, depth, style in (
        ("总则", 0, "Heading 1"),
        ("Scope", 1, None),
        ("Terms", 1, None),
        ("a point", 2, None),
        ("附则", 0, "Heading 1"),
        ("Last", 1, None),
    ):
        paragraph = document.add_paragraph(text, style=style)
        properties = xml("w:numPr")
        properties.append(xml("w:ilvl", val=str(depth)))
        properties.append(xml("w:numId", val=num_id))
        paragraph._p.get_or_add_pPr().append(properties)
    assert outline(parse(saved(document))) == [
        ("h1", "第一章 总则"),
        ("list_item", "一.1 Scope"),
        ("list_item", "一.2 Terms"),
        ("list_item", "a point"),
        ("h1", "第二章 附则"),
        ("list_item", "二.1 Last"),
    ]


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (*(10, "chineseCounting"), "十"),
        (*(21, "chineseCountingThousand"), "二十一"),
        (*(105, "chineseCounting"), "一百零五"),
        (*(110, "chineseCounting"), "一百一十"),
        (*(4, "lowerRoman"), "iv"),
        (*(28, "upperLetter"), "BB"),
        (*(3, "decimalEnclosedCircle"), "③"),
        (*(7, "decimalZero"), "07"),
        (*(7, "unheardOf"), "7"),
    ],
)
def test_number_forms(value: int, form: str, shown: str) -> None:
    assert format_number(value, form) == shown


def test_merged_cells() -> None:
    """Over rows their text is in each row; over columns in the header only."""
    document = docx.Document()
    table = document.add_table(4, 3)
    for index, cell in enumerate(table._cells):
        cell.text = str(index)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "表头"
    table.cell(1, 0).merge(table.cell(2, 0)).text = "down"
    table._tbl.tr_lst[2].tc_lst[0].p_lst[0].add_r().text = "not shown by Word"
    table.cell(3, 1).merge(table.cell(3, 2)).text = "across"
    (block,) = check(parse(saved(document))).blocks
    assert block.rows == (("表头", "表头", "2"), ("down", "4", "5"), ("down", "7", "8"), ("9", "across", ""))
    assert block.header_rows == 1


def test_a_table_of_one_column_is_a_frame() -> None:
    document = docx.Document()
    table = document.add_table(1, 1)
    table.cell(0, 0).text = "Note"
    table.cell(0, 0).add_paragraph("Inside")
    assert outline(parse(saved(document))) == [("paragraph", "Note"), ("paragraph", "Inside")]


def test_what_is_not_content_is_left_out() -> None:
    document = docx.Document()
    document.sections[0].header.paragraphs[0].text = "Header"
    document.sections[0].footer.paragraphs[0].text = "Footer"
    document.styles.add_style("toc 1", WD_STYLE_TYPE.PARAGRAPH)
    document.add_paragraph("Scope\t3", style="toc 1")
    paragraph = document.add_paragraph("kept ")
    deleted = xml("w:del")
    run = xml("w:r")
    text = xml("w:delText")
    text.text = "deleted"
    run.append(text)
    deleted.append(run)
    paragraph._p.append(deleted)
    inserted = xml("w:ins")
    run = xml("w:r")
    text = xml("w:t")
    text.text = "inserted"
    run.append(text)
    inserted.append(run)
    paragraph._p.append(inserted)
    hidden = paragraph.add_run("隐藏")
    hidden.font.hidden = True
    parsed = parse(saved(document))
    assert outline(parsed) == [("paragraph", "kept inserted")]
    assert {(left.reason, left.text) for left in parsed.left_out} == {
        (LeftOutReason.PAGE_HEADER, "Header"),
        (LeftOutReason.PAGE_FOOTER, "Footer"),
        (LeftOutReason.CONTENTS, "Scope\t3"),
        (LeftOutReason.HIDDEN, "deleted | 隐藏"),
    }


def test_captions_formulas_and_descriptions() -> None:
    document = docx.Document()
    document.add_paragraph("图 1 组织结构", style="Caption")
    formula = document.add_paragraph()
    math = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    formula._p.append(
        parse_xml(f'<m:oMath xmlns:m="{math}"><m:r><m:t>E=m</m:t></m:r><m:r><m:t>c</m:t></m:r></m:oMath>')
    )
    drawing = "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"
    for words in ("A chart of the departments", "Picture 3", "scan.png"):
        run = document.add_paragraph().add_run()
        holder = xml("w:drawing")
        holder.append(parse_xml(f'<wp:docPr xmlns:wp="{drawing}" id="1" name="x" descr="{words}"/>'))
        run._r.append(holder)
    assert outline(parse(saved(document))) == [
        ("caption", "图 1 组织结构"),
        ("formula", "E=mc"),
        ("caption", "A chart of the departments"),
    ]


def test_deleted_rows_and_symbols() -> None:
    document = docx.Document()
    table = document.add_table(3, 2)
    for index, cell in enumerate(table._cells):
        cell.text = str(index)
    row = table._tbl.tr_lst[1].get_or_add_trPr()
    row.append(xml("w:del"))
    run = document.add_paragraph("5 ").add_run()
    run._r.append(xml("w:sym", char="00B1", font="Arial"))
    for code, font in (
        ("F0E0", "Wingdings"),
        ("F0FE", "Wingdings"),
        ("F061", "Symbol"),
        ("F04A", "Wingdings"),
        ("F0B1", "Own"),
    ):
        run._r.append(xml("w:sym", char=code, font=font))
    assert outline(parse(saved(document))) == [("table", "0 | 1\n4 | 5"), ("paragraph", "5 ±→☑α")]


def test_formulas_keep_their_structure() -> None:
    spaces = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    letter = "<m:r><m:t>{}</m:t></m:r>".format
    fraction = f"<m:f><m:num>{letter('a')}</m:num><m:den>{letter('b')}</m:den></m:f>"
    document = docx.Document()
    paragraph = document.add_paragraph("当 ")
    paragraph._p.append(parse_xml(f"<m:oMath {spaces}>{fraction}</m:oMath>"))
    paragraph.add_run(" 时")
    alone = document.add_paragraph()
    for text in ("x=1", "y=2"):
        alone._p.append(parse_xml(f"<m:oMath {spaces}>{letter(text)}</m:oMath>"))
    assert outline(parse(saved(document))) == [("paragraph", r"当 \frac{a}{b} 时"), ("formula", "x=1\ny=2")]


def typed(document: docx.document.Document, text: str, font: str) -> None:
    document.add_paragraph().add_run(text).font.name = font


def test_code_by_its_font() -> None:
    document = docx.Document()
    for line in ("def half(x):", "    y = x / 2", "    return y"):
        typed(document, line, "Consolas")
    document.add_paragraph("正文。")
    typed(document, "This memo is set in a typewriter face.", "Courier New")
    mixed = document.add_paragraph("Call ")
    mixed.add_run("printf();").font.name = "Courier New"
    assert outline(parse(saved(document))) == [
        ("code", "def half(x):\n    y = x / 2\n    return y"),
        ("paragraph", "正文。"),
        ("paragraph", "This memo is set in a typewriter face."),
        ("paragraph", "Call printf();"),
    ]


def test_a_content_control_around_everything_is_not_its_table_of_contents() -> None:
    document = docx.Document()
    for text in ("Scope 3", "第一条 适用范围"):
        document.add_paragraph(text)
    body = document.element.body
    contents, content = (body.p_lst[0], body.p_lst[1])

    def control(*inside: OxmlElement, gallery: str = "") -> OxmlElement:
        made, properties, holder = xml("w:sdt"), xml("w:sdtPr"), xml("w:sdtContent")
        if gallery:
            part = xml("w:docPartObj")
            part.append(xml("w:docPartGallery", val=gallery))
            properties.append(part)
        holder.extend(inside)
        made.extend((properties, holder))
        return made

    body.insert(0, control(control(contents, gallery="Table of Contents"), content))
    parsed = parse(saved(document))
    assert outline(parsed) == [("paragraph", "第一条 适用范围")]
    assert [(left.reason, left.text) for left in parsed.left_out] == [(LeftOutReason.CONTENTS, "Scope 3")]


def test_text_that_a_style_hides() -> None:
    document = docx.Document()
    inline = document.styles.add_style("Instruction", WD_STYLE_TYPE.CHARACTER)
    whole = document.styles.add_style("填写说明", WD_STYLE_TYPE.PARAGRAPH)
    inline.font.hidden = whole.font.hidden = True
    document.add_paragraph("Name ").add_run("[enter the name]", style=inline)
    document.add_paragraph("按模板填写", style=whole)
    document.add_paragraph("shown", style=whole).runs[0].font.hidden = False
    parsed = parse(saved(document))
    assert outline(parsed) == [("paragraph", "Name"), ("paragraph", "shown")]
    assert [left.text for left in parsed.left_out] == ["[enter the name] | 按模板填写"]


def test_fields_of_forms() -> None:
    document = docx.Document()
    run = document.add_paragraph("Paid ").add_run()
    namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    for inner in (
        "<w:checkBox><w:checked/></w:checkBox>",
        '<w:checkBox><w:default w:val="0"/></w:checkBox>',
        '<w:ddList><w:result w:val="1"/><w:listEntry w:val="month"/><w:listEntry w:val="year"/></w:ddList>',
    ):
        run._r.append(parse_xml(f'<w:fldChar xmlns:w="{namespace}"><w:ffData>{inner}</w:ffData></w:fldChar>'))
    assert outline(parse(saved(document))) == [("paragraph", "Paid ☒☐year")]


def test_charts_diagrams_and_older_pictures() -> None:
    """A drawing is read once, although the file has it again for older programs."""
    document = docx.Document()
    spaces = "http://schemas.openxmlformats.org/drawingml/2006"
    point = '<c:pt idx="0"><c:v>{}</c:v></c:pt>'.format
    chart = (
        f'<c:chartSpace xmlns:c="{spaces}/chart"><c:chart><c:plotArea><c:ser><c:cat>{point("一季度")}</c:cat>'
        f"<c:val>{point('4.5')}</c:val></c:ser></c:plotArea></c:chart></c:chartSpace>"
    )
    diagram = (
        f'<dgm:dataModel xmlns:dgm="{spaces}/diagram" xmlns:a="{spaces}/main"><dgm:pt modelId="1"><dgm:t><a:p><a:r>'
        "<a:t>Plan</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:dataModel>"
    )
    word = document.part
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    for kind, name, content in (("chart", "charts/chart1", chart), ("diagramData", "diagrams/data1", diagram)):
        part = Part(PackURI(f"/word/{name}.xml"), "application/xml", content.encode(), word.package)
        word.relate_to(part, f"{office}/{kind}")
    ids = {relation.reltype.rpartition("/")[2]: name for name, relation in word.rels.items()}
    shown = (
        '<w:drawing><wp:inline><wp:docPr id="1" name="x" descr="销售额"/><a:graphic><a:graphicData>{}'
        "</a:graphicData></a:graphic></wp:inline></w:drawing>"
    )
    older = '<w:pict><v:shape alt="Our logo"/></w:pict>'
    names = (
        f'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:a="{spaces}/main" xmlns:r="{office}" '
        f'xmlns:wp="{spaces}/wordprocessingDrawing" xmlns:c="{spaces}/chart" xmlns:dgm="{spaces}/diagram" '
        'xmlns:v="urn:schemas-microsoft-com:vml" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    )
    both = "<mc:AlternateContent><mc:Choice>{}</mc:Choice><mc:Fallback>{}</mc:Fallback></mc:AlternateContent>".format
    for inner in (
        both(shown.format(f'<c:chart r:id="{ids["chart"]}"/>'), older),
        shown.replace("销售额", "").format(f'<dgm:relIds r:dm="{ids["diagramData"]}"/>'),
        older,
        shown.replace("销售额", "").format('<c:chart r:id="rId999"/>'),
    ):
        document.add_paragraph()._p.append(parse_xml(f"<w:r {names}>{inner}</w:r>"))
    parsed = parse(saved(document))
    assert outline(parsed) == [
        ("caption", "销售额"),
        ("table", "一季度 | 4.5"),
        ("list_item", "Plan"),
        ("caption", "Our logo"),
    ]
    assert parsed.gaps == (Gap(GapReason.UNREADABLE),)


def test_another_file_inside_is_a_gap() -> None:
    document = docx.Document()
    document.add_paragraph("Text")
    document.element.body.insert(0, xml("w:altChunk"))
    assert parse(saved(document)).gaps == (Gap(GapReason.UNREADABLE),)


def test_deleted_items_are_not_counted() -> None:
    document = docx.Document()
    for text in ("first", "", "second"):
        item = document.add_paragraph(text, style="List Number")
        if not text:
            properties = item._p.get_or_add_pPr()
            mark = xml("w:rPr")
            mark.append(xml("w:del"))
            properties.append(mark)
    assert outline(parse(saved(document))) == [("list_item", "1. first"), ("list_item", "2. second")]


def test_text_that_was_moved_is_read_where_it_went() -> None:
    document = docx.Document()
    first, second = document.add_paragraph("kept "), document.add_paragraph("also ")
    for paragraph, element in ((first, "w:moveFrom"), (second, "w:moveTo")):
        holder = xml(element)
        holder.append(document.add_paragraph().add_run("moved")._r)
        paragraph._p.append(holder)
    assert outline(parse(saved(document))) == [("paragraph", "kept"), ("paragraph", "also moved")]


def test_footnotes_follow_the_paragraph_that_refers_to_them() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("Fifteen days.")
    paragraph.add_run()._r.append(xml("w:footnoteReference", id="2"))
    document.add_paragraph("Next.")
    namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    notes = (
        f'<w:footnotes xmlns:w="{namespace}"><w:footnote w:type="separator" w:id="0"><w:p><w:r><w:t>-</w:t></w:r></w:p>'
        '</w:footnote><w:footnote w:id="2"><w:p><w:r><w:footnoteRef/></w:r><w:r><w:t>Ten in the first year.</w:t></w:r>'
        "</w:p></w:footnote></w:footnotes>"
    )
    part = Part(
        PackURI("/word/footnotes.xml"),
        f"{DOCX.rpartition('.')[0]}.footnotes+xml",
        notes.encode(),
        document.part.package,
    )
    document.part.relate_to(part, "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes")
    assert outline(parse(saved(document))) == [
        ("paragraph", "Fifteen days."),
        ("paragraph", "Ten in the first year."),
        ("paragraph", "Next."),
    ]


def test_text_boxes_are_read_once() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("Before")
    box = xml("w:txbxContent")
    inner = xml("w:p")
    run = xml("w:r")
    text = xml("w:t")
    text.text = "Boxed"
    run.append(text)
    inner.append(run)
    box.append(inner)
    holder = xml("w:drawing")
    holder.append(box)
    paragraph.add_run()._r.append(holder)
    assert outline(parse(saved(document))) == [("paragraph", "Before"), ("paragraph", "Boxed")]


def test_lines_of_code_are_one_block() -> None:
    document = docx.Document()
    document.styles.add_style("Source Code", WD_STYLE_TYPE.PARAGRAPH)
    document.add_paragraph("def f():", style="Source Code")
    document.add_paragraph("    return 1", style="Source Code")
    document.add_paragraph("问：几点？")
    document.add_paragraph("答：九点。")
    assert outline(parse(saved(document))) == [("code", "def f():\n    return 1"), ("faq", "问：几点？\n答：九点。")]


def test_a_document_with_macros() -> None:
    content = repacked(
        small(),
        lambda name, part: (
            part.replace(
                b"openxmlformats-officedocument.wordprocessingml.document.main", b"ms-word.document.macroEnabled.main"
            )
            if name == "[Content_Types].xml"
            else part
        ),
    )
    assert detect(content, "a.docm") == DOCX
    assert outline(parse(content)) == [("paragraph", "Text")]


def test_nothing_to_read() -> None:
    with pytest.raises(NoText):
        parse(saved(docx.Document()))


@pytest.mark.parametrize("keep", [4, 100, 0.5, -1])
def test_damaged_files(keep: float) -> None:
    content = small()
    cut = content[: int(len(content) * keep) if keep == 0.5 else int(keep)]
    with pytest.raises(DocumentCorrupt):
        parse(cut)


def test_flipped_bytes_inside_a_part() -> None:
    content = bytearray(small())
    start = content.find(b"word/document.xml") + 60
    content[start : start + 40] = bytes(40)
    with pytest.raises(DocumentCorrupt):
        parse(bytes(content))


@pytest.mark.parametrize("name", ["[Content_Types].xml", "word/document.xml", "_rels/.rels"])
def test_parts_that_are_no_xml(name: str) -> None:
    with pytest.raises(DocumentCorrupt):
        parse(repacked(small(), lambda part, data: b"<w:broken" if part == name else data))


def test_a_zip_that_is_no_document() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as package:
        package.writestr("hello.txt", "hello")
    with pytest.raises(DocumentCorrupt):
        parse(stream.getvalue())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_document_types_and_entities_are_refused(encoding: str) -> None:
    declaration = '<!DOCTYPE w:document [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'

    def declare(part: str, data: bytes) -> bytes:
        if part != "word/document.xml":
            return data
        head, body = data.decode().split("?>", 1)
        return (head.replace("UTF-8", encoding) + "?>" + declaration + body).encode(encoding)

    with pytest.raises(DocumentCorrupt):
        parse(repacked(small(), declare))


def test_an_external_picture_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)

    def link(part: str, data: bytes) -> bytes:
        if part != "word/_rels/document.xml.rels":
            return data
        image = (
            '<Relationship Id="rId99" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image"'
            ' Target="http://192.0.2.1/x.png" TargetMode="External"/>'
        )
        return data.replace(b"</Relationships>", image.encode() + b"</Relationships>")

    assert parse(repacked(small(), link)).text == "Text"


def test_a_zip_bomb_is_refused_before_it_is_opened() -> None:
    """Thirty megabytes of zeros in thirty kilobytes: by ratio; and 300 declared megabytes: by size."""
    stream = io.BytesIO(small())
    with zipfile.ZipFile(stream, "a", zipfile.ZIP_DEFLATED) as package:
        package.writestr("word/media/zeros.bin", bytes(30_000_000))
    bomb = stream.getvalue()
    assert len(bomb) < 100_000
    with pytest.raises(DocumentTooLarge):
        parse(bomb)


def test_declared_sizes_are_enough_to_refuse() -> None:
    content = bytearray(small())
    entry = content.find(b"PK\x01\x02")  # the central directory's first entry; its unzipped size is at 24
    content[entry + 24 : entry + 28] = (300_000_000).to_bytes(4, "little")
    with pytest.raises(DocumentTooLarge):
        parse(bytes(content))


def test_the_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "UNZIPPED_BYTES", Limit(1000, limits.UNZIPPED_BYTES.sentence))
    with pytest.raises(DocumentTooLarge):
        parse(small())


def test_protected_files() -> None:
    assert detect(OLE, "plan.docx") == DOCX
    with pytest.raises(DocumentEncrypted):
        parse(OLE)
    with pytest.raises(DocumentEncrypted):
        parse(OLE + "EncryptedPackage".encode("utf-16-le"))
    with pytest.raises(UnsupportedFile):
        detect(OLE, "plan.txt")
    with pytest.raises(UnsupportedFile):
        detect(OLE, "plan.pdf")


def test_an_old_word_document_under_a_new_name() -> None:
    with pytest.raises(UnsupportedDocument):
        parse(OLE + "WordDocument".encode("utf-16-le"))


def test_an_encrypted_zip() -> None:
    content = bytearray(small())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.find(mark) + offset] |= 1
    with pytest.raises(DocumentEncrypted):
        parse(bytes(content))
