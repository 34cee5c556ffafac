"""Hostile PDFs, written object by object."""

from __future__ import annotations

import io
import zipfile
import zlib
from functools import partial

from tests.hostile.catalogue import HARMLESS, REFUSED, add, hostile

CORRUPT, LARGE, NONE = "DOCUMENT_CORRUPT", "DOCUMENT_TOO_LARGE", "NO_TEXT"
CRASH, TIME = "PARSE_CRASHED", "PARSE_TIMEOUT"
FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
RESOURCES = b"/Resources << /Font << /F1 4 0 R >> >>"
TEXT = b"BT /F1 12 Tf 72 700 Td (What the page says.) Tj ET"


def stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), entries, data)


def pdf(objects: dict[int, bytes], trailer: bytes = b"/Root 1 0 R") -> bytes:
    """A file of these objects with a right table of references."""
    out, places = io.BytesIO(), {}
    out.write(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    for number, body in sorted(objects.items()):
        places[number] = out.tell()
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start, size = out.tell(), max(objects) + 1
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % size)
    for number in range(1, size):
        out.write(b"%010d 00000 n \n" % places[number] if number in places else b"0000000000 65535 f \n")
    out.write(b"trailer\n<< /Size %d %s >>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, start))
    return out.getvalue()


def one_page(
    content: bytes = TEXT, page: bytes = RESOURCES, catalogue: bytes = b"", more: dict[int, bytes] | None = None
) -> dict[int, bytes]:
    return {
        1: b"<< /Type /Catalog /Pages 2 0 R %s >>" % catalogue,
        2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R %s >>" % page,
        4: FONT,
        5: stream(content),
        **(more or {}),
    }


def good(_: str) -> bytes:
    return pdf(one_page())


for sixteenth in range(1, 16):
    add(
        f"cut-{sixteenth:02}.pdf",
        lambda url, part=sixteenth: (content := good(url))[: len(content) * part // 16],
        CORRUPT,
        "a download that broke off",
    )


@hostile("kids-cycle.pdf", f"{HARMLESS} | {CORRUPT} | {NONE} | {LARGE}", "the page tree contains itself")
def kids_cycle(_: str) -> bytes:
    objects = one_page()
    objects[2] = b"<< /Type /Pages /Kids [2 0 R 3 0 R 2 0 R] /Count 3 /Parent 2 0 R >>"
    return pdf(objects)


@hostile(
    "count-lies.pdf", f"{CORRUPT} | {LARGE} | {NONE} | {HARMLESS}", "one page that says to be two thousand million"
)
def count_lies(_: str) -> bytes:
    objects = one_page()
    objects[2] = b"<< /Type /Pages /Kids [3 0 R] /Count 2000000000 >>"
    return pdf(objects)


@hostile("count-negative.pdf", f"{CORRUPT} | {NONE} | {HARMLESS}", "a negative number of pages")
def count_negative(_: str) -> bytes:
    objects = one_page()
    objects[2] = b"<< /Type /Pages /Kids [3 0 R] /Count -7 >>"
    return pdf(objects)


@hostile("pages-100000.pdf", LARGE, "a hundred thousand empty pages")
def many_pages(_: str) -> bytes:
    many = 100_000
    kids = b" ".join(b"%d 0 R" % number for number in range(10, 10 + many))
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"
    objects = dict.fromkeys(range(10, 10 + many), page)
    objects |= {1: b"<< /Type /Catalog /Pages 2 0 R >>", 2: b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, many)}
    return pdf(objects)


@hostile("page-tree-deep.pdf", f"{CORRUPT} | {NONE} | {HARMLESS} | {LARGE}", "a page below ten thousand levels of tree")
def deep_tree(_: str) -> bytes:
    objects = one_page()
    objects[2] = b"<< /Type /Pages /Kids [10 0 R] /Count 1 >>"
    for number in range(10, 10_010):
        objects[number] = b"<< /Type /Pages /Parent %d 0 R /Kids [%d 0 R] /Count 1 >>" % (number - 1, number + 1)
    objects[10_010] = objects[3]
    return pdf(objects)


@hostile("xref-loop.pdf", f"{CORRUPT} | {HARMLESS} | {NONE}", "the table of references continues in itself")
def xref_loop(_: str) -> bytes:
    content = pdf(one_page())
    start = content.rindex(b"xref\n0 ")
    return content.replace(b"/Root 1 0 R", b"/Root 1 0 R /Prev %d" % start)


@hostile("xref-million.pdf", f"{CORRUPT} | {HARMLESS} | {NONE}", "a table of references that says to hold ten millions")
def xref_million(_: str) -> bytes:
    return pdf(one_page()).replace(b"xref\n0 6", b"xref\n0 9999999").replace(b"/Size 6", b"/Size 9999999")


@hostile("object-loop.pdf", f"{CORRUPT} | {NONE} | {HARMLESS}", "contents that are a reference to themselves")
def object_loop(_: str) -> bytes:
    return pdf(one_page(more={5: b"6 0 R", 6: b"5 0 R"}))


@hostile("object-stream-loop.pdf", f"{CORRUPT} | {NONE} | {HARMLESS}", "an object stream that extends itself")
def object_stream_loop(_: str) -> bytes:
    body = stream(b"3 0 << /Type /Page >>", b"/Type /ObjStm /N 1 /First 4 /Extends 6 0 R")
    return pdf(one_page(more={6: body}))


@hostile("length-lies.pdf", f"{CORRUPT} | {NONE} | {HARMLESS}", "a stream that says to be a gigabyte long")
def length_lies(_: str) -> bytes:
    body = stream(TEXT)
    return pdf(one_page(more={5: body.replace(b"/Length %d" % len(TEXT), b"/Length 999999999")}))


@hostile("length-loop.pdf", f"{CORRUPT} | {NONE} | {HARMLESS}", "a stream whose length is the stream")
def length_loop(_: str) -> bytes:
    return pdf(one_page(more={5: stream(TEXT).replace(b"/Length %d" % len(TEXT), b"/Length 5 0 R")}))


def packed(data: bytes, times: int = 1) -> bytes:
    for _ in range(times):
        data = zlib.compress(data, 9)
    return data


def zeros(megabytes: int) -> bytes:
    """Spaces, packed; a page description of nothing."""
    packer = zlib.compressobj(9)
    return b"".join(packer.compress(b" " * 1_000_000) for _ in range(megabytes)) + packer.flush()


@hostile("flate-bomb.pdf", f"{NONE} | {CRASH} | {LARGE} | {CORRUPT} | {TIME}", "two gigabytes of page in two megabytes")
def flate_bomb(_: str) -> bytes:
    return pdf(one_page(more={5: stream(zeros(2_000), b"/Filter /FlateDecode")}))


@hostile("flate-chain.pdf", f"{NONE} | {CRASH} | {LARGE} | {CORRUPT} | {TIME}", "a bomb packed in bombs")
def flate_chain(_: str) -> bytes:
    filters = b"/Filter [%s]" % (b"/FlateDecode " * 4)
    return pdf(one_page(more={5: stream(packed(zeros(1_000), 3), filters)}))


@hostile("filter-chain.pdf", f"{NONE} | {HARMLESS} | {CORRUPT} | {CRASH}", "a hundred thousand filters on one stream")
def filter_chain(_: str) -> bytes:
    return pdf(one_page(more={5: stream(TEXT, b"/Filter [%s]" % (b"/ASCIIHexDecode " * 100_000))}))


@hostile("xobject-loop.pdf", f"{HARMLESS} | {NONE}", "a form that draws itself")
def xobject_loop(_: str) -> bytes:
    form = stream(
        b"/X Do " + TEXT, b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /XObject << /X 6 0 R >> >>"
    )
    page = b"/Resources << /Font << /F1 4 0 R >> /XObject << /X 6 0 R >> >>"
    return pdf(one_page(TEXT + b" /X Do", page, more={6: form}))


@hostile(
    "xobject-tree.pdf",
    f"{HARMLESS} | {NONE} | {LARGE} | {TIME} | {CRASH}",
    "ten forms in each other, each drawn ten times",
)
def xobject_tree(_: str) -> bytes:
    more = {}
    for number in range(6, 16):
        inside = b" /X Do" * 10 if number < 15 else b" BT /F1 1 Tf (x) Tj ET"
        names = b"/Resources << /Font << /F1 4 0 R >> /XObject << /X %d 0 R >> >>" % (number + 1)
        more[number] = stream(inside, b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] " + names)
    page = b"/Resources << /Font << /F1 4 0 R >> /XObject << /X 6 0 R >> >>"
    return pdf(one_page(TEXT + b" /X Do", page, more=more))


@hostile("glyphs-million.pdf", LARGE, "a million characters on one page")
def many_glyphs(_: str) -> bytes:
    lines = b"".join(b"BT /F1 1 Tf 1 %d Td (%s) Tj ET\n" % (y % 790, b"word " * 200) for y in range(1_000))
    return pdf(one_page(more={5: stream(packed(lines), b"/Filter /FlateDecode")}))


@hostile("glyphs-one-place.pdf", f"{HARMLESS} | {LARGE}", "fifty thousand characters on top of each other")
def glyphs_in_one_place(_: str) -> bytes:
    return pdf(one_page(b"BT /F1 9 Tf 99 99 Td (x) Tj ET\n" * 50_000))


@hostile("pixels.pdf", HARMLESS, "an image of ten thousand million pixels beside the text")
def pixels(_: str) -> bytes:
    image = b"/Type /XObject /Subtype /Image /Width 100000 /Height 100000 /ColorSpace /DeviceRGB /BitsPerComponent 8"
    page = b"/Resources << /Font << /F1 4 0 R >> /XObject << /I 6 0 R >> >>"
    more = {6: stream(zeros(100), image + b" /Filter /FlateDecode")}
    return pdf(one_page(TEXT + b" q 600 0 0 700 0 0 cm /I Do Q", page, more=more))


@hostile("actions.pdf", HARMLESS, "JavaScript, launching, submitting and remote files on opening")
def actions(url: str) -> bytes:
    address = url.encode()
    catalogue = b"/OpenAction 6 0 R /AA << /WC 7 0 R >> /URI << /Base (%s) >> /AcroForm 9 0 R" % address
    more = {
        6: b"<< /S /JavaScript /JS (app.launchURL\\('%s'\\)) /Next 7 0 R >>" % address,
        7: b"<< /S /Launch /F (/bin/sh) /Next 8 0 R >>",
        8: b"<< /S /SubmitForm /F << /FS /URL /F (%s) >> /Next 6 0 R >>" % address,
        9: b"<< /XFA 10 0 R /Fields [] >>",
        10: stream(b'<!DOCTYPE x [<!ENTITY e SYSTEM "%s">]><xdp:xdp xmlns:xdp="x">&e;</xdp:xdp>' % address),
    }
    content = stream(b"", b"/F << /FS /URL /F (%s) >>" % address)
    return pdf(one_page(catalogue=catalogue, more={**more, 11: content}))


@hostile("external-contents.pdf", f"{NONE} | {CORRUPT} | {HARMLESS}", "a page whose contents are on another machine")
def external_contents(url: str) -> bytes:
    return pdf(one_page(more={5: stream(b"", b"/F << /FS /URL /F (%s) >>" % url.encode())}))


@hostile("to-unicode-long.pdf", f"{HARMLESS} | {LARGE} | {CRASH}", "a font that turns one character into thousands")
def to_unicode_long(_: str) -> bytes:
    table = b"/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange\n"
    table += b"1 beginbfchar <57> <%s> endbfchar endcmap end" % (b"0041" * 20_000)
    font = FONT.replace(b">>", b"/ToUnicode 6 0 R >>")
    return pdf(one_page(b"BT /F1 12 Tf 72 700 Td (%s) Tj ET" % (b"W" * 2_000), more={4: font, 6: stream(table)}))


@hostile(
    "to-unicode-ranges.pdf",
    f"{HARMLESS} | {CRASH} | {TIME} | {NONE}",
    "a font whose table has a hundred thousand ranges",
)
def to_unicode_ranges(_: str) -> bytes:
    table = b"begincmap\n" + b"100 beginbfrange\n" + b"<0000> <FFFF> <0041>\n" * 2_000 + b"endbfrange\nendcmap"
    font = FONT.replace(b">>", b"/ToUnicode 6 0 R >>")
    return pdf(one_page(more={4: font, 6: stream(table)}))


@hostile(
    "to-unicode-control.pdf", HARMLESS, "a font that turns letters into NUL, surrogates and overrides of direction"
)
def to_unicode_control(_: str) -> bytes:
    pairs = b"<57> <0000> <68> <D800> <61> <202E> <74> <FFFE>"
    table = b"begincmap 1 begincodespacerange <00> <FF> endcodespacerange\n4 beginbfchar %s endbfchar endcmap" % pairs
    font = FONT.replace(b">>", b"/ToUnicode 6 0 R >>")
    return pdf(one_page(more={4: font, 6: stream(table)}))


@hostile("font-broken.pdf", f"{HARMLESS} | {NONE} | {CRASH}", "an embedded font that is noise")
def broken_font(_: str) -> bytes:
    noise = bytes((n * n * 31 + n) % 256 for n in range(50_000))
    font = b"<< /Type /Font /Subtype /TrueType /BaseFont /X /FontDescriptor 6 0 R >>"
    descriptor = b"<< /Type /FontDescriptor /FontName /X /Flags 4 /FontFile2 7 0 R >>"
    return pdf(one_page(more={4: font, 6: descriptor, 7: stream(noise)}))


@hostile("type3-loop.pdf", f"{HARMLESS} | {NONE}", "a glyph drawn with its own font")
def type3_loop(_: str) -> bytes:
    font = (
        b"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 9 9] /FontMatrix [1 0 0 1 0 0] /FirstChar 87 /LastChar 87 "
        b"/Widths [9] /CharProcs << /W 6 0 R >> /Encoding << /Differences [87 /W] >> /Resources << /Font << /F1 4 0 R >> >> >>"
    )
    return pdf(one_page(more={4: font, 6: stream(b"9 0 d0 BT /F1 9 Tf (W) Tj ET")}))


@hostile("outline-loop.pdf", HARMLESS, "an outline whose last entry is followed by its first")
def outline_loop(_: str) -> bytes:
    entry = b"<< /Title (Entry) /Parent 6 0 R /Next %d 0 R /First %d 0 R /Dest [3 0 R /Fit] >>"
    more = {6: b"<< /Type /Outlines /First 7 0 R /Last 8 0 R /Count 2 >>", 7: entry % (8, 8), 8: entry % (7, 7)}
    return pdf(one_page(catalogue=b"/Outlines 6 0 R", more=more))


@hostile("outline-100000.pdf", HARMLESS, "an outline of a hundred thousand entries")
def outline_long(_: str) -> bytes:
    more = {6: b"<< /Type /Outlines /First 10 0 R /Last 100009 0 R /Count 100000 >>"}
    for number in range(10, 100_010):
        more[number] = b"<< /Title (Entry) /Parent 6 0 R /Next %d 0 R /Dest [3 0 R /Fit] >>" % (number + 1)
    return pdf(one_page(catalogue=b"/Outlines 6 0 R", more=more))


@hostile("destinations-loop.pdf", HARMLESS, "an outline's target looked up in a tree that contains itself")
def destinations_loop(_: str) -> bytes:
    more = {
        6: b"<< /Type /Outlines /First 7 0 R /Last 7 0 R /Count 1 >>",
        7: b"<< /Title (Entry) /Parent 6 0 R /Dest (nowhere) >>",
        8: b"<< /Dests 9 0 R >>",
        9: b"<< /Kids [9 0 R 9 0 R] >>",
    }
    return pdf(one_page(catalogue=b"/Outlines 6 0 R /Names 8 0 R", more=more))


@hostile("rules-grid.pdf", f"{HARMLESS} | {TIME}", "a thousand rules crossing a thousand others")
def rules_grid(_: str) -> bytes:
    across = b"".join(b"0 %.2f m 612 %.2f l S\n" % (y / 2, y / 2) for y in range(1_000))
    down = b"".join(b"%.2f 0 m %.2f 792 l S\n" % (x / 2, x / 2) for x in range(1_000))
    return pdf(one_page(TEXT + b"\n" + across + down))


@hostile("paths-million.pdf", f"{HARMLESS} | {TIME}", "a drawing of half a million lines")
def many_paths(_: str) -> bytes:
    return pdf(one_page(more={5: stream(packed(TEXT + b"\n0 0 m 99 99 l S" * 500_000), b"/Filter /FlateDecode")}))


@hostile("arrays-deep.pdf", f"{CORRUPT} | {NONE} | {HARMLESS} | {CRASH}", "arrays in arrays, a hundred thousand deep")
def deep_arrays(_: str) -> bytes:
    deep = b"[" * 100_000 + b"]" * 100_000
    return pdf(one_page(deep + TEXT, catalogue=b"/X " + deep))


@hostile("states-million.pdf", f"{HARMLESS} | {CRASH} | {NONE}", "a million graphics states saved and none restored")
def many_states(_: str) -> bytes:
    return pdf(one_page(more={5: stream(packed(b"q " * 1_000_000 + TEXT), b"/Filter /FlateDecode")}))


for number, box in enumerate(
    (b"0 0 1e38 1e38", b"612 792 0 0", b"0 0 0 0", b"-9e9 -9e9 9e9 9e9", b"nan inf x y", b"0 0 6")
):
    make = partial(lambda _, box: pdf({**one_page(), 3: one_page()[3].replace(b"0 0 612 792", box)}), box=box)
    add(f"media-box-{number}.pdf", make, f"{HARMLESS} | {NONE} | {CORRUPT}", "a page of impossible size")


@hostile("rotated.pdf", f"{HARMLESS} | {NONE}", "a page turned by 37 degrees and magnified a thousand million times")
def rotated(_: str) -> bytes:
    return pdf(one_page(page=RESOURCES + b" /Rotate 37 /UserUnit 1e9"))


@hostile("matrix-extreme.pdf", f"{HARMLESS} | {NONE}", "text at coordinates that no number can hold")
def extreme_matrix(_: str) -> bytes:
    return pdf(one_page(b"1e30 0 0 1e-30 1e38 -1e38 cm BT /F1 1e20 Tf 1e38 1e38 Td (What it says.) Tj ET " + TEXT))


def polyglot(_: str) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as package:
        package.writestr("word/document.xml", "<w:document/>")
    head = b"<html><!-- \n" + good("").replace(b"%%EOF\n", b"") + b"--><script>alert(1)</script></html>\n"
    return head + archive.getvalue() + b"\n%%EOF\n"


add("polyglot.pdf", polyglot, f"{HARMLESS} | {CORRUPT}", "a PDF that is a page and an archive too")
add("polyglot.docx", polyglot, REFUSED, "the same under an archive's name")
add("polyglot.html", polyglot, f"{REFUSED} | {HARMLESS} | {NONE}", "the same under a page's name")
add(
    "junk-before-1000.pdf",
    lambda url: b"x" * 1_000 + good(url),
    f"{HARMLESS} | {CORRUPT}",
    "readers look that far for the mark",
)
add("junk-before-5000.pdf", lambda url: b"x" * 5_000 + good(url), REFUSED, "and no further")
add("header-only.pdf", lambda _: b"%PDF-1.7\n%%EOF\n", CORRUPT, "a PDF of nothing")
add(
    "random.pdf", lambda _: b"%PDF-1.7\n" + bytes((n * 7919) % 251 for n in range(300_000)) + b"%%EOF", CORRUPT, "noise"
)
add("no-end.pdf", lambda url: good(url).replace(b"%%EOF", b""), CORRUPT, "the end is missing")


@hostile("rules-crossing.pdf", HARMLESS, "three hundred rules across and as many down: ninety thousand cells")
def rules_crossing(_: str) -> bytes:
    lines = b"".join(b"0 %d m 600 %d l S %d 0 m %d 600 l S\n" % (n * 2, n * 2, n * 2, n * 2) for n in range(300))
    return pdf(one_page(TEXT + b"\n" + lines))


@hostile("rules-of-dots.pdf", HARMLESS, "a path of a million points")
def rules_of_dots(_: str) -> bytes:
    path = b"0 0 m " + b"".join(b"%d %d l " % (n % 600, n // 600) for n in range(300_000)) + b"S"
    return pdf(one_page(more={5: stream(packed(TEXT + b"\n" + path), b"/Filter /FlateDecode")}))


@hostile("columns-of-numbers.pdf", HARMLESS, "forty thousand numbers in columns without rules")
def columns_of_numbers(_: str) -> bytes:
    cells = b"".join(
        b"BT /F1 1 Tf %d %d Td (%d) Tj ET\n" % (4 * column, 790 - 2 * row, row * column % 97)
        for row in range(300)
        for column in range(130)
    )
    return pdf(one_page(more={5: stream(packed(cells), b"/Filter /FlateDecode")}))


def _form(fields: dict[int, bytes]) -> bytes:
    names = b" ".join(b"%d 0 R" % number for number in fields)
    page = RESOURCES + b" /Annots [%s]" % names
    return pdf(one_page(page=page, catalogue=b"/AcroForm << /Fields [%s] >>" % names, more=fields))


@hostile("field-long.pdf", f"{HARMLESS} | {LARGE}", "a form field that holds a million characters")
def field_long(_: str) -> bytes:
    field = b"<< /Type /Annot /Subtype /Widget /FT /Tx /T (a) /Rect [72 500 300 520] /V (%s) >>" % (b"word " * 200_000)
    return _form({6: field})


@hostile("fields-many.pdf", f"{HARMLESS} | {LARGE}", "twenty thousand form fields at one place")
def fields_many(_: str) -> bytes:
    field = b"<< /Type /Annot /Subtype /Widget /FT /Tx /T (a%d) /Rect [72 500 300 520] /V (value) >>"
    return _form({number: field % number for number in range(6, 20_006)})


@hostile("field-parents.pdf", f"{HARMLESS} | {CORRUPT} | {CRASH}", "a form field that is its own parent")
def field_parents(_: str) -> bytes:
    field = b"<< /Type /Annot /Subtype /Widget /T (a) /Rect [72 500 300 520] /Parent %d 0 R /Kids [%d 0 R] >>"
    return _form({6: field % (7, 7), 7: field % (6, 6)})
