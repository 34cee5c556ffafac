"""The two files that an operator or integrator works with by hand do what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.db import connection
from pytest_django.live_server_helper import LiveServer

from documents import publishing, uploading
from documents.api.keys import create_api_key
from documents.errors import NotFound
from documents.holds import place_hold
from indexing import queue
from indexing.errors import LeaseLost
from indexing.models import SearchPointer
from tests.concurrency.leases import claim, expire, run_worker
from tests.db.journey import Journey, holds
from tests.environment import ROOT
from tests.factories import World
from tests.provider_stub import ProviderStub, status

DOCS: Path = ROOT / "docs"

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def test_the_journey_step_by_step(live_server: LiveServer, stub_world: World, settings) -> None:
    settings.KB_WORKER_RUN_ONCE_API = True
    operator = stub_world.member("operator", role="operator")
    journey = Journey(
        DOCS / "journey.http",
        host=live_server.url,
        tenant=stub_world.tenant.slug,
        editorKey=create_api_key(user=stub_world.editor),
        operatorKey=create_api_key(user=operator),
    )
    assert len(journey.steps) == 25
    for step in journey.steps:
        assert step.expectations, f"{step.title} expects nothing"
        answer = journey.run(step)
    assert answer["hits"] == []  # in this tenant nothing else could be found
    assert not any(operator_rows("5."))


def test_an_expectation_that_does_not_hold_is_noticed() -> None:
    answer = {"hits": [{"text": "200 yuan"}], "result": "IDLE"}
    assert holds("200", 200, answer)
    assert not holds("202", 200, answer)
    assert not holds('$.result == "SUCCEEDED"', 200, answer)
    assert holds('$.hits[0].text contains "200"', 200, answer)
    assert not holds('$.hits contains "300"', 200, answer)
    assert not holds('$.hits lacks "200 yuan"', 200, answer)


def test_the_operators_check_list(stub_world: World, provider: ProviderStub) -> None:
    """One document in each situation that the list asks for, and each question finds exactly its own."""
    world = stub_world

    def published(text: str) -> int:
        return world.publish(world.upload(text, title=text)).ticket.task_id

    numbers = [title.split(".")[0] for title in checks()]
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]
    assert not any(operator_rows(f"{number}.") for number in numbers)

    provider.poison = {"dead": status(400), "waiting": status(429, {"Retry-After": "600"})}
    dead, done, waiting = published("dead"), published("done"), published("waiting")
    assert [run_worker() for _ in range(3)] == ["FAILED", "SUCCEEDED", "FAILED"]
    late = published("late")
    lease = claim("sleepy")
    expire(late)
    claim("awake")
    with pytest.raises(LeaseLost):
        queue.report(lease, stage="PARSE")
    queue.record_refusal(lease, action="report")
    pending = published("pending")
    deleted = world.upload("deleted")
    publishing.delete_document(actor=world.editor, document_id=deleted.pk)
    operator = world.member("operator", role="operator")
    hold = place_hold(actor=operator, document_id=deleted.pk, reason="A lawsuit")

    assert [(item["task"], item["worker"]) for item in operator_rows("1.")] == [(late, "awake")]
    assert [item["task"] for item in operator_rows("2.")] == [pending]
    assert [(item["task"], item["error_code"]) for item in operator_rows("3.")] == [(waiting, "EMBEDDING_RATE_LIMITED")]
    assert {item["task"] for item in operator_rows("4.")} == {dead, waiting, late, pending}
    assert operator_rows("5.") == []
    assert [(item["task"], item["error_code"]) for item in operator_rows("6.")] == [(dead, "EMBEDDING_INPUT_REJECTED")]
    assert [(item["document"], item["held"]) for item in operator_rows("7.")] == [(deleted.pk, True)]
    assert [(item["id"], item["held"]) for item in operator_rows("11.")] == [(hold.pk, "every version")]
    assert [(item["late_worker"], item["worker_now"]) for item in operator_rows("8.")] == [("sleepy", "awake")]
    assert {item["state"]: item["tasks"] for item in operator_rows("9.")} == {
        "PENDING": 1,
        "RUNNING": 1,
        "RETRY_WAIT": 1,
    }
    assert operator_rows("10.") == []
    assert operator_rows("12.") == []
    assert SearchPointer.objects.get().task_id == done


def test_a_staged_upload_without_a_version_is_listed(stub_world: World) -> None:
    with pytest.raises(NotFound):
        uploading.stage_first(actor=stub_world.editor, tenant="none", title="x", data=b"x", file_name="a.md")
    assert operator_rows("10.") == []
    tenant = stub_world.tenant.slug
    uploading.stage_first(actor=stub_world.editor, tenant=tenant, title="x", data=b"x", file_name="a.md")
    assert len(operator_rows("10.")) == 1


def checks() -> dict[str, str]:
    """The statements of the list by the comment above them."""
    parts = re.split(r"^-- (?=\d+\. )", (DOCS / "operator.sql").read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {}
    for part in parts[1:]:
        title, _, rest = part.partition("\n")
        statement = rest[rest.index("SELECT") :].strip()
        assert statement.count(";") == 1, f"{title}: one statement each"
        assert statement.endswith(";")
        found[title] = statement
    return found


def operator_rows(number: str) -> list[dict[str, object]]:
    """What a statement of the list finds; the database refuses if it does more than read."""
    (statement,) = (statement for title, statement in checks().items() if title.startswith(number))
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
        try:
            cursor.execute(statement)
            columns = [column.name for column in cursor.description]
            return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
        finally:
            cursor.execute("SET default_transaction_read_only = off")
