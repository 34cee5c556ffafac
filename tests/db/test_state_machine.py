"""The product's functions on PostgreSQL beside a pure model, step by step: every answer and every row as predicted.

Hypothesis chooses the steps: what people do, what three workers that share one name do, and late writes with any lease that
was ever given. Leases end by being moved into the past. For each guard a few
steps are played that the machine tells from the product without it.
HYPOTHESIS_PROFILE=nightly runs it for longer, with other steps each time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import Error, connection, connections
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from documents import publishing, purging
from documents.errors import DocumentsError
from documents.models import Document
from indexing import backoff, cache, errors, queue, sink, tasks
from indexing.backoff import Policy
from indexing.identity import text_digest
from indexing.lease import Lease
from indexing.models import IndexTask, Pipeline, TenantPipeline
from indexing.pipelines import serving_pipeline
from indexing.search import search
from indexing.sink import Manifest
from indexing.states import MOVES, PipelineRole, Stage, TaskState, TaskType
from tests.concurrency.conftest import without_triggers
from tests.concurrency.leases import expire, make_due
from tests.db.staging import chunks_of, vector_of
from tests.factories import EVERYONE, World, make_world
from tests.protocol.pure_model import SIZES, Doc, Model, TaskKey

pytestmark = [pytest.mark.django_db(transaction=True, databases=["default", "owner"]), pytest.mark.slow]

BUDGET = 2
FAULTS = (
    errors.EmbeddingTimeout,
    errors.EmbeddingRateLimited,
    errors.EmbeddingAuth,
    errors.NoText,
    errors.CancelledByUser,
    errors.DocumentWithdrawn,
    errors.AccessRevoked,
)
numbers = st.sampled_from(
    [0, 0, 0, 0, 1, 1, 2, 3, 5]
)  # of leases and tasks, the newest first: steps that meet are what matters
which = st.sampled_from([0, 0, 0, 0, 1, 2, 3])  # of documents
two = st.integers(0, 1)


class LongWaits:
    """Stands for chance in the backoff: nothing becomes due by itself while a test runs."""

    def uniform(self, low: float, high: float) -> float:
        return high


POLICY = Policy(base=7200, cap=7200, longest_wait=86400)


class Given:
    """What all examples share: two tenants, each with a pipeline that serves and one that can be retired."""

    def __init__(self) -> None:
        self.worlds: list[World] = [make_world(), make_world()]
        first = serving_pipeline(self.worlds[0].tenant.pk)
        assert first is not None
        self.pipelines = [first]
        self.pipelines.append(
            Pipeline.objects.using("owner").create(
                id=first.pk + 100, name="second", digest="f" * 64, config=first.config, dimensions=first.dimensions
            )
        )
        for world in self.worlds:
            TenantPipeline.objects.create(
                tenant=world.tenant, pipeline_id=self.pipelines[1].pk, role=PipelineRole.BUILDING
            )

    @property
    def dimensions(self) -> int:
        return self.pipelines[0].dimensions

    def reset(self) -> None:
        TenantPipeline.objects.filter(pipeline=self.pipelines[1]).update(role=PipelineRole.BUILDING)
        with connections["owner"].cursor() as cursor:
            cursor.execute("TRUNCATE index_task, chunk, chunk_vector, search_pointer, embedding_cache, embedded_text")


def answer(step: Callable[[], object]) -> str:
    try:
        step()
    except errors.LeaseLost:
        return "lost"
    except errors.IndexingError as error:
        return error.code
    except DocumentsError:
        return "refused"
    except Error:
        return "database"
    return "ok"


class Machine(RuleBasedStateMachine):
    given: Given  # set by the test

    def __init__(self) -> None:
        super().__init__()
        self.given.reset()
        self.documents: list[Document] = [world.upload("text") for world in self.given.worlds for _ in range(2)]
        self.model = Model(BUDGET, [Doc(number // 2) for number in range(4)], {0: True, 1: True})
        self.ids: dict[TaskKey, int] = {}
        self.leases: list[tuple[TaskKey, Lease]] = []
        self.looked_at: dict[int, set[tuple[int, int, int]]] = {}

    # people

    @rule(doc=which)
    def new_version(self, doc: int) -> None:
        self._both("new_version", lambda: self._world(doc).new_version(self.documents[doc], "more"), doc)

    @rule(doc=which, back=st.sampled_from([0, 0, 0, 1]), readers=st.sampled_from([True, True, True, False, None]))
    def publish(self, doc: int, back: int, readers: bool | None) -> None:
        version = max(1, self.model.docs[doc].latest - back)
        named = None if readers is None else EVERYONE if readers else ()
        self._both(
            "publish",
            lambda: self._world(doc).publish(self.documents[doc], readers=named, version=version),
            doc,
            version,
            readers,
        )

    @rule(doc=which, readers=st.booleans())
    def set_readers(self, doc: int, readers: bool) -> None:
        named = EVERYONE if readers else ()
        self._both("set_readers", partial(publishing.set_readers, readers=named, **self._order(doc)), doc, readers)

    @rule(doc=which, policy=st.sampled_from([policy.value for policy in Document.Staleness]))
    def choose_staleness(self, doc: int, policy: str) -> None:
        self._both("choose", partial(publishing.set_staleness, staleness=policy, **self._order(doc)), doc, policy)

    @rule(doc=which, sure=st.integers(0, 2))
    def withdraw(self, doc: int, sure: int) -> None:
        if not sure:
            self._both("withdraw", partial(publishing.withdraw_document, **self._order(doc)), doc)

    @rule(doc=which, sure=st.integers(0, 3))
    def delete(self, doc: int, sure: int) -> None:
        if not sure:
            self._both("delete", partial(publishing.delete_document, **self._order(doc)), doc)

    @rule()
    def purge(self) -> None:
        purging.purge_deleted()
        self.model.purge()

    @precondition(lambda self: self.model.tasks)
    @rule(number=numbers)
    def cancel(self, number: int) -> None:
        key = self._task(number)
        self._both("cancel", partial(tasks.cancel_task, actor=self._world(key[0]).editor, task_id=self.ids[key]), key)

    @precondition(lambda self: self.model.tasks)
    @rule(number=numbers)
    def retry(self, number: int) -> None:
        key = self._task(number)
        self._both("retry", partial(tasks.retry_task, actor=self._world(key[0]).editor, task_id=self.ids[key]), key)

    @rule(tenant=two, sure=st.integers(0, 3))
    def retire(self, tenant: int, sure: int) -> None:
        if not sure:
            TenantPipeline.objects.filter(
                tenant=self.given.worlds[tenant].tenant, pipeline=self.given.pipelines[1]
            ).update(role=PipelineRole.RETIRED)
            self.model.retire(tenant)

    @rule(doc=which, pipeline=two, generation=st.integers(1, 2))
    def recompute(self, doc: int, pipeline: int, generation: int) -> None:
        found = self.model.docs[doc]
        if found.deleted or found.requested is None or (pipeline and not self.model.building[found.tenant]):
            return
        key = (doc, found.requested, pipeline, generation, TaskType.RECOMPUTE.value)
        readers = found.readers[found.requested]
        queue.enqueue(
            tenant_id=self._world(doc).tenant.pk,
            document_id=self.documents[doc].pk,
            version_number=found.requested,
            pipeline_id=self.given.pipelines[pipeline].pk,
            task_type=TaskType.RECOMPUTE,
            generation=generation,
            actor_id=None,
            has_readers=readers,
        )
        self.model.order(key, readers=readers)

    # workers

    @rule()
    def claim(self) -> None:
        self._claim()

    @rule()
    def claim_and_stage(self) -> None:
        """As far as most attempts come, in one step, so that examples reach what follows."""
        if (found := self._claim()) is not None:
            self._stage(*found, content=0, ordinals={0, 1})

    @rule()
    def attempt(self) -> None:
        if (found := self._claim()) is not None:
            self._stage(*found, content=0, ordinals={0, 1})
            self._finish(*found, content=0)

    @precondition(lambda self: self.leases)
    @rule(number=numbers)
    def expire(self, number: int) -> None:
        key, _lease = self._lease(number)
        if self.model.tasks[key].alive:
            expire(self.ids[key])
            self.model.tasks[key].alive = False

    @precondition(lambda self: any(task.state == "RETRY_WAIT" for task in self.model.tasks.values()))
    @rule()
    def time_goes_by(self) -> None:
        for key, task in self.model.tasks.items():
            if task.state == "RETRY_WAIT":
                make_due(self.ids[key])
                task.due = True

    @precondition(lambda self: self.leases)
    @rule(number=numbers)
    def renew(self, number: int) -> None:
        key, lease = self._lease(number)
        expected = "renewed" if self.model.holds(key, lease.attempts) else "lost"
        assert queue.renew(lease, lease_seconds=60) == expected

    @precondition(lambda self: self.leases)
    @rule(number=numbers)
    def report(self, number: int) -> None:
        key, lease = self._lease(number)
        self._both("report", partial(queue.report, lease, stage=Stage.EMBED), key, lease.attempts)

    @precondition(lambda self: self.leases)
    @rule(number=numbers, content=two)
    def keep_vectors(self, number: int, content: int) -> None:
        key, lease = self._lease(number)
        texts = {self._text(key, content, 0)}
        vectors = {text_digest(text): vector_of(text, self.given.dimensions) for text in texts}
        self._both(
            "keep", partial(cache.keep_vectors, lease, fingerprint="f", vectors=vectors), key, lease.attempts, texts
        )

    @precondition(lambda self: self.leases)
    @rule(
        number=numbers, content=st.sampled_from([0, 0, 1]), part=st.sampled_from([{0, 1, 2}, {0, 1, 2}, {0}, {1}, {2}])
    )
    def stage(self, number: int, content: int, part: set[int]) -> None:
        key, lease = self._lease(number)
        self._stage(key, lease, content=content, ordinals={ordinal for ordinal in part if ordinal < SIZES[content]})

    @precondition(lambda self: self.leases)
    @rule(number=numbers, content=two)
    def discard(self, number: int, content: int) -> None:
        key, lease = self._lease(number)
        manifest = self._manifest(key, lease, content)
        self._both("discard", lambda: sink.already_staged(lease, manifest), key, lease.attempts, content)

    @precondition(lambda self: self.leases)
    @rule(number=numbers, content=st.sampled_from([0, 0, 0, 1]))
    def finish(self, number: int, content: int) -> None:
        self._finish(*self._lease(number), content=content)

    @precondition(lambda self: self.leases)
    @rule(number=numbers, fault=st.sampled_from(FAULTS))
    def fail(self, number: int, fault: type[errors.IndexingError]) -> None:
        self._end(*self._lease(number), fault())

    @precondition(lambda self: self.leases)
    @rule(number=numbers)
    def release(self, number: int) -> None:
        key, lease = self._lease(number)
        self._both("release", partial(queue.release, lease), key, lease.attempts)

    # what must hold after every step

    @invariant()
    def tasks_are_as_predicted(self) -> None:
        self._learn_ids()
        columns = ("state", "attempts", "failures", "cancel_requested", "readers_requested")
        stored = {row[0]: row[1:] for row in IndexTask.objects.values_list("id", *columns)}
        assert stored == {
            self.ids[key]: (task.state, task.attempts, task.failures, task.wish, task.readers_requested)
            for key, task in self.model.tasks.items()
        }

    @invariant()
    def rows_are_as_predicted(self) -> None:
        documents = {document.pk: number for number, document in enumerate(self.documents)}
        pipelines = {pipeline.pk: number for number, pipeline in enumerate(self.given.pipelines)}
        pointers = {
            (documents[document], pipelines[pipeline]): (version, generation)
            for document, pipeline, version, generation in select(
                "SELECT document_id, pipeline_id, version_number, generation FROM search_pointer"
            )
        }
        assert pointers == self.model.pointers
        stored = {
            ((documents[document], version, pipelines[pipeline], generation), ordinal, text)
            for document, version, pipeline, generation, ordinal, text in select(
                "SELECT c.document_id, c.version_number, c.pipeline_id, c.generation, c.ordinal, c.text "
                "FROM chunk c JOIN chunk_vector v ON v.chunk_id = c.id"
            )
        }
        assert stored == {
            (key, ordinal, self._text(key, content, ordinal))
            for key, rows in self.model.chunks.items()
            for ordinal, content in rows.items()
        }
        for number, world in enumerate(self.given.worlds):
            kept = select("SELECT text_digest FROM embedding_cache WHERE tenant_id = %s", world.tenant.pk)
            assert {row[0] for row in kept} == {text_digest(text) for text in self.model.cached.get(number, set())}

    @invariant()
    def what_is_in_force_is_as_predicted(self) -> None:
        stored = {
            document.pk: (document.published_version, document.is_behind)
            for document in Document.objects.filter(pk__in=[document.pk for document in self.documents])
        }
        assert stored == {
            document.pk: (self.model.docs[number].published, self.model.is_behind(number))
            for number, document in enumerate(self.documents)
        }

    @invariant()
    def readers_find_what_is_predicted(self) -> None:
        documents = {document.pk: number for number, document in enumerate(self.documents)}
        for number, world in enumerate(self.given.worlds):
            expected = self.model.visible(number)
            if self.looked_at.get(number) == expected:
                continue
            served = select(
                "SELECT s.document_id, s.version_number, c.ordinal FROM served_version s JOIN chunk c "
                "USING (document_id, pipeline_id, version_number, generation) WHERE s.user_id = %s AND s.pipeline_id = %s",
                world.editor.pk,
                self.given.pipelines[0].pk,
            )
            assert {(documents[row[0]], *row[1:]) for row in served if row[0] in documents} == expected
            hits = search(user=world.editor, tenant=world.tenant.slug, query="rule", limit=50).hits
            assert len(hits) == len(expected)
            assert {(documents[hit.document_id], hit.version_number) for hit in hits} == {item[:2] for item in expected}
            self.looked_at[number] = expected

    def teardown(self) -> None:
        """Only legal moves, attempts that rise by one with each claim, one success a task."""
        moves = select(
            "SELECT task_id, from_state, to_state, attempts FROM task_event WHERE kind = 'move' AND from_state IS NOT NULL "
            "AND task_id = ANY(%s) ORDER BY id",
            list(self.ids.values()),
        )
        last: dict[int, int] = {}
        for task, source, target, attempts in moves:
            assert TaskState(target) in MOVES[TaskState(source)]
            assert attempts == last.get(task, 0) + (target == "RUNNING")
            last[task] = attempts
        successes = [task for task, _, target, _ in moves if target == "SUCCEEDED"]
        assert len(successes) == len(set(successes))

    # inside

    def _both(self, name: str, step: Callable[[], object], *arguments: Any) -> str:
        """Do a step and let the model say what is answered."""
        expected = getattr(self.model, name)(*arguments)
        assert answer(step) == expected, f"{name}{arguments}"
        return expected

    def _claim(self) -> tuple[TaskKey, Lease] | None:
        self._learn_ids()
        lease = queue.claim(worker="w", pool="online", lease_seconds=60)
        self.model.end_spent()
        possible = self.model.claimable()
        if lease is None:
            assert not possible
            return None
        key = next(key for key, task_id in self.ids.items() if task_id == lease.task_id)
        assert key in possible
        assert self.model.claimed(key) == lease.attempts
        assert self.model.tasks[key].failures == lease.failures
        self.leases.append((key, lease))
        expected = self.model.begin(key)
        begun = answer(lambda: sink.refuse_unwanted(sink.facts(lease), version_number=lease.version_number))
        assert begun == expected
        if begun != "ok":
            fault = next(kind for kind in errors.CancelledError.__subclasses__() if kind.code == begun)
            self._end(key, lease, fault())
            return None
        return key, lease

    def _stage(self, key: TaskKey, lease: Lease, *, content: int, ordinals: set[int]) -> None:
        manifest = self._manifest(key, lease, content)
        part = [item for item in manifest.chunks if item.chunk.ordinal in ordinals]
        dimensions = self.given.dimensions
        vectors = {item.embedded_digest: vector_of(item.chunk.text, dimensions) for item in part}
        step = partial(sink.stage, lease, part, vectors=vectors, dimensions=dimensions)
        self._both("stage", step, key, lease.attempts, content, ordinals)

    def _finish(self, key: TaskKey, lease: Lease, *, content: int) -> None:
        step = partial(sink.finish, lease, self._manifest(key, lease, content))
        self._both("finish", step, key, lease.attempts, content)

    def _end(self, key: TaskKey, lease: Lease, fault: errors.IndexingError) -> None:
        decide = partial(
            backoff.decide,
            failures=lease.failures,
            max_failures=lease.max_failures,
            waited=0.0,
            policy=POLICY,
            rng=LongWaits(),  # type: ignore[arg-type]
        )
        step = partial(sink.end, lease, fault, decide=decide)
        self._both("end", step, key, lease.attempts, fault.code, fault.disposition.value)

    def _learn_ids(self) -> None:
        if len(self.ids) == len(self.model.tasks):
            return
        documents = {document.pk: number for number, document in enumerate(self.documents)}
        pipelines = {pipeline.pk: number for number, pipeline in enumerate(self.given.pipelines)}
        for task in IndexTask.objects.all():
            key = (
                documents[task.document_id],
                task.version_number,
                pipelines[task.pipeline_id],
                task.generation,
                task.task_type,
            )
            self.ids[key] = task.pk

    def _world(self, doc: int) -> World:
        return self.given.worlds[doc // 2]

    def _order(self, doc: int) -> dict[str, Any]:
        return {"actor": self._world(doc).editor, "document_id": self.documents[doc].pk, "revision": None}

    def _task(self, number: int) -> TaskKey:
        return list(self.model.tasks)[-1 - number % len(self.model.tasks)]

    def _lease(self, number: int) -> tuple[TaskKey, Lease]:
        return self.leases[-1 - number % len(self.leases)]

    def _text(self, key: tuple[Any, ...], content: int, ordinal: int) -> str:
        return f"The rule {key[0]} of version {key[1]}, {'abc'[ordinal]} of {SIZES[content]}"

    def _manifest(self, key: TaskKey, lease: Lease, content: int) -> Manifest:
        texts = [self._text(key, content, ordinal) for ordinal in range(SIZES[content])]
        pipeline = self.given.pipelines[key[2]]
        return Manifest.of(chunks_of(texts), lease=lease, pipeline_digest=pipeline.digest)


def select(query: str, *parameters: object) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return list(cursor.fetchall())


def profile() -> settings:
    nightly = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
    return settings(
        max_examples=2000 if nightly else 60,
        stateful_step_count=60 if nightly else 40,
        derandomize=not nightly,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture
def machine(by_words_alone: None, settings: Any) -> type[Machine]:
    settings.KB_MAX_FAILURES = BUDGET
    return type("Machine", (Machine,), {"given": Given()})


def test_every_answer_and_every_row_is_as_predicted(machine: type[Machine]) -> None:
    run_state_machine_as_test(machine, settings=profile())


FENCE = (
    "held.state = 'RUNNING' AND held.lease_owner = %(worker)s AND held.attempts = %(attempts)s\n"
    "   AND held.lease_until > clock_timestamp()"
)
TASK, POINTER = "index_task.index_task_guard", "search_pointer.search_pointer_guard"

NAMED = [("retire", 0, 0), ("publish", 0, 0, True)]  # one order, for version 1 under the pipeline that serves
NEXT = [("new_version", 0), ("publish", 0, 0, True)]
CLAIM, STAGED, EXPIRED, FINISH = ("claim",), ("claim_and_stage",), ("expire", 0), ("finish", 0, 0)
LATE = [("keep_vectors", 0, 0)]

# A piece of a statement, what stands there instead, the triggers behind it that would hold it too, and the steps that tell.
IN_STATEMENTS: dict[str, tuple[str, str, str, str, str, list[Any]]] = {
    "attempt": (
        *("queue", "fence", FENCE, "held.state = 'RUNNING' AND held.lease_until > clock_timestamp()", ""),
        [*NAMED, CLAIM, EXPIRED, CLAIM, ("keep_vectors", 1, 0)],
    ),
    "state": (
        *("queue", "fence", FENCE),
        *("held.attempts = %(attempts)s AND coalesce(held.lease_until > clock_timestamp(), true)", TASK),
        [*NAMED, CLAIM, ("release", 0), *LATE],
    ),
    "lease": (
        *("queue", "fence", FENCE, "held.state = 'RUNNING' AND held.attempts = %(attempts)s", TASK),
        [*NAMED, CLAIM, EXPIRED, *LATE],
    ),
    "lease of a renewal": (
        *("queue", "renew", "AND held.lease_until > clock_timestamp()", "", TASK),
        [*NAMED, CLAIM, EXPIRED, ("renew", 0)],
    ),
    "budget": (
        *("queue", "claim", "AND failures + 1 < max_failures", "", ""),
        [*NAMED, CLAIM, EXPIRED, CLAIM, EXPIRED, CLAIM],
    ),
    "release is free": (
        *("queue", "release", "SET state = 'PENDING',", "SET state = 'PENDING', failures = t.failures + 1,", ""),
        [*NAMED, CLAIM, ("release", 0)],
    ),
    "epoch": (
        *("sink", "switch", "(search_pointer.version_number, search_pointer.generation) <", "(0, 0) <", POINTER),
        [*NAMED, STAGED, *NEXT, STAGED, FINISH, ("finish", 1, 0)],
    ),
    "pipeline in use": (
        *("queue", "reopen", "AND tp.role <> 'RETIRED'", "", ""),
        [("publish", 0, 0, True), ("retire", 0, 0), ("retry", 0)],
    ),
    "strangers": (
        *("sink", "discard_strangers", "AND NOT (chunk_id", "AND false AND NOT (chunk_id", ""),
        [*NAMED, CLAIM, ("stage", 0, 1, {0, 1, 2}), ("discard", 0, 0)],
    ),
}


@pytest.mark.parametrize("guard", IN_STATEMENTS)
def test_it_tells_a_statement_without_its_guard(guard: str, machine: type[Machine], without: Any) -> None:
    file, name, piece, instead, triggers, steps = IN_STATEMENTS[guard]
    play(machine, steps)
    with without(file, name, piece, instead, triggers=triggers), pytest.raises((AssertionError, Error)):
        play(machine, steps)


def ignoring(**facts: Any) -> Callable[..., None]:
    real = sink.refuse_unwanted
    return lambda found, **options: real({**found, **facts}, **options)


def blind(**facts: Any) -> Callable[..., dict[str, Any]]:
    real = sink._hold
    return lambda *arguments, **options: {**real(*arguments, **options), **facts}


# A function, what stands there instead, the triggers behind it, and the steps that tell.
IN_FUNCTIONS: dict[str, tuple[str, Callable[[], Any], str, list[Any]]] = {
    "fence": ("indexing.queue.fence", lambda: lambda *_, **__: None, "", [*NAMED, CLAIM, EXPIRED, *LATE]),
    "delete": (
        *("indexing.sink.refuse_unwanted", partial(ignoring, deleted=False), POINTER),
        [*NAMED, STAGED, ("delete", 0, 0), FINISH],
    ),
    "withdraw": (
        *("indexing.sink.refuse_unwanted", partial(ignoring, withdrawn=False), ""),
        [*NAMED, STAGED, ("withdraw", 0, 0), FINISH],
    ),
    "cancel": (
        *("indexing.sink.refuse_unwanted", partial(ignoring, cancel_requested=False), ""),
        [*NAMED, STAGED, ("cancel", 0), FINISH],
    ),
    "wish of a failed attempt": (
        *("indexing.sink.refuse_unwanted", partial(ignoring, cancel_requested=False), ""),
        [*NAMED, CLAIM, ("cancel", 0), ("fail", 0, errors.EmbeddingTimeout)],
    ),
    "wish taken back": (
        *("indexing.sink._no_longer_so", lambda: lambda *_: False, ""),
        [*NAMED, CLAIM, ("fail", 0, errors.CancelledByUser)],
    ),
    "retired": (
        *("indexing.sink.refuse_unwanted", partial(ignoring, role="SERVING"), ""),
        [("publish", 0, 0, True), STAGED, STAGED, ("retire", 0, 0), FINISH, ("finish", 1, 0)],
    ),
    "readers": (
        *("indexing.sink._hold", partial(blind, has_readers=True), ""),
        [*NAMED, STAGED, ("set_readers", 0, False), FINISH],
    ),
    "completeness": (
        *("indexing.sink.verify", lambda: lambda *_: None, POINTER),
        [*NAMED, CLAIM, ("stage", 0, 0, {0}), FINISH],
    ),
    "supersede": ("indexing.queue.cancel_older", lambda: lambda **_: 0, "", [*NAMED, *NEXT]),
}


@pytest.mark.parametrize("guard", IN_FUNCTIONS)
def test_it_tells_a_function_without_its_guard(
    guard: str, machine: type[Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, instead, triggers, steps = IN_FUNCTIONS[guard]
    play(machine, steps)
    monkeypatch.setattr(name, instead())
    with without_triggers(triggers), pytest.raises((AssertionError, Error)):
        play(machine, steps)


def play(machine: type[Machine], steps: list[Any]) -> None:
    """These steps, and what must hold after each."""
    playing = machine()
    for name, *arguments in steps:
        getattr(playing, name)(*arguments)
        playing.tasks_are_as_predicted()
        playing.rows_are_as_predicted()
        playing.readers_find_what_is_predicted()
    playing.teardown()
