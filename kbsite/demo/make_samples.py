"""Makes the sample PDFs, the DOCX, the XLSX, the PPTX, the GB18030 text and the damaged PDF from `sources/`.

Run by developers after a change in `sources/`, and the result is committed: `python -m kbsite.demo.make_samples`.
Needs reportlab (requirements-dev.txt). Two runs give the same bytes on every machine: fixed dates and ids, and nothing
is compressed, because implementations of zlib differ.
"""

# reportlab has no types, and is not installed in production.
# mypy: disable-error-code="import-untyped, import-not-found"

from __future__ import annotations

import io
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import docx
from docx.oxml.ns import qn
from docx.shared import Pt
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    CondPageBreak,
    Flowable,
    Frame,
    LongTable,
    PageTemplate,
    Paragraph,
    TableStyle,
)

from kbsite.demo.make_office import make_pptx, make_xlsx

HERE = Path(__file__).parent
SOURCES = HERE / "sources"
SAMPLES = HERE / "samples"
CHINESE_FONT = HERE / "fonts" / "demo-sans-sc.ttf"
MADE_AT = datetime(2025, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Block:
    """One piece of a source: a heading, a paragraph, a list item or a table."""

    kind: str  # "heading", "paragraph", "bullet", "numbered", "table"
    text: str = ""
    level: int = 0  # of a heading, from 1
    rows: tuple[tuple[str, ...], ...] = ()  # of a table, the header row first


def read_blocks(source: str) -> Iterator[Block]:
    """The few forms of Markdown that the sources use; a line is a block, except that table rows belong together."""
    rows: list[tuple[str, ...]] = []
    for line in [*source.splitlines(), ""]:
        if line.startswith("|"):
            rows.append(tuple(cell.strip() for cell in line.strip("|").split("|")))
            continue
        if rows:
            yield Block("table", rows=tuple(rows))
            rows = []
        if heading := re.match(r"(#+) (.+)", line):
            yield Block("heading", heading[2], len(heading[1]))
        elif line.startswith("- "):
            yield Block("bullet", line[2:])
        elif numbered := re.match(r"\d+\. (.+)", line):
            yield Block("numbered", numbered[1])
        elif line:
            yield Block("paragraph", line)


@dataclass(frozen=True)
class Look:
    """What makes the two PDFs differ."""

    title: str
    running_title: str
    page_label: Callable[[int, int], str]  # (page, pages) -> footer
    font: str
    bold: str
    cjk: bool
    leading: float  # of body text of 10.5 pt
    column_shares: tuple[float, ...]  # of the table's width


ENGLISH = Look(
    title="Employee Handbook",
    running_title="Qinglan Instruments · Employee Handbook · Edition 6",
    page_label=lambda page, pages: f"Page {page} of {pages}",
    font="Helvetica",
    bold="Helvetica-Bold",
    cjk=False,
    leading=15.5,
    column_shares=(0.32, 0.13, 0.09, 0.2, 0.26),
)
CHINESE = Look(
    title="信息安全管理制度",
    running_title="青岚仪器有限公司　信息安全管理制度　IT-01",
    page_label=lambda page, pages: f"第 {page} 页，共 {pages} 页",
    font="DemoSansSC",
    bold="DemoSansSC",
    cjk=True,
    leading=19,
    column_shares=(0.09, 0.1, 0.29, 0.24, 0.28),
)


class _Template(BaseDocTemplate):  # type: ignore[misc]
    """A4 with a running title, a page number, and an outline made of the headings."""

    def __init__(self, target: io.BytesIO, look: Look, pages: int) -> None:
        super().__init__(
            target,
            pagesize=A4,
            title=look.title,
            author="Qinglan Instruments",
            invariant=1,
            pageCompression=0,
            lang="zh-CN" if look.cjk else "en",
        )
        self.look, self.pages = look, pages
        width, height = A4
        frame = Frame(25 * mm, 24 * mm, width - 50 * mm, height - 50 * mm, leftPadding=0, rightPadding=0)
        self.addPageTemplates(PageTemplate(frames=[frame], onPage=self._header_and_footer))

    def _header_and_footer(self, canvas: Canvas, _template: object) -> None:
        width, height = A4
        canvas.saveState()
        canvas.setFont(self.look.font, 8)
        canvas.setFillColor(colors.HexColor("#555555"))
        canvas.drawString(25 * mm, height - 15 * mm, self.look.running_title)
        canvas.drawCentredString(width / 2, 13 * mm, self.look.page_label(canvas.getPageNumber(), self.pages))
        canvas.setStrokeColor(colors.HexColor("#aaaaaa"))
        canvas.line(25 * mm, height - 17 * mm, width - 25 * mm, height - 17 * mm)
        canvas.restoreState()

    def afterFlowable(self, flowable: Flowable) -> None:
        level = getattr(flowable, "heading_level", 0)
        if level:
            key = f"heading-{self.seq.nextf('heading')}"
            self.canv.bookmarkPage(key)
            self.canv.addOutlineEntry(flowable.getPlainText(), key, level - 1, closed=level > 1)


def make_pdf(source: str, look: Look) -> bytes:
    """The PDF; built twice, because the footer of page 1 has to know the number of pages."""
    if look.cjk and look.font not in pdfmetrics.getRegisteredFontNames():
        # Embedded: the built-in STSong-Light renders as nothing on a machine without Chinese fonts.
        pdfmetrics.registerFont(TTFont(look.font, CHINESE_FONT))
    pages = 0
    for _ in range(2):
        target = io.BytesIO()
        template = _Template(target, look, pages)
        template.build([flowable for block in read_blocks(source) for flowable in _flowables(block, look)])
        pages = template.page
    return target.getvalue()


def _flowables(block: Block, look: Look) -> Iterator[Flowable]:
    if block.level == 2:
        yield CondPageBreak(50 * mm)  # a chapter does not begin at the foot of a page
    yield _flowable(block, look)


def _flowable(block: Block, look: Look) -> Flowable:
    wrap = "CJK" if look.cjk else None
    if block.kind == "table":
        return _table(block, look, wrap)
    if block.kind == "heading":
        size = {1: 22, 2: 15, 3: 12}[block.level]
        style = ParagraphStyle(
            f"heading{block.level}",
            fontName=look.bold,
            fontSize=size,
            leading=size * 1.4,
            spaceBefore=size,
            spaceAfter=size * 0.4,
            textColor=colors.HexColor("#1f3a5f"),
            keepWithNext=1,
            wordWrap=wrap,
        )
        heading = Paragraph(escape(block.text), style)
        heading.heading_level = block.level
        return heading
    style = ParagraphStyle(
        "body",
        fontName=look.font,
        fontSize=10.5,
        leading=look.leading,
        spaceAfter=6,
        firstLineIndent=21 if look.cjk else 0,
        wordWrap=wrap,
        allowWidows=0,
        allowOrphans=0,
    )
    return Paragraph(escape(block.text), style)


def _table(block: Block, look: Look, wrap: str | None) -> Flowable:
    cell = ParagraphStyle("cell", fontName=look.font, fontSize=9, leading=12.5, wordWrap=wrap)
    head = ParagraphStyle("head", parent=cell, fontName=look.bold)
    rows = [
        [Paragraph(escape(text), cell if number else head) for text in row] for number, row in enumerate(block.rows)
    ]
    width = A4[0] - 50 * mm
    table = LongTable(rows, colWidths=[width * share for share in look.column_shares], repeatRows=1)
    table.setStyle(
        TableStyle(
            [
                ("GRID", (0, 0), (-1, -1), 0.6, colors.HexColor("#444444")),
                ("BACKGROUND", (0, 0), (-1, 0), colors.HexColor("#dde6f0")),
                ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
                ("TOPPADDING", (0, 0), (-1, -1), 4),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 5),
            ]
        )
    )
    table.spaceBefore, table.spaceAfter = 4, 10
    return table


def make_docx(source: str, title: str) -> bytes:
    """The DOCX, with Word's own heading and list styles."""
    document = docx.Document()
    _trim(document)
    core = document.core_properties
    core.title, core.author, core.last_modified_by = title, "Qinglan Instruments", "Qinglan Instruments"
    core.comments, core.language, core.revision = "", "zh-CN", 1
    core.created = core.modified = MADE_AT
    for name, font in (("Normal", "SimSun"), ("Title", "SimHei"), ("Heading 1", "SimHei"), ("Heading 2", "SimHei")):
        document.styles[name].element.get_or_add_rPr().get_or_add_rFonts().set(qn("w:eastAsia"), font)
    document.styles["Normal"].font.size = Pt(11)
    previous, numbering = "", 0
    for block in read_blocks(source):
        if block.kind == "heading":
            document.add_heading(block.text, level=block.level - 1)  # level 0 is the style Title
        elif block.kind == "table":
            table = document.add_table(rows=0, cols=len(block.rows[0]), style="Table Grid")
            for number, row in enumerate(block.rows):
                for cell, text in zip(table.add_row().cells, row, strict=True):
                    cell.paragraphs[0].add_run(text).bold = number == 0
            document.add_paragraph()
        elif block.kind == "numbered":
            if previous != "numbered":
                numbering = _new_numbering(document)
            paragraph = document.add_paragraph(block.text, style="List Number")
            properties = paragraph._p.get_or_add_pPr().get_or_add_numPr()
            properties.get_or_add_ilvl().val, properties.get_or_add_numId().val = 0, numbering
        else:
            document.add_paragraph(block.text, style="List Bullet" if block.kind == "bullet" else None)
        previous = block.kind
    saved = io.BytesIO()
    document.save(saved)
    return _repack(saved.getvalue())


def _trim(document: Any) -> None:
    """Drops what the default template brings and nobody uses: 700 kB of table styles and a thumbnail."""
    for style in list(document.styles.element):
        if style.get(qn("w:type")) == "table" and style.get(qn("w:styleId")) not in ("TableNormal", "TableGrid"):
            document.styles.element.remove(style)
    for part in (document.part, document.part.package):
        for key, relation in list(part.rels.items()):
            if relation.reltype.endswith(("/stylesWithEffects", "/thumbnail")):
                del part.rels[key]


def _new_numbering(document: Any) -> int:
    """A numbering that starts again at 1: all paragraphs of the style "List Number" otherwise share one count."""
    style_id = document.styles["List Number"].element.pPr.numPr.numId.val
    numbering = document.part.numbering_part.element
    added = numbering.add_num(numbering.num_having_numId(style_id).abstractNumId.val)
    added.add_lvlOverride(ilvl=0).add_startOverride(1)
    return int(added.numId)


_MODIFIED = re.compile(rb"(<dcterms:modified[^>]*>)[^<]*")  # openpyxl writes the present time
_MADE_THEN = rb"\g<1>" + MADE_AT.strftime("%Y-%m-%dT%H:%M:%SZ").encode()


def _repack(package: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(package)) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as new:
        for name in old.namelist():
            member = zipfile.ZipInfo(name, MADE_AT.timetuple()[:6])
            member.create_system = 0  # otherwise it names the operating system that this runs on
            new.writestr(
                member, _MODIFIED.sub(_MADE_THEN, old.read(name)) if name == "docProps/core.xml" else old.read(name)
            )
    return target.getvalue()


def make_damaged_pdf(whole: bytes) -> bytes:
    """A download that broke off: the header and the first objects, but neither catalogue nor cross-reference table."""
    return whole[: whole.index(b"/Type /Catalog")].rsplit(b"endobj", 1)[0]


def make_all() -> dict[str, bytes]:
    """File name in `samples/` -> content."""
    handbook = make_pdf(_source("employee-handbook.md"), ENGLISH)
    return {
        "employee-handbook.pdf": handbook,
        "information-security-zh.pdf": make_pdf(_source("information-security-zh.md"), CHINESE),
        "procurement-process.docx": make_docx(_source("procurement-process.md"), "采购管理流程"),
        "travel-rates.xlsx": _repack(make_xlsx(read_blocks(_source("travel-rates.md")), "差旅住宿与交通标准", MADE_AT)),
        "service-training.pptx": _repack(
            make_pptx(read_blocks(_source("service-training.md")), "Field Service Training", MADE_AT)
        ),
        "attendance-rules.txt": _source("attendance-rules.txt").encode("gb18030"),
        "quarterly-report-damaged.pdf": make_damaged_pdf(handbook),
    }


def font_characters() -> str:
    """Every character that the Chinese PDF uses: what the font in `fonts/` must have."""
    text = _source("information-security-zh.md") + CHINESE.running_title + CHINESE.page_label(1, 1) + "0123456789"
    return "".join(sorted(set(text) - {"\n"}))


def _source(name: str) -> str:
    return (SOURCES / name).read_text(encoding="utf-8")


def main() -> None:
    if sys.argv[1:] == ["--font-characters"]:
        sys.stdout.buffer.write(font_characters().encode())
        return
    for name, content in make_all().items():
        (SAMPLES / name).write_bytes(content)
        sys.stdout.write(f"{len(content):>8} {name}\n")


if __name__ == "__main__":
    main()
