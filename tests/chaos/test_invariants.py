"""Each invariant can fail: what it forbids is done by the owner of the tables, with every trigger off, and it is named."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import psycopg
import pytest
from django.db import connections
from psycopg.pq import TransactionStatus

from indexing import pipelines
from indexing.worker import Result, Worker
from tests.chaos import invariants, oracle
from tests.chaos.database import SCHEMA
from tests.chaos.oracle import Content
from tests.factories import EVERYONE, make_world
from tests.provider_stub import ProviderStub

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

TABLES = ["index_task", "task_event", "search_pointer", "pointer_log", "chunk", "chunk_vector", "embedding_cache"]
OTHER_VECTOR = "(SELECT v.embedding FROM chunk_vector v JOIN chunk c ON c.id = v.chunk_id WHERE c.ordinal = 2 LIMIT 1)"
MOVE = (
    "INSERT INTO task_event (task_id, tenant_id, kind, from_state, to_state, attempts) SELECT id, tenant_id, 'move', "
)
RUNNING = """UPDATE index_task SET state = 'RUNNING', lease_owner = 'w', finished_at = NULL,
                    lease_until = clock_timestamp() + interval '{}'"""

SABOTAGE = {
    "deleted_is_invisible": "INSERT INTO chaos.acknowledged_delete SELECT document_id FROM search_pointer",
    "nothing_is_switched_on_for_nobody": """INSERT INTO chaos.moment (kind, document_id, version_number, task_id)
        SELECT k.kind, p.document_id, 2, p.task_id FROM search_pointer p, (VALUES ('withdrawn'), ('switched')) k (kind)""",
    "pointer_never_back": """INSERT INTO chaos.moment (kind, document_id, version_number, task_id)
        SELECT 'switched', p.document_id, v.number, p.task_id FROM search_pointer p, (VALUES (3), (2)) v (number)""",
    "one_attempt_switched_it_on": "DELETE FROM task_event WHERE to_state = 'SUCCEEDED'",
    "one_move_per_success": "DELETE FROM pointer_log",
    "both_or_neither": "UPDATE chaos.moment SET xact = '3' WHERE kind = 'switched'",
    "checked_before_its_lease_ended": "DELETE FROM chaos.passed_check",
    "every_fence_was_alive": "UPDATE chaos.passed_check SET checked_at = lease_until",
    "visible_sets_are_the_oracles": "UPDATE chunk SET text = 'something else' WHERE ordinal = 0",
    "visible_vectors_are_the_oracles": f"UPDATE chunk_vector SET embedding = {OTHER_VECTOR}",
    "cached_vectors_are_the_oracles": f"UPDATE embedding_cache SET embedding = {OTHER_VECTOR}",
    "nothing_acknowledged_is_lost": "INSERT INTO chaos.acknowledged SELECT document_id, 2, id FROM index_task",
    "nothing_runs_past_its_lease": RUNNING.format("-1 hour"),
    "budget_is_kept": MOVE + "'RUNNING', 'RUNNING', n FROM index_task, generate_series(2, max_failures + 1) n",
    "attempts_rise": MOVE + "'RUNNING', 'RUNNING', 3 FROM index_task",
    "moves_are_legal": MOVE + "'SUCCEEDED', 'PENDING', 1 FROM index_task",
    "one_success_per_task": MOVE + "'RUNNING', 'SUCCEEDED', 1 FROM index_task",
    "tenants_never_mix": "UPDATE chunk SET tenant_id = tenant_id + 1",
    "no_vector_of_another_tenant": "DELETE FROM embedding_cache",
    "searchers_saw_nothing_wrong": "INSERT INTO chaos.wrong_result (what) VALUES ('something')",
    "one_version_of_a_document": """ALTER TABLE search_pointer DROP CONSTRAINT search_pointer_once;
        INSERT INTO search_pointer (tenant_id, document_id, pipeline_id, version_number, generation, chunk_count,
                                    manifest_digest, task_id, attempts)
        SELECT tenant_id, document_id, pipeline_id, version_number, 2, 1, '', task_id, 1 FROM search_pointer""",
    "everything_has_settled": RUNNING.format("1 minute"),
    "what_was_asked_for_is_served": "DELETE FROM search_pointer",
}
BY_CONNECTIONS = ("no_transaction_waits_for_the_world", "no_deadlock")  # have a test of their own


@pytest.fixture
def owner(provider: ProviderStub, settings: Any) -> Iterator[psycopg.Connection[Any]]:
    """A document that is searchable, with everything that a run observes; the owner's connection in a transaction."""
    settings.KB_EMBEDDING_URL, settings.KB_EMBEDDING_MODEL = provider.url, oracle.MODEL
    settings.KB_EMBEDDING_DIMENSIONS, settings.KB_CHUNK_TOKENS = oracle.DIMENSIONS, oracle.CHUNK_TOKENS
    pipelines.ensure_default_pipeline(using="owner")
    connections["owner"].ensure_connection()
    raw: psycopg.Connection[Any] = connections["owner"].connection
    raw.execute(SCHEMA.read_text(encoding="utf-8"))
    try:
        content = Content("Travel", "md", (1, 2, 3))
        oracle.record(raw, content)
        world = make_world()
        data = oracle.rendered(content).decode()
        document = world.upload(data, title=content.title, name=content.file_name)
        world.publish(document, readers=EVERYONE)
        assert Worker().run_once().result is Result.SUCCEEDED
        with raw.transaction(force_rollback=True):
            yield raw
    finally:
        raw.execute("DROP SCHEMA chaos CASCADE")


def broken(owner: psycopg.Connection[Any], **options: Any) -> set[str]:
    found = invariants.check(owner, grace_seconds=10, at_the_end=True, **options)
    return {violation.invariant for violation in found} - {"no_deadlock"}  # other tests make some on purpose


def test_all_of_them_have_a_test() -> None:
    assert {*SABOTAGE, *BY_CONNECTIONS} == {invariant.name for invariant in invariants.invariants()}


def test_nothing_is_wrong_with_what_the_product_made(owner: psycopg.Connection[Any]) -> None:
    assert broken(owner) == set()


@pytest.mark.parametrize("name", SABOTAGE)
def test_a_breach_is_named(owner: psycopg.Connection[Any], name: str) -> None:
    for table in TABLES:
        owner.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
    owner.execute(SABOTAGE[name])
    assert name in broken(owner)


def test_a_transaction_that_waits_is_named(owner: psycopg.Connection[Any]) -> None:
    with connect("holder") as holder:
        holder.execute("SELECT 1")
        name = "no_transaction_waits_for_the_world"
        assert broken(owner, longest_idle=0) == {name}
        assert broken(owner, longest_idle=0, excused=["holder"]) == set()
        assert broken(owner, longest_idle=60) == set()


def test_a_deadlock_is_named(owner: psycopg.Connection[Any]) -> None:
    ended = []
    with connect("one") as one, connect("two") as two, ThreadPoolExecutor() as both:
        one.execute("SELECT pg_advisory_xact_lock(1)")
        two.execute("SELECT pg_advisory_xact_lock(2)")
        waits = [
            both.submit(held.execute, f"SELECT pg_advisory_xact_lock({wanted})")
            for held, wanted in ((one, 2), (two, 1))
        ]
        for wait in as_completed(waits):
            ended.append(wait.exception())
            for held in (one, two):
                if held.info.transaction_status is TransactionStatus.INERROR:
                    held.rollback()
    assert sum(isinstance(error, psycopg.errors.DeadlockDetected) for error in ended) == 1
    assert "no_deadlock" in {violation.invariant for violation in invariants.check(owner, grace_seconds=10)}


def connect(name: str) -> psycopg.Connection[Any]:
    parameters = connections["owner"].get_connection_params()
    return psycopg.connect(
        host=parameters["host"], user=parameters["user"], dbname=parameters["dbname"], application_name=name
    )
