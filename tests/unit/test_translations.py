"""Everything a person reads exists in Chinese, and the compiled file is the one that belongs to the translations."""

from __future__ import annotations

import gettext
import io
import re
from pathlib import Path

import pytest
from django.utils import translation

from documents.errors import StaleRevision
from indexing.messages import error_sentence, locator_words, progress_words
from kbsite.translations import MESSAGES, Text, Translation, collect, compiled, read, write

PLACE = re.compile(r"%\((\w+)\)[sd]")


def test_every_text_is_translated() -> None:
    known = read()
    wanted = collect()
    assert len(wanted) > 200, "the collection finds the texts"
    advice = "run `python -m kbsite.translations` and fill in locale/zh_Hans/LC_MESSAGES/django.po"
    missing = [text.single for text in wanted if text not in known or not known[text].words]
    assert not missing, advice
    assert not [text.single for text in known if text not in wanted], advice
    assert not [text.single for text, found in known.items() if found.doubtful], "doubtful translations are not shown"


def test_the_compiled_file_is_up_to_date() -> None:
    assert MESSAGES.with_suffix(".mo").read_bytes() == compiled(read()), "run `python -m kbsite.translations`"


def test_translations_keep_the_places_for_values() -> None:
    for text, found in read().items():
        assert set(PLACE.findall(found.words)) == set(PLACE.findall(text.single)), text.single


def test_python_reads_the_compiled_file() -> None:
    known = read()
    catalogue = gettext.GNUTranslations(io.BytesIO(MESSAGES.with_suffix(".mo").read_bytes()))
    for text, found in known.items():
        if text.plural:
            assert catalogue.ngettext(text.single, text.plural, 2) == found.words
        else:
            assert catalogue.gettext(text.single) == found.words


def test_what_is_written_is_read(tmp_path: Path) -> None:
    translations = {
        Text('quotes " and \\', ""): Translation("引号 “”"),
        Text("%(n)d line", "%(n)d lines"): Translation("%(n)d 行"),
        Text("two\nlines"): Translation("两\n行", doubtful=True),
        Text("missing"): Translation(""),
    }
    write(translations, tmp_path / "a.po")
    assert read(tmp_path / "a.po") == translations
    catalogue = gettext.GNUTranslations(io.BytesIO(compiled(translations)))
    assert catalogue.gettext("two\nlines") == "two\nlines"
    assert catalogue.gettext("missing") == "missing"


@pytest.mark.parametrize(("language", "expected"), [("en", "page 3, lines 10–14"), ("zh-hans", "第 3 页，第 10–14 行")])
def test_places_in_words(language: str, expected: str) -> None:
    with translation.override(language):
        assert locator_words({"span": [0, 1], "page": 3, "lines": [10, 14]}) == expected


def test_places_in_other_words() -> None:
    assert locator_words({"span": [0, 1]}) == ""
    assert locator_words({"span": [0, 1], "page": 3, "pageEnd": 4}) == "pages 3–4"
    assert locator_words({"span": [0, 1], "page": 3, "pageEnd": 3}) == "page 3"
    assert locator_words({"span": [0, 1], "lines": [7, 7]}) == "line 7"


def test_errors_and_progress_in_words() -> None:
    with translation.override("zh-hans"):
        assert error_sentence("DOCUMENT_CORRUPT", "stored").startswith("文件已损坏")
        assert error_sentence("FROM_THE_FUTURE", "What was stored.") == "What was stored."
        assert error_sentence(None) == ""
        assert progress_words("EMBED", 34, 80) == "正在计算向量：34/80 个片段"
        assert progress_words("PARSE", 0, 0) == "正在读取文件"
        assert "有人修改了该文档" in StaleRevision().message
    assert progress_words("INDEX", 0, 1) == "Storing chunks: 0/1 chunk"
