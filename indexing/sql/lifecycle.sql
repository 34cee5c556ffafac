-- Pipelines' lives in tenants: what a candidate lacks, and how far it is. `-- name:` begins a statement; the sentence under it
-- says what no row means.

-- name: behind
-- Documents that readers find now and would not find as new as now under the candidate, with the last order that was to bring
-- them there; those of the first ids. No row: there is none.
SELECT b.document_id, v.title, b.serving_version, b.candidate_version, t.id AS task_id, t.state, t.error_code
  FROM pipeline_behind(%(tenant)s, %(serving)s, %(candidate)s, false) b
  JOIN document_version v ON v.document_id = b.document_id AND v.number = b.serving_version
  LEFT JOIN LATERAL (
       SELECT id, state, error_code FROM index_task
        WHERE document_id = b.document_id AND pipeline_id = %(candidate)s AND version_number >= b.serving_version
        ORDER BY id DESC LIMIT 1) t ON true
 ORDER BY b.document_id LIMIT %(limit)s;

-- name: count_behind
-- How many they are, and for how many documents there is an exclusion. One row always.
SELECT (SELECT count(*) FROM pipeline_behind(%(tenant)s, %(serving)s, %(candidate)s, false)) AS behind,
       (SELECT count(*) FROM pipeline_exclusion WHERE tenant_id = %(tenant)s AND pipeline_id = %(candidate)s) AS excluded;

-- name: exclude
-- Let the candidate serve without documents that are behind there: all, those whose last order failed (`failed`), or those named.
-- No row: none of them is behind, or each is excluded already.
INSERT INTO pipeline_exclusion (tenant_id, pipeline_id, document_id, reason, actor_id, actor_name)
SELECT %(tenant)s, %(candidate)s, b.document_id,
       concat_ws(': ', %(reason)s::text, CASE WHEN t.state IN ('DEAD', 'CANCELLED') THEN t.error_code END),
       %(actor)s::bigint, %(actor_name)s::text
  FROM pipeline_behind(%(tenant)s, %(serving)s, %(candidate)s, false) b
  LEFT JOIN LATERAL (
       SELECT state, error_code FROM index_task
        WHERE document_id = b.document_id AND pipeline_id = %(candidate)s AND version_number >= b.serving_version
        ORDER BY id DESC LIMIT 1) t ON true
 WHERE (%(documents)s::uuid[] IS NULL OR b.document_id = ANY (%(documents)s::uuid[]))
   AND (NOT %(failed)s OR t.state IN ('DEAD', 'CANCELLED'))
 ORDER BY b.document_id
ON CONFLICT (tenant_id, pipeline_id, document_id) DO NOTHING
RETURNING document_id;

-- name: older_there
-- Excluded documents of which the candidate has an older version than readers find now, or nothing while an older one may still be
-- being indexed: it may not be shown. No row: none.
SELECT s.document_id
  FROM pipeline_exclusion x
  JOIN search_pointer s ON s.document_id = x.document_id AND s.pipeline_id = %(serving)s
  LEFT JOIN search_pointer c ON c.document_id = x.document_id AND c.pipeline_id = x.pipeline_id
  JOIN document d ON d.id = x.document_id AND d.deleted_at IS NULL AND d.withdrawn_at IS NULL
 WHERE x.tenant_id = %(tenant)s AND x.pipeline_id = %(candidate)s
   AND coalesce(c.version_number, 0) < s.version_number AND s.version_number >= d.serve_from_version
 ORDER BY s.document_id;

-- name: standing
-- Every pipeline of the tenants, with how many documents it could serve and how many orders wait (counted up to 10,000) or
-- have failed. No row: none of these tenants has a pipeline.
SELECT tp.tenant_id, tn.slug AS tenant, tp.pipeline_id, p.name, tp.role, tp.changed_at, tp.changed_by_name,
       (SELECT count(*) FROM search_pointer sp WHERE sp.tenant_id = tp.tenant_id AND sp.pipeline_id = tp.pipeline_id) AS documents,
       (SELECT count(*) FROM (
            SELECT 1 FROM index_task t
             WHERE t.tenant_id = tp.tenant_id AND t.pipeline_id = tp.pipeline_id AND t.state IN ('PENDING', 'RETRY_WAIT', 'RUNNING')
             LIMIT 10000) counted) AS waiting,
       (SELECT count(*) FROM (
            SELECT 1 FROM index_task t JOIN document d ON d.id = t.document_id
             WHERE t.tenant_id = tp.tenant_id AND t.pipeline_id = tp.pipeline_id AND t.state = 'DEAD'
               AND d.deleted_at IS NULL AND t.version_number = d.requested_version LIMIT 10000) counted) AS failed
  FROM tenant_pipeline tp
  JOIN tenant tn ON tn.id = tp.tenant_id
  JOIN pipeline p ON p.id = tp.pipeline_id
 WHERE tp.tenant_id = ANY (%(tenants)s::bigint[])
 ORDER BY tn.slug, tp.pipeline_id;

-- name: cancel_of_pipeline
-- Cancel what waits for a pipeline that its tenant retired, up to `limit` at a time; a running attempt finds out at its next
-- step. No row: nothing waits any more.
UPDATE index_task
   SET state = 'CANCELLED', error_code = 'PIPELINE_RETIRED', error_message = %(message)s, next_attempt_at = NULL,
       finished_at = clock_timestamp(), updated_at = clock_timestamp()
 WHERE id IN (SELECT id FROM index_task
               WHERE tenant_id = %(tenant)s AND pipeline_id = %(pipeline)s AND (state = 'PENDING' OR state = 'RETRY_WAIT')
               ORDER BY id LIMIT %(limit)s FOR NO KEY UPDATE)
   AND state IN ('PENDING', 'RETRY_WAIT')
RETURNING id;

-- name: sample_query
-- Keep a query while a pipeline is built for its tenant, up to `most` of them. No row: none is built, or there are enough.
INSERT INTO shadow_query (tenant_id, user_id, query)
SELECT %(tenant)s, %(user)s, %(query)s
 WHERE EXISTS (SELECT 1 FROM tenant_pipeline WHERE tenant_id = %(tenant)s AND role = 'BUILDING')
   AND (SELECT count(*) FROM (SELECT 1 FROM shadow_query WHERE tenant_id = %(tenant)s LIMIT %(most)s) kept) < %(most)s
RETURNING id;
