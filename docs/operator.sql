-- A check list for operators: paste a statement into psql. Every one only reads, so the application's role is enough.
-- To connect as that role, to the embedded server or to the one of DATABASE_URL:
--     .venv/bin/python manage.py dbshell
-- all at once:
--     .venv/bin/python manage.py dbshell -- -f docs/operator.sql
-- or with psql alone, from any machine that reaches the database:
--     psql "postgresql://kb_app:password@host/kb"                      (what DATABASE_URL says)
--     psql "host=$PWD/.data/postgres user=kb_app dbname=kb"            (the embedded server, while it runs)
-- A test runs this same file, statement by statement.

-- 1. Who holds what: running tasks, their workers, and how long each lease still is (below zero: about to be taken over).
SELECT t.id AS task, tenant.slug AS tenant, t.document_id, t.version_number AS version, t.lease_owner AS worker, t.attempts,
       t.stage, t.progress_done || '/' || t.progress_total AS progress,
       round(extract(epoch FROM t.lease_until - clock_timestamp())::numeric, 1) AS lease_seconds,
       date_trunc('second', clock_timestamp() - t.started_at) AS running_for
  FROM index_task t JOIN tenant ON tenant.id = t.tenant_id
 WHERE t.state = 'RUNNING'
 ORDER BY t.lease_until;

-- 2. What is due now, in the order in which workers take it: expired leases, waits that are over, new tasks by turn.
SELECT CASE t.state WHEN 'RUNNING' THEN 1 WHEN 'RETRY_WAIT' THEN 2 ELSE 3 END AS turn, t.id AS task, tenant.slug AS tenant,
       t.state, t.pool, t.version_number AS version, t.attempts, t.failures || '/' || t.max_failures AS failures,
       date_trunc('second', clock_timestamp() - t.waiting_since) AS waited
  FROM index_task t JOIN tenant ON tenant.id = t.tenant_id
 WHERE (t.state = 'RUNNING' AND t.lease_until <= clock_timestamp())
    OR (t.state = 'RETRY_WAIT' AND t.next_attempt_at <= clock_timestamp())
    OR t.state = 'PENDING'
 ORDER BY turn, t.pool, CASE WHEN t.state = 'RETRY_WAIT' THEN t.next_attempt_at END, t.priority, t.fair, t.id;

-- 3. What waits for a time to come, and why.
SELECT t.id AS task, tenant.slug AS tenant, t.next_attempt_at, t.error_code, t.error_message,
       t.failures || '/' || t.max_failures AS failures
  FROM index_task t JOIN tenant ON tenant.id = t.tenant_id
 WHERE t.state = 'RETRY_WAIT' AND t.next_attempt_at > clock_timestamp()
 ORDER BY t.next_attempt_at;

-- 4. Does the pointer equal what is published? Documents whose readers get something else, with the task that should
--    change that. No row: every published version is searchable.
SELECT d.id AS document, tenant.slug AS tenant, d.title, d.requested_version AS requested, d.published_version AS published,
       p.version_number AS pointer, t.id AS task, t.state, t.error_code,
       date_trunc('second', clock_timestamp() - d.published_at) AS published_for
  FROM document d
  JOIN tenant ON tenant.id = d.tenant_id
  JOIN tenant_pipeline serving ON serving.tenant_id = d.tenant_id AND serving.role = 'SERVING'
  LEFT JOIN search_pointer p ON p.document_id = d.id AND p.pipeline_id = serving.pipeline_id
  LEFT JOIN LATERAL (
        SELECT id, state, error_code FROM index_task
         WHERE document_id = d.id AND version_number = d.requested_version AND pipeline_id = serving.pipeline_id
         ORDER BY id DESC LIMIT 1) t ON true
 WHERE d.deleted_at IS NULL AND d.withdrawn_at IS NULL AND d.requested_version IS NOT NULL
   AND p.version_number IS DISTINCT FROM d.requested_version
 ORDER BY d.published_at;

-- 5. What must never be: a pointer ahead of what was asked for, to chunks that are not all there, or without its task's
--    success. Any row is a defect; keep the rows and tell a developer.
SELECT p.document_id, p.version_number AS pointer, d.requested_version AS requested, p.chunk_count AS expected,
       count(c.id) AS chunks, count(v.chunk_id) AS vectors, t.state
  FROM search_pointer p
  JOIN document d ON d.id = p.document_id
  LEFT JOIN index_task t ON t.id = p.task_id
  LEFT JOIN chunk c ON c.document_id = p.document_id AND c.pipeline_id = p.pipeline_id
                   AND c.version_number = p.version_number AND c.generation = p.generation
  LEFT JOIN chunk_vector v ON v.chunk_id = c.id
 WHERE d.deleted_at IS NULL
 GROUP BY p.id, d.id, t.id
HAVING p.version_number > d.requested_version OR count(c.id) <> p.chunk_count OR count(v.chunk_id) <> p.chunk_count
    OR t.state IS DISTINCT FROM 'SUCCEEDED';

-- 6. Tasks that will not be tried again by themselves, with their reasons, the latest first.
SELECT t.id AS task, tenant.slug AS tenant, d.title, t.version_number AS version, t.attempts,
       t.failures || '/' || t.max_failures AS failures, t.error_code, t.error_message, t.finished_at
  FROM index_task t JOIN tenant ON tenant.id = t.tenant_id JOIN document d ON d.id = t.document_id
 WHERE t.state = 'DEAD'
 ORDER BY t.finished_at DESC;

-- 7. Deleted, and not purged yet: invisible already, their text still stored. Old rows: does the sweep run? Not
--    for what is held: it stays until the hold is lifted.
SELECT d.id AS document, tenant.slug AS tenant, d.deleted_at, date_trunc('second', clock_timestamp() - d.deleted_at) AS since,
       (SELECT count(*) FROM chunk c WHERE c.document_id = d.id) AS chunks,
       (SELECT count(*) FROM index_task t WHERE t.document_id = d.id AND t.state = 'RUNNING') AS still_running,
       document_is_held(d.id, NULL) AS held
  FROM document d JOIN tenant ON tenant.id = d.tenant_id
 WHERE d.deleted_at IS NOT NULL AND d.purged_at IS NULL
 ORDER BY d.deleted_at;

-- 8. Late writes that were refused: which attempt of which worker came after its lease, and who holds the task since.
SELECT e.at, e.task_id AS task, e.attempts AS late_attempt, e.worker AS late_worker, e.detail, t.attempts AS attempt_now,
       t.state, t.lease_owner AS worker_now
  FROM task_event e LEFT JOIN index_task t ON t.id = e.task_id
 WHERE e.kind = 'refused'
 ORDER BY e.id DESC
 LIMIT 100;

-- 9. How long the queue is, by tenant and pool, and how long its oldest task has waited.
SELECT tenant.slug AS tenant, t.pool, t.state, count(*) AS tasks,
       date_trunc('second', clock_timestamp() - min(t.waiting_since)) AS oldest
  FROM index_task t JOIN tenant ON tenant.id = t.tenant_id
 WHERE t.state IN ('PENDING', 'RUNNING', 'RETRY_WAIT')
 GROUP BY tenant.slug, t.pool, t.state
 ORDER BY tenant.slug, t.pool, t.state;

-- 10. Uploads that never became a version, and files on their way out. Staged for over a day: does the sweep run? Deleting
--     after a sweep: the storage refuses; the sweep's log says why.
SELECT c.id, tenant.slug AS tenant, c.state, c.key, c.size, c.created_at
  FROM stored_content c JOIN tenant ON tenant.id = c.tenant_id
 WHERE c.state <> 'confirmed'
 ORDER BY c.created_at;

-- 11. Under audit hold: what no rule removes, why, and who said so.
SELECT h.id, tenant.slug AS tenant, h.document_id, coalesce('v' || h.version_number, 'every version') AS held, h.reason,
       h.placed_by_name AS placed_by, h.placed_at, d.deleted_at
  FROM document_hold h JOIN document d ON d.id = h.document_id JOIN tenant ON tenant.id = h.tenant_id
 WHERE h.lifted_at IS NULL
 ORDER BY h.placed_at;

-- 12. Chunks that no search reaches: how many sets wait for their time to leave, and since when the oldest is counted.
SELECT tenant.slug AS tenant, o.pipeline_id AS pipeline, o.kind, count(*) AS sets, min(o.counted_from) AS oldest
  FROM orphan_set o JOIN tenant ON tenant.id = o.tenant_id
 GROUP BY tenant.slug, o.pipeline_id, o.kind
 ORDER BY tenant.slug, o.pipeline_id, o.kind;
