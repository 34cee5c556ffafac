"""Who may read, as it is set and read back through the API."""

from __future__ import annotations

import pytest

from documents.readers import Reader
from tests.db.api import Caller, at
from tests.factories import EVERYONE, World, make_world

pytestmark = pytest.mark.django_db

STAFF = {"type": "group", "name": "staff"}


def test_a_first_publish_says_who_may_read(world: World, editor: Caller) -> None:
    document = world.upload()
    refused = editor.post(at(document, "publish"), {"revision": 1})
    assert (refused.status, refused.code) == (400, "readers_required")
    assert "[] means nobody" in refused.json["detail"]
    document.refresh_from_db()
    assert (document.revision, document.requested_version) == (1, None)
    assert editor.post(at(document, "publish"), {"revision": 1, "readers": []}).status == 202
    assert editor.post(at(document, "publish"), {"revision": 2}).status == 202, "there is something to keep"


def test_readers_are_read_back(world: World, editor: Caller) -> None:
    operator = Caller(world.member("operator", role="operator"))
    world.member("ann", groups=("staff",))
    document = world.upload()
    assert editor.get(at(document, "readers")).json == {"versionNumber": None, "revision": 1, "readers": []}
    sent = [{"type": "everyone"}, STAFF, {"type": "user", "name": "ann"}]
    editor.post(at(document, "publish"), {"revision": 1, "readers": sent})
    for caller in (editor, operator):
        current = caller.get(at(document, "readers"))
        assert current.json == {"versionNumber": 1, "revision": 2, "readers": sent}
        assert current.headers["ETag"] == '"2"'
        assert caller.get(at(document)).json["readers"] == sent
    answer = editor.put(at(document, "readers"), {"readers": [STAFF]}, if_match='"2"').json
    assert (answer["revision"], answer["readers"]) == (3, [STAFF])
    assert editor.put(at(document, "readers"), {"revision": 3, "readers": []}).json["readers"] == []
    assert editor.get(at(document, "readers")).json["readers"] == []


def test_readers_are_shown_to_those_who_oversee_alone(world: World) -> None:
    reader, outsider, stranger = Caller(world.member("ann")), Caller(world.member("ben")), Caller(make_world().editor)
    document = world.upload()
    world.publish(document, readers=(Reader("user", "ann"),))
    assert reader.get(at(document)).json["readers"] is None
    assert [caller.get(at(document, "readers")).status for caller in (reader, outsider, stranger)] == [403, 404, 404]


def test_a_draft_has_no_readers_of_its_own_yet(world: World, editor: Caller) -> None:
    document = world.upload()
    assert editor.get(at(document)).json["readers"] is None
    world.publish(document, readers=EVERYONE)
    world.new_version(document, "two")
    assert editor.get(at(document, "readers")).json["versionNumber"] == 1
