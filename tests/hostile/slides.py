"""Hostile presentations."""

from __future__ import annotations

import io
import zipfile
from functools import cache

from pptx import Presentation

from tests.hostile.catalogue import HARMLESS, REFUSED, add
from tests.hostile.packages import CORRUPT, ENCRYPTED, LARGE, NONE, OLE, archive

SLIDE = "ppt/slides/slide1.xml"
GROUP = '<p:grpSp><p:nvGrpSpPr><p:cNvPr id="9" name="g"/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>{}</p:grpSp>'


@cache
def parts() -> dict[str, bytes]:
    """An ordinary presentation, by its parts."""
    presentation, stream = Presentation(), io.BytesIO()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "A title"
    slide.placeholders[1].text_frame.text = "What it says."
    presentation.save(stream)
    with zipfile.ZipFile(stream) as package:
        return {name: package.read(name) for name in package.namelist()}


def slide(old: bytes, new: bytes) -> bytes:
    assert old in parts()[SLIDE]
    return archive({**parts(), SLIDE: parts()[SLIDE].replace(old, new, 1)})


def nested(depth: int) -> bytes:
    inner = ""
    for _ in range(depth):
        inner = GROUP.format(inner)
    return slide(b"</p:spTree>", inner.encode() + b"</p:spTree>")


def without(part: str) -> bytes:
    return archive({name: content for name, content in parts().items() if name != part})


add("good.pptx", lambda _: archive(parts()), HARMLESS, "an ordinary one")
add("doctype.pptx", lambda _: slide(b"<p:sld", b'<!DOCTYPE x [<!ENTITY a "b">]><p:sld'), CORRUPT, "declares an entity")
add("deep.pptx", lambda _: nested(60), f"{LARGE} | {CORRUPT}", "groups in groups")
add("deeper.pptx", lambda _: nested(5_000), f"{LARGE} | {CORRUPT}", "groups in groups without end")
add("no-slide.pptx", lambda _: without(SLIDE), CORRUPT, "its slide is missing")
add(
    "no-layout.pptx",
    lambda _: without("ppt/slideLayouts/slideLayout2.xml"),
    f"{CORRUPT} | {NONE}",
    "its layout is missing",
)
add(
    "no-presentation.pptx",
    lambda _: without("ppt/presentation.xml"),
    f"{REFUSED} | {CORRUPT}",
    "its main part is missing",
)
add("cut.pptx", lambda _: archive(parts())[:9_000], CORRUPT, "cut off")
add("ole.pptx", lambda _: OLE + "EncryptedPackage".encode("utf-16-le") + bytes(999), ENCRYPTED, "protected")
add(
    "old.pptx", lambda _: OLE + "PowerPoint Document".encode("utf-16-le") + bytes(999), "UNSUPPORTED_DOCUMENT", "a .ppt"
)
add(
    "linked.pptx",
    lambda address: archive(
        {
            **parts(),
            "ppt/slides/_rels/slide1.xml.rels": parts()["ppt/slides/_rels/slide1.xml.rels"].replace(
                b"</Relationships>",
                b'<Relationship Id="rId99" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image" '
                b'Target="' + address.encode() + b'" TargetMode="External"/></Relationships>',
            ),
        }
    ),
    HARMLESS,
    "a picture elsewhere",
)
