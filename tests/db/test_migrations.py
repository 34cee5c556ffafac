"""Migrations run forward on a database with data, while workers hold tasks, and rewrite no table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connections
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from documents import roles
from documents.models import Tenant
from indexing import pipelines, queue, sink, statements
from indexing.backoff import Verdict
from indexing.errors import NoText
from indexing.models import IndexTask, SearchPointer
from indexing.search import search
from indexing.states import TaskState
from tests.db.refusals import sqlstate
from tests.db.staging import claim, finished, stage, state_of

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

LANDED = [("documents", "0002_guards"), ("indexing", "0002_guards")]
BIG = (
    "index_task",
    "task_event",
    "chunk",
    "chunk_vector",
    "search_pointer",
    "document",
    "document_version",
    "stored_content",
)
ENQUEUE = """
INSERT INTO index_task (tenant_id, document_id, version_number, pipeline_id, task_type, generation, pool, priority, fair,
                        state, attempts, failures, max_failures, readers_requested, cancel_requested, progress_done,
                        progress_total, requested_by_id)
SELECT %(tenant)s, %(document)s, %(version)s, %(pipeline)s, %(task_type)s, %(generation)s, %(pool)s, %(priority)s, 0,
       'PENDING', 0, 0, %(max_failures)s, %(readers_requested)s, false, 0, 0, %(actor)s
RETURNING id"""
SWITCH = """
INSERT INTO search_pointer (tenant_id, document_id, pipeline_id, version_number, generation, chunk_count, manifest_digest,
                            task_id, attempts)
VALUES (%(tenant)s, %(document)s, %(pipeline)s, %(version)s, %(generation)s, %(count)s, %(digest)s, %(task)s, %(attempts)s)
RETURNING version_number"""


LOCK_DOCUMENT = """
SELECT d.deleted_at IS NOT NULL AS deleted, d.withdrawn_at IS NOT NULL AS withdrawn, d.requested_version,
       coalesce(d.published_version, 0) AS published_version, false AS is_behind
  FROM document d WHERE d.id = %(document)s AND d.tenant_id = %(tenant)s FOR NO KEY UPDATE"""


class Past:
    """A tenant with an editor, and published documents, written through the models as they were when this had landed."""

    def __init__(self) -> None:
        state = MigrationExecutor(connections["owner"]).loader.project_state([*LANDED, *_of_others()])
        self._models = state.apps
        tenant = self._make("documents.Tenant", slug="landed", name="Landed")
        self.editor = User.objects.create_user("landed-editor")
        self._make("documents.Membership", tenant_id=tenant.pk, user_id=self.editor.pk, role="editor")
        self._pipeline = self._models.get_model("indexing.Pipeline").objects.get()
        self._make("indexing.TenantPipeline", tenant_id=tenant.pk, pipeline_id=self._pipeline.pk, role="SERVING")
        self.tenant = Tenant.objects.get(pk=tenant.pk)

    def publish(self, title: str) -> None:
        owned = {"tenant_id": self.tenant.pk}
        content = self._make(
            "documents.StoredContent",
            **owned,
            key=title,
            sha256="0" * 64,
            size=1,
            media_type="text/plain",
            state="confirmed",
        )
        document = self._make("documents.Document", **owned, title=title)
        documents = self._models.get_model("documents.Document").objects.filter(pk=document.pk)
        documents.update(latest_version=1)
        named = {"document_id": document.pk, "title": title, "file_name": "a.txt", "media_type": "text/plain"}
        version = self._make("documents.DocumentVersion", **owned, **named, number=1, content_id=content.pk)
        self._make(
            "documents.ReadRule", version_id=version.pk, document_id=document.pk, version_number=1, kind="everyone"
        )
        documents.update(requested_version=1, published_version=1, published_at=timezone.now())
        self._make("documents.Publication", document_id=document.pk, version_number=1, published_at=timezone.now())
        queue.enqueue(
            tenant_id=self.tenant.pk,
            document_id=document.pk,
            version_number=1,
            pipeline_id=self._pipeline.pk,
            actor_id=None,
            has_readers=True,
        )

    def _make(self, model: str, **values: Any) -> Any:
        return self._models.get_model(model).objects.create(**values)


@pytest.fixture
def landed() -> Iterator[None]:
    """Both roles on a database of its own, at the migrations that had landed first."""
    owner, application = connections["owner"], connections["default"]
    usual = owner.settings_dict["NAME"]
    with owner.cursor() as cursor:
        cursor.execute("CREATE DATABASE test_landed")
    try:
        for connection in (application, owner):
            connection.close()
            connection.settings_dict["NAME"] = "test_landed"
        MigrationExecutor(owner).migrate([*LANDED, *_of_others()])
        roles.grant(using="owner", path=roles.SQL)
        pipelines.ensure_default_pipeline(using="owner")
        yield
    finally:
        for connection in (application, owner):
            connection.close()
            connection.settings_dict["NAME"] = usual
        with owner.cursor() as cursor:
            cursor.execute("DROP DATABASE test_landed")


def _of_others() -> list[tuple[str, str]]:
    nodes = MigrationExecutor(connections["owner"]).loader.graph.leaf_nodes()
    return [node for node in nodes if node[0] not in ("documents", "indexing")]


def _files() -> list[int]:
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "SELECT array_agg(pg_relation_filenode(name::regclass)) FROM unnest(%s::text[]) name", [list(BIG)]
        )
        files: list[int] = cursor.fetchone()[0]
    return files


def test_a_database_with_data_migrates_forward(landed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "queue": {**statements.statements("queue"), "enqueue": ENQUEUE},
        "sink": {**statements.statements("sink"), "switch": SWITCH, "lock_document": LOCK_DOCUMENT},
    }
    with monkeypatch.context() as patch:
        original = statements.statements
        patch.setattr(statements, "statements", lambda file: texts.get(file) or original(file))
        world = Past()
        world.publish("Travel")
        finished(claim(), ["The limit is 200 yuan."])
        world.publish("Failing")
        failing = claim()
        world.publish("Running")
        running = claim()
        manifest = stage(running, ["Staged before."])
        world.publish("Waiting")
    before = _files()

    call_command("migrate", database="owner", verbosity=0)

    assert _files() == before, "a table was rewritten, under a lock that keeps everybody out"
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid")
        assert cursor.fetchall() == []
        cursor.execute(
            "SELECT conname FROM pg_constraint WHERE conrelid = 'index_task'::regclass AND contype IN ('c', 'f')"
        )
        assert cursor.fetchall() == []

    pointer = SearchPointer.objects.get()
    assert (pointer.gaps, pointer.verification) == ([], None)

    def found() -> set[str]:
        answer = search(user=world.editor, tenant=world.tenant.slug, query="what is the limit")
        return {hit.snippet for hit in answer.hits}

    assert found() == {"The limit is 200 yuan."}
    assert queue.renew(running, lease_seconds=60) == "renewed"
    sink.finish(running, manifest)
    assert found() == {"The limit is 200 yuan.", "Staged before."}
    sink.end(failing, NoText(), decide=lambda error, times: Verdict(TaskState.DEAD, charge=1))
    assert state_of(failing) == TaskState.DEAD
    assert queue.reopen(task_id=failing.task_id)
    assert {claim().task_id, claim().task_id} == {
        failing.task_id,
        IndexTask.objects.latest("id").pk,
    }
    assert sqlstate("UPDATE index_task SET finished_at = now() WHERE state = 'RUNNING'") == "KB019"
