"""Marks on a drawn page."""

from __future__ import annotations

import io

import pytest
from PIL import Image
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen import canvas

from documents.media_types import PDF
from indexing.locators import Locator
from indexing.parsers import parse
from indexing.rendering import render
from indexing.side_by_side import marks


def chinese() -> bytes:
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    stream = io.BytesIO()
    page = canvas.Canvas(stream, pagesize=(400, 300))
    page.setFont("STSong-Light", 14)
    page.drawString(60, 200, "员工每年享有十五天年假，病假三十天。")
    page.save()
    return stream.getvalue()


def test_no_edge_of_a_mark_runs_through_a_line_of_chinese() -> None:
    content = chinese()
    picture = render(content, PDF, page=1)
    placed = [(number, block.locator) for number, block in enumerate(parse(content, PDF, "a.pdf").blocks)]
    (mark,) = marks(placed, page=1, width=picture.width, height=picture.height)
    image = Image.open(io.BytesIO(picture.png)).convert("L")
    scale = image.width / picture.width
    left, top, right, bottom = (round(edge * scale) for edge in mark.region)
    inside = image.crop((left, top, right, bottom))
    assert darkest(inside.crop((5, 5, inside.width - 5, inside.height - 5))) < 100
    image.paste(255, (left + 5, top + 5, right - 5, bottom - 5))
    assert darkest(image) > 200, "there is ink on an edge, or outside"


def darkest(image: Image.Image) -> int:
    return next(level for level, pixels in enumerate(image.histogram()) if pixels)


def test_the_largest_is_drawn_first_and_none_leaves_the_page() -> None:
    small, large = Locator((0, 1), page=1, region=(1, 1, 20, 20)), Locator((1, 2), page=1)
    found = marks([(0, small), (1, large), (2, Locator((2, 3), page=2))], page=1, width=100, height=200)
    assert [(mark.chunk, mark.region) for mark in found] == [
        (1, (0, 0, 100, 200)),
        (0, pytest.approx((0.2, 0.2, 20.8, 20.8))),
    ]
