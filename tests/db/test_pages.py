"""The readers' pages: search, the passage behind a citation, login and language."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from documents import publishing
from documents.errors import InvalidInput
from documents.readers import Reader
from indexing import cache, pages
from indexing.models import ParseCache
from indexing.parsers.markdown import parse
from indexing.search import Answer, Hit, Notice
from tests.db.office import Office, browser, words
from tests.db.staging import claim, finished

pytestmark = pytest.mark.django_db(databases=["default", "owner"])

TEXT = "# Travel\n\nHotels cost up to 200 yuan.\n\n| a | b |\n|---|---|\n| 1 | x < 2 |\n\nThe end."


@pytest.fixture
def office() -> Office:
    return Office()


def hit(**changed: Any) -> Hit:
    facts: dict[str, Any] = {
        "chunk_id": uuid.uuid4(),
        "document_id": uuid.uuid4(),
        "version_number": 6,
        "title": "<b>Travel</b>",
        "heading_path": ("One", "<i>Two</i>"),
        "locator": {"span": [0, 9], "page": 3, "lines": [10, 14]},
        "snippet": "a <script> costs 200",
        "marks": ((2, 10), (17, 20)),
        "score": 0.5,
        "permalink": "/documents/x/versions/6/?span=0-9",
        "freshness": {"publishedVersion": 7, "searchableVersion": 6, "secondsBehind": 41.0},
    }
    return Hit(**facts | changed)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Answer | Exception]:
    """What the search answers next; the search itself has tests of its own."""
    waiting: list[Answer | Exception] = []

    def search(**_: Any) -> Answer:
        answer = waiting.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(pages, "search", search)
    return waiting


class TestSearch:
    def test_begins_with_a_question(self, office: Office) -> None:
        assert "What would you like to know?" in words(office.get("reader", "search"))

    def test_shows_hits_with_their_source(self, office: Office, answers: list[Any]) -> None:
        answers.append(Answer((hit(),), "p", 12.0, (Notice("being_updated", "<u>Is being updated.</u>"),)))
        answer = office.get("reader", "search", q="cost <q>")
        content = answer.content.decode()
        assert "a <mark>&lt;script&gt;</mark> costs <mark>200</mark>" in content
        shown = words(answer)
        for expected in (
            "page 3, lines 10–14",
            "One › <i>Two</i>",
            "v6",
            "v7 is published",
            "<u>Is being updated.</u>",
        ):
            assert expected in shown
        for raw in ("<b>Travel", "<i>Two", "<u>Is", "<q>", "<script>"):
            assert raw not in content

    def test_says_when_nothing_is_found(self, office: Office, answers: list[Any]) -> None:
        answers.append(Answer((), "p", 1.0))
        assert "Nothing found" in words(office.get("reader", "search", q="zzz"))

    def test_says_when_only_the_meaning_is_near(self, office: Office, answers: list[Any]) -> None:
        answers += [Answer((hit(marks=()),), "p", 1.0), Answer((hit(), hit(marks=())), "p", 1.0)]
        assert "comes closest in meaning" in words(office.get("reader", "search", q="zzz"))
        assert "comes closest in meaning" not in words(office.get("reader", "search", q="costs"))

    def test_says_why_a_query_is_refused(self, office: Office, answers: list[Any]) -> None:
        answers.append(InvalidInput("The query is longer than 1,000 characters."))
        answer = office.get("reader", "search", q="x" * 1001)
        assert answer.status_code == 400
        assert "longer than 1,000" in words(answer)

    def test_really_searches(self, office: Office) -> None:
        document = office.world.upload()
        office.world.publish(document)
        finished(claim(), ["hotels cost 200 yuan"])
        answer = office.get("reader", "search", q="hotels")
        assert "Travel" in words(answer)
        assert f"/documents/{document.pk}/versions/1/?span=" in answer.content.decode()

    def test_offers_the_tenants_of_a_member_only(self, office: Office) -> None:
        rita = office.people["reader"]
        assert "<select" not in office.get("reader", "search").content.decode()
        office.other.member(rita.username)
        shown = office.get("reader", "search").content.decode()
        assert office.other.tenant.name in shown
        assert "not a member of any tenant" in words(office.get("outsider", "search"))
        assert "Nothing found" not in words(office.get("outsider", "search", q="x", tenant=office.world.tenant.slug))

    @pytest.mark.parametrize("query", ["%00", "%ED%A0%BD", "';%20--", "a" * 5000, "%25s%20%25(x)s"])
    def test_takes_any_text(self, office: Office, query: str) -> None:
        assert office.clients["reader"].get(f"{reverse('search')}?q={query}").status_code in (200, 400)


class TestPassage:
    def cited(self, office: Office, *, parsed: bool = True, readers: tuple[Reader, ...] = (Reader("everyone"),)) -> Any:
        document = office.world.upload(TEXT)
        office.world.publish(document, readers=readers)
        lease = claim()
        if parsed:
            version = document.versions.get()
            key = {"content_digest": version.content.sha256, "media_type": version.media_type}
            cache.keep_parsed(lease, parse(TEXT.encode()), **key)
        finished(lease, [TEXT])
        return document

    def open(self, office: Office, who: str, document: Any, version: int = 1, span: str = "8-15") -> Any:
        return office.clients[who].get(reverse("passage", args=[document.pk, version]), {"span": span})

    def test_shows_the_passage_in_its_surroundings(self, office: Office) -> None:
        answer = self.open(office, "reader", self.cited(office))
        content = answer.content.decode()
        assert "<mark>Hotels </mark>cost up to 200 yuan." in content
        assert "<td>x &lt; 2</td>" in content
        assert "line 3" in words(answer)

    @pytest.mark.parametrize("span", ["", "x", "5-2", "900-950", "0-999999999", "-1-4", "٣-٤"])
    def test_takes_any_span(self, office: Office, span: str) -> None:
        assert self.open(office, "reader", self.cited(office), span=span).status_code == 200

    def test_shows_chunks_where_the_parse_result_is_gone(self, office: Office) -> None:
        document = self.cited(office, parsed=False)
        assert not ParseCache.objects.exists()
        assert "Hotels cost up to 200 yuan." in words(self.open(office, "reader", document))

    def test_is_nothing_to_those_who_may_not_read_it(self, office: Office) -> None:
        document = self.cited(office, readers=(Reader("user", "rita"),))
        assert self.open(office, "reader", document).status_code == 200
        unknown = office.clients["outsider"].get(reverse("passage", args=[uuid.uuid4(), 1]))
        for who in ("editor", "operator", "outsider", "other_editor", "superuser"):
            answer = self.open(office, who, document)
            assert answer.status_code == 404, who
            assert "Travel" not in words(answer)
        assert words(self.open(office, "outsider", document)) == words(unknown)

    def test_is_gone_at_once_when_access_is_revoked(self, office: Office) -> None:
        document = self.cited(office)
        publishing.set_readers(
            actor=office.world.editor, document_id=document.pk, revision=None, readers=[Reader("group", "hr")]
        )
        assert self.open(office, "reader", document).status_code == 200  # of the group
        assert self.open(office, "editor", document).status_code == 404

    @pytest.mark.parametrize("command", [publishing.withdraw_document, publishing.delete_document])
    def test_is_gone_after(self, office: Office, command: Any) -> None:
        document = self.cited(office)
        command(actor=office.world.editor, document_id=document.pk, revision=None)
        assert self.open(office, "reader", document).status_code == 404

    def test_tells_readers_of_a_newer_version_without_the_old_text(self, office: Office) -> None:
        document = self.cited(office)
        office.world.new_version(document, "# Two\n\nNew text.")
        office.world.publish(document)
        assert self.open(office, "reader", document).status_code == 200  # still served
        assert self.open(office, "reader", document, version=2).status_code == 404  # not yet
        finished(claim(), ["New text."])
        answer = self.open(office, "reader", document)
        assert answer.status_code == 410
        assert "v2 has taken its place" in words(answer)
        assert "200 yuan" not in words(answer)
        assert self.open(office, "outsider", document).status_code == 404

    def test_withholds_where_the_document_does(self, office: Office) -> None:
        document = self.cited(office)
        publishing.set_staleness(
            actor=office.world.editor, document_id=document.pk, revision=None, staleness="withhold"
        )
        office.world.new_version(document, "# Two\n\nNew text.")
        office.world.publish(document)
        answer = self.open(office, "reader", document)
        assert answer.status_code == 200
        assert "“Travel” is not shown until its new version is searchable." in words(answer)
        assert "200 yuan" not in words(answer)
        assert self.open(office, "outsider", document).status_code == 404
        download = office.get("reader", "original", document.pk, 1)
        assert (download.status_code, "being updated" in words(download)) == (409, True)
        office.clients["reader"].post(reverse("set_language"), {"language": "zh-hans", "next": "/"})
        assert "《Travel》正在更新" in words(self.open(office, "reader", document))
        found = words(office.get("reader", "search", q="yuan"))
        assert "正在更新" in found
        assert "没有找到" not in found


class TestSite:
    def test_asks_to_log_in_and_goes_on(self, office: Office, client: Client) -> None:
        wanted = reverse("passage", args=[uuid.uuid4(), 1]) + "?span=1-2"
        login = client.get(wanted)["Location"]
        assert login.startswith(reverse("login"))
        data = {"username": office.world.editor.username, "password": "wrong", "next": wanted}
        assert "correct username and password" in words(client.post(reverse("login"), data))
        assert client.post(reverse("login"), {**data, "password": "correct horse battery"})["Location"] == wanted
        assert client.get(reverse("logout")).status_code == 405
        assert client.post(reverse("logout"))["Location"] == reverse("login")
        assert client.get(reverse("search")).status_code == 302

    def test_goes_nowhere_else_after_login(self, office: Office, client: Client) -> None:
        data = {"username": office.world.editor.username, "password": "correct horse battery"}
        answer = client.post(reverse("login"), {**data, "next": "https://elsewhere.example/"})
        assert answer["Location"] == reverse("search")

    @pytest.mark.parametrize("name", ["search", "admin:index"])
    def test_speaks_chinese_on_request(self, office: Office, name: str) -> None:
        client = office.clients["editor"]
        assert "简体中文" in words(client.get(reverse(name)))
        client.post(reverse("set_language"), {"language": "zh-hans", "next": reverse(name)})
        answer = client.get(reverse(name))
        assert 'lang="zh-hans"' in answer.content.decode()
        assert "知识库" in words(answer)

    def test_links_staff_to_the_admin(self, office: Office) -> None:
        assert "Manage" in words(office.get("editor", "search"))
        assert "Manage" not in words(browser(office.world.member("plain")).get(reverse("search")))

    def test_has_no_inline_script_or_style(self, office: Office, client: Client) -> None:
        for content in (office.get("reader", "search").content, client.get(reverse("login")).content):
            assert not re.search(
                rb"<script>| on\w+=|style=|https?://(?!testserver)", content.replace(b"http://www.w3.org", b"")
            )

    def test_says_not_found(self, office: Office) -> None:
        answer = office.clients["reader"].get("/nothing/here/")
        assert answer.status_code == 404
        assert "There is nothing at this address" in words(answer)
