"""PPTX: all text of the claimed slide's XML, of its notes, charts and diagrams."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Sequence
from functools import lru_cache

from lxml import etree

from indexing.verification.claims import Claim, Outcome
from indexing.verification.measure import Place
from indexing.verification.relations import RELATION, relations
from indexing.verification.word_text import text_of

_WITH_TEXT = ("/notesSlide", "/chart", "/diagramData", "/chartEx", "/comments")


def outcomes(content: bytes, claims: Sequence[Claim]) -> Iterator[Outcome]:
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        slides = _slides(package)
        text_at = lru_cache(maxsize=4)(lambda number: Place(_text(package, slides[number - 1])))
        for claim in claims:
            number = claim.locator.slide
            if number is None or not 1 <= number <= len(slides):
                yield Outcome.ELSEWHERE
            elif not claim.texts:
                yield Outcome.NOT_CHECKABLE
            else:
                yield Outcome.FOUND if text_at(number).holds(claim.texts) else Outcome.ELSEWHERE


def _slides(package: zipfile.ZipFile) -> list[str]:
    """Parts of the slides in the order in which they are shown."""
    main = next(name for name in package.namelist() if name.lower() == "ppt/presentation.xml")
    targets = {identity: target for identity, _, target in relations(package, main)}
    found = []
    for element in etree.fromstring(package.read(main)).iter("{*}sldId"):
        found.append(targets[str(element.get(RELATION))])
    return found


def _text(package: zipfile.ZipFile, part: str) -> str:
    """With the words that the parser puts above notes."""
    related = [(kind, target) for _, kind, target in relations(package, part) if kind.endswith(_WITH_TEXT)]
    names = set(package.namelist())
    above = ["Notes", "备注"] if any(kind.endswith("/notesSlide") for kind, _ in related) else []
    parts = [part, *(target for _, target in related)]
    return "\n".join([*above, *(text_of(package.read(name)) for name in parts if name in names)])
