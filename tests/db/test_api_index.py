"""Index tasks, the worker's round and the search, over real committed rows and a provider on a real socket."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import pytest
from django.contrib.auth.models import User

from documents.models import AuditEvent, Document
from documents.readers import Reader
from indexing import queue
from indexing.models import IndexTask, TaskEvent
from indexing.states import Stage
from indexing.worker import Worker
from tests.concurrency.leases import claim, expire
from tests.db.api import Answer, Caller, at
from tests.factories import World, make_world
from tests.provider_stub import ProviderStub, status
from tests.sessions import Session

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


@dataclass
class Cast:
    world: World
    editor: Caller
    operator: Caller
    reader: Caller
    outsider: Caller
    stranger: Caller

    def index(self) -> Answer:
        return self.operator.post("index-worker/run-once")

    def search(self, caller: Caller, query: str = "limit yuan", **more: object) -> list[dict[str, object]]:
        answer = caller.get("search", q=query, tenant=self.world.tenant.slug, **more)
        assert answer.status == 200, answer.content
        return answer.json["hits"]


@pytest.fixture
def cast(stub_world: World, settings) -> Cast:
    settings.KB_WORKER_RUN_ONCE_API = True
    return Cast(
        stub_world,
        editor=Caller(stub_world.editor),
        operator=Caller(stub_world.member("operator", role="operator")),
        reader=Caller(stub_world.member("reader", groups=("staff",))),
        outsider=Caller(User.objects.create_user("outsider")),
        stranger=Caller(make_world().editor),
    )


# The worker's round


def test_a_round_of_the_worker(cast: Cast, provider: ProviderStub) -> None:
    assert cast.index().json == {"result": "IDLE"}
    task = cast.world.publish(cast.world.upload()).ticket.task_id
    assert cast.index().json == {"result": "SUCCEEDED", "taskId": task}
    task = cast.world.publish(cast.world.upload("# Other\n\nSomething else.")).ticket.task_id
    provider.poison["Something else"] = status(400)
    assert cast.index().json == {"result": "FAILED", "taskId": task}


def test_a_round_sent_twice_is_one_round(cast: Cast) -> None:
    for _ in range(2):
        cast.world.publish(cast.world.upload())
    first, again = (cast.operator.post("index-worker/run-once", idempotency_key="a") for _ in range(2))
    assert first.json == again.json
    assert IndexTask.objects.filter(state="PENDING").count() == 1


def test_a_round_whose_lease_was_taken(cast: Cast, provider: ProviderStub) -> None:
    task = cast.world.publish(cast.world.upload()).ticket.task_id
    provider.before_answer = lambda _texts: steal(task)
    assert cast.index().json == {"result": "LOST_LEASE", "taskId": task}
    assert TaskEvent.objects.filter(task_id=task, kind="refused").exists()


def steal(task: int) -> None:
    """What happens to a task whose worker was silent for too long, from a connection of its own."""
    with Session() as other:
        other.run(lambda: expire(task))
        other.run(lambda: claim("thief"))


def test_who_may_run_the_worker(cast: Cast, settings) -> None:
    for caller in (cast.editor, cast.reader, cast.outsider, cast.stranger):
        answer = caller.post("index-worker/run-once")
        assert (answer.status, answer.code) == (403, "not_allowed")
    settings.KB_WORKER_RUN_ONCE_API = False
    assert cast.index().code == "not_found"
    assert cast.operator.get("index-worker/run-once").code == "method_not_allowed"


# Tasks


def test_a_task_from_waiting_to_done(cast: Cast) -> None:
    document = cast.world.upload()
    task = cast.world.publish(document).ticket.task_id
    waiting = cast.operator.get(f"index-tasks/{task}").json
    assert waiting["documentId"] == str(document.pk)
    assert (waiting["taskId"], waiting["versionNumber"], waiting["taskType"]) == (task, 1, "INDEX")
    assert (waiting["state"], waiting["stage"], waiting["attempts"], waiting["failures"]) == ("PENDING", None, 0, 0)
    assert (waiting["errorCode"], waiting["errorMessage"], waiting["nextAttemptAt"]) == (None, None, None)
    cast.index()
    done = cast.editor.get(f"index-tasks/{task}").json
    assert (done["state"], done["attempts"], done["progress"]) == ("SUCCEEDED", 1, {"done": 1, "total": 1})
    assert done["finishedAt"] >= done["startedAt"] >= done["createdAt"]


def test_a_running_task_shows_its_stage(cast: Cast, provider: ProviderStub) -> None:
    task = cast.world.publish(cast.world.upload()).ticket.task_id
    asked, answer = threading.Event(), threading.Event()

    def hold(_texts: list[str]) -> None:
        asked.set()
        assert answer.wait(20)

    provider.before_answer = hold
    with Session() as worker:
        round_ = worker.start(lambda: Worker().run_once())
        assert asked.wait(20)
        running = cast.editor.get(f"index-tasks/{task}").json
        cancelled = cast.editor.post(f"index-tasks/{task}/cancel").json
        answer.set()
        assert round_.result(30).result == "FAILED"
    assert (running["state"], running["stage"], running["progress"]) == ("RUNNING", "EMBED", {"done": 0, "total": 1})
    assert (cancelled["state"], cancelled["cancelRequested"]) == ("RUNNING", True)
    ended = cast.editor.get(f"index-tasks/{task}").json
    assert (ended["state"], ended["errorCode"], ended["cancelRequested"]) == ("CANCELLED", "CANCELLED_BY_USER", False)


def test_cancel_and_retry(cast: Cast) -> None:
    document = cast.world.upload()
    path = f"index-tasks/{cast.world.publish(document).ticket.task_id}"
    cancelled = cast.operator.post(path + "/cancel").json
    assert (cancelled["state"], cancelled["errorCode"]) == ("CANCELLED", "CANCELLED_BY_USER")
    state = cast.editor.get(at(document)).json
    assert (state["indexState"], state["errorCode"]) == ("FAILED", "CANCELLED_BY_USER")
    assert cast.operator.post(path + "/cancel").code == "conflict"
    assert cast.operator.post(path + "/retry").json["state"] == "PENDING"
    assert cast.index().json["result"] == "SUCCEEDED"
    assert cast.operator.post(path + "/retry").code == "conflict"
    assert cast.operator.post(path + "/cancel").code == "conflict"
    trail = AuditEvent.objects.order_by("id").values_list("action", "actor_name")
    assert list(trail)[2:] == [("cancel_indexing", "operator"), ("retry", "operator")]


def test_retry_of_a_dead_task_has_a_new_budget_and_old_attempts(cast: Cast, provider: ProviderStub) -> None:
    path = f"index-tasks/{cast.world.publish(cast.world.upload()).ticket.task_id}"
    provider.poison["200 yuan"] = status(400)
    cast.index()
    dead = cast.editor.get(path).json
    assert (dead["state"], dead["errorCode"], dead["attempts"]) == ("DEAD", "EMBEDDING_INPUT_REJECTED", 1)
    assert dead["errorMessage"]
    assert "body of the refusal" not in str(dead)
    again = cast.editor.post(path + "/retry").json
    assert (again["state"], again["failures"], again["attempts"], again["errorCode"]) == ("PENDING", 0, 1, None)


def test_a_task_that_waits_for_the_provider_says_when(cast: Cast, provider: ProviderStub) -> None:
    path = f"index-tasks/{cast.world.publish(cast.world.upload()).ticket.task_id}"
    provider.faults.append(status(429, {"Retry-After": "600"}))
    cast.index()
    waiting = cast.editor.get(path).json
    assert (waiting["state"], waiting["errorCode"], waiting["failures"]) == ("RETRY_WAIT", "EMBEDDING_RATE_LIMITED", 0)
    assert waiting["nextAttemptAt"] > waiting["startedAt"]
    assert cast.operator.post(path + "/retry").json["nextAttemptAt"] is None
    assert cast.index().json["result"] == "IDLE", "whatever a person says, the provider is left alone as it asked"


def test_only_the_requested_versions_task_can_be_retried(cast: Cast) -> None:
    document = cast.world.upload()
    old = f"index-tasks/{cast.world.publish(document).ticket.task_id}"
    cast.world.new_version(document, "two")
    new = f"index-tasks/{cast.world.publish(document).ticket.task_id}"
    assert cast.editor.get(old).json["errorCode"] == "SUPERSEDED"
    assert cast.editor.post(old + "/retry").code == "conflict"
    cast.editor.post(at(document, "withdraw"), {"revision": 4})
    assert cast.editor.post(new + "/retry").code == "conflict"
    cast.editor.delete(at(document))
    assert cast.editor.post(new + "/retry").code == "document_deleted"
    assert cast.editor.post(new + "/cancel").code == "document_deleted"


def test_who_sees_and_moves_a_task(cast: Cast) -> None:
    path = f"index-tasks/{cast.world.publish(cast.world.upload()).ticket.task_id}"
    for caller in (cast.reader, cast.outsider, cast.stranger):
        assert caller.get(path).code == "not_found"
        assert caller.post(path + "/cancel").code == "not_found"
        assert caller.post(path + "/retry").code == "not_found"
    assert cast.editor.get("index-tasks/999999").code == "not_found"
    assert IndexTask.objects.get().state == "PENDING"


# Search


def test_a_hit_with_its_citation(cast: Cast) -> None:
    document = cast.world.upload("# Travel policy\n\n## Allowance\n\nThe limit is 200 yuan.")
    cast.world.publish(document)
    cast.index()
    answer = cast.reader.get("search", q="limit yuan", tenant=cast.world.tenant.slug).json
    assert set(answer) == {"hits", "pipeline", "notices", "tookMs"}
    (hit,) = answer["hits"]
    assert set(hit) == {
        "chunkId",
        "documentId",
        "versionNumber",
        "title",
        "headingPath",
        "locator",
        "snippet",
        "score",
        "citation",
        "evidence",
        "gaps",
        "otherGaps",
        "notices",
    }
    assert (hit["documentId"], hit["versionNumber"], hit["title"]) == (str(document.pk), 1, "Travel")
    assert hit["headingPath"] == ["Travel policy", "Allowance"]
    assert (hit["gaps"], hit["notices"]) == ([], [])
    citation = hit["citation"]
    assert "limit" in [hit["snippet"][start:end] for start, end in citation["marks"]]
    assert str(document.pk) in citation["permalink"]
    assert citation["freshness"]["publishedVersion"] == citation["freshness"]["searchableVersion"] == 1


def test_what_is_served_can_be_downloaded_by_who_may_read_it(cast: Cast) -> None:
    document = cast.world.upload()
    cast.world.publish(document, readers=(Reader("group", "staff"),))
    cast.index()
    path = at(document, "versions/1/content")
    assert [caller.get(path).status for caller in (cast.reader, cast.outsider, cast.stranger)] == [200, 404, 404]
    cast.world.new_version(document, "two")
    cast.world.publish(document)  # still served: version 1
    assert cast.reader.get(path).status == 200
    assert cast.reader.get(at(document, "versions/2/content")).code == "not_found"
    newcomer = Caller(cast.world.member("newcomer"))  # a reader of version 2 alone
    assert newcomer.get(at(document)).json["searchableVersion"] == 1
    assert newcomer.get(path).code == "not_found"
    cast.world.publish(document, readers=(Reader("user", "newcomer"),))
    assert cast.reader.get(path).code == "not_found"  # taken off: the version that is served is closed at once


def test_who_finds_what(cast: Cast) -> None:
    document = cast.world.upload()
    cast.world.publish(document, readers=(Reader("group", "staff"),))
    cast.index()
    assert len(cast.search(cast.reader)) == 1
    assert cast.search(cast.operator) == []  # an operator watches indexing, and reads only what is open to them
    for caller in (cast.outsider, cast.stranger):
        assert caller.get("search", q="limit", tenant=cast.world.tenant.slug).code == "not_found"
    cast.editor.put(at(document, "readers"), {"revision": 2, "readers": []})
    assert cast.search(cast.reader) == []


def test_queries_that_are_none(cast: Cast) -> None:
    tenant = cast.world.tenant.slug

    def refused(**query: object) -> str:
        answer = cast.reader.get("search", **query)
        assert answer.status == 400
        return answer.code

    assert refused(tenant=tenant) == "invalid"
    assert refused(q="x") == "invalid"
    assert refused(q="", tenant=tenant) == "invalid"
    assert refused(q=" \t", tenant=tenant) == "invalid"
    assert refused(q="x" * 1001, tenant=tenant) == "invalid"
    assert refused(q="a\0b", tenant=tenant) == "invalid"
    for limit in (0, -1, 51, 10**30, "many"):
        assert refused(q="x", tenant=tenant, limit=limit) == "invalid"
    assert cast.search(cast.reader, query="'; DROP TABLE chunk; -- \\ %s {} :x & ! ( |", limit=50) == []


def test_the_state_while_a_new_version_is_indexed(cast: Cast) -> None:
    document = cast.world.upload()
    cast.world.publish(document)
    cast.index()
    cast.world.new_version(document, "The limit is 300 yuan.")
    cast.world.publish(document)
    state = cast.editor.get(at(document)).json
    assert (state["indexState"], state["searchableVersion"], state["publishedVersion"]) == ("INDEXING", 1, 2)
    assert state["stalenessSeconds"] >= 0
    cast.index()
    state = cast.editor.get(at(document)).json
    assert (state["indexState"], state["searchableVersion"], state["stalenessSeconds"]) == ("SEARCHABLE", 2, None)
    assert Document.objects.get().revision == 4


def test_events_of_a_task_say_who_did_what_and_why(cast: Cast) -> None:
    world, editor = cast.world, cast.editor
    task_id = world.publish(world.upload()).ticket.task_id
    late = claim("first")
    queue.report(late, stage=Stage.EMBED)
    expire(task_id)
    claim("second")
    queue.record_refusal(late, action="stage")
    queue.cancel(task_id=task_id)
    first = editor.get(f"index-tasks/{task_id}/events", limit="3").json
    assert [(event["kind"], event["attempt"], event["worker"], event["code"]) for event in first["events"]] == [
        ("wish", 2, "second", "CANCEL_REQUESTED"),
        ("refused", 1, "first", "TAKEN_OVER"),
        ("move", 2, "second", "LEASE_EXPIRED"),
    ]
    assert first["events"][1]["action"] == "stage"
    assert first["events"][1]["message"] == "Storing chunks was refused: attempt 2 had taken over."
    assert (first["events"][2]["stage"], first["events"][2]["fromState"]) == ("EMBED", "RUNNING")
    rest = editor.get(f"index-tasks/{task_id}/events", cursor=first["nextCursor"]).json
    assert [(event["fromState"], event["toState"]) for event in rest["events"]] == [
        ("PENDING", "RUNNING"),
        (None, "PENDING"),
    ]
    assert rest["nextCursor"] is None
    assert Caller(make_world().editor).get(f"index-tasks/{task_id}/events").status == 404
