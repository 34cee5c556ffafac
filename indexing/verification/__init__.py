"""Is every chunk where it says? A second reading of the original, of exactly the claimed place, by other means than the
parser's.

| format | what is read again |
|---|---|
| PDF | PDFium's text of the claimed regions, of whole pages between them |
| pictures, scanned pages | only that page and region exist: recognised text is the parser's own reading |
| XLSX, XLS, ODS | the claimed cells, by calamine; of an XLSX also the XML of what lies beside the sheet's cells |
| PPTX | the claimed slide's XML, with its notes, tables and charts |
| HTML, DOCX | all text of the file, in order: these formats have no places of their own |
| text, Markdown, CSV, JSON, code | the claimed lines |

How much of a chunk must be found: `indexing.verification.measure`. Pure; the file is untrusted, so outside of tests this runs
in the locked process (`indexing.parsers.sandbox`), except for lines of UTF-8, which are only counted and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Protocol, cast

from documents.media_types import DOCX, HTML, IMAGES, JSON, ODS, PDF, PPTX, XLS, XLSX
from indexing.verification.claims import Claim, Outcome, Verification, claims_of

__all__ = ["Claim", "Outcome", "Verification", "claims_of", "has_places", "is_plain", "verify"]

_MODULES = {
    PDF: "indexing.verification.pages",
    **dict.fromkeys(IMAGES, "indexing.verification.pictures"),
    **dict.fromkeys((XLSX, XLS, ODS), "indexing.verification.sheets"),
    PPTX: "indexing.verification.slides",
    DOCX: "indexing.verification.word_text",
    HTML: "indexing.verification.page_text",
}
_SOON_DONE = 200_000  # bytes: one long line is looked through for each word of each chunk
_LINES = {JSON: "indexing.verification.json_lines"}
_OTHER = "indexing.verification.lines"


class Verifier(Protocol):
    """What each format's module offers: one outcome for each claim, in their order."""

    def outcomes(self, content: bytes, claims: Sequence[Claim]) -> Iterable[Outcome]: ...


def has_places(media_type: str) -> bool:
    """Whether a format has places of its own, at which something else could stand."""
    return media_type not in (HTML, DOCX)


def is_plain(content: bytes, media_type: str) -> bool:
    """Whether checking needs no parser at all and is soon done, and so needs no process of its own."""
    if media_type in _MODULES or len(content) > _SOON_DONE:
        return False
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def verify(
    content: bytes, media_type: str, claims: Sequence[Claim], *, checkpoint: Callable[[], None] = lambda: None
) -> Verification:
    """Look for each claim's text at its place in `content`. What `checkpoint` raises ends the work."""
    module = cast(Verifier, import_module({**_MODULES, **_LINES}.get(media_type, _OTHER)))
    counted = {outcome: list[int]() for outcome in Outcome}
    for claim, outcome in zip(claims, module.outcomes(content, claims), strict=True):
        counted[outcome if claim.is_shown else Outcome.ELSEWHERE].append(claim.ordinal)
        checkpoint()
    return Verification(
        found=len(counted[Outcome.FOUND]),
        failed=tuple(counted[Outcome.ELSEWHERE]),
        not_checkable=len(counted[Outcome.NOT_CHECKABLE]),
    )
