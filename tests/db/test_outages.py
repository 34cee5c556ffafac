"""A transaction that the server ended is told as an outage: “again in a moment”, not “something is broken”."""

from __future__ import annotations

import time
from typing import Any

import psycopg
import pytest
from django.db import DatabaseError, InternalError, OperationalError, connection, transaction
from django.test import RequestFactory
from django.urls import reverse, reverse_lazy

from documents import audit
from documents.api.problems import exception_handler
from documents.models import AuditEvent, Document
from documents.outages import changed_nothing, is_outage
from indexing.models import IndexTask
from kbsite import faults
from tests.concurrency.test_lost_database import cut_at_the_commit_of, cut_off
from tests.db.api import Caller, at
from tests.db.office import Office, words
from tests.sessions import Session

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def ended_idle() -> DatabaseError:
    """What Django raises when a transaction was idle for longer than the server allows."""

    def idle() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 1")
            while True:
                cursor.execute("SELECT 1")
                time.sleep(0.05)  # the limit is in milliseconds; this is what the server measures, not a wait for it

    with pytest.raises(DatabaseError) as caught:
        idle()
    connection.close()
    return caught.value


def test_an_idle_transaction_that_was_ended_is_an_outage() -> None:
    error = ended_idle()
    assert is_outage(error)
    answer = exception_handler(error, {})
    assert answer is not None
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")


def test_a_wrong_statement_is_none() -> None:
    assert not is_outage(InternalError("current transaction is aborted"))


def refused_with(statement: str, *, first: str = "SELECT 1") -> DatabaseError:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(first)
        with pytest.raises(DatabaseError) as caught:
            cursor.execute(statement)
        transaction.set_rollback(True)
    return caught.value


def test_more_than_the_server_can_take_is_none_whatever_its_class() -> None:
    """psycopg calls it an operational error. Tried again it would fail for ever."""
    error = refused_with("SELECT repeat('a', 3000)::tsvector")
    assert isinstance(error, OperationalError)
    assert not is_outage(error)
    answer = exception_handler(error, {})
    assert answer is not None
    assert answer.status_code == 400


def test_a_server_that_only_reads_for_now_is_an_outage() -> None:
    """As one that is about to take over for another."""
    error = refused_with("UPDATE document SET title = title", first="SET TRANSACTION READ ONLY")
    assert is_outage(error)
    assert changed_nothing(error)


# What a person gets


LIST = "admin:documents_document_changelist"


@pytest.fixture
def office() -> Office:
    return Office()


def impatient(office: Office, document: Document, command: str, **fields: Any) -> Any:
    """A form that is sent while somebody else holds the document's lock for longer than anybody waits."""
    address = reverse(f"admin:documents_document_{command}", args=[document.pk])
    page = "http://testserver" + reverse("admin:documents_document_change", args=[document.pk])
    with Session() as holder:
        holder.begin()
        holder.run(lambda: list(Document.objects.select_for_update().filter(pk=document.pk)))
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '50ms'")
        try:
            return office.clients["editor"].post(address, {"revision": 1, **fields}, headers={"Referer": page})
        finally:
            holder.rollback()
            with connection.cursor() as cursor:
                cursor.execute("RESET lock_timeout")


def test_a_command_that_waited_too_long_for_a_lock_changed_nothing(office: Office) -> None:
    document = office.world.upload()
    answer = impatient(office, document, "publish", version_number=1, audience="everyone")
    assert (answer.status_code, answer["Retry-After"], answer["Cache-Control"]) == (503, "5", "no-store")
    assert "nothing was changed" in words(answer)
    assert reverse("admin:documents_document_change", args=[document.pk]) in answer.content.decode()
    document.refresh_from_db()
    assert (document.revision, document.requested_version) == (1, None)
    assert list(AuditEvent.objects.values_list("action", flat=True)) == ["create"]


def test_a_bulk_action_goes_on_past_a_task_that_is_held(office: Office) -> None:
    held, free = (office.world.publish(office.world.upload()).ticket.task_id for _ in range(2))
    with Session() as holder:
        holder.begin()
        holder.run(lambda: list(IndexTask.objects.select_for_update().filter(pk=held)))
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '50ms'")
        chosen = {"action": "cancel_tasks", "_selected_action": [held, free], "confirmed": "yes"}
        answer = office.clients["operator"].post(reverse("admin:indexing_indextask_changelist"), chosen, follow=True)
        holder.rollback()
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")
    assert answer.status_code == 200
    assert "1 task is cancelled" in words(answer)
    assert "is busy; nothing was changed" in words(answer)
    assert dict(IndexTask.objects.values_list("pk", "state")) == {held: "PENDING", free: "CANCELLED"}


@pytest.mark.parametrize("address", [reverse_lazy(LIST), reverse_lazy("search"), reverse_lazy("admin:index")])
def test_a_page_whose_connection_is_cut(office: Office, address: str) -> None:
    cut_off()
    answer = office.clients["editor"].get(address)
    assert answer.status_code == 503
    assert "Nothing was changed. Try again in a moment." in words(answer)
    connection.close()
    assert office.clients["editor"].get(address).status_code == 200


def test_a_command_whose_commit_was_not_heard_of_is_not_told_as_undone(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = office.world.upload()
    done = cut_at_the_commit_of(monkeypatch, audit, "record")
    address = reverse("admin:documents_document_publish", args=[document.pk])
    fields = {"revision": 1, "version_number": 1, "audience": "everyone"}
    answer = office.clients["editor"].post(address, fields)
    assert done
    assert answer.status_code == 503
    assert "it may have been kept or not" in words(answer)
    assert "nothing was changed" not in words(answer).lower()
    connection.close()
    document.refresh_from_db()
    assert document.requested_version == 1


def test_the_api_does_not_tell_it_as_undone_either(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    document, editor = office.world.upload(), Caller(office.world.editor)
    done = cut_at_the_commit_of(monkeypatch, audit, "record")
    body = {"revision": 1, "readers": []}
    answer = editor.post(at(document, "publish"), body, idempotency_key="k")
    assert done
    assert (answer.status, answer.code) == (503, "unavailable")
    assert "not known" in answer.json["detail"]
    connection.close()


def test_no_connection_at_all_changed_nothing() -> None:
    with pytest.raises(psycopg.OperationalError) as caught:
        psycopg.connect(host="127.0.0.1", port=1, connect_timeout=2)
    error = OperationalError("connection failed")
    error.__cause__ = caught.value
    assert is_outage(error)
    assert changed_nothing(error)
    assert not changed_nothing(OperationalError("the connection is lost"))


def test_what_fails_outside_the_views_is_told_the_same(rf: RequestFactory) -> None:
    """The session's middleware, for one; Django asks handler500 then."""
    for address, kind in (("/admin/", "text/html"), ("/api/v1/documents", "application/problem+json")):
        try:
            raise OperationalError("the connection is lost")
        except OperationalError:
            answer = faults.server_error(rf.get(address))
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
        assert answer["Content-Type"].startswith(kind)
    assert faults.server_error(rf.get("/admin/")).status_code == 500
