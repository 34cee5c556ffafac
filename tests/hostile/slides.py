"""Hostile presentations."""

from __future__ import annotations

import io
import zipfile
from functools import cache

from pptx import Presentation

from tests.hostile.catalogue import HARMLESS, REFUSED, add
from tests.hostile.packages import CORRUPT, ENCRYPTED, LARGE, NONE, OLE, archive

MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"
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


BOX = (
    '<p:sp><p:nvSpPr><p:cNvPr id="9" name="s"/><p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr><p:spPr><a:xfrm><a:off x="{}" y="{}"/>'
    '<a:ext cx="{}" cy="{}"/></a:xfrm></p:spPr><p:txBody><a:bodyPr/><a:p><a:r><a:t>x</a:t></a:r></a:p></p:txBody></p:sp>'
)
FRAME = (
    '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="9" name="f"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>'
    '<p:xfrm/><a:graphic><a:graphicData uri="{}">{}</a:graphicData></a:graphic></p:graphicFrame>'
)
A = "http://schemas.openxmlformats.org/drawingml/2006"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def with_shapes(shapes: str) -> bytes:
    return slide(b"</p:spTree>", shapes.encode() + b"</p:spTree>")


def table(rows: int, columns: int, cell: str) -> bytes:
    """A table of equal cells, each with these attributes."""
    row = f'<a:tr h="1">{f"<a:tc {cell}><a:txBody><a:bodyPr/><a:p/></a:txBody></a:tc>" * columns}</a:tr>'
    return with_shapes(FRAME.format(f"{A}/table", f"<a:tbl><a:tblPr firstRow='1'/><a:tblGrid/>{row * rows}</a:tbl>"))


def with_part(kind: str, inner: str, content: str) -> bytes:
    """A slide that shows another part, a chart or a diagram."""
    frame = FRAME.format(f"{A}/{kind}", inner)
    rels = "ppt/slides/_rels/slide1.xml.rels"
    relation = f'<Relationship Id="rIdX" Type="{RELATIONS}/{kind}" Target="../x/part.xml"/></Relationships>'
    return archive(
        {
            **parts(),
            SLIDE: parts()[SLIDE].replace(b"</p:spTree>", frame.encode() + b"</p:spTree>"),
            rels: parts()[rels].replace(b"</Relationships>", relation.encode()),
            "ppt/x/part.xml": content.encode(),
        }
    )


def chart_of(content: str) -> bytes:
    inner = f'<c:chart xmlns:c="{A}/chart" xmlns:r="{RELATIONS}" r:id="rIdX"/>'
    return with_part("chart", inner, f'<c:chartSpace xmlns:c="{A}/chart"><c:chart>{content}</c:chart></c:chartSpace>')


def series(count: int, points: int) -> str:
    """Series that have their own places, so that as a table they are almost all empty cells."""
    value = '<c:pt idx="{}"><c:v>1</c:v></c:pt>'
    return "".join(
        f"<c:ser><c:val>{''.join(value.format(one * points + at) for at in range(points))}</c:val></c:ser>"
        for one in range(count)
    )


def diagram_of(content: str) -> bytes:
    inner = f'<dgm:relIds xmlns:dgm="{A}/diagram" xmlns:r="{RELATIONS}" r:dm="rIdX"/>'
    return with_part("diagram", inner, f'<dgm:dataModel xmlns:dgm="{A}/diagram">{content}</dgm:dataModel>')


def shown_again(count: int) -> bytes:
    """One slide of 500 boxes, named `count` times."""
    main = parts()["ppt/presentation.xml"]
    start, end = main.index(b"<p:sldId "), main.index(b"</p:sldIdLst>")
    files = {**parts(), "ppt/presentation.xml": main[:start] + main[start:end] * count + main[end:]}
    files[SLIDE] = files[SLIDE].replace(b"</p:spTree>", (BOX.format(0, 0, 9, 9) * 500).encode() + b"</p:spTree>")
    return archive(files)


STAIRS = "".join(BOX.format(n * 1_000_000, -n * 1_000_000, 900_000, 900_000) for n in range(290))
RINGS = "".join(
    BOX.format(n * 1_000_000, n * 1_000_000, 900_000, 10**9 - n * 1_000_000)
    + BOX.format((n + 1) * 1_000_000, n * 1_000_000, 10**9, 900_000)
    for n in range(140, 0, -1)
)
FORMULA = (
    '<p:sp><p:nvSpPr><p:cNvPr id="9" name="s"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p>'
    '<a14:m xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"><m:oMath>{}</m:oMath></a14:m></a:p></p:txBody></p:sp>'
)
add("stairs.pptx", lambda _: with_shapes(STAIRS), HARMLESS, "shapes in the opposite of their order")
add("rings.pptx", lambda _: with_shapes(RINGS), HARMLESS, "columns in rows in columns without end")
add("shapes-20000.pptx", lambda _: with_shapes(BOX.format(0, 0, 9, 9) * 20_000), HARMLESS, "20,000 shapes of one place")
add("shown-9000-times.pptx", lambda _: shown_again(9_000), LARGE, "one slide named nine thousand times")
add(
    "cells-merged.pptx", lambda _: table(200, 200, 'rowSpan="999999" gridSpan="999999"'), LARGE, "cells over all others"
)
add(
    "span-negative.pptx",
    lambda _: table(3, 3, 'rowSpan="-5" gridSpan="x"'),
    HARMLESS,
    "impossible spans",
)
add("cells-600000.pptx", lambda _: table(600, 1_000, ""), f"{LARGE} | {HARMLESS}", "600,000 empty cells")
add(
    "chart-sparse.pptx",
    lambda _: chart_of(series(1_000, 1_000)),
    LARGE,
    "a chart that is a table of a thousand million cells",
)
add(
    "chart-places.pptx",
    lambda _: chart_of('<c:ser><c:val><c:pt idx="99999999999"/></c:val></c:ser>'),
    HARMLESS,
    "far away",
)
add("chart-broken.pptx", lambda _: chart_of("<c:ser>"), f"{HARMLESS} | {CORRUPT}", "a chart that is no XML")
add("chart-laughs.pptx", lambda _: chart_of('<!DOCTYPE x [<!ENTITY a "b">]>&a;'), CORRUPT, "a chart with an entity")
add(
    "diagram-loop.pptx",
    lambda _: diagram_of(
        '<dgm:ptLst><dgm:pt modelId="1" type="doc"/><dgm:pt modelId="2"/></dgm:ptLst><dgm:cxnLst>'
        '<dgm:cxn modelId="3" srcId="1" destId="2" srcOrd="0"/><dgm:cxn modelId="4" srcId="2" destId="1" srcOrd="0"/>'
        "</dgm:cxnLst>"
    ),
    HARMLESS,
    "a diagram that hangs on itself",
)
add(
    "formula-deep.pptx",
    lambda _: with_shapes(FORMULA.format("<m:e>" * 150 + "</m:e>" * 150)),
    f"{LARGE} | {HARMLESS}",
    "deep",
)
add(
    "fractions-deep.pptx",
    lambda _: with_shapes(FORMULA.format("<m:f><m:num>" * 70 + "</m:num></m:f>" * 70)),
    LARGE,
    "fractions in fractions",
)
add(
    "choices-deep.pptx",
    lambda _: with_shapes(
        f'<mc:AlternateContent xmlns:mc="{MC}"><mc:Choice Requires="x">' * 100
        + BOX.format(1, 1, 9, 9)
        + "</mc:Choice></mc:AlternateContent>" * 100
    ),
    HARMLESS,
    "choices in choices",
)
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
add("old.pptx", lambda _: OLE + "PowerPoint Document".encode("utf-16-le") + bytes(999), REFUSED, "a .ppt")
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
