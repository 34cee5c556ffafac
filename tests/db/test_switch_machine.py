"""Any mix of publishes, work, migrations there and back, deletions and withdrawals: readers never see anything older.

Hypothesis chooses the steps over three pipelines and three documents of one tenant. After each step what a reader is served is
compared with the newest that was ever served; the machine is first shown to notice a switch without its guards.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.db import Error, connection, connections
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from documents import publishing
from documents.errors import DocumentsError
from documents.models import Document
from indexing import gate, lifecycle, queue, recompute, revisions
from indexing.models import Pipeline, TenantPipeline
from indexing.pipelines import ensure_vector_index, serving_pipeline
from tests.concurrency.conftest import without_triggers
from tests.db.staging import finished
from tests.factories import World, make_world

pytestmark = [pytest.mark.django_db(transaction=True, databases=["default", "owner"]), pytest.mark.slow]

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
three = st.integers(0, 2)
SERVED = """
SELECT s.document_id, s.version_number
  FROM served_version s JOIN tenant_pipeline tp ON tp.tenant_id = s.tenant_id AND tp.pipeline_id = s.pipeline_id
 WHERE tp.role = 'SERVING' AND s.user_id = %s"""


class Machine(RuleBasedStateMachine):
    given: tuple[World, list[Pipeline]]

    def __init__(self) -> None:
        super().__init__()
        self.world, self.pipelines = self.given
        self.tenant = self.world.tenant.pk
        self.newest: dict[object, int] = {}
        self.documents = [self.world.upload() for _ in range(3)]

    @rule(which=three)
    def publish(self, which: int) -> None:
        document = self.documents[which]
        with suppress(DocumentsError):
            self.world.publish(document, version=self.world.new_version(document, "# Travel\n\nNext."))

    @rule(pool=st.sampled_from(["online", "online", "bulk"]), times=st.integers(1, 3))
    def work(self, pool: str, times: int) -> None:
        for _ in range(times):
            lease = queue.claim(worker="w", pool=pool, lease_seconds=60)
            if lease is not None:
                try:
                    finished(lease, ["one"])
                except Exception as error:  # what the worker would record
                    if not hasattr(error, "disposition"):
                        raise
                    queue.release(lease)
                    queue.cancel(task_id=lease.task_id)

    @rule(which=three)
    def build(self, which: int) -> None:
        lifecycle.begin(actor=None, tenant_id=self.tenant, pipeline_id=self.pipelines[which].pk)
        recompute.start(actor_id=None, pipeline_id=self.pipelines[which].pk, tenant_id=self.tenant)

    @rule(which=three)
    def serve(self, which: int) -> None:
        with suppress(DocumentsError, Error):
            gate.examine(actor=None, tenant_id=self.tenant, pipeline_id=self.pipelines[which].pk)
            lifecycle.serve(actor=None, tenant_id=self.tenant, pipeline_id=self.pipelines[which].pk)

    @rule(hide=st.booleans())
    def roll_back(self, hide: bool) -> None:
        with suppress(DocumentsError, Error):
            lifecycle.roll_back(actor=None, tenant_id=self.tenant, hide_behind="now" if hide else "")

    @rule(which=three)
    def retire(self, which: int) -> None:
        with suppress(DocumentsError):
            lifecycle.retire(actor=None, tenant_id=self.tenant, pipeline_id=self.pipelines[which].pk)

    @rule(which=three)
    def withdraw(self, which: int) -> None:
        with suppress(DocumentsError):
            publishing.withdraw_document(actor=self.world.editor, document_id=self.documents[which].pk, revision=None)

    @rule(which=three, sure=st.integers(0, 3))
    def delete(self, which: int, sure: int) -> None:
        if not sure:
            with suppress(DocumentsError):
                publishing.delete_document(actor=self.world.editor, document_id=self.documents[which].pk)
                self.documents[which] = self.world.upload()

    @invariant()
    def nothing_older_is_served(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(SERVED, [self.world.editor.pk])
            served = dict(cursor.fetchall())
        for document_id, version in served.items():
            assert version >= self.newest.get(document_id, 0), (
                f"{document_id}: {version} after {self.newest[document_id]}"
            )
            self.newest[document_id] = version
        gone = Document.objects.exclude(deleted_at=None, withdrawn_at=None).values_list("pk", flat=True)
        assert not set(gone) & set(served), "withdrawn or deleted, and served"

    @invariant()
    def one_serves(self) -> None:
        assert TenantPipeline.objects.filter(tenant=self.tenant, role="SERVING").count() == 1

    def teardown(self) -> None:
        with connections["owner"].cursor() as cursor:
            cursor.execute(
                "TRUNCATE index_task, chunk, chunk_vector, search_pointer, recompute_item, recompute_run, pipeline_exclusion"
            )


@pytest.fixture
def machine() -> type[Machine]:
    world = make_world()
    first = serving_pipeline(world.tenant.pk)
    assert first is not None
    pipelines = [first]
    for tokens in (200, 100):
        made, _ = revisions.create(actor=None, base=first, assignments=[f"splitter.tokens={tokens}"])
        ensure_vector_index(pipeline_id=made.pk, dimensions=made.dimensions, using="owner")
        pipelines.append(made)
    return type("Given", (Machine,), {"given": (world, pipelines)})


def run(machine: Callable[[], Machine]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=200 if NIGHTLY else 12,
            stateful_step_count=40,
            deadline=None,
            derandomize=not NIGHTLY,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.timeout(1200 if NIGHTLY else 240)
def test_readers_never_see_anything_older(machine: type[Machine]) -> None:
    run(machine)


NEXT = [("publish", 0), ("work", "online", 1)]  # a new version, searchable under the one that serves only
BOTH = [("publish", 0), ("work", "online", 2)]


def play(machine: Callable[[], Machine], steps: list[tuple[Any, ...]]) -> None:
    """These steps, and what must hold after each."""
    playing = machine()
    for name, *arguments in steps:
        getattr(playing, name)(*arguments)
        playing.nothing_older_is_served()
    playing.teardown()


def test_it_notices_a_switch_without_its_guards(machine: type[Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [("build", 1), *BOTH, *NEXT, ("serve", 1)]
    play(machine, steps)
    assert serving_pipeline(machine.given[0].tenant.pk) == machine.given[1][0], "refused"
    monkeypatch.setattr("indexing.lifecycle._ensure_complete", lambda *_: None)
    monkeypatch.setattr("indexing.lifecycle._ensure_passed", lambda *_: None)
    with (
        without_triggers("tenant_pipeline.tenant_pipeline_guard"),
        pytest.raises(AssertionError, match=" after "),
    ):
        play(machine, [*BOTH, *NEXT, ("serve", 1)])


def test_it_notices_what_should_be_hidden_by_going_back_at_once(
    machine: type[Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    play(machine, [("build", 1), *BOTH, ("serve", 1)])
    assert serving_pipeline(machine.given[0].tenant.pk) == machine.given[1][1]
    steps = [*BOTH, *NEXT, ("roll_back", True)]
    play(machine, steps)
    assert serving_pipeline(machine.given[0].tenant.pk) == machine.given[1][0], "it went back, and showed nothing older"
    monkeypatch.setattr("documents.publishing.hide_until_searchable", lambda **_: 0)
    monkeypatch.setattr("indexing.lifecycle._ensure_complete", lambda *_: None)
    with without_triggers("tenant_pipeline.tenant_pipeline_guard"), pytest.raises(AssertionError, match=" after "):
        play(machine, steps)
