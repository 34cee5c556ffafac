"""Hostile DOCX files: an archive that lies, XML that explodes, relations that lead out."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from functools import cache

import docx
from PIL import Image

from tests.hostile.catalogue import HARMLESS, REFUSED, add, hostile

CORRUPT, LARGE, NONE, ENCRYPTED = "DOCUMENT_CORRUPT", "DOCUMENT_TOO_LARGE", "NO_TEXT", "DOCUMENT_ENCRYPTED"
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
A = "http://schemas.openxmlformats.org/drawingml/2006"
M = "http://schemas.openxmlformats.org/officeDocument/2006/math"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
PARAGRAPH = "<w:p><w:r><w:t>What it says.</w:t></w:r></w:p>"
BODY = "word/document.xml"
XML = '<?xml version="1.0" encoding="UTF-8"?>'


@cache
def parts() -> dict[str, bytes]:
    """An ordinary document, by its parts."""
    buffer = io.BytesIO()
    document = docx.Document()
    document.add_heading("A heading", 1)
    document.add_paragraph("What it says.")
    document.add_paragraph("A numbered one", style="List Number")
    document.save(buffer)
    with zipfile.ZipFile(buffer) as package:
        return {name: package.read(name) for name in package.namelist()}


def archive(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in files.items():
            package.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def word(body: str, **more: str) -> bytes:
    """A document of this body; further parts by name, `.` as `__`, `/` as `_`."""
    named = {name.replace("__", ".").replace("_", "/"): content.encode() for name, content in more.items()}
    document = f'{XML}<w:document xmlns:w="{W}" xmlns:r="{R}"><w:body>{body}</w:body></w:document>'
    return archive({**parts(), BODY: document.encode(), **named})


def replaced(name: str, old: bytes, new: bytes) -> bytes:
    assert old in parts()[name], name
    return archive({**parts(), name: parts()[name].replace(old, new, 1)})


def good(_: str = "") -> bytes:
    return archive(parts())


for sixteenth in range(1, 16):
    add(
        f"cut-{sixteenth:02}.docx",
        lambda _, part=sixteenth: (content := good())[: len(content) * part // 16],
        f"{CORRUPT} | {REFUSED}",
        "a download that broke off",
    )

LAUGHS = (
    "<!DOCTYPE x ["
    + '<!ENTITY a0 "ha">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    + "]>"
)


def with_type(name: str, document_type: str, encoding: str = "utf-8") -> bytes:
    """A document type in front of the root of one part."""
    source = parts()[name].decode()
    start = source.index("<", source.index("?>"))
    xml = f'<?xml version="1.0" encoding="{encoding}"?>{document_type}{source[start:]}'
    return archive({**parts(), name: xml.encode(encoding)})


for part in (BODY, "word/styles.xml", "word/numbering.xml", "[Content_Types].xml", "_rels/.rels", "docProps/core.xml"):
    simple = part.rpartition("/")[2].strip("[]").replace("].xml", "").replace(".", "-").lower()
    add(f"laughs-{simple}.docx", lambda _, part=part: with_type(part, LAUGHS), CORRUPT, f"a billion laughs in {part}")

SYSTEM = '<!DOCTYPE x [<!ENTITY e SYSTEM "{}">]>'
add(
    "entity-file.docx",
    lambda _: with_type(BODY, SYSTEM.format("file:///etc/passwd")),
    CORRUPT,
    "a file of this machine",
)
add("entity-url.docx", lambda url: with_type(BODY, SYSTEM.format(url)), CORRUPT, "an address")
add("dtd-url.docx", lambda url: with_type(BODY, f'<!DOCTYPE x SYSTEM "{url}">'), CORRUPT, "a document type elsewhere")
add(
    "entity-parameter.docx",
    lambda url: with_type(BODY, f'<!DOCTYPE x [<!ENTITY % p SYSTEM "{url}"> %p;]>'),
    CORRUPT,
    "a parameter entity elsewhere",
)
for encoding in ("utf-16", "utf-7", "utf-32", "cp037"):
    add(
        f"laughs-{encoding}.docx",
        lambda _, encoding=encoding: with_type(BODY, LAUGHS, encoding),
        CORRUPT,
        f"a billion laughs written in {encoding}",
    )


@hostile("laughs-hidden.docx", f"{CORRUPT} | {HARMLESS}", "styles with a billion laughs, called .bin")
def hidden(_: str) -> bytes:
    files = dict(parts())
    files["word/styles.bin"] = LAUGHS.encode() + files.pop("word/styles.xml").partition(b"?>")[2]
    for name in ("[Content_Types].xml", "word/_rels/document.xml.rels"):
        files[name] = files[name].replace(b"styles.xml", b"styles.bin")
    return archive(files)


@hostile("laughs-svg.docx", f"{CORRUPT} | {HARMLESS}", "styles with a billion laughs, called .svg")
def hidden_as_image(_: str) -> bytes:
    files = dict(parts())
    files["word/styles.svg"] = LAUGHS.encode() + files.pop("word/styles.xml").partition(b"?>")[2].replace(
        b"Normal", b"&a9;"
    )
    for name in ("[Content_Types].xml", "word/_rels/document.xml.rels"):
        files[name] = files[name].replace(b"styles.xml", b"styles.svg")
    return archive(files)


# The archive


def zeros(megabytes: int) -> bytes:
    return bytes(megabytes * 1_000_000)


@hostile("bomb-ratio.docx", LARGE, "a hundred megabytes in a hundred kilobytes")
def bomb(_: str) -> bytes:
    return archive({**parts(), "word/media/zeros.bin": zeros(100)})


@hostile("bomb-size.docx", LARGE, "210 megabytes, hardly packed")
def large(_: str) -> bytes:
    noise = zlib.compress(bytes(1_000)) * 40_000  # packs to a fiftieth
    return archive({**parts(), "word/media/a.bin": zeros(210), "word/media/b.bin": noise})


def patched(content: bytes, name: str, offset: int, value: bytes, *, directory_only: bool = False) -> bytes:
    """Change a field of one part in the directory (`offset` there) and in its own header (2 earlier from the name on)."""
    data = bytearray(content)
    entry = data.rindex(b"PK\x01\x02", 0, data.rindex(name.encode()))
    data[entry + offset : entry + offset + len(value)] = value
    if not directory_only:
        header = struct.unpack_from("<I", data, entry + 42)[0]
        data[header + offset - 2 : header + offset - 2 + len(value)] = value
    return bytes(data)


@hostile("size-lies-small.docx", CORRUPT, "a part of fifty megabytes that says to have ten bytes")
def size_lies_small(_: str) -> bytes:
    return patched(archive({**parts(), "word/media/x.xml": zeros(50)}), "word/media/x.xml", 24, struct.pack("<I", 10))


@hostile("size-lies-large.docx", f"{CORRUPT} | {LARGE}", "a small part that says to have four gigabytes")
def size_lies_large(_: str) -> bytes:
    return patched(good(), BODY, 24, b"\xfe\xff\xff\xff")


@hostile("packed-size-lies.docx", f"{CORRUPT} | {HARMLESS}", "a part that says to be packed in two gigabytes")
def packed_size_lies(_: str) -> bytes:
    return patched(good(), BODY, 20, b"\xff\xff\xff\x7f")


add(
    "encrypted-part.docx",
    lambda _: patched(good(), BODY, 8, b"\x01\x00"),
    ENCRYPTED,
    "a part that says to be encrypted",
)
add("method-unknown.docx", lambda _: patched(good(), BODY, 10, b"\x63\x00"), CORRUPT, "packed in a way nobody knows")
add("checksum-wrong.docx", lambda _: patched(good(), BODY, 16, b"\xde\xad\xbe\xef"), CORRUPT, "a part that was changed")
add(
    "offset-outside.docx",
    lambda _: patched(good(), BODY, 42, b"\xff\xff\xff\x7f", directory_only=True),
    CORRUPT,
    "a part beyond the end",
)


@hostile("overlapping.docx", f"{LARGE} | {CORRUPT}", "two hundred entries that share one part of five megabytes")
def overlapping(_: str) -> bytes:
    data = archive({**parts(), "word/media/zeros.bin": zeros(5)})
    end = data.rindex(b"PK\x05\x06")
    start = struct.unpack_from("<I", data, end + 16)[0]
    directory = data[start:end]
    entry = directory[directory.rindex(b"PK\x01\x02") :]
    copies = b"".join(entry.replace(b"zeros.bin", b"%05d.bin" % n) for n in range(200))
    count = len(parts()) + 1 + 200
    tail = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, len(directory) + len(copies), start, 0)
    return data[:start] + directory + copies + tail


@hostile("parts-20000.docx", LARGE, "twenty thousand empty parts")
def many_parts(_: str) -> bytes:
    return archive({**parts(), **{f"word/media/{n}": b"" for n in range(20_000)}})


@hostile("parts-counted-wrong.docx", f"{CORRUPT} | {HARMLESS}", "a directory that says to hold 65,535 parts")
def parts_counted_wrong(_: str) -> bytes:
    data = bytearray(good())
    end = data.rindex(b"PK\x05\x06")
    data[end + 8 : end + 12] = b"\xff\xff\xff\xff"
    return bytes(data)


@hostile("zip64-lies.docx", f"{CORRUPT} | {LARGE} | {HARMLESS}", "a long form whose directory is elsewhere")
def zip64_lies(_: str) -> bytes:
    data = good()
    end = data.rindex(b"PK\x05\x06")
    record = struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1 << 60, 1 << 60, 1 << 61, 1 << 62)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, end, 1)
    return data[:end] + record + locator + data[end : end + 8] + b"\xff" * 12 + b"\0\0"


@hostile("duplicate.docx", CORRUPT, "two bodies: programs show one or the other")
def duplicate(_: str) -> bytes:
    buffer = io.BytesIO(good())
    with zipfile.ZipFile(buffer, "a") as package:
        package.writestr(zipfile.ZipInfo(BODY), parts()[BODY].replace(b"What it says.", b"Something else."))
    return buffer.getvalue()


@hostile("names-outside.docx", HARMLESS, "parts that would be unpacked elsewhere")
def names_outside(_: str) -> bytes:
    names = (
        "../../../../tmp/hostile",
        "/etc/hostile",
        "C:\\hostile",
        "word/../../x",
        "word\\document.bin",
        "a" * 60_000,
    )
    return archive({**parts(), **dict.fromkeys(names, b"x")})


@hostile("link.docx", HARMLESS, "a part that is a link to a file of this machine")
def link(_: str) -> bytes:
    buffer = io.BytesIO(good())
    with zipfile.ZipFile(buffer, "a") as package:
        info = zipfile.ZipInfo("word/media/image1.png")
        info.external_attr = 0o120777 << 16
        package.writestr(info, "/etc/passwd")
    return buffer.getvalue()


@hostile("nested.docx", HARMLESS, "archives in an archive in an archive")
def nested(_: str) -> bytes:
    inner = zeros(1)
    for depth in range(6):
        inner = archive({f"{depth}-{n}.zip": inner for n in range(8)})
    return archive({**parts(), "word/embeddings/inner.zip": inner})


add("inside-zip.docx", lambda _: archive({"letter.docx": good()}), f"{REFUSED} | {CORRUPT}", "a document in an archive")
add("comment.docx", lambda _: good()[:-2] + b"\xff\xff" + b"PK\x05\x06" * 9_000, CORRUPT, "a comment of directories")
add(
    "sheet.docx",
    lambda _: archive({"[Content_Types].xml": b"<Types/>", "xl/workbook.xml": b"<x/>"}),
    REFUSED,
    "a spreadsheet",
)
add("body-missing.docx", lambda _: archive({"a": b"word/document.xml"}), f"{REFUSED} | {CORRUPT}", "no body")
add("body-empty.docx", lambda _: archive({**parts(), BODY: b""}), CORRUPT, "an empty body")
add("body-other.docx", lambda _: archive({**parts(), BODY: b"<html/>"}), f"{CORRUPT} | {NONE}", "a body that is none")
add(
    "types-missing.docx",
    lambda _: archive({k: v for k, v in parts().items() if k[0] != "["}),
    CORRUPT,
    "no list of types",
)
add("ole.docx", lambda _: OLE + bytes(4_000), ENCRYPTED, "the container of protected documents")
add("ole-old.docx", lambda _: OLE + "WordDocument".encode("utf-16-le") + bytes(999), REFUSED, "a .doc")
add("ole.pdf", lambda _: OLE + bytes(4_000), REFUSED, "a container under another name")
add("random.docx", lambda _: b"PK\x03\x04" + bytes((n * 7919) % 251 for n in range(99_999)), CORRUPT, "noise")

# What it refers to


@hostile("relations-outside.docx", HARMLESS, "images, templates, objects and documents on another machine")
def relations_outside(url: str) -> bytes:
    kinds = ("image", "attachedTemplate", "oleObject", "hyperlink", "subDocument", "aFChunk", "frame", "settings")
    relations = "".join(
        f'<Relationship Id="rIdX{n}" Type="{R}/{kind}" Target="{url}{kind}" TargetMode="External"/>'
        for n, kind in enumerate(kinds)
    )
    unc = f'<Relationship Id="rIdU" Type="{R}/attachedTemplate" Target="\\\\127.0.0.1\\x" TargetMode="External"/>'
    return replaced("word/_rels/document.xml.rels", b"</Relationships>", f"{relations}{unc}</Relationships>".encode())


@hostile("relation-to-file.docx", f"{CORRUPT} | {HARMLESS}", "an inner relation that leads out of the archive")
def relation_to_file(_: str) -> bytes:
    relation = f'<Relationship Id="rIdX" Type="{R}/image" Target="../../../../../etc/passwd"/></Relationships>'
    return replaced("word/_rels/document.xml.rels", b"</Relationships>", relation.encode())


@hostile("relation-loop.docx", f"{CORRUPT} | {HARMLESS}", "a part that is related to itself")
def relation_loop(_: str) -> bytes:
    relation = f'<Relationship Id="rIdX" Type="{R}/subDocument" Target="document.xml"/></Relationships>'
    return replaced("word/_rels/document.xml.rels", b"</Relationships>", relation.encode())


@hostile("include.docx", HARMLESS, "XInclude of a file of this machine, and a style sheet elsewhere")
def include(url: str) -> bytes:
    xinclude = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/passwd" parse="text"/>'
    return word(f'<?xml-stylesheet href="{url}"?>{xinclude}{PARAGRAPH}')


@hostile("fields.docx", HARMLESS, "fields that would fetch and run")
def fields(url: str) -> bytes:
    commands = ("DDEAUTO c:\\\\cmd.exe", f"INCLUDEPICTURE {url} \\d", f"INCLUDETEXT {url}")
    runs = "".join(f"<w:r><w:instrText>{command}</w:instrText></w:r>" for command in commands)
    return word(f"<w:p>{runs}</w:p>{PARAGRAPH}")


@hostile("alternative.docx", f"{HARMLESS}", "a page with a script, to be taken in by the program that opens it")
def alternative(url: str) -> bytes:
    files = dict(parts())
    files["word/chunk.html"] = f"<script src={url}></script><img src={url}>".encode()
    relation = f'<Relationship Id="rIdC" Type="{R}/aFChunk" Target="chunk.html"/></Relationships>'.encode()
    rels = "word/_rels/document.xml.rels"
    files[rels] = files[rels].replace(b"</Relationships>", relation)
    types = b'<Default Extension="html" ContentType="text/html"/></Types>'
    files["[Content_Types].xml"] = files["[Content_Types].xml"].replace(b"</Types>", types)
    return archive(files)


def with_pictures(*pictures: bytes, times: int = 1) -> bytes:
    """A document that shows them, all of them so often."""
    rels, types, kind = "word/_rels/document.xml.rels", "[Content_Types].xml", "image/png"
    relation = "".join(
        f'<Relationship Id="p{n}" Type="{R}/image" Target="media/p{n}.png"/>' for n in range(len(pictures))
    )
    known = parts()[types].replace(
        b"<Override", f'<Default Extension="png" ContentType="{kind}"/><Override'.encode(), 1
    )
    known = known if b'Extension="png"' not in parts()[types] else parts()[types]
    shown = "".join(f"<a:blip xmlns:a='{A}/main' r:embed='p{n}'/>" for n in range(len(pictures))) * times
    body = f"{PARAGRAPH}<w:p><w:r><w:drawing>{shown}</w:drawing></w:r></w:p>"
    document = f'{XML}<w:document xmlns:w="{W}" xmlns:r="{R}"><w:body>{body}</w:body></w:document>'
    files = {
        **parts(),
        BODY: document.encode(),
        types: known,
        rels: parts()[rels].replace(b"</Relationships>", f"{relation}</Relationships>".encode()),
    }
    return archive({**files, **{f"word/media/p{n}.png": picture for n, picture in enumerate(pictures)}})


def one_colour(shade: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (300, 200), (shade % 256, shade // 256, 0)).save(buffer, "PNG")
    return buffer.getvalue()


add("picture-pixels.docx", lambda _: with_pictures(pixels_of(100_000)), HARMLESS, "shows ten thousand million pixels")
add("picture-90-million.docx", lambda _: with_pictures(pixels_of(9_500)), HARMLESS, "shows pixels that are not there")
add("picture-not.docx", lambda _: with_pictures(b"<svg/>", b"", b"\xff\xd8\xff"), HARMLESS, "pictures that are none")
add("pictures-300.docx", lambda _: with_pictures(*map(one_colour, range(300))), HARMLESS, "more pictures than are read")
add(
    "picture-shown-again.docx",
    lambda _: with_pictures(one_colour(1), times=100_000),
    HARMLESS,
    "one picture in a hundred thousand places",
)


@hostile("pixels.docx", HARMLESS, "an image of ten thousand million pixels")
def pixels(_: str) -> bytes:
    return archive({**parts(), "word/media/image1.png": pixels_of(100_000)})


def pixels_of(side: int) -> bytes:
    """The head of a PNG."""
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))


# What the body holds


def row(cells: str) -> str:
    return f"<w:tr>{cells}</w:tr>"


QUOTED = '"x"'
SHORT = "<w:p><w:r><w:t>x</w:t></w:r></w:p>"
CELL = f"<w:tc>{SHORT}</w:tc>"
WIDE = f'<w:tc><w:tcPr><w:gridSpan w:val="99"/></w:tcPr>{SHORT}</w:tc>{CELL}'
RUN = "<w:r><w:t>{}</w:t></w:r>"
SCRIPT = "&lt;script&gt;alert(1)&lt;/script&gt; &lt;img src=x onerror=alert(2)&gt;"
BODIES: list[tuple[str, str, str, Callable[[], str]]] = [
    ("deep-tables", LARGE, "tables in tables",
     lambda: "<w:tbl><w:tr><w:tc>" * 60 + PARAGRAPH + "</w:tc></w:tr></w:tbl>" * 60),
    ("deep-elements", f"{LARGE} | {CORRUPT}", "a hundred thousand levels",
     lambda: "<w:sdt>" * 100_000 + "</w:sdt>" * 100_000),
    ("paragraphs-110000", LARGE, "110,000 paragraphs", lambda: SHORT * 110_000),
    ("cells-600000", LARGE, "600,000 cells", lambda: f"<w:tbl>{row(CELL * 300) * 2_000}</w:tbl>"),
    ("text-15-million", LARGE, "fifteen million characters",
     lambda: f"<w:p>{RUN.format('word ' * 1_000_000)}</w:p>" * 3),
    ("text-node-20-megabytes", f"{LARGE} | {CORRUPT}", "one text of 20 MB",
     lambda: f"<w:p>{RUN.format('word ' * 4_000_000)}</w:p>"),
    ("attributes", f"{HARMLESS} | {CORRUPT}", "50,000 attributes of one element",
     lambda: f"<w:p {' '.join(f'w:a{n}={QUOTED}' for n in range(50_000))}/>{PARAGRAPH}"),
    ("namespaces", f"{HARMLESS} | {CORRUPT}", "20,000 namespaces",
     lambda: f"<w:p {' '.join(f'xmlns:a{n}={QUOTED}' for n in range(20_000))}/>{PARAGRAPH}"),
    ("comments", HARMLESS, "300,000 nodes that are nothing",
     lambda: "<!-- x --><?x y?><![CDATA[z]]>" * 100_000 + PARAGRAPH),
    ("spans", LARGE, "merged cells that cover 900,000", lambda: f"<w:tbl>{row(WIDE) * 9_000}</w:tbl>"),
    ("formulas-deep", LARGE, "fractions in fractions",
     lambda: f"<w:p><m:oMath xmlns:m='{M}'>{'<m:f><m:num>' * 70}{'</m:num></m:f>' * 70}</m:oMath></w:p>"),
    ("chart-missing", HARMLESS, "a chart that is not in the file",
     lambda: f"<w:p><w:r><w:drawing><a:graphicData xmlns:a='{A}/main'><c:chart xmlns:c='{A}/chart' r:id='rId999'/>"
             f"</a:graphicData></w:drawing></w:r></w:p>{PARAGRAPH}"),
    ("chart-of-styles", HARMLESS, "a chart that is another part",
     lambda: f"<w:p><w:r><w:drawing><a:graphicData xmlns:a='{A}/main'><c:chart xmlns:c='{A}/chart' r:id='rId1'/>"
             f"</a:graphicData></w:drawing></w:r></w:p>{PARAGRAPH}"),
    ("choices", HARMLESS, "a field that chooses what is not there",
     lambda: f"<w:p><w:ddList><w:result w:val='999999999'/><w:listEntry/></w:ddList></w:p><w:altChunk/>{PARAGRAPH}"),
    ("markup", HARMLESS, "a script as text", lambda: f"<w:p>{RUN.format(SCRIPT)}</w:p>"),
]  # fmt: skip
for name, ends, why, body in BODIES:
    add(f"{name}.docx", lambda _, body=body: word(body()), ends, why)


def numbered(level: str, count: int) -> bytes:
    """`count` paragraphs of a list whose first level is `level`."""
    definition = (
        f'{XML}<w:numbering xmlns:w="{W}"><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0">{level}</w:lvl>'
        '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>'
    )
    item = '<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>x</w:t></w:r></w:p>'
    return word(item * count, word_numbering__xml=definition)


@hostile("labels-long.docx", HARMLESS, "a list whose every number is a megabyte long")
def long_labels(_: str) -> bytes:
    return numbered(f'<w:numFmt w:val="decimal"/><w:lvlText w:val="{"%1." * 300_000}"/>', 300)


@hostile("labels-letters.docx", HARMLESS, "a list that begins with its 999,999th letter")
def letters(_: str) -> bytes:
    return numbered('<w:start w:val="999999"/><w:numFmt w:val="upperLetter"/><w:lvlText w:val="%1%1%1"/>', 300)


@hostile("styles-loop.docx", HARMLESS, "a style based on itself")
def styles_loop(_: str) -> bytes:
    style = '<w:style w:type="paragraph" w:styleId="{0}"><w:name w:val="{0}"/><w:basedOn w:val="{1}"/></w:style>'
    loop = f"{style.format('a', 'b')}{style.format('b', 'a')}</w:styles>".encode()
    files = {**parts(), "word/styles.xml": parts()["word/styles.xml"].replace(b"</w:styles>", loop)}
    body = f'<w:p><w:pPr><w:pStyle w:val="a"/></w:pPr><w:r><w:t>What it says.</w:t></w:r></w:p>{PARAGRAPH}'
    files[BODY] = f'{XML}<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'.encode()
    return archive(files)
