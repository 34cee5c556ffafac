"""Pictures of text, made here: what a scanner or a camera would bring. Shared by the tests of OCR."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pytest
import reportlab
from PIL import Image, ImageDraw, ImageFont

VERA = Path(reportlab.__file__).parent / "fonts" / "Vera.ttf"
FONTS = (Path("/usr/share/fonts"), Path("/System/Library/Fonts"), Path("/Library/Fonts"))
CHINESE_FONTS = (
    "NotoSansCJK-Regular.*",
    "NotoSansCJKsc-Regular.*",
    "NotoSansSC-Regular.*",
    "PingFang.ttc",
    "wqy-*.ttc",
)

ZH = (
    "第一条 为了规范员工休假，保障员工休息的权利，根据国家有关规定，",
    "结合公司实际情况，制定本办法。本办法适用于与公司签订劳动合同的全体",
    "员工，实习生参照执行。员工每年享有带薪年假15天。",
)
EN = (
    "Every employee receives fifteen days of annual leave. The days are",
    "granted on the first of January and may be taken in one piece or in",
    "several. Claims above 2,500 EUR need the approval of the director.",
)


def font(size: int, *, chinese: bool) -> ImageFont.FreeTypeFont:
    """Skips the test where there is no Chinese font (Debian: fonts-noto-cjk)."""
    if not chinese:
        return ImageFont.truetype(VERA, size)
    for folder in FONTS:
        for name in CHINESE_FONTS:
            if found := sorted(folder.rglob(name)):
                return ImageFont.truetype(found[0], size)
    pytest.skip("There is no Chinese font on this machine.")


def draw(image: Image.Image, lines: Sequence[str], at: tuple[int, int], size: int = 28, *, fill: object = 0) -> int:
    """Write `lines` below each other; where the next one would start."""
    pen, y = ImageDraw.Draw(image), at[1]
    for line in lines:
        pen.text((at[0], y), line, font=font(size, chinese=not line.isascii()), fill=fill)
        y += round(size * 1.6)
    return y


def written(*paragraphs: Sequence[str], size: tuple[int, int] = (1240, 500), letters: int = 28) -> Image.Image:
    """Black on white, from (80, 60) on, half a line between paragraphs."""
    image, y = Image.new("L", size, 255), 60
    for lines in paragraphs:
        y = draw(image, lines, (80, y), letters) + letters
    return image


def saved(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    stream = io.BytesIO()
    image.copy().save(stream, kind, **options)
    return stream.getvalue()


def several(images: Sequence[Image.Image], kind: str, **options: object) -> bytes:
    first, *rest = [image.copy() for image in images]
    return saved(first, kind, save_all=True, append_images=rest, **options)
