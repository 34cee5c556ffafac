"""Index tasks in the admin: to be looked at, tried again and cancelled, and nothing else."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from documents.models import AuditEvent, Document
from indexing import queue, tasks
from indexing.errors import DocumentCorrupt
from indexing.groups import OPERATORS
from indexing.models import IndexTask
from indexing.states import Stage
from tests.concurrency.leases import expire
from tests.db.office import Office, words
from tests.db.staging import claim, finished

pytestmark = pytest.mark.django_db(databases=["default", "owner"])

LIST = "admin:indexing_indextask_changelist"


@pytest.fixture
def office() -> Office:
    return Office()


def dead(world: Any, title: str = "Travel") -> IndexTask:
    """The task of a document that could not be read."""
    published = world.publish(world.upload(title=title))
    lease = claim()
    assert lease.task_id == published.ticket.task_id
    verdict: Any = type("Verdict", (), {"state": "DEAD", "charge": 1, "delay": None})
    queue.fail(lease, error=DocumentCorrupt(), verdict=verdict)
    return IndexTask.objects.get(pk=lease.task_id)


def act(office: Office, who: str, action: str, *chosen: IndexTask) -> Any:
    data = {"action": action, "_selected_action": [task.pk for task in chosen], "confirmed": "yes"}
    return office.clients[who].post(reverse(LIST), data, follow=True)


def states(*chosen: IndexTask) -> list[str]:
    return [IndexTask.objects.values_list("state", flat=True).get(pk=task.pk) for task in chosen]


def test_list_says_what_is_wrong(office: Office) -> None:
    dead(office.world)
    shown = words(office.get("operator", LIST))
    for expected in ("Travel v1", "! Failed", "1/5", "DOCUMENT_CORRUPT", "The file is damaged"):
        assert expected in shown
    assert "Travel v1" not in words(office.get("operator", LIST, error="NO_TEXT"))
    assert "Travel v1" in words(office.get("operator", LIST, error="DOCUMENT_CORRUPT", state="DEAD"))


def test_list_takes_as_many_queries_for_many_as_for_one(office: Office) -> None:
    office.world.publish(office.world.upload())
    with CaptureQueriesContext(connection) as one:
        office.get("editor", LIST)
    for _ in range(12):
        office.world.publish(office.world.upload())
    with CaptureQueriesContext(connection) as many:
        office.get("editor", LIST)
    assert len(many) == len(one) <= 12


def test_page_shows_each_attempt_with_its_end_and_its_late_writes(office: Office) -> None:
    office.world.publish(office.world.upload())
    late = claim("first-worker")
    queue.report(late, stage=Stage.EMBED, done=1, total=2)
    expire(late.task_id)
    lease = claim("second-worker")
    queue.report(lease, stage=Stage.VALIDATE)
    queue.record_refusal(late, action="stage")
    finished(lease)
    shown = words(office.get("operator", "admin:indexing_indextask_change", lease.task_id))
    second, first = shown.index("Attempt 2 · Succeeded"), shown.index("Attempt 1 · Lease lost")
    assert second < first < shown.index("ordered"), "newest first"
    assert "Worker second-worker" in shown[second:first]
    assert "Last stage Checking the result" in shown[second:first]
    for expected in (
        "Worker first-worker",
        "Last stage Computing vectors",
        "Its lease ran out",
        "Storing chunks was refused: attempt 2 had taken over.",
    ):
        assert expected in shown[first:]
    assert "published v1" in shown


def test_page_shows_peoples_wishes_between_the_attempts(office: Office) -> None:
    task = dead(office.world)
    tasks.retry_task(actor=office.people["operator"], task_id=task.pk)
    claim("next")
    shown = words(office.get("operator", "admin:indexing_indextask_change", task.pk))
    running, asked, ended = (
        shown.index(part) for part in ("Attempt 2 · Running", "olga asked to index v1 again", "Attempt 1 · Failed")
    )
    assert running < asked < ended
    assert "The file is damaged" in shown[ended:]


def test_page_tells_what_was_noted_before_reasons_were(office: Office) -> None:
    task = dead(office.world)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO task_event (task_id, tenant_id, kind, attempts, worker, code) "
            "SELECT id, tenant_id, 'refused', 1, 'old', 'LEASE_LOST' FROM index_task WHERE id = %s",
            [task.pk],
        )
    shown = words(office.get("operator", "admin:indexing_indextask_change", task.pk))
    assert "A late write was refused: the lease was over." in shown


def test_one_task_is_retried_by_editors_and_operators(office: Office) -> None:
    task = dead(office.world)
    url = reverse("admin:indexing_indextask_retry", args=[task.pk])
    for who in ("reader", "outsider", "other_editor"):
        assert office.clients[who].post(url).status_code == 404
    assert states(task) == ["DEAD"]
    asked = words(office.clients["operator"].get(url))
    assert "Try to index “Travel” v1 again?" in asked
    assert "Readers find nothing of this document until it is indexed." in asked
    assert "forgotten for good" in asked
    assert office.clients["reader"].get(url).status_code == 404
    assert states(task) == ["DEAD"]
    assert office.clients["operator"].put(url).status_code == 405
    assert office.clients["operator"].post(url).status_code == 302
    assert states(task) == ["PENDING"]
    assert AuditEvent.objects.filter(action="retry", actor_name="olga").exists()


def test_one_task_is_cancelled_from_the_documents_page(office: Office) -> None:
    document = office.world.upload()
    task = IndexTask.objects.get(pk=office.world.publish(document).ticket.task_id)
    back = reverse("admin:documents_document_change", args=[document.pk])
    url = reverse("admin:indexing_indextask_cancel", args=[task.pk])
    assert office.clients["operator"].post(url, {"next": back})["Location"] == back
    assert states(task) == ["CANCELLED"]
    shown = words(office.page("operator", document))
    assert "■ Cancelled" in shown
    assert "Indexing was cancelled by a person. Try again now" in shown
    assert "! Failed" not in shown
    listed = "admin:documents_document_changelist"
    assert "■ Cancelled" in words(office.get("editor", listed, state="CANCELLED"))
    assert "Travel" not in words(office.get("editor", listed, state="FAILED"))
    again = office.clients["operator"].post(url, {"next": "https://elsewhere.example/"}, follow=True)
    assert "has ended already" in words(again)
    assert again.redirect_chain[-1][0] == reverse("admin:indexing_indextask_change", args=[task.pk])


def test_cancelling_a_running_task_tells_the_truth(office: Office) -> None:
    """The worker stops later: until then every page says “Cancelling…”, who asked for it, and offers it no more."""
    document = office.world.upload()
    office.world.publish(document)
    task = IndexTask.objects.get(pk=claim().task_id)
    answer = office.clients["operator"].post(reverse("admin:indexing_indextask_cancel", args=[task.pk]), follow=True)
    shown = words(answer)
    assert "The task is being cancelled: its worker stops before the next step." in shown
    assert "The task is cancelled" not in shown
    assert "olga" in shown
    assert "asked to cancel the indexing of v1" in shown
    assert b"/cancel/" not in answer.content
    assert "Asked to stop" in shown
    for page in (answer, office.get("operator", LIST), office.page("editor", document)):
        assert "Cancelling…" in words(page)
    url = reverse("admin:documents_document_states")
    (polled,) = office.clients["editor"].get(url, {"id": document.pk}).json().values()
    assert (polled["state"], polled["look"], polled["word"]) == ("INDEXING", "CANCELLING", "Cancelling…")
    assert (polled["canCancel"], polled["isIndexing"]) == (False, True)
    assert states(task) == ["RUNNING"]


def test_bulk_cancel_counts_running_tasks_apart(office: Office) -> None:
    office.world.publish(office.world.upload())
    running = IndexTask.objects.get(pk=claim().task_id)
    waiting = IndexTask.objects.get(pk=office.world.publish(office.world.upload()).ticket.task_id)
    shown = words(act(office, "operator", "cancel_tasks", running, waiting))
    assert "1 task is cancelled." in shown
    assert "1 running task is being cancelled" in shown
    assert states(running, waiting) == ["RUNNING", "CANCELLED"]


def test_types_and_pools_are_words(office: Office) -> None:
    task = dead(office.world)
    for page in (office.get("operator", LIST), office.get("operator", "admin:indexing_indextask_change", task.pk)):
        shown = words(page)
        assert "Index a version" in shown
        assert "Somebody waits for it" in shown
        assert "online" not in shown
        assert "INDEX" not in shown
    assert "Travel v1" in words(office.get("operator", LIST, pool="online", type="INDEX"))
    assert "Travel v1" not in words(office.get("operator", LIST, pool="bulk"))
    assert "Travel v1" not in words(office.get("operator", LIST, type="REINDEX"))


@pytest.mark.parametrize(
    ("action", "button"), [("retry_dead_tasks", "Try again now"), ("cancel_tasks", "Cancel indexing")]
)
def test_bulk_actions_ask_first(office: Office, action: str, button: str) -> None:
    task, other = dead(office.world, "First"), dead(office.world, "Second")
    chosen = {"action": action, "_selected_action": [task.pk, other.pk]}
    client = office.clients["superuser"]
    asked = client.post(reverse(LIST), chosen)
    shown = words(asked)
    for expected in ("First · v1", "Second · v1", "Readers go on finding what they find now.", button):
        assert expected in shown
    assert states(task, other) == ["DEAD", "DEAD"]
    sent = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', asked.content.decode())
    data: dict[str, list[str]] = {}
    for name, value in sent:
        data.setdefault(name, []).append(value)
    client.post(reverse(LIST), data)
    assert states(task, other) == (["PENDING"] * 2 if action == "retry_dead_tasks" else ["CANCELLED"] * 2)


def test_bulk_retry_needs_its_own_permission(office: Office) -> None:
    task = dead(office.world)
    assert "Retry failed tasks" not in words(office.get("operator", LIST))
    act(office, "operator", "retry_dead_tasks", task)
    assert states(task) == ["DEAD"]
    office.people["operator"].groups.add(Group.objects.get(name=OPERATORS))
    answer = act(office, "operator", "retry_dead_tasks", task)
    assert "1 task is tried again." in words(answer)
    assert states(task) == ["PENDING"]


def test_bulk_retry_counts_and_lets_no_refusal_stop_the_others(office: Office) -> None:
    superseded, fine, waiting = dead(office.world, "Old"), dead(office.world, "Fine"), None
    document = superseded.document
    office.world.new_version(document, "# Two\n\nText")
    waiting = IndexTask.objects.get(pk=office.world.publish(document).ticket.task_id)
    IndexTask.objects.get(pk=superseded.pk)
    answer = act(office, "superuser", "retry_dead_tasks", superseded, fine, waiting)
    assert "1 task is tried again." in words(answer)
    assert states(fine, waiting) == ["PENDING", "PENDING"]
    assert states(superseded) == ["CANCELLED"]  # by the publish; not dead, so not tried again
    assert "None of the selected tasks has failed" in words(act(office, "superuser", "retry_dead_tasks", waiting))


def test_bulk_retry_says_why_one_was_refused(office: Office) -> None:
    task = dead(office.world)
    office.world.new_version(task.document, "# Two\n\nText")
    Document.objects.filter(pk=task.document_id).update(requested_version=2)
    answer = act(office, "superuser", "retry_dead_tasks", task)
    assert "Refused for 1: This task is for a version that is no longer the requested one." in words(answer)


def test_bulk_actions_reach_no_other_tenant(office: Office) -> None:
    task = dead(office.other)
    act(office, "editor", "cancel_tasks", task)
    office.people["operator"].groups.add(Group.objects.get(name=OPERATORS))
    act(office, "operator", "retry_dead_tasks", task)
    assert states(task) == ["DEAD"]


def test_bulk_cancel(office: Office) -> None:
    waiting = IndexTask.objects.get(pk=office.world.publish(office.world.upload()).ticket.task_id)
    finished_task = claim()
    finished(finished_task)
    other = IndexTask.objects.get(pk=office.world.publish(office.world.upload()).ticket.task_id)
    answer = act(office, "operator", "cancel_tasks", waiting, other)
    assert "1 task is cancelled." in words(answer)
    assert "Refused for 1" in words(answer)
    assert states(waiting, other) == ["SUCCEEDED", "CANCELLED"]


def test_the_group_of_operators_has_the_permission() -> None:
    permissions = Group.objects.get(name=OPERATORS).permissions.values_list("codename", flat=True)
    assert list(permissions) == ["retry_dead_tasks"]
