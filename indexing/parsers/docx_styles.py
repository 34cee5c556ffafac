"""What a DOCX paragraph's style says about it: heading and its level, title, list, code, contents."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from docx.oxml.ns import qn

_HEADING = re.compile(r"(?:heading|标题|標題|überschrift|titre|título|見出し|제목)\s*([1-9])", re.IGNORECASE)
_TITLE = re.compile(r"title|标题|標題|文档标题|表題", re.IGNORECASE)
_CONTENTS = re.compile(
    r"(?:toc|index)\s*(?:\d|heading)|toa heading|table of (?:contents|figures)"
    r"|(?:图表)?目录\s*\d?|(?:圖表)?目錄\s*\d?|索引\s*\d?",
    re.IGNORECASE,
)
_LIST = re.compile(r"list(?:$|\s(?!continue))|列表|列出段落$", re.IGNORECASE)
_CODE = re.compile(r"(?:source|html)?\s*(?:code|preformatted|代码)(?:\s*block)?|macro text|plain code", re.IGNORECASE)
_CAPTION = re.compile(r"caption|题注|題注|图表标题|beschriftung|légende", re.IGNORECASE)
_BODY_TEXT = 9  # the outline level that means "none"
_DEEPEST_CHAIN = 20
_OFF = ("0", "false", "off")


@dataclass(frozen=True, slots=True)
class Style:
    """A paragraph style with what it inherits."""

    names: tuple[str, ...] = ()  # its own, then those it is based on
    outline: int | None = None  # 0–8
    numbering: tuple[str, int] | None = None  # (numId, level)
    chain: tuple[str, ...] = field(default=())  # style ids, own first
    font: str | None = None

    @property
    def is_title(self) -> bool:
        return bool(self.names) and _TITLE.fullmatch(self.names[0]) is not None

    @property
    def is_list(self) -> bool:
        # "List Paragraph" is what Word gives a list's items, and also what people indent with: only a number tells.
        return bool(self.names) and _LIST.match(self.names[0]) is not None and "paragraph" not in self.names[0].lower()

    @property
    def is_code(self) -> bool:
        return any(_CODE.fullmatch(name) for name in self.names)

    @property
    def is_caption(self) -> bool:
        return any(_CAPTION.fullmatch(name) for name in self.names)

    @property
    def is_contents_entry(self) -> bool:
        return bool(self.names) and _CONTENTS.fullmatch(self.names[0]) is not None

    def heading_level(self, paragraph: Any) -> int | None:
        """1–6 for headings: by the paragraph's own outline level, the style's name, the style's outline level."""
        own = _value(paragraph, "w:pPr/w:outlineLvl")
        if own is not None:
            return None if own >= _BODY_TEXT else min(own + 1, 6)
        if self.is_title:
            return 1
        for name in self.names:
            if match := _HEADING.fullmatch(name):
                return min(int(match[1]), 6)
        return None if self.outline is None or self.outline >= _BODY_TEXT else min(self.outline + 1, 6)


class Styles:
    """The styles of one document, by their ids."""

    def __init__(self, document: Any) -> None:
        self._elements = {
            style.get(qn("w:styleId")): style
            for style in document.styles.element.iterchildren(qn("w:style"))
            if style.get(qn("w:type"), "paragraph") == "paragraph"
        }
        self._default = next(
            (key for key, style in self._elements.items() if style.get(qn("w:default")) in ("1", "true")), None
        )
        self._known: dict[str | None, Style] = {}

    def of(self, paragraph: Any) -> Style:
        element = _find(paragraph, "w:pPr/w:pStyle")
        style_id = element.get(qn("w:val")) if element is not None else self._default
        if style_id not in self._known:
            self._known[style_id] = self._resolve(style_id)
        return self._known[style_id]

    def _resolve(self, style_id: str | None) -> Style:
        names: list[str] = []
        chain: list[str] = []
        outline: int | None = None
        num_id: str | None = None
        level: int | None = None
        font: str | None = None
        while (
            style_id is not None
            and style_id in self._elements
            and style_id not in chain
            and len(chain) < _DEEPEST_CHAIN
        ):
            style = self._elements[style_id]
            chain.append(style_id)
            name = _find(style, "w:name")
            names.append((name.get(qn("w:val")) or "") if name is not None else "")
            outline = outline if outline is not None else _value(style, "w:pPr/w:outlineLvl")
            number = _find(style, "w:pPr/w:numPr/w:numId")
            num_id = num_id or (number.get(qn("w:val")) if number is not None else None)
            level = level if level is not None else _value(style, "w:pPr/w:numPr/w:ilvl")
            fonts = _find(style, "w:rPr/w:rFonts")
            font = font or (fonts.get(qn("w:ascii")) if fonts is not None else None)
            based_on = _find(style, "w:basedOn")
            style_id = based_on.get(qn("w:val")) if based_on is not None else None
        return Style(tuple(names), outline, (num_id, level or 0) if num_id else None, tuple(chain), font)


def spread_hidden(document: Any) -> None:
    """Mark the runs as hidden that a style of theirs, or of their paragraph, hides: what reads them asks them alone."""
    styles = {
        style.get(qn("w:styleId"))
        for style in document.styles.element.iterchildren(qn("w:style"))
        if (mark := _find(style, "w:rPr/w:vanish")) is not None and mark.get(qn("w:val"), "1") not in _OFF
    }
    if not styles:
        return
    for run in document.element.body.iter(qn("w:r")):
        paragraph = next(run.iterancestors(qn("w:p")), None)
        own, outer = _find(run, "w:rPr/w:rStyle"), None if paragraph is None else _find(paragraph, "w:pPr/w:pStyle")
        hides = any(style is not None and style.get(qn("w:val")) in styles for style in (own, outer))
        if hides and _find(run, "w:rPr/w:vanish") is None:
            run.get_or_add_rPr().append(run.makeelement(qn("w:vanish")))


def _find(element: Any, path: str) -> Any:
    return element.find("/".join(qn(step) for step in path.split("/")))


def _value(element: Any, path: str) -> int | None:
    """The small number in an element's `w:val`, None where there is none."""
    found = _find(element, path)
    value = found.get(qn("w:val")) if found is not None else None
    return int(value) if value and re.fullmatch(r"\d{1,2}", value) else None
