"""What a reader does around a cited passage: come from a search, read on, go back, take the file along."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from documents import publishing
from documents.models import Document
from documents.readers import Reader
from indexing import cache
from indexing.models import IndexTask
from indexing.parsers.markdown import parse
from tests.db.office import Office, words
from tests.db.staging import claim, finished

pytestmark = pytest.mark.django_db(databases=["default", "owner"])

TEXT = "# Travel\n\nHotels cost 200 yuan.\n\n1. Ask first\n2. Book\n\n- Keep the bill\n\nThe end."


@pytest.fixture
def office() -> Office:
    return Office()


@pytest.fixture
def document(office: Office, monkeypatch: pytest.MonkeyPatch) -> Document:
    document = office.world.upload(TEXT)
    office.world.publish(document)
    finished(claim(), [TEXT])
    monkeypatch.setattr(cache, "find_parsed", lambda **_: parse(TEXT.encode()))
    return document


def read(office: Office, document: Document, **query: str) -> Any:
    return office.clients["reader"].get(reverse("passage", args=[document.pk, 1]), {"span": "8-15", **query})


def test_a_passage_leads_back_to_its_search(office: Office, document: Document) -> None:
    found = office.get("reader", "search", q="hotels & more").content.decode()
    assert f"&amp;tenant={office.world.tenant.slug}&amp;q=hotels+%26+more" in found
    answer = read(office, document, q="hotels & more", tenant=office.world.tenant.slug)
    assert "Back to the results" in words(answer)
    assert f'href="/?tenant={office.world.tenant.slug}&amp;q=hotels+%26+more"' in answer.content.decode()
    assert 'class="back"><a href="/">' in read(office, document).content.decode()


def test_a_passage_says_that_it_is_an_excerpt_and_goes_on(office: Office, document: Document) -> None:
    answer = read(office, document, q="hotels")
    assert "An excerpt" in words(answer)
    onward = answer.context["next"]
    assert onward.endswith("&q=hotels")
    later = office.clients["reader"].get(onward)
    assert "<mark>1. Ask first</mark>" in later.content.decode()
    back = office.clients["reader"].get(later.context["previous"])
    assert "<mark>Hotels cost 200 yuan.</mark>" in back.content.decode()
    assert read(office, document, span="0-6").context["previous"] == ""
    assert read(office, document, span="0-900").context["next"] == ""


def test_an_item_is_marked_once(office: Office, document: Document) -> None:
    content = read(office, document, span="0-900").content.decode()
    assert '<p class="item"><mark>1. Ask first</mark>' in content
    assert '<p class="item bullet"><mark>Keep the bill</mark>' in content


def test_readers_of_the_served_version_take_the_file_along(office: Office, document: Document) -> None:
    url = reverse("original", args=[document.pk, 1])
    assert f'href="{url}"' in read(office, document).content.decode()
    answer: Any = office.clients["reader"].get(url)
    assert b"".join(answer.streaming_content) == TEXT.encode()
    assert answer["Content-Disposition"].startswith("attachment")
    assert "sandbox" in answer["Content-Security-Policy"]
    office.world.new_version(document, "# Draft")
    assert office.get("reader", "original", document.pk, 2).status_code == 404
    assert office.get("outsider", "original", document.pk, 1).status_code == 404
    publishing.set_readers(
        actor=office.world.editor, document_id=document.pk, revision=None, readers=[Reader("user", "olga")]
    )
    assert office.clients["reader"].get(url).status_code == 404


@pytest.mark.parametrize("debug", [False, True])
def test_not_found_is_the_sites_own_page(office: Office, document: Document, settings: Any, debug: bool) -> None:
    """Also under KB_DEBUG, where Django would show its own."""
    settings.DEBUG = debug
    task = IndexTask.objects.get()
    for address in (
        reverse("passage", args=[document.pk, 1]),
        reverse("original", args=[document.pk, 1]),
        reverse("admin:documents_document_change", args=[document.pk]),
        reverse("admin:documents_document_original", args=[document.pk, 1]),
        reverse("admin:indexing_chunks", args=[document.pk]),
        reverse("admin:indexing_indextask_change", args=[task.pk]),
    ):
        answer = office.clients["outsider"].get(address)
        assert answer.status_code == 404, address
        assert "There is nothing at this address, or you may not see it. Search" in words(answer), address


def test_a_search_for_words_that_stand_nowhere_says_so(office: Office, document: Document) -> None:
    shown = words(office.get("reader", "search", q="zzqxv blorp"))
    assert "Nothing that you may read contains these words. Below is what comes closest in meaning." in shown
    assert "Hotels" in shown
    for known in ("hotels", "travel"):
        assert "closest in meaning" not in words(office.get("reader", "search", q=known)), known


def test_a_title_that_contains_the_words_is_not_only_near(office: Office) -> None:
    document = office.world.upload(TEXT, title="Kingfisher handbook")
    office.world.publish(document)
    finished(claim(), [TEXT])
    assert "closest in meaning" not in words(office.get("reader", "search", q="kingfisher"))


def test_the_admins_login_leads_a_reader_back(office: Office) -> None:
    reader = office.people["reader"]
    reader.is_staff = False
    reader.save()
    answer = office.clients["reader"].get(reverse("admin:index"), follow=True)
    assert "not authorized" in words(answer)
    assert f'<a href="{reverse("search")}">Back to the search</a>' in answer.content.decode()
