"""Random histories of documents with sweeps in between, beside an oracle of what must be left: hypothesis chooses who
publishes, finishes, fails, restores, deletes, cites, holds and lifts, and when long times pass and a sweep comes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connections
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from documents import holds, publishing, uploading
from documents.models import Document, DocumentVersion
from indexing import passages, queue
from indexing.models import Chunk, ChunkVector, IndexTask, SearchPointer
from tests.db.aging import days_pass
from tests.db.looking import kill
from tests.db.staging import finished, stage
from tests.factories import EVERYONE, World, make_world

pytestmark = [pytest.mark.django_db(transaction=True, databases=["default", "owner"]), pytest.mark.slow]

TEXTS = ["one", "two"]
which = st.integers(0, 1)  # of documents
numbers = st.integers(1, 6)  # of versions
LONG = 200  # days: longer than anything is kept but citations and logs
TABLES = "index_task, chunk, chunk_vector, search_pointer, embedding_cache, embedded_text, orphan_set, citation, retention_run"


@dataclass
class Oracle:
    """One document as it must be."""

    document: Document
    latest: int = 1
    requested: int | None = None
    pointer: int | None = None
    stored: set[int] = field(default_factory=set)  # versions with chunks
    waiting: set[int] = field(default_factory=set)  # versions with a task that somebody may still do
    was_served: set[int] = field(default_factory=set)
    cited: set[int] = field(default_factory=set)
    held: dict[int, int | None] = field(default_factory=dict)  # version of each hold; None for all
    deleted: bool = False
    purged: bool = False

    def is_held(self, version: int) -> bool:
        return any(held in (None, version) for held in self.held.values())

    def sweep(self) -> None:
        if self.deleted and not self.held:
            self.purged, self.stored, self.pointer = True, set(), None
        if not self.deleted:
            self.stored = {version for version in self.stored if self._stays(version)}

    def _stays(self, version: int) -> bool:
        proof = version in self.cited and version in self.was_served
        return version == self.pointer or version in self.waiting or self.is_held(version) or proof


class Machine(RuleBasedStateMachine):
    world: World
    operator: User

    def __init__(self) -> None:
        super().__init__()
        with connections["owner"].cursor() as cursor:
            cursor.execute(f"TRUNCATE {TABLES}")
        self.documents = [Oracle(self.world.upload("text")) for _ in range(2)]

    @rule(which=which)
    def publish_new(self, which: int) -> None:
        oracle = self.documents[which]
        if not oracle.deleted:
            self._publish(oracle, self.world.new_version(oracle.document, "other text"))

    @rule(which=which, old=numbers)
    def restore(self, which: int, old: int) -> None:
        oracle = self.documents[which]
        if not oracle.deleted and old <= oracle.latest:
            version = uploading.restore_version(
                actor=self.world.editor, document_id=oracle.document.pk, revision=None, version_number=old
            )
            assert version.content_id == oracle.document.versions.get(number=old).content_id
            self._publish(oracle, version.number)

    @rule(which=which)
    def publish_again(self, which: int) -> None:
        oracle = self.documents[which]
        if not oracle.deleted:
            self._publish(oracle, oracle.requested or oracle.latest)

    @rule(end=st.sampled_from(["finish", "finish", "fail", "give back"]))
    def work(self, end: str) -> None:
        lease = queue.claim(worker="w", pool="online", lease_seconds=60)
        if lease is None:
            assert not any(oracle.waiting for oracle in self.documents if not oracle.deleted)
            return
        oracle = next(oracle for oracle in self.documents if oracle.document.pk == lease.document_id)
        version = lease.version_number
        assert version in oracle.waiting
        if end == "finish":
            finished(lease, TEXTS)
            oracle.pointer = version
            oracle.was_served.add(version)
            oracle.waiting.discard(version)
        else:
            stage(lease, TEXTS)
            if end == "fail":
                kill(lease)
                oracle.waiting.discard(version)
            else:
                queue.release(lease)
        oracle.stored.add(version)

    @rule(which=which)
    def delete(self, which: int) -> None:
        oracle = self.documents[which]
        if not oracle.deleted:
            publishing.delete_document(actor=self.world.editor, document_id=oracle.document.pk)
            oracle.deleted, oracle.waiting = True, set()

    @rule(which=which, version=st.none() | numbers)
    def hold(self, which: int, version: int | None) -> None:
        oracle = self.documents[which]
        if not oracle.purged and (version or 0) <= oracle.latest:
            placed = holds.place_hold(
                actor=self.operator, document_id=oracle.document.pk, reason="r", version_number=version
            )
            oracle.held[placed.pk] = version

    @rule(which=which)
    def lift(self, which: int) -> None:
        oracle = self.documents[which]
        if oracle.held:
            hold_id = next(iter(oracle.held))
            holds.lift_hold(actor=self.operator, hold_id=hold_id)
            del oracle.held[hold_id]

    @rule(which=which, version=numbers)
    def cite(self, which: int, version: int) -> None:
        oracle = self.documents[which]
        if not oracle.deleted and version <= (oracle.pointer or 0):
            passages.find(user=self.world.editor, document_id=oracle.document.pk, version_number=version, span=(0, 3))
            oracle.cited.add(version)

    @rule()
    def time_passes_and_a_sweep_comes(self) -> None:
        days_pass(LONG, logs=["index_task"])
        call_command("sweep", stdout=StringIO())
        for oracle in self.documents:
            oracle.sweep()

    @invariant()
    def what_is_left_is_what_must_be(self) -> None:
        for oracle in self.documents:
            pk = oracle.document.pk
            stored = list(Chunk.objects.filter(document=pk).values_list("version_number", flat=True))
            assert sorted(stored) == sorted(version for version in oracle.stored for _ in TEXTS)
            assert ChunkVector.objects.filter(document_id=pk).count() == len(stored)
            pointer = SearchPointer.objects.filter(document=pk).values_list("version_number", flat=True).first()
            assert pointer == oracle.pointer
            versions = DocumentVersion.objects.filter(document=pk).count()
            assert versions == (0 if oracle.purged else oracle.latest)
            waiting = IndexTask.objects.filter(document=pk, state="PENDING").values_list("version_number", flat=True)
            assert set(waiting) == oracle.waiting

    def _publish(self, oracle: Oracle, version: int) -> None:
        self.world.publish(oracle.document, version=version, readers=EVERYONE)
        oracle.latest = max(oracle.latest, version)
        oracle.requested = version
        oracle.waiting = {version} - {oracle.pointer}  # what waited for older ones is cancelled


@pytest.fixture
def machine(by_words_alone: None, settings: Any) -> type[Machine]:
    settings.KB_KEEP_CITED_DAYS = 0
    world = make_world()
    operator = world.member("machine-operator", role="operator")
    return type("Machine", (Machine,), {"world": world, "operator": operator})


@pytest.mark.timeout(600)  # a sweep is many statements
def test_after_any_history_a_sweep_leaves_what_must_be_left(machine: type[Machine]) -> None:
    nightly = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=1000 if nightly else 20,
            stateful_step_count=50 if nightly else 20,
            derandomize=not nightly,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


FIRST, NEXT, DONE, FAILED = ("publish_again", 0), ("publish_new", 0), ("work", "finish"), ("work", "fail")
SWEEP = ("time_passes_and_a_sweep_comes",)

# What is taken out of the statement, what stands there instead, the trigger behind it, and the steps that tell.
MUTANTS: dict[str, tuple[str, str, str, list[Any]]] = {
    "held": (
        *("document_is_held(o.document_id, o.version_number)", "false", "chunk.chunk_delete_guard"),
        [FIRST, DONE, ("hold", 0, 1), NEXT, DONE, SWEEP],
    ),
    "cited": ("o.kind = 'replaced' AND NOT", "false AND NOT", "", [FIRST, DONE, ("cite", 0, 1), NEXT, DONE, SWEEP]),
    "tried again": (
        *("t.state NOT IN ('SUCCEEDED', 'DEAD', 'CANCELLED')", "false", ""),
        [FIRST, FAILED, FIRST, SWEEP],
    ),
    "served": (
        *("p.version_number = o.version_number AND p.generation = o.generation", "false", "chunk.chunk_delete_guard"),
        [FIRST, FAILED, FIRST, DONE, SWEEP],
    ),
}


@pytest.mark.parametrize("guard", MUTANTS)
def test_it_tells_a_sweep_without_one_of_its_questions(guard: str, machine: type[Machine], without: Any) -> None:
    piece, instead, trigger, steps = MUTANTS[guard]
    play(machine, steps)
    with without("retention", "judge_sets", piece, instead, triggers=trigger), pytest.raises(AssertionError):
        play(machine, steps)


def play(machine: type[Machine], steps: list[Any]) -> None:
    playing = machine()
    for name, *arguments in steps:
        getattr(playing, name)(*arguments)
        playing.what_is_left_is_what_must_be()
