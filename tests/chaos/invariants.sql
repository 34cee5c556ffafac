-- What must hold at every moment of a chaos run: each query returns no row, or one `what` for every breach.
-- `-- name:` begins a query; `-- at the end:` one that holds only once everything has settled.

-- name: deleted_is_invisible
-- Nobody is served a document whose deletion was acknowledged.
SELECT DISTINCT 'document ' || s.document_id || ' is served after its deletion' AS what
  FROM served_version s JOIN chaos.acknowledged_delete d USING (document_id);

-- name: nothing_is_switched_on_for_nobody
-- No pointer moves for a document that was deleted or withdrawn before.
SELECT 'document ' || m.document_id || ' version ' || m.version_number || ' was switched on after it was ' || before.kind AS what
  FROM chaos.moment m
  CROSS JOIN LATERAL (
        SELECT kind FROM chaos.moment b
         WHERE b.document_id = m.document_id AND b.id < m.id AND b.kind IN ('deleted', 'withdrawn', 'returned')
         ORDER BY (b.kind = 'deleted') DESC, b.id DESC LIMIT 1) before
 WHERE m.kind = 'switched' AND before.kind <> 'returned';

-- name: pointer_never_back
-- In the order of the locks, a pointer only rises.
SELECT 'document ' || document_id || ' went from version ' || highest || ' to ' || version_number AS what
  FROM (SELECT m.document_id, m.version_number,
               max(m.version_number) OVER (PARTITION BY m.document_id, t.pipeline_id ORDER BY m.id
                                           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS highest
          FROM chaos.moment m JOIN index_task t ON t.id = m.task_id
         WHERE m.kind = 'switched') moves
 WHERE version_number < highest;

-- name: one_attempt_switched_it_on
-- Every move of a pointer is one attempt's, and that attempt's success.
SELECT 'pointer of document ' || l.document_id || ' to version ' || l.to_version || ' has ' || count(e.id) || ' successes' AS what
  FROM pointer_log l
  LEFT JOIN task_event e ON e.task_id = l.task_id AND e.attempts = l.attempts AND e.to_state = 'SUCCEEDED'
 WHERE l.to_version IS NOT NULL
 GROUP BY l.id HAVING count(e.id) <> 1;

-- name: one_move_per_success
-- Every success moved exactly one pointer.
SELECT 'task ' || e.task_id || ' succeeded with ' || count(l.id) || ' moves of a pointer' AS what
  FROM task_event e
  LEFT JOIN pointer_log l ON l.task_id = e.task_id AND l.attempts = e.attempts AND l.to_version IS NOT NULL
 WHERE e.to_state = 'SUCCEEDED'
 GROUP BY e.id HAVING count(l.id) <> 1;

-- name: both_or_neither
-- A pointer moves in the transaction that ends its task.
SELECT 'document ' || m.document_id || ' was switched to version ' || m.version_number || ' apart from its task''s success' AS what
  FROM chaos.moment m
 WHERE m.kind = 'switched'
   AND NOT EXISTS (SELECT 1 FROM chaos.success s WHERE s.task_id = m.task_id AND s.attempts = m.attempts AND s.xact = m.xact);

-- name: checked_before_its_lease_ended
-- A success was fenced in its own transaction, while the lease lived.
SELECT 'task ' || s.task_id || ' attempt ' || s.attempts || ' succeeded without a live lease' AS what
  FROM chaos.success s
 WHERE NOT EXISTS (SELECT 1 FROM chaos.passed_check c
                    WHERE c.task_id = s.task_id AND c.attempts = s.attempts AND c.xact = s.xact
                      AND c.checked_at < c.lease_until);

-- name: every_fence_was_alive
-- No check passed that should not have: staged rows and cached vectors of a dead lease are as wrong as its finish.
SELECT 'task ' || task_id || ' attempt ' || attempts || ' wrote ' || (checked_at - lease_until) || ' after its lease' AS what
  FROM chaos.passed_check WHERE lease_until IS NULL OR checked_at >= lease_until;

-- name: visible_sets_are_the_oracles
-- What a pointer of a living document shows is what the oracle says, chunk for chunk.
SELECT 'document ' || p.document_id || ' version ' || p.version_number || ' shows ' || coalesce(s.found, 0) || ' chunks, '
       || coalesce(s.right_ones, 0) || ' of the ' || coalesce(e.wanted, 0) || ' expected' AS what
  FROM search_pointer p
  JOIN document d ON d.id = p.document_id AND d.deleted_at IS NULL
  JOIN document_version v ON v.document_id = p.document_id AND v.number = p.version_number
  JOIN stored_content sc ON sc.id = v.content_id
  LEFT JOIN LATERAL (SELECT count(*) AS wanted FROM chaos.expected_chunk e WHERE e.content_digest = sc.sha256) e ON true
  LEFT JOIN LATERAL (
        SELECT count(*) AS found, count(x.ordinal) AS right_ones
          FROM chunk c
          LEFT JOIN chaos.expected_chunk x ON x.content_digest = sc.sha256 AND x.ordinal = c.ordinal
               AND x.text_digest = encode(sha256(convert_to(c.text, 'UTF8')), 'hex')
         WHERE c.document_id = p.document_id AND c.pipeline_id = p.pipeline_id
           AND c.version_number = p.version_number AND c.generation = p.generation) s ON true
 WHERE (s.found, s.right_ones, p.chunk_count) IS DISTINCT FROM (e.wanted, e.wanted, e.wanted::int) OR e.wanted = 0;

-- name: visible_vectors_are_the_oracles
-- Every visible chunk has the vector of its own text.
SELECT 'chunk ' || c.ordinal || ' of document ' || c.document_id || ' version ' || c.version_number || ' has '
       || CASE WHEN cv.chunk_id IS NULL THEN 'no vector' WHEN x.embedding IS NULL THEN 'a text that nobody wrote'
               ELSE 'the vector of another text' END AS what
  FROM search_pointer p
  JOIN document d ON d.id = p.document_id AND d.deleted_at IS NULL
  JOIN chunk c ON c.document_id = p.document_id AND c.pipeline_id = p.pipeline_id
              AND c.version_number = p.version_number AND c.generation = p.generation
  LEFT JOIN chunk_vector cv ON cv.chunk_id = c.id
  LEFT JOIN chaos.expected_vector x ON x.embedded_digest = c.embedded_digest
 WHERE cv.chunk_id IS NULL OR x.embedding IS NULL OR (cv.embedding <=> x.embedding) > 0.0001;

-- name: cached_vectors_are_the_oracles
-- What the cache holds is the vector of its text: the next document will trust it.
SELECT 'the cache of tenant ' || e.tenant_id || ' has a wrong vector of ' || e.text_digest AS what
  FROM embedding_cache e LEFT JOIN chaos.expected_vector x ON x.embedded_digest = e.text_digest
 WHERE x.embedding IS NULL OR (e.embedding <=> x.embedding) > 0.0001;

-- name: nothing_acknowledged_is_lost
-- What a publisher was told is there: its version, asked for or superseded, and its task.
SELECT 'publish of document ' || a.document_id || ' version ' || a.version_number || ' was acknowledged and is lost' AS what
  FROM chaos.acknowledged a
  LEFT JOIN document d ON d.id = a.document_id
  LEFT JOIN index_task t ON t.id = a.task_id AND t.document_id = a.document_id AND t.version_number = a.version_number
 WHERE d.id IS NULL OR t.id IS NULL OR d.requested_version < a.version_number;

-- name: nothing_runs_past_its_lease
-- Somebody takes over in time (`grace`: seconds after the end of a lease that the run allows).
SELECT 'task ' || id || ' is RUNNING ' || (clock_timestamp() - lease_until) || ' after its lease' AS what
  FROM index_task WHERE state = 'RUNNING' AND lease_until < clock_timestamp() - make_interval(secs => %(grace)s);

-- name: budget_is_kept
-- Since it was opened last, a task was taken over, or failed at its own charge, less often than its budget has room for.
SELECT 'task ' || e.task_id || ' was claimed again after ' || count(*) || ' charged failures of ' || t.max_failures AS what
  FROM task_event e
  JOIN index_task t ON t.id = e.task_id
 WHERE e.kind = 'move' AND e.from_state = 'RUNNING'
   AND (e.to_state = 'RUNNING' OR (e.to_state = 'RETRY_WAIT' AND e.code = ANY(%(charged_codes)s::text[])))
   AND e.id > coalesce((SELECT max(o.id) FROM task_event o
                         WHERE o.task_id = e.task_id AND o.to_state = 'PENDING' AND o.from_state IN ('DEAD', 'CANCELLED')), 0)
 GROUP BY e.task_id, t.max_failures HAVING count(*) >= t.max_failures;

-- name: attempts_rise
-- Each claim has the next number, whatever else happened to the task.
SELECT 'task ' || task_id || ' was claimed as attempt ' || attempts || ' after ' || before AS what
  FROM (SELECT task_id, attempts, coalesce(lag(attempts) OVER (PARTITION BY task_id ORDER BY id), 0) AS before
          FROM task_event WHERE kind = 'move' AND to_state = 'RUNNING') claims
 WHERE attempts <> before + 1;

-- name: moves_are_legal
-- Each move begins where the one before ended, and is one of the protocol's.
SELECT 'task ' || task_id || ' moved from ' || coalesce(from_state, 'nothing') || ' to ' || to_state || ' after '
       || coalesce(before, 'nothing') AS what
  FROM (SELECT *, lag(to_state) OVER (PARTITION BY task_id ORDER BY id) AS before FROM task_event WHERE kind = 'move') moves
 WHERE from_state IS DISTINCT FROM before
    OR (coalesce(from_state, ''), to_state) NOT IN (
        ('', 'PENDING'), ('PENDING', 'RUNNING'), ('PENDING', 'CANCELLED'), ('RUNNING', 'RUNNING'), ('RUNNING', 'PENDING'),
        ('RUNNING', 'RETRY_WAIT'), ('RUNNING', 'SUCCEEDED'), ('RUNNING', 'DEAD'), ('RUNNING', 'CANCELLED'),
        ('RETRY_WAIT', 'RUNNING'), ('RETRY_WAIT', 'CANCELLED'), ('RETRY_WAIT', 'PENDING'), ('DEAD', 'PENDING'),
        ('DEAD', 'CANCELLED'), ('CANCELLED', 'PENDING'));

-- name: one_success_per_task
SELECT 'task ' || task_id || ' succeeded ' || count(*) || ' times' AS what
  FROM task_event WHERE to_state = 'SUCCEEDED' GROUP BY task_id HAVING count(*) > 1;

-- name: tenants_never_mix
-- Every derived row is of its document's tenant, and every reader a member of it.
SELECT 'a row of ' || kind || ' of document ' || r.document_id || ' has another tenant' AS what
  FROM (SELECT 'chunk' AS kind, document_id, tenant_id FROM chunk
        UNION ALL SELECT 'chunk_vector', document_id, tenant_id FROM chunk_vector
        UNION ALL SELECT 'search_pointer', document_id, tenant_id FROM search_pointer
        UNION ALL SELECT 'index_task', document_id, tenant_id FROM index_task
        UNION ALL SELECT 'embedded_text', document_id, tenant_id FROM embedded_text
        UNION ALL SELECT 'situation_cache', document_id, tenant_id FROM situation_cache
        UNION ALL SELECT 'document_version', document_id, tenant_id FROM document_version
        UNION ALL SELECT 'read_rule', r.document_id, m.tenant_id FROM read_rule r JOIN membership m ON m.id = r.membership_id) r
  JOIN document d ON d.id = r.document_id AND d.tenant_id <> r.tenant_id;

-- name: no_vector_of_another_tenant
-- A text that a document has was embedded for its own tenant, not found in another's cache.
SELECT 'document ' || t.document_id || ' took a vector that its tenant never paid for' AS what
  FROM embedded_text t
  JOIN document d ON d.id = t.document_id AND d.deleted_at IS NULL
 WHERE NOT EXISTS (SELECT 1 FROM embedding_cache e WHERE e.tenant_id = t.tenant_id AND e.text_digest = t.text_digest)
   AND NOT EXISTS (SELECT 1 FROM chaos.forgotten_vector f WHERE f.tenant_id = t.tenant_id AND f.text_digest = t.text_digest);

-- name: no_transaction_waits_for_the_world
-- No connection of a living process holds a transaction open while it does something else. `excused`: names of connections
-- whose process is stopped on purpose.
SELECT application_name || ' holds a transaction open after: ' || left(query, 60) AS what
  FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%%'
   AND state_change < clock_timestamp() - make_interval(secs => %(longest_idle)s)
   AND NOT (application_name = ANY(%(excused)s::text[]));

-- name: no_deadlock
-- The order of locks is the same everywhere.
SELECT 'the server resolved ' || deadlocks || ' deadlocks' AS what
  FROM pg_stat_database WHERE datname = current_database() AND deadlocks > 0;

-- name: searchers_saw_nothing_wrong
SELECT what FROM chaos.wrong_result ORDER BY id LIMIT 20;

-- name: one_version_of_a_document
SELECT 'user ' || user_id || ' is served ' || count(*) || ' versions of document ' || document_id AS what
  FROM served_version GROUP BY user_id, pipeline_id, document_id HAVING count(*) > 1;

-- name: everything_has_settled
-- at the end: nothing waits and nothing runs.
SELECT 'task ' || id || ' is still ' || state AS what FROM index_task WHERE state IN ('PENDING', 'RUNNING', 'RETRY_WAIT');

-- name: what_was_asked_for_is_served
-- at the end: a version that was requested last, of a living document with readers, is what its pointer shows, unless its task says why not.
SELECT 'document ' || d.id || ' asked for version ' || d.requested_version || ', has '
       || coalesce(p.version_number::text, 'nothing') || ', and no task says why' AS what
  FROM document d
  JOIN tenant_pipeline tp ON tp.tenant_id = d.tenant_id AND tp.role = 'SERVING'
  LEFT JOIN search_pointer p ON p.document_id = d.id AND p.pipeline_id = tp.pipeline_id
 WHERE d.deleted_at IS NULL AND d.withdrawn_at IS NULL AND d.requested_version IS NOT NULL
   AND p.version_number IS DISTINCT FROM d.requested_version
   AND NOT EXISTS (SELECT 1 FROM index_task t
                    WHERE t.document_id = d.id AND t.version_number = d.requested_version AND t.pipeline_id = tp.pipeline_id
                      AND t.state IN ('DEAD', 'CANCELLED') AND t.error_code = ANY(%(good_reasons)s::text[]));
