"""PDFs for tests: drawn at given places, or typeset."""

from __future__ import annotations

import io
from collections.abc import Callable

from reportlab.lib import colors, pagesizes
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import SimpleDocTemplate, TableStyle

from indexing.blocks import ParsedDocument
from indexing.parsers.pdf import parse
from tests.unit.blocks_asserts import check

CHINESE = "STSong-Light"  # a font every PDF reader has; nothing is embedded
pdfmetrics.registerFont(UnicodeCIDFont(CHINESE))

BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=11, leading=14, spaceAfter=8)
BODY_ZH = ParagraphStyle("正文", fontName=CHINESE, fontSize=12, leading=20, firstLineIndent=24, wordWrap="CJK")
H1 = ParagraphStyle("h1", fontName="Helvetica-Bold", fontSize=20, leading=26, spaceAfter=10)
H2 = ParagraphStyle("h2", fontName="Helvetica-Bold", fontSize=14, leading=18, spaceBefore=8, spaceAfter=6)
H1_ZH = ParagraphStyle("标题", fontName=CHINESE, fontSize=20, leading=28, alignment=1, spaceAfter=10)
H2_ZH = ParagraphStyle("章", fontName=CHINESE, fontSize=15, leading=22, spaceBefore=10, spaceAfter=6)
GRID = TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black), ("FONT", (0, 0), (-1, -1), CHINESE, 10)])

LONG = (
    "Every employee receives fifteen days of annual leave. The days are granted on the first of January and may be "
    "taken in one piece or in several. Days that were not taken by the end of March of the following year expire."
)
LONG_ZH = (
    "为了规范员工休假，保障员工休息的权利，根据国家有关规定，结合公司实际情况，制定本办法。"
    "本办法适用于与公司签订劳动合同的全体员工，实习生参照执行。"
)


def drawn(draw: Callable[[Canvas], None], **options: object) -> bytes:
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=pagesizes.A4, invariant=1, **options)
    draw(canvas)
    canvas.showPage()
    canvas.save()
    return stream.getvalue()


def typeset(story: list[object], furniture: Callable[[Canvas, object], None] | None = None) -> bytes:
    stream = io.BytesIO()
    template = SimpleDocTemplate(stream, pagesize=pagesizes.A4, invariant=1)
    template.build(story, *([furniture, furniture] if furniture else []))
    return stream.getvalue()


def parsed(content: bytes) -> ParsedDocument:
    return check(parse(content))
