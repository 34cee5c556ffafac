"""What is kept out of a document is told whole; of what is very long, how much more there is."""

from __future__ import annotations

import io

import docx
import pytest
from django.utils import translation

from indexing.blocks import LeftOut, LeftOutReason
from indexing.parsers import docx as docx_parser
from indexing.parsers import html, limits
from indexing.parsers.left_out import leave_out
from indexing.remarks import left_out_words

MOST = limits.LEFT_OUT_CHARACTERS


@pytest.mark.parametrize(("letters", "omitted"), [(MOST, 0), (MOST + 1, 1), (3 * MOST, 2 * MOST)])
def test_what_is_behind_the_limit_is_counted(letters: int, omitted: int) -> None:
    told = leave_out(LeftOutReason.CONTENTS, ["字" * (letters - 4), "a"], pages=(2,))
    assert (len(told.text), told.omitted, told.pages) == (min(letters, MOST), omitted, (2,))
    assert LeftOut.from_json(told.to_json()) == told
    assert ("omitted" in told.to_json()) is bool(omitted)


def test_editors_are_told_how_much_more_there_is() -> None:
    one, many = (LeftOut(LeftOutReason.HIDDEN, "x", slide=2, omitted=count) for count in (1, 12_345))
    assert left_out_words(one) == "Hidden text, slide 2, 1 more character"
    assert left_out_words(many) == "Hidden text, slide 2, 12,345 more characters"
    with translation.override("zh-hans"):
        assert "12,345" in left_out_words(many)
        assert "more" not in left_out_words(many)


@pytest.mark.parametrize("word", ["保密内容 ", "confidential "])
def test_hidden_text_of_a_chapter_is_told_whole(word: str) -> None:
    hidden = word * 1_000
    document, stream = docx.Document(), io.BytesIO()
    document.add_paragraph("Text").add_run(hidden).font.hidden = True
    document.save(stream)
    (told,) = docx_parser.parse(stream.getvalue()).left_out
    assert (told.text, told.omitted) == (hidden.strip(), 0)
    (told,) = html.parse(f"<main><p>Text</p><div hidden><p>{hidden}</p><p>{hidden}</p></div></main>".encode()).left_out
    assert len(told.text) + told.omitted == 2 * len(hidden) - 1
