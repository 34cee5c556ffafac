"""The numbers that Word shows before headings and list items. They are not in the text but computed from definitions.

A clause is cited by its number ("第三条", "4.2"), so a text without it cannot be found by what people call it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from docx.oxml.ns import qn

from indexing.parsers import limits
from indexing.parsers.docx_styles import Style
from indexing.parsers.numerals import format_number

_DEPTH = 9
_PLACEHOLDER = re.compile(r"%([1-9])")


@dataclass(frozen=True, slots=True)
class _Level:
    form: str = "decimal"
    pattern: str = ""  # "%1.%2": the numbers of levels 1 and 2
    start: int = 1
    plain: bool = False  # shows outer levels as decimals, whatever their own form (w:isLgl)
    style: str | None = None  # id of the paragraph style bound to this level


class Numbering:
    """Counts through one document: `label` must see its numbered paragraphs in their order, each once."""

    def __init__(self, document: Any) -> None:
        self._abstract: dict[str, list[_Level]] = {}
        self._list_of: dict[str, str] = {}  # numId → abstract definition; lists of one definition go on counting
        self._restarts: dict[str, dict[int, int]] = {}
        self._counters: dict[str, list[int | None]] = {}
        self._started: set[str] = set()
        part = next(
            (rel.target_part for rel in document.part.rels.values() if rel.reltype.endswith("/numbering")), None
        )
        if part is not None:
            self._read(part.element)

    def depth(self, paragraph: Any, style: Style) -> int | None:
        """How deep a list item is nested, 0 for the outermost; None for what is in no list."""
        place = self._place(paragraph, style)
        return place[1] if place else None

    def label(self, paragraph: Any, style: Style) -> str:
        """The number of this paragraph, counted on; empty for bullets and for what has none."""
        place = self._place(paragraph, style)
        if place is None:
            return ""
        num_id, depth = place
        abstract = self._list_of[num_id]
        levels = self._abstract[abstract]
        counters = self._counters.setdefault(abstract, [None] * _DEPTH)
        if num_id not in self._started:
            self._started.add(num_id)
            for restarted, start in self._restarts[num_id].items():
                counters[restarted] = start - 1
        current = counters[depth]
        counters[depth] = levels[depth].start if current is None else current + 1
        counters[depth + 1 :] = [None] * (_DEPTH - depth - 1)
        if levels[depth].form in ("bullet", "none"):
            return ""
        return _PLACEHOLDER.sub(
            lambda match: self._number(levels, counters, depth, int(match[1]) - 1), levels[depth].pattern
        )

    def _number(self, levels: list[_Level], counters: list[int | None], depth: int, level: int) -> str:
        value = counters[level]
        form = "decimal" if levels[depth].plain else levels[level].form
        return format_number(levels[level].start if value is None else value, form)

    def _place(self, paragraph: Any, style: Style) -> tuple[str, int] | None:
        """(numId, depth) of a paragraph: its own, else its style's."""
        properties = paragraph.find(f"{qn('w:pPr')}/{qn('w:numPr')}")
        own_id = own_level = None
        if properties is not None:
            own_id, own_level = _attribute(properties, "w:numId"), _attribute(properties, "w:ilvl")
        num_id = own_id or (style.numbering[0] if style.numbering else None)
        if num_id is None or num_id not in self._list_of:  # "0" switches numbering off and is never defined
            return None
        if own_level is not None:
            return num_id, _small(own_level, 0)
        bound = [i for i, level in enumerate(self._abstract[self._list_of[num_id]]) if level.style in style.chain]
        if own_id is None and bound:
            return num_id, bound[0]
        return num_id, min(style.numbering[1], _DEPTH - 1) if style.numbering and own_id is None else 0

    def _read(self, root: Any) -> None:
        for abstract in root.iterchildren(qn("w:abstractNum")):
            levels = [_Level()] * _DEPTH
            for element in abstract.iterchildren(qn("w:lvl")):
                levels[_small(element.get(qn("w:ilvl")), 0)] = _read_level(element)
            self._abstract[abstract.get(qn("w:abstractNumId"))] = levels
        for number in root.iterchildren(qn("w:num")):
            num_id, abstract_id = number.get(qn("w:numId")), _attribute(number, "w:abstractNumId")
            if num_id is None or abstract_id not in self._abstract or num_id == "0":
                continue
            self._list_of[num_id] = abstract_id
            self._restarts[num_id] = {
                _small(override.get(qn("w:ilvl")), 0): int(start)
                for override in number.iterchildren(qn("w:lvlOverride"))
                if (start := _attribute(override, "w:startOverride")) and re.fullmatch(r"\d{1,6}", start)
            }


def _read_level(element: Any) -> _Level:
    start = _attribute(element, "w:start")
    return _Level(
        form=_attribute(element, "w:numFmt") or "decimal",
        pattern=(_attribute(element, "w:lvlText") or "")[: limits.LABEL_CHARACTERS],
        start=int(start) if start and re.fullmatch(r"\d{1,6}", start) else 1,
        plain=element.find(qn("w:isLgl")) is not None,
        style=_attribute(element, "w:pStyle"),
    )


def _attribute(parent: Any, name: str) -> str | None:
    element = parent.find(qn(name))
    return element.get(qn("w:val")) if element is not None else None


def _small(value: str | None, default: int) -> int:
    return min(int(value), _DEPTH - 1) if value and re.fullmatch(r"\d{1,2}", value) else default
