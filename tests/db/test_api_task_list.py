"""`GET index-tasks`: what is queued, for those who oversee it."""

from __future__ import annotations

import uuid

import pytest

from tests.db.api import Caller
from tests.factories import World, make_world

pytestmark = pytest.mark.django_db


def test_filters(world: World) -> None:
    first, second = world.upload(), world.upload()
    old, other = world.publish(first).ticket.task_id, world.publish(second).ticket.task_id
    world.new_version(first, "two")
    new = world.publish(first).ticket.task_id
    elsewhere = make_world()
    elsewhere.publish(elsewhere.upload())
    operator = Caller(world.member("operator", role="operator"))

    def listed(**query: object) -> list[int]:
        answer = operator.get("index-tasks", tenant=world.tenant.slug, **query).json
        return [task["taskId"] for task in answer["indexTasks"]]

    assert listed() == [new, other, old]
    assert listed(state="CANCELLED") == [old]
    assert listed(documentId=first.pk) == [new, old]
    assert listed(documentId=first.pk, state="PENDING") == [new]
    assert listed(documentId=uuid.uuid4()) == []
    page = operator.get("index-tasks", tenant=world.tenant.slug).json["indexTasks"][0]
    assert page == operator.get(f"index-tasks/{new}").json


def test_pages(world: World) -> None:
    made = [world.publish(world.upload()).ticket.task_id for _ in range(5)]
    editor, found, cursor = Caller(world.editor), [], ""
    while True:
        page = editor.get("index-tasks", tenant=world.tenant.slug, limit=2, cursor=cursor).json
        found += [task["taskId"] for task in page["indexTasks"]]
        if not (cursor := page["nextCursor"]):
            break
    assert found == made[::-1]
    documents = editor.get("documents", tenant=world.tenant.slug, limit=2).json["nextCursor"]
    for bad in ("x", "eA==", documents):
        assert editor.get("index-tasks", tenant=world.tenant.slug, cursor=bad).code == "invalid"


def test_who_sees_it(world: World) -> None:
    world.publish(world.upload())
    reader, stranger = Caller(world.member("ann")), Caller(make_world().editor)
    assert reader.get("index-tasks", tenant=world.tenant.slug).code == "not_allowed"
    assert stranger.get("index-tasks", tenant=world.tenant.slug).code == "not_found"


@pytest.mark.parametrize("query", [{"state": "LOST"}, {"documentId": "x"}, {"limit": 101}, {"cursor": "x" * 201}])
def test_queries_that_are_none(world: World, query: dict[str, object]) -> None:
    answer = Caller(world.editor).get("index-tasks", tenant=world.tenant.slug, **query)
    assert list(answer.json["fields"]) == list(query)
