"""A hundred thousand tasks of one tenant, in the state that a test is about."""

from __future__ import annotations

from django.db import connections

from documents.models import Tenant
from indexing.models import Pipeline

BACKLOG = 100_000

KINDS = {  # columns of each kind: state, attempts, failures, lease_owner, lease_until, next_attempt_at, error_code
    "pending": "'PENDING', 0, 0, NULL::text, NULL::timestamptz, NULL::timestamptz, NULL::text",
    "retry": "'RETRY_WAIT', 1, 0, NULL, NULL, now() - interval '1 hour', 'EMBEDDING_TIMEOUT'",
    "expired": "'RUNNING', 1, 0, 'gone', now() - interval '1 hour', NULL, NULL",
    "exhausted": "'RUNNING', 5, 4, 'gone', now() - interval '1 hour', NULL, NULL",
    "not due": "'RETRY_WAIT', 1, 0, NULL, NULL, now() + interval '1 hour', 'EMBEDDING_TIMEOUT'",
}


def fill(tenant: Tenant, kind: str, *, count: int = BACKLOG, priority: int = 0) -> None:
    """Rows of no real documents, written by the owner of the table with its triggers off."""
    pipeline = Pipeline.objects.order_by("id").first()
    assert pipeline is not None
    with connections["owner"].cursor() as cursor:
        cursor.execute("ALTER TABLE index_task DISABLE TRIGGER USER")
        cursor.execute(
            f"""
            INSERT INTO index_task (tenant_id, document_id, version_number, pipeline_id, task_type, generation, pool, priority,
                                    fair, max_failures, readers_requested, cancel_requested, progress_done, progress_total,
                                    state, attempts, failures, lease_owner, lease_until, next_attempt_at, error_code)
            SELECT %s, gen_random_uuid(), 1, %s, 'INDEX', 1, 'online', %s, n, 5, true, false, 0, 0, {KINDS[kind]}
              FROM generate_series(0, %s) n
            """,
            [tenant.pk, pipeline.pk, priority, count - 1],
        )
        cursor.execute("ALTER TABLE index_task ENABLE TRIGGER USER")
        cursor.execute("ANALYZE index_task")
