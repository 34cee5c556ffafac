"""`make demo ARGS=--exit` ends with 0 only if everything is as the manifest says: each way to be otherwise is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from documents.models import Document
from documents.ports import search_index
from indexing.search import search
from kbsite.demo import report
from kbsite.demo.publishing import Standing
from kbsite.demo.samples import SampleDocument, SampleSearch
from tests.db.staging import claim, finished
from tests.factories import World

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("by_words_alone")]

DOCUMENT = SampleDocument("k", "a.md", "Travel", "en", (), "SEARCHABLE", None, None)
SEARCH = SampleSearch("apple", "en", "editor", "a.md", None, None)


@pytest.fixture
def standing(world: World) -> Standing:
    """One sample that is searchable."""
    document = world.upload()
    world.publish(document)
    finished(claim(), ["apple pie"])
    (annotated,) = search_index().annotate_state(Document.objects.filter(pk=document.pk))
    return Standing(DOCUMENT, document.versions.get(), annotated)


def answered(world: World, sample: SampleSearch) -> report.Searched:
    hits = search(user=world.editor, tenant=world.tenant.slug, query=sample.query).hits
    assert hits, "a search that finds nothing shows nothing"
    return report.Searched(sample, hits)


def test_all_as_expected(world: World, standing: Standing) -> None:
    assert list(report.unexpected([standing], [answered(world, SEARCH)])) == []


@pytest.mark.parametrize(
    "otherwise", [{"expect": "FAILED", "expect_code": "DOCUMENT_CORRUPT"}, {"expect": "FAILED", "expect_code": None}]
)
def test_a_document_in_another_state(standing: Standing, otherwise: dict[str, str | None]) -> None:
    (sentence,) = report.unexpected([replace(standing, sample=replace(DOCUMENT, **otherwise))], [])  # type: ignore[arg-type]
    assert sentence.startswith("a.md is SEARCHABLE, not FAILED")


@pytest.mark.parametrize(
    ("otherwise", "told"),
    [
        ({"expect_file": "b.md"}, "does not find b.md"),
        ({"expect_file": None, "expect_nothing_from": "a.md"}, "finds a.md, which it must not"),
        ({"forbidden_text": "apple pie"}, "finds the text “apple pie”, which it must not"),
    ],
)
def test_a_search_with_another_answer(
    world: World, standing: Standing, otherwise: dict[str, str | None], told: str
) -> None:
    (sentence,) = report.unexpected([standing], [answered(world, replace(SEARCH, **otherwise))])  # type: ignore[arg-type]
    assert told in sentence
