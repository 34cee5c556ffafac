"""Every limit has a sentence that names it and can be translated, and stands on the page about security."""

from __future__ import annotations

import re

import pytest
from django.utils import translation

from indexing.errors import DocumentTooLarge, ParseTimeout
from indexing.messages import error_sentence
from indexing.parsers import limits
from indexing.parsers.clean import clean
from indexing.parsers.limits import Limit
from tests.environment import ROOT

LIMITS = {name: value for name, value in vars(limits).items() if isinstance(value, Limit)}


def test_the_page_lists_every_limit() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| ([\d,]+) \|", (ROOT / "docs" / "security.md").read_text(), re.MULTILINE)
    assert {name: int(value.replace(",", "")) for name, value in rows} == {
        name: limit.value for name, limit in LIMITS.items()
    }


@pytest.mark.parametrize("name", LIMITS)
def test_what_is_over_a_limit_is_told_so(name: str) -> None:
    limit = LIMITS[name]
    limit.check(limit.value)
    with pytest.raises(DocumentTooLarge) as caught:
        limit.check(limit.value + 1)
    shown = f"{limit.value // limit.unit:,}"
    assert shown in str(caught.value)
    assert shown in error_sentence(DocumentTooLarge.code, str(caught.value))
    with translation.override("zh-hans"):
        told = error_sentence(DocumentTooLarge.code, str(caught.value))
        assert shown in told
        assert not re.search(r"[A-Za-z]{4,}", told)


def test_only_known_details_are_shown() -> None:
    assert error_sentence("PARSE_CRASHED", "The parser stopped while reading this file. (RuntimeError)") == (
        "The parser stopped while reading this file."
    )
    message = str(ParseTimeout(limits.SECONDS % {"limit": "120"}))
    assert error_sentence("PARSE_TIMEOUT", message) == message


def test_marks_beyond_what_a_language_needs_are_left_out() -> None:
    assert clean("e\u0301" + "\u0301\u0316" * 10) == "é" + "\u0316" * 10 + "\u0301" * 10
    assert (
        len(clean("a" + "\u0301\u0316" * 400_000 + "b")) == limits.COMBINING_MARKS + 1
    )  # the first mark is one with its letter
    assert len(clean("\u0f40" + "\u0f73" * 200_000)) == 1 + 2 * limits.COMBINING_MARKS
    assert clean("!" * 1_000 + "—" * 50) == "!" * 1_000 + "—" * 50
