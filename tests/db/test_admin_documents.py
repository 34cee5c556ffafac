"""The document list and page: every command goes through its service, and nothing an editor typed is lost."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from documents import publishing
from documents.models import AuditEvent, Document
from documents.readers import Reader, readers_of
from indexing import queue
from indexing.errors import DocumentCorrupt, EmbeddingTimeout
from indexing.models import IndexTask
from indexing.states import Stage
from tests.db.office import Office, file, words
from tests.db.staging import claim, finished

pytestmark = pytest.mark.django_db(databases=["default", "owner"])

LIST = "admin:documents_document_changelist"


@pytest.fixture
def office() -> Office:
    return Office()


@pytest.fixture
def document(office: Office) -> Document:
    return office.world.upload("# Travel\n\n<script>alert(1)</script>", title="<script>Travel</script>")


def published(office: Office, document: Document) -> Document:
    """Version 1, found by everyone."""
    office.world.publish(document)
    finished(claim(), ["one <script>alert(2)</script>", "two"])
    document.refresh_from_db()
    return document


def fail(error: Exception, *, state: str = "DEAD") -> IndexTask:
    lease = claim()
    verdict: Any = type("Verdict", (), {"state": state, "charge": 1, "delay": 600.0})
    queue.fail(lease, error=error, verdict=verdict)  # type: ignore[arg-type]
    return IndexTask.objects.get(pk=lease.task_id)


class TestList:
    def test_says_what_readers_see(self, office: Office, document: Document) -> None:
        assert "no version has been published" in words(office.get("editor", LIST))
        published(office, document)
        shown = words(office.get("editor", LIST))
        assert "✓ Searchable" in shown
        assert "v1 / v1" in shown
        office.world.new_version(document, "# New\n\nText")
        office.world.publish(document)
        shown = words(office.get("editor", LIST))
        assert "↻ Indexing" in shown
        assert "v2 / v1" in shown
        assert "readers still see v1" in shown

    def test_says_what_to_do_about_a_failure(self, office: Office, document: Document) -> None:
        office.world.publish(document)
        fail(DocumentCorrupt())
        shown = words(office.get("editor", LIST))
        assert "! Failed" in shown
        assert "save it again and upload it as a new version" in shown

    def test_says_that_nobody_may_read(self, office: Office, document: Document) -> None:
        office.world.publish(document, readers=())
        finished(claim())
        assert "Nobody may read v1" in words(office.get("editor", LIST))

    def test_hides_only_deleted_by_default(self, office: Office, document: Document) -> None:
        """Who withdraws a document must find it again to publish it."""
        office.world.upload(title="Deleted one")
        gone = Document.objects.get(title="Deleted one")
        publishing.delete_document(actor=office.world.editor, document_id=gone.pk)
        published(office, document)
        publishing.withdraw_document(actor=office.world.editor, document_id=document.pk, revision=None)
        assert "Deleted one" not in words(office.get("editor", LIST))
        assert "– Withdrawn" in words(office.get("editor", LIST))
        assert "Travel" in words(office.get("editor", LIST, state="WITHDRAWN"))
        assert "Travel" not in words(office.get("editor", LIST, state="SEARCHABLE"))
        assert "Deleted one" in words(office.get("editor", LIST, state="DELETED"))
        both = words(office.get("editor", LIST, state="all"))
        assert "Travel" in both
        assert "Deleted one" in both

    def test_filters_and_searches(self, office: Office, document: Document) -> None:
        office.world.upload(title="Holidays")
        assert "Holidays" in words(office.get("editor", LIST, q="holi"))
        assert "Travel" not in words(office.get("editor", LIST, q="holi"))
        published(office, document)
        assert "Holidays" not in words(office.get("editor", LIST, state="SEARCHABLE"))
        office.other.upload(title="Elsewhere")
        assert "Elsewhere" not in words(office.get("superuser", LIST, tenant=office.world.tenant.slug))
        assert "Holidays" in words(office.get("superuser", LIST, tenant=office.world.tenant.slug))

    def test_takes_as_many_queries_for_many_as_for_one(self, office: Office, document: Document) -> None:
        with CaptureQueriesContext(
            connection,
        ) as one:
            office.get("editor", LIST)
        for number in range(12):
            office.world.publish(office.world.upload(title=f"Document {number}"))
        with CaptureQueriesContext(connection) as many:
            office.get("editor", LIST)
        assert len(many) == len(one) <= 12

    def test_escapes_titles(self, office: Office, document: Document) -> None:
        assert b"<script>Travel" not in office.get("editor", LIST).content


class TestUpload:
    def test_makes_a_document(self, office: Office) -> None:
        url = reverse("admin:documents_document_add")
        tenant = office.world.tenant.slug
        answer = office.clients["editor"].post(
            url, {"tenant": tenant, "title": "", "file": file(name="Leave rules.md")}
        )
        document = Document.objects.get(title="Leave rules")
        assert answer["Location"] == reverse("admin:documents_document_change", args=[document.pk])
        assert document.created_by == office.people["editor"]

    @pytest.mark.parametrize(
        ("content", "name", "reason"),
        [
            (b"", "a.md", "The file is empty"),
            (b"text", "a.exe", "Files of type .exe are not accepted"),
            (b"%PDF-1.7", "a.md", "its content is of another type"),
            (b"x" * 2001, "a.txt", "over the limit"),
        ],
    )
    def test_says_what_is_wrong_and_keeps_the_title(
        self, office: Office, settings: Any, content: bytes, name: str, reason: str
    ) -> None:
        settings.KB_MAX_UPLOAD_BYTES = 2000
        url = reverse("admin:documents_document_add")
        data = {"tenant": office.world.tenant.slug, "title": "My title", "file": file(content, name)}
        answer = office.clients["editor"].post(url, data)
        assert answer.status_code == 400
        assert reason in words(answer)
        assert b'value="My title"' in answer.content
        assert not Document.objects.exists()

    def test_offers_only_tenants_of_the_editor(self, office: Office) -> None:
        url = reverse("admin:documents_document_add")
        data = {"tenant": office.other.tenant.slug, "title": "x", "file": file()}
        assert office.clients["editor"].post(url, data).status_code == 400
        assert not Document.objects.exists()
        choices = words(office.get("superuser", "admin:documents_document_add"))
        assert office.other.tenant.name in choices
        assert office.world.tenant.name in choices


class TestPage:
    def test_publishes_for_chosen_readers(self, office: Office, document: Document) -> None:
        answer = office.send(
            "editor", document, "publish", version_number=1, audience="chosen", groups=["hr"], people=["rita"]
        )
        assert answer.status_code == 302
        document.refresh_from_db()
        assert document.requested_version == 1
        assert readers_of(document=document, version_number=1) == [Reader("group", "hr"), Reader("user", "rita")]

    def test_first_publish_asks_who_may_read(self, office: Office, document: Document) -> None:
        answer = office.send("editor", document, "publish", version_number=1)
        assert answer.status_code == 400
        document.refresh_from_db()
        assert document.requested_version is None

    def test_chosen_readers_must_be_chosen(self, office: Office, document: Document) -> None:
        answer = office.send("editor", document, "publish", version_number=1, audience="chosen")
        assert "Choose at least one group or person" in words(answer)

    def test_later_publishes_keep_the_readers(self, office: Office, document: Document) -> None:
        published(office, document)
        assert office.send("editor", document, "upload", file=file()).status_code == 302
        assert office.send("editor", document, "publish", version_number=2, audience="keep").status_code == 302
        assert readers_of(document=document, version_number=2) == [Reader("everyone")]

    def test_a_stale_revision_keeps_the_input(self, office: Office, document: Document) -> None:
        stale = document.revision
        publishing.publish_version(
            actor=office.people["superuser"],
            document_id=document.pk,
            revision=None,
            readers=[Reader("everyone")],
        )
        answer = office.send(
            "editor", document, "publish", revision=stale, version_number=1, audience="chosen", groups=["hr"]
        )
        assert answer.status_code == 409
        shown = words(answer)
        assert "was changed since you loaded this page" in shown
        assert "Last change: root published v1" in shown
        form = answer.context["forms"]["publish"]
        assert (form["audience"].value(), form["groups"].value()) == ("chosen", ["hr"])
        document.refresh_from_db()
        assert f'name="revision" value="{document.revision}"' in str(form["revision"])
        assert readers_of(document=document, version_number=1) == [Reader("everyone")]

    def test_a_refused_upload_says_to_choose_the_file_again(self, office: Office, document: Document) -> None:
        answer = office.send("editor", document, "upload", revision=999, file=file(), title="Kept title")
        assert answer.status_code == 409
        assert "Choose the file again" in words(answer)
        assert b'value="Kept title"' in answer.content
        document.refresh_from_db()
        assert document.latest_version == 1

    def test_changes_readers(self, office: Office, document: Document) -> None:
        published(office, document)
        assert office.send("editor", document, "readers", audience="chosen", people=["rita"]).status_code == 302
        assert readers_of(document=document, version_number=1) == [Reader("user", "rita")]
        assert office.send("editor", document, "readers", audience="nobody").status_code == 302
        assert readers_of(document=document, version_number=1) == []

    def test_readers_of_another_tenant_cannot_be_chosen(self, office: Office, document: Document) -> None:
        published(office, document)
        answer = office.send("editor", document, "readers", audience="chosen", people=[office.other.editor.username])
        assert answer.status_code == 400
        assert readers_of(document=document, version_number=1) == [Reader("everyone")]

    def test_restores_a_version_as_a_new_one(self, office: Office, document: Document) -> None:
        office.world.new_version(document, "# Two\n\nText")
        assert office.send("editor", document, "restore", version_number=1).status_code == 302
        document.refresh_from_db()
        assert document.versions.get(number=3).restored_from == 1
        assert office.send("editor", document, "restore", version_number=9).status_code == 404

    def test_withdraws_after_asking(self, office: Office, document: Document) -> None:
        published(office, document)
        asked = words(office.get("editor", "admin:documents_document_withdraw", document.pk))
        assert "Readers find nothing of it from the next search on." in asked
        document.refresh_from_db()
        assert document.withdrawn_at is None
        assert office.send("editor", document, "withdraw").status_code == 302
        document.refresh_from_db()
        assert document.withdrawn_at is not None

    def test_deletes_after_asking(self, office: Office, document: Document) -> None:
        assert "cannot be undone" in words(office.get("editor", "admin:documents_document_delete", document.pk))
        assert office.send("editor", document, "delete", revision=999).status_code == 409
        document.refresh_from_db()
        assert document.deleted_at is None
        assert office.send("editor", document, "delete")["Location"] == reverse(LIST)
        document.refresh_from_db()
        assert document.deleted_at is not None
        page = office.page("editor", document)
        assert "× Deleted" in words(page)
        assert not page.context["forms"]

    def test_an_older_version_is_refused_with_a_reason(self, office: Office, document: Document) -> None:
        published(office, document)
        office.world.new_version(document, "# Two\n\nText")
        office.world.publish(document)
        answer = office.send("editor", document, "publish", version_number=1, audience="keep")
        assert answer.status_code == 400  # the form no longer offers it
        document.refresh_from_db()
        assert document.requested_version == 2

    def test_chooses_the_staleness(self, office: Office, document: Document) -> None:
        assert office.send("editor", document, "staleness", staleness="withhold").status_code == 302
        document.refresh_from_db()
        assert document.staleness == "withhold"
        assert office.send("editor", document, "staleness", staleness="nonsense").status_code == 400

    def test_chooses_how_long_readers_may_wait(self, office: Office, document: Document) -> None:
        send = {"staleness": "serve_previous", "past_maximum": "withhold"}
        answer = office.send("editor", document, "staleness", **send)
        assert (answer.status_code, "after how long" in words(answer)) == (400, True)
        assert office.send("editor", document, "staleness", longest="2", unit="3600", **send).status_code == 302
        document.refresh_from_db()
        assert (document.max_staleness_seconds, document.past_maximum) == (7200, "withhold")
        form = office.page("editor", document).context["forms"]["staleness"]
        assert (form["longest"].initial, form["unit"].initial, form["past_maximum"].initial) == (2, 3600, "withhold")
        assert office.send("editor", document, "staleness", staleness="serve_previous", longest="0").status_code == 400

    def test_offers_a_new_file_where_no_retry_can_help(self, office: Office, document: Document) -> None:
        office.world.publish(document)
        fail(DocumentCorrupt())
        content = office.page("editor", document).content.decode()
        assert re.search(r'/retry/"[^>]* hidden>', content)
        assert re.search(r'href="#upload-title"[^>]*needsNewFile">', content)
        office.world.new_version(document, "# Two\n\nText")
        office.world.publish(document)
        fail(EmbeddingTimeout())  # its budget is spent
        content = office.page("editor", document).content.decode()
        assert not re.search(r'/retry/"[^>]* hidden>', content)
        assert re.search(r'href="#upload-title"[^>]* hidden>', content)

    def test_says_when_a_published_version_is_found(self, office: Office, document: Document) -> None:
        """As it is written, not capitalised, and without a promise of when."""
        send = {"audience": "everyone", "version_number": 1}
        office.send("editor", document, "publish", **send)
        shown = words(office.page("editor", document))
        assert "v1 is published. It becomes searchable when it is indexed; readers find nothing until then." in shown
        assert "v1 was published just now; readers find nothing yet." in shown
        finished(claim())
        office.world.new_version(document, "# Two\n\nText")
        office.send("editor", document, "publish", version_number=2, audience="keep")
        assert "becomes searchable when it is indexed; readers see v1" in words(office.page("editor", document))
        office.send("editor", document, "staleness", staleness="publish_when_ready")
        office.world.new_version(document, "# Three\n\nText")
        office.send("editor", document, "publish", version_number=3, audience="keep")
        assert "v3 comes into force when it is indexed; readers see v1" in words(office.page("editor", document))

    def test_says_from_when_until_when_a_version_was_in_force(self, office: Office, document: Document) -> None:
        published(office, document)
        office.world.new_version(document, "# Two\n\nText")
        office.world.publish(document)
        office.world.new_version(document, "# Three\n\nText")
        draft, second, first = office.page("editor", document).context["versions"]
        assert (draft.since, draft.until) == (None, None)
        assert second.until is None
        assert first.until == second.since > first.since
        office.send("editor", document, "withdraw")
        _, second, again = office.page("editor", document).context["versions"]
        document.refresh_from_db()
        assert (second.until, again.until) == (document.withdrawn_at, second.since)

    def test_retries_and_shows_why(self, office: Office, document: Document) -> None:
        office.world.publish(document)
        task = fail(DocumentCorrupt())
        assert "The file is damaged and cannot be opened." in words(office.page("editor", document))
        for who in ("operator", "editor"):
            assert office.send(who, document, "retry").status_code == 302
            task.refresh_from_db()
            assert task.state == "PENDING"
        assert AuditEvent.objects.filter(document_id=document.pk, action="retry").count() == 2

    def test_downloads_the_original(self, office: Office, document: Document) -> None:
        answer = office.get("editor", "admin:documents_document_original", document.pk, 1)
        assert b"".join(answer.streaming_content) == b"# Travel\n\n<script>alert(1)</script>"
        assert answer["Content-Disposition"] == 'attachment; filename="a.md"'
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert office.get("editor", "admin:documents_document_original", document.pk, 2).status_code == 404
        assert office.get("other_editor", "admin:documents_document_original", document.pk, 1).status_code == 404

    def test_shows_the_chunks_escaped(self, office: Office, document: Document) -> None:
        assert "finds nothing" not in words(office.get("editor", "admin:indexing_chunks", document.pk))
        published(office, document)
        answer = office.get("editor", "admin:indexing_chunks", document.pk)
        assert "v1, 2 chunks" in words(answer)
        assert b"&lt;script&gt;alert(2)" in answer.content
        assert b"<script>alert" not in answer.content
        assert office.get("other_editor", "admin:indexing_chunks", document.pk).status_code == 404
        assert office.get("reader", "admin:indexing_chunks", document.pk).status_code == 404

    def test_escapes_what_people_typed(self, office: Office, document: Document) -> None:
        published(office, document)
        for name in ("change", "withdraw", "delete"):
            content = office.get("editor", f"admin:documents_document_{name}", document.pk).content
            assert b"<script>Travel" not in content
            assert b"&lt;script&gt;Travel" in content

    def test_has_no_inline_script_or_style(self, office: Office, document: Document) -> None:
        content = office.page("editor", document).content.decode()
        assert "<script>" not in content
        assert " onclick=" not in content
        assert "style=" not in content

    def test_takes_a_bounded_number_of_queries(self, office: Office, document: Document) -> None:
        published(office, document)
        with CaptureQueriesContext(connection) as few:
            office.page("editor", document)
        for number in range(12):
            office.world.new_version(document, f"# {number}\n\nText")
            office.world.publish(document)
            office.world.member(f"member-{number}", groups=(f"group-{number}",))
        with CaptureQueriesContext(connection) as many:
            office.page("editor", document)
        assert len(many) == len(few) <= 24

    def test_shows_twenty_versions_and_all_on_request(self, office: Office, document: Document) -> None:
        for number in range(25):
            office.world.new_version(document, f"# {number}\n\nText")
        url = reverse("admin:documents_document_change", args=[document.pk])
        assert len(office.clients["editor"].get(url).context["versions"]) == 20
        assert len(office.clients["editor"].get(url + "?all").context["versions"]) == 26


class TestStatus:
    def ask(self, office: Office, who: str, *documents: Document) -> dict[str, Any]:
        url = reverse("admin:documents_document_states")
        answer: dict[str, Any] = office.clients[who].get(url, {"id": [document.pk for document in documents]}).json()
        return answer

    def status(self, office: Office, document: Document) -> dict[str, Any]:
        status: dict[str, Any] = self.ask(office, "editor", document)[str(document.pk)]
        return status

    def test_follows_the_work(self, office: Office, document: Document) -> None:
        assert self.status(office, document)["state"] == "UNPUBLISHED"
        office.world.publish(document)
        waiting = self.status(office, document)
        assert (waiting["state"], waiting["progress"], waiting["canCancel"]) == (
            "INDEXING",
            "Waiting for a worker",
            True,
        )
        lease = claim()
        queue.report(lease, stage=Stage.EMBED, done=34, total=80)
        running = self.status(office, document)
        assert running["progress"] == "Computing vectors: 34/80 chunks"
        assert (running["done"], running["total"]) == (34, 80)
        finished(lease)
        done = self.status(office, document)
        assert (done["state"], done["searchableVersion"], done["progress"]) == ("SEARCHABLE", 1, "")

    def test_says_that_a_failed_try_is_repeated(self, office: Office, document: Document) -> None:
        office.world.publish(document)
        fail(EmbeddingTimeout(), state="RETRY_WAIT")
        status = self.status(office, document)
        assert (status["state"], status["canRetry"]) == ("INDEXING", True)
        assert status["error"].startswith("The last try failed and is repeated by itself.")

    def test_is_for_overseers(self, office: Office, document: Document) -> None:
        other = office.other.upload()
        assert set(self.ask(office, "operator", document, other)) == {str(document.pk)}
        assert set(self.ask(office, "other_editor", document, other)) == {str(other.pk)}
        for who in ("reader", "outsider"):
            assert self.ask(office, who, document, other) == {}

    def test_answers_for_many_at_once(self, office: Office, document: Document) -> None:
        """The list asks one question, whatever it shows."""
        documents = [document, *(office.world.upload(title=f"Document {number}") for number in range(5))]
        with CaptureQueriesContext(connection) as one:
            self.ask(office, "editor", document)
        with CaptureQueriesContext(connection) as many:
            assert len(self.ask(office, "editor", *documents)) == 6
        assert len(many) == len(one)
        assert office.clients["editor"].get(reverse("admin:documents_document_states"), {"id": "x"}).json() == {}
