"""DOCX: the text nodes of every part that can hold text, as XML; the parser walks paragraphs, styles and tables."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence

from lxml import etree

from indexing.verification import flow
from indexing.verification.claims import Claim, Outcome

_PARTS = re.compile(
    r"word/(?:document|footnotes|endnotes|comments|header\d*|footer\d*)\d*\.xml"
    r"|word/(?:charts/chart|diagrams/data)\d*\.xml"
)
_TEXT = {"t", "v", "pt"}
_AFTER = {"v": "\n", "pt": "\n"}  # a chart's value
_WRITTEN = {"textpath": "string", "shape": "alt"}  # of older drawings: letters, and what an author says that they show
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,20})?")
_AS_CHARACTER = {"tab": " ", "br": "\n", "cr": "\n", "p": "\n", "noBreakHyphen": "-", "tc": "\n"}


def outcomes(content: bytes, claims: Sequence[Claim]) -> Iterable[Outcome]:
    return flow.outcomes("\n".join(_texts(content)), claims)


def _texts(content: bytes) -> Iterator[str]:
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        # The document's own part first: texts are looked for in the order in which they were found.
        parts = sorted(filter(_PARTS.fullmatch, package.namelist()), key=lambda name: name != "word/document.xml")
        for part in parts:
            yield text_of(package.read(part))


def text_of(part: bytes) -> str:
    """The texts of an Office part, whatever they are in."""
    pieces: list[str] = []
    parser = etree.XMLPullParser(events=("end",), resolve_entities=False, no_network=True, remove_comments=True)
    parser.feed(part)
    in_percent = False
    for _, element in parser.read_events():
        name = etree.QName(element).localname if isinstance(element.tag, str) else ""
        if name in _TEXT:
            pieces.append(f"{element.text or ''}{_AFTER.get(name, '')}")
            if in_percent and _NUMBER.fullmatch(element.text or ""):
                pieces.append(f"{float(element.text or '') * 100:.10g}\n")
        elif name == "formatCode":  # of the chart's values after it
            in_percent = "%" in (element.text or "")
        elif name in _AS_CHARACTER:
            pieces.append(_AS_CHARACTER[name])
        elif name == "sym" and (code := _code(element)):
            pieces.append(chr(code))
        elif name in ("docPr", "cNvPr") and (described := element.get("descr") or element.get("title")):
            pieces.append(described)
        elif name in _WRITTEN:
            pieces.append(f"\n{element.get(_WRITTEN[name], '')}\n")
    return "".join(pieces)


def _code(element: etree._Element) -> int:
    value = next((value for name, value in element.items() if str(name).endswith("}char")), "")
    return int(str(value), 16) if re.fullmatch(r"[0-9A-Fa-f]{4}", str(value)) else 0
