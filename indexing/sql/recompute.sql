-- Bulk runs: the list of documents, their orders in the pool `bulk`, and what became of each. `-- name:` begins a statement;
-- the sentence under it says what no row means.

-- name: page
-- The next 1000 documents by id, and of each whether it belongs to a run, at which version, and what its index has of it.
-- No row: that was all. A fixed LIMIT, within: each page costs the same, wherever it is and however few of it belong.
-- `chunks`: how many the version that readers get has, under this pipeline or else another; null if nothing is known.
WITH page AS MATERIALIZED (
    SELECT id, tenant_id, requested_version, deleted_at, withdrawn_at FROM document
     WHERE id > %(after_document)s ORDER BY id LIMIT 1000)
SELECT d.id AS document_id, d.tenant_id, d.requested_version AS version_number, p.version_number AS pointer_version,
       coalesce(p.chunk_count, (SELECT max(o.chunk_count) FROM search_pointer o WHERE o.document_id = d.id)) AS chunks,
       v.id IS NOT NULL AND tp.id IS NOT NULL AND d.deleted_at IS NULL AND d.withdrawn_at IS NULL
           AND (%(tenant)s::bigint IS NULL OR d.tenant_id = %(tenant)s)
           AND ((%(shards)s = 1) OR (('x' || left(md5(d.id::text), 8))::bit(32)::bigint %% %(shards)s) + 1 = %(shard)s)
           AND (%(only_documents)s::uuid[] IS NULL OR d.id = ANY(%(only_documents)s))
           AND (%(media_types)s::text[] IS NULL OR v.media_type = ANY(%(media_types)s))
           AND (%(sources)s::text[] IS NULL OR EXISTS (
                    SELECT 1 FROM source_entry e JOIN source s ON s.id = e.source_id
                     WHERE e.document_id = d.id AND s.name = ANY(%(sources)s)))
           AND (%(indexed_before)s::timestamptz IS NULL OR p.id IS NULL OR p.switched_at < %(indexed_before)s) AS belongs
  FROM page d
  LEFT JOIN document_version v ON v.document_id = d.id AND v.number = d.requested_version
  LEFT JOIN tenant_pipeline tp ON tp.tenant_id = d.tenant_id AND tp.pipeline_id = %(pipeline)s AND tp.role <> 'RETIRED'
  LEFT JOIN search_pointer p ON p.document_id = d.id AND p.pipeline_id = %(pipeline)s
 ORDER BY d.id;

-- name: lock_run
-- The run, locked before any document. No row: it was stopped, its list is complete, or there is none.
SELECT listed_to FROM recompute_run WHERE id = %(run)s AND stopped_at IS NULL AND listed_at IS NULL FOR NO KEY UPDATE;

-- name: lock_documents
-- Lock documents in order: a publish or a purge of one comes before this transaction or after it. No row: none is left.
SELECT id FROM document WHERE id = ANY(%(documents)s::uuid[]) ORDER BY id FOR NO KEY UPDATE;

-- name: order
-- Put locked documents on a run's list, each with its order: one that waits or runs for the same set already, or a new one.
-- What is searchable at its requested version needs none, unless it is to be rebuilt as a new generation: the one after the
-- last that was made, so that two runs at once join one order. An order that has ended without a result is `reopen`ed by the
-- caller. No row: none of them is wanted any more, or all are on the list.
-- Within a batch a tenant's orders take its next turns one by one, as if they had been made one by one.
WITH wanted AS MATERIALIZED (
    SELECT d.id AS document_id, d.tenant_id, d.requested_version AS version_number,
           1 + coalesce((SELECT max(t.generation) FROM index_task t
                          WHERE t.document_id = d.id AND t.version_number = d.requested_version
                            AND t.pipeline_id = %(pipeline)s AND t.state = 'SUCCEEDED'), 0) AS generation,
           %(rebuild)s OR p.id IS NULL OR p.version_number < d.requested_version AS is_due
      FROM document d
      JOIN tenant_pipeline tp ON tp.tenant_id = d.tenant_id AND tp.pipeline_id = %(pipeline)s AND tp.role <> 'RETIRED'
      LEFT JOIN search_pointer p ON p.document_id = d.id AND p.pipeline_id = %(pipeline)s
     WHERE d.id = ANY(%(documents)s::uuid[]) AND d.deleted_at IS NULL AND d.withdrawn_at IS NULL
       AND d.requested_version IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM recompute_item i WHERE i.run_id = %(run)s AND i.document_id = d.id)),
known AS MATERIALIZED (
    SELECT DISTINCT ON (w.document_id) w.document_id, t.id, t.state
      FROM wanted w
      JOIN index_task t ON t.document_id = w.document_id AND t.version_number = w.version_number
                       AND t.pipeline_id = %(pipeline)s AND t.generation = w.generation
     WHERE w.is_due AND (t.task_type = 'RECOMPUTE' OR t.state IN ('PENDING', 'RUNNING', 'RETRY_WAIT'))
     ORDER BY w.document_id, t.state IN ('PENDING', 'RUNNING', 'RETRY_WAIT') DESC, t.id),
made AS (
    INSERT INTO index_task (tenant_id, document_id, version_number, pipeline_id, task_type, generation, pool, priority, fair,
                            state, attempts, failures, max_failures, readers_requested, cancel_requested, progress_done,
                            progress_total, requested_by_id)
    SELECT w.tenant_id, w.document_id, w.version_number, %(pipeline)s, 'RECOMPUTE', w.generation, 'bulk', 0,
           turn.first + row_number() OVER (PARTITION BY w.tenant_id ORDER BY w.document_id) - 1,
           'PENDING', 0, 0, %(max_failures)s,
           EXISTS (SELECT 1 FROM read_rule r WHERE r.document_id = w.document_id AND r.version_number = w.version_number),
           false, 0, 0, %(actor)s::bigint
      FROM wanted w
      JOIN (SELECT tenant_id, index_task_turn(tenant_id, 'bulk', 0) AS first FROM wanted GROUP BY tenant_id) turn
           USING (tenant_id)
     WHERE w.is_due AND NOT EXISTS (SELECT 1 FROM known k WHERE k.document_id = w.document_id)
     ORDER BY w.document_id
    RETURNING id, document_id)
INSERT INTO recompute_item (run_id, tenant_id, document_id, version_number, generation, task_id, outcome, reason, settled_at)
SELECT %(run)s, w.tenant_id, w.document_id, w.version_number,
       CASE WHEN w.is_due THEN w.generation ELSE w.generation - 1 END, coalesce(made.id, known.id),
       CASE WHEN w.is_due THEN 'pending' ELSE 'applied' END, CASE WHEN w.is_due THEN '' ELSE 'CURRENT' END,
       CASE WHEN w.is_due THEN NULL ELSE clock_timestamp() END
  FROM wanted w LEFT JOIN made USING (document_id) LEFT JOIN known USING (document_id)
 ORDER BY w.document_id
RETURNING task_id, task_id IN (SELECT id FROM known WHERE state IN ('DEAD', 'CANCELLED')) AS ended;

-- name: listed
-- Note how far a run's list is made; `complete` ends it. No row: there is no such run.
UPDATE recompute_run
   SET listed_to = coalesce(%(document)s, listed_to), listed_at = CASE WHEN %(complete)s THEN clock_timestamp() END
 WHERE id = %(run)s
RETURNING id;

-- name: settle
-- Enter what became of up to 1000 documents of a run that are `outcome` so far, after the item `after`. One row always: the
-- last item looked at (null: that was all) and how many changed.
-- Read without the tasks' locks: SUCCEEDED is final, a superseded task is never opened again, and a failure is looked at again.
WITH due AS MATERIALIZED (
    SELECT id, document_id, version_number, generation, task_id FROM recompute_item
     WHERE run_id = %(run)s AND outcome = %(outcome)s AND id > %(after)s
     ORDER BY id LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED),
facts AS (
    SELECT due.id, t.state, t.error_code AS code, d.deleted_at IS NOT NULL AS deleted,
           coalesce(p.version_number = due.version_number AND p.generation >= due.generation, false) AS stands
      FROM due
      JOIN recompute_run r ON r.id = %(run)s
      LEFT JOIN index_task t ON t.id = due.task_id
      LEFT JOIN document d ON d.id = due.document_id
      LEFT JOIN search_pointer p ON p.document_id = due.document_id AND p.pipeline_id = r.pipeline_id),
judged AS (
    SELECT id, CASE WHEN state = 'SUCCEEDED' THEN 'applied'
                    WHEN deleted OR state = 'CANCELLED' AND code IN ('DOCUMENT_DELETED', 'DOCUMENT_WITHDRAWN') THEN 'deleted'
                    WHEN stands THEN 'applied'
                    WHEN state = 'CANCELLED' AND code = 'SUPERSEDED' THEN 'skipped_newer'
                    WHEN state IN ('CANCELLED', 'DEAD') OR state IS NULL THEN 'failed'
                    ELSE 'pending' END AS outcome,
           CASE WHEN state = 'SUCCEEDED' THEN ''
                WHEN deleted THEN 'DOCUMENT_DELETED'
                WHEN state = 'CANCELLED' AND code IN ('DOCUMENT_DELETED', 'DOCUMENT_WITHDRAWN') THEN code
                WHEN stands THEN 'ANOTHER_ORDER'
                WHEN state IS NULL THEN 'TASK_REMOVED'
                ELSE coalesce(code, '') END AS reason
      FROM facts),
changed AS (
    UPDATE recompute_item i SET outcome = judged.outcome, reason = judged.reason, settled_at = clock_timestamp()
      FROM judged
     WHERE i.id = judged.id AND judged.outcome <> 'pending' AND (i.outcome, i.reason) <> (judged.outcome, judged.reason)
    RETURNING i.id)
SELECT (SELECT max(id) FROM due) AS last, (SELECT count(*) FROM changed) AS changed;

-- name: end
-- A run whose list is complete and whose documents all have their outcome has ended. No row: not yet, or it had before.
UPDATE recompute_run r SET ended_at = clock_timestamp()
 WHERE r.id = %(run)s AND r.ended_at IS NULL AND r.listed_at IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM recompute_item i WHERE i.run_id = r.id AND i.outcome = 'pending')
RETURNING id;

-- name: stop
-- Make no more of a run's list. No row: it has ended, or was stopped before.
UPDATE recompute_run SET stopped_at = clock_timestamp()
 WHERE id = %(run)s AND stopped_at IS NULL AND ended_at IS NULL
RETURNING id;

-- name: orders
-- Orders of a run that have not ended, by item: only its own kind, since an editor waits for the others. No row: that was all.
SELECT i.id, t.id AS task_id FROM recompute_item i JOIN index_task t ON t.id = i.task_id
 WHERE i.run_id = %(run)s AND i.outcome = 'pending' AND i.id > %(after)s
   AND t.task_type = 'RECOMPUTE' AND t.state IN ('PENDING', 'RETRY_WAIT', 'RUNNING')
 ORDER BY i.id LIMIT 1000;

-- name: counts
-- How many documents of a run came to which outcome. No row: nothing is listed.
SELECT outcome, reason = 'CURRENT' AS current, count(*) AS count FROM recompute_item
 WHERE run_id = %(run)s GROUP BY 1, 2;

-- name: sample
-- What a few documents' texts are like: how many there are, their tokens, and how many of them have a vector of this model.
-- One row always (nulls: they have none). `same`: pipelines that cut texts in the same way, so that theirs would be sent.
SELECT count(*) AS texts, sum(c.tokens)::bigint AS tokens,
       count(*) FILTER (WHERE c.pipeline_id = ANY(%(same)s::int[]) AND EXISTS (
           SELECT 1 FROM embedding_cache e
            WHERE e.tenant_id = c.tenant_id AND e.text_digest = c.embedded_digest AND e.fingerprint = %(fingerprint)s)) AS cached
  FROM (SELECT DISTINCT ON (document_id) document_id, pipeline_id, version_number, generation FROM search_pointer
         WHERE document_id = ANY(%(documents)s::uuid[])
         ORDER BY document_id, pipeline_id = %(pipeline)s DESC, pipeline_id = ANY(%(same)s::int[]) DESC, pipeline_id) p
  JOIN chunk c ON c.document_id = p.document_id AND c.pipeline_id = p.pipeline_id AND c.version_number = p.version_number
              AND c.generation = p.generation;

-- name: pace
-- Chunks that a worker made a second, from claim to finish, by the last orders of a pipeline that succeeded. One row always
-- (null: none did among the last 5000 orders).
SELECT (sum(progress_total) / nullif(sum(extract(epoch FROM finished_at - started_at)), 0))::float8 AS per_second
  FROM (SELECT * FROM index_task ORDER BY id DESC LIMIT 5000) t
 WHERE t.pipeline_id = %(pipeline)s AND t.state = 'SUCCEEDED';
