"""What is missing in a document's text, what was kept out of it, and whether its places are right, in words of the reader's
language. What is stored stays code; this is only shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_noop as noop

from indexing.blocks import GapReason, LeftOut, LeftOutReason
from indexing.messages import locator_words

MOST_NAMED = 20  # gaps, and failed chunks

REASONS: dict[str, str] = {
    GapReason.UNREADABLE: noop("unreadable"),
    GapReason.NOT_RECOGNISED: noop("a picture in which no text was recognised"),
    GapReason.NOT_CALCULATED: noop(
        "formulas whose results are not in the file: open it in its program and save it again"
    ),
    GapReason.PICTURE: noop("a picture whose text could not be read"),
    GapReason.OVER_LIMIT: noop("not read: the document has more pictures than are read"),
}

LEFT_OUT: dict[str, str] = {
    LeftOutReason.PAGE_HEADER: noop("Page header"),
    LeftOutReason.PAGE_FOOTER: noop("Page footer"),
    LeftOutReason.PAGE_NUMBER: noop("Page number"),
    LeftOutReason.CONTENTS: noop("Table of contents"),
    LeftOutReason.NAVIGATION: noop("Navigation"),
    LeftOutReason.HIDDEN: noop("Hidden text"),
    LeftOutReason.COMMENT: noop("Comments"),
    LeftOutReason.CONTROL: noop("Buttons and fields"),
    LeftOutReason.FALLBACK: noop("Text for programs that cannot show the rest"),
    LeftOutReason.ENCODED: noop("A file written out in letters"),
}

Gaps = Sequence[dict[str, Any]]
"""As `indexing.blocks.Gap.to_json` makes them."""


def gap_words(gap: dict[str, Any]) -> str:
    """“page 17: unreadable”; for neighbouring pages “pages 17–20: unreadable”."""
    place, reason = locator_words(gap), gettext(REASONS[gap["reason"]])
    return gettext("%(place)s: %(reason)s") % {"place": place, "reason": reason} if place else reason


def gaps_words(gaps: Gaps) -> list[str]:
    """Each gap by its name, neighbouring pages together; of many the first."""
    joined = _joined(gaps)
    named = [gap_words(gap) for gap in joined[:MOST_NAMED]]
    if len(joined) > MOST_NAMED:
        more = len(joined) - MOST_NAMED
        named.append(ngettext("and %(count)d more", "and %(count)d more", more) % {"count": more})
    return named


def near(gaps: Gaps, locator: dict[str, Any]) -> list[dict[str, Any]]:
    """Those on the sheet or slide of a place, on its pages and the ones before and after them; all that name no place."""
    return [gap for gap in gaps if _is_near(gap, locator)]


def _is_near(gap: dict[str, Any], locator: dict[str, Any]) -> bool:
    first = locator.get("page")
    if "page" in gap and first is not None:
        return bool(first - 1 <= gap["page"] <= (locator.get("pageEnd") or first) + 1)
    return all(gap[unit] == locator.get(unit, gap[unit]) for unit in ("sheet", "slide") if unit in gap)


def near_words(gaps: Gaps, locator: dict[str, Any]) -> list[str]:
    """For a reader of a hit: what is missing around it, by name, and in how many other parts of its document."""
    around = near(gaps, locator)
    sentences = []
    if around:
        named = gettext("; ").join(gaps_words(around))
        sentences.append(gettext("Missing near here: %(gaps)s.") % {"gaps": named})
    if others := len(gaps) - len(around):
        words = ngettext(
            "%(count)d other part of this document is not searchable.",
            "%(count)d other parts of this document are not searchable.",
            others,
        )
        sentences.append(words % {"count": others})
    return sentences


def text_remarks(gaps: Gaps, verification: dict[str, Any] | None) -> list[str]:
    """For editors: everything that could not be read, and places that are not exact."""
    remarks = []
    if gaps:
        named = gettext("; ").join(gaps_words(gaps))
        remarks.append(gettext("Not in the searchable text: %(gaps)s.") % {"gaps": named})
    if verification and verification["failed"]:
        remarks.append(verification_words(verification))
    return remarks


def verification_words(verification: dict[str, Any]) -> str:
    """“All 34 chunks were found again at their places.”"""
    found, failed, unsure = verification["found"], verification["failed"], verification["notCheckable"]
    sentences = []
    if failed:
        numbers = gettext(", ").join(str(ordinal + 1) for ordinal in failed[:MOST_NAMED])
        words = ngettext(
            "%(count)d chunk was not found again at its exact place: %(numbers)s. Its citations name only the page or sheet.",
            "%(count)d chunks were not found again at their exact places: %(numbers)s. Their citations name only the page or "
            "sheet.",
            len(failed),
        )
        sentences.append(words % {"count": len(failed), "numbers": numbers + ("…" if len(failed) > MOST_NAMED else "")})
    if found:
        words = ngettext(
            "%(count)d chunk was found again at its place in the file.",
            "%(count)d chunks were found again at their places in the file.",
            found,
        )
        sentences.append(words % {"count": found})
    if unsure:
        words = ngettext(
            "The place of %(count)d chunk cannot be checked again.",
            "The places of %(count)d chunks cannot be checked again.",
            unsure,
        )
        sentences.append(words % {"count": unsure})
    return " ".join(sentences)


def left_out_words(left_out: LeftOut) -> str:
    """“Page header, pages 1–9”, “Hidden text, sheet “Prices”, cells B4:F17”."""
    words = gettext(LEFT_OUT[left_out.reason])
    pages = [{"reason": "", "page": page} for page in left_out.pages]
    places = [*map(locator_words, _joined(pages)[:MOST_NAMED]), locator_words(left_out.to_json())]
    if left_out.omitted:
        more = ngettext("%(count)s more character", "%(count)s more characters", left_out.omitted)
        places.append(more % {"count": f"{left_out.omitted:,}"})
    return gettext(", ").join([words, *filter(None, places)])


def _joined(gaps: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Neighbouring pages with one reason as one gap, with a last page."""
    joined: list[dict[str, Any]] = []
    for (reason, _), run in groupby(
        enumerate(gaps),
        key=lambda item: (item[1]["reason"], item[1].get("page", 0) - item[0] if "page" in item[1] else None),
    ):
        same = [gap for _, gap in run]
        if "page" in same[0] and len(same) > 1:
            joined.append({"reason": reason, "page": same[0]["page"], "pageEnd": same[-1]["page"]})
        else:
            joined += same
    return joined
