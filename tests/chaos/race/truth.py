"""What must be true when a race has come to its end: the manifest against the index, and the index against the documents."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connections

BACKWARDS = """SELECT count(*) FROM pointer_log
                WHERE from_version IS NOT NULL AND to_version IS NOT NULL
                  AND (to_version, to_generation) < (from_version, from_generation)"""
BEHIND = """SELECT d.id, d.requested_version, p.version_number, p.pipeline_id
              FROM document d JOIN tenant_pipeline tp ON tp.tenant_id = d.tenant_id AND tp.role <> 'RETIRED'
              LEFT JOIN search_pointer p ON p.document_id = d.id AND p.pipeline_id = tp.pipeline_id
             WHERE d.deleted_at IS NULL AND d.withdrawn_at IS NULL AND d.requested_version IS NOT NULL
               AND p.version_number IS DISTINCT FROM d.requested_version LIMIT 20"""
WRONG_OUTCOMES = """
SELECT i.run_id, i.document_id, i.outcome, i.reason
  FROM recompute_item i JOIN recompute_run r ON r.id = i.run_id JOIN document d ON d.id = i.document_id
  LEFT JOIN search_pointer p ON p.document_id = i.document_id AND p.pipeline_id = r.pipeline_id
 WHERE CASE i.outcome
         WHEN 'applied' THEN coalesce(p.version_number, 0) < i.version_number
         WHEN 'skipped_newer' THEN d.requested_version <= i.version_number
         WHEN 'deleted' THEN d.deleted_at IS NULL AND d.withdrawn_at IS NULL
         ELSE true END
 LIMIT 20"""
UNLISTED = """
SELECT r.id, count(*) FROM recompute_run r CROSS JOIN document d
 WHERE d.created_at < r.started_at AND d.deleted_at IS NULL AND d.withdrawn_at IS NULL
   AND NOT EXISTS (SELECT 1 FROM recompute_item i WHERE i.run_id = r.id AND i.document_id = d.id)
 GROUP BY 1"""


def pointers_moved_back() -> int:
    return int(_ask(BACKWARDS)[0][0])


def violations() -> Iterator[str]:
    for document, requested, served, pipeline in _ask(BEHIND):
        yield f"document {document}: version {requested} was asked for, pipeline {pipeline} has {served}"
    for run, document, outcome, reason in _ask(WRONG_OUTCOMES):
        yield f"run {run}, document {document}: {outcome} {reason} is not so"
    for run, count in _ask(UNLISTED):
        yield f"run {run}: {count} documents are not in the manifest"


def _ask(text: str) -> list[tuple[object, ...]]:
    with connections["owner"].cursor() as cursor:
        cursor.execute(text)
        return list(cursor.fetchall())
