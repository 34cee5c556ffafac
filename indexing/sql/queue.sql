-- Every statement on the queue. `-- name:` begins a statement; the sentence under it says what no row means.

-- name: enqueue
-- Order the indexing of a version. No row: the order exists already.
-- index_task_pool is the tenant's own pool, if it has one; index_task_turn gives tenants turns.
INSERT INTO index_task (tenant_id, document_id, version_number, pipeline_id, task_type, generation, pool, priority, fair,
                        state, attempts, failures, max_failures, readers_requested, cancel_requested, progress_done,
                        progress_total, requested_by_id)
SELECT %(tenant)s, %(document)s, %(version)s, %(pipeline)s, %(task_type)s, %(generation)s, place.pool, %(priority)s,
       index_task_turn(%(tenant)s, place.pool, %(priority)s),
       'PENDING', 0, 0, %(max_failures)s, %(readers_requested)s, false, 0, 0, %(actor)s::bigint
  FROM index_task_pool(%(tenant)s, %(pool)s) AS place(pool)
ON CONFLICT (tenant_id, document_id, version_number, task_type, pipeline_id, generation) DO NOTHING
RETURNING id;

-- name: find_order
-- The order to index one version under one pipeline, locked. No row: there is none.
SELECT id, state, error_code FROM index_task
 WHERE tenant_id = %(tenant)s AND document_id = %(document)s AND version_number = %(version)s
   AND task_type = %(task_type)s AND pipeline_id = %(pipeline)s AND generation = %(generation)s
   FOR NO KEY UPDATE;

-- name: reopen
-- Give a dead or cancelled task a new budget; its attempts go on counting. A waiting one becomes due at once, a running one
-- forgets a wish to cancel it. No row: it has succeeded, or nobody wants it any more (its document deleted or withdrawn, a
-- newer version requested, its pipeline retired). `has_readers` is null for a retry, which decides nothing about readers.
-- It gets a new turn: with their old ones, a thousand reopened tasks of one tenant would go before everybody else's.
UPDATE index_task
   SET state = CASE WHEN state = 'RUNNING' THEN state ELSE 'PENDING' END,
       pool = CASE WHEN state = 'RUNNING' THEN pool ELSE index_task_pool(tenant_id, pool) END,
       fair = CASE WHEN state IN ('PENDING', 'RUNNING') THEN fair
                   ELSE index_task_turn(tenant_id, index_task_pool(tenant_id, pool), priority) END,
       failures = CASE WHEN state IN ('DEAD', 'CANCELLED') THEN 0 ELSE failures END,
       cancel_requested = false, next_attempt_at = NULL, finished_at = NULL, stage = CASE WHEN state = 'RUNNING' THEN stage END,
       waiting_since = clock_timestamp(), updated_at = clock_timestamp(),
       error_code = CASE WHEN state = 'RUNNING' THEN error_code END,
       error_message = CASE WHEN state = 'RUNNING' THEN error_message END,
       readers_requested = coalesce(%(has_readers)s::boolean, readers_requested)
 WHERE id = %(task)s AND state <> 'SUCCEEDED'
   AND EXISTS (SELECT 1 FROM document d
                WHERE d.id = index_task.document_id AND d.deleted_at IS NULL AND d.withdrawn_at IS NULL
                  AND index_task.version_number >= d.requested_version)
   AND EXISTS (SELECT 1 FROM tenant_pipeline tp
                WHERE tp.tenant_id = index_task.tenant_id AND tp.pipeline_id = index_task.pipeline_id AND tp.role <> 'RETIRED')
RETURNING id;

-- name: cancel_older
-- Cancel what waits for versions that a publish supersedes. No row: nothing waited.
UPDATE index_task
   SET state = 'CANCELLED', error_code = 'SUPERSEDED', error_message = %(message)s, next_attempt_at = NULL,
       finished_at = clock_timestamp(), updated_at = clock_timestamp()
 WHERE id IN (SELECT id FROM index_task
               WHERE document_id = %(document)s AND version_number < %(version)s AND state IN ('PENDING', 'RETRY_WAIT', 'DEAD')
               ORDER BY id FOR NO KEY UPDATE)
   AND state IN ('PENDING', 'RETRY_WAIT', 'DEAD')
RETURNING id;

-- name: cancel_waiting
-- Cancel what waits for a document that was deleted or withdrawn; a running attempt finds out at its next step.
-- No row: nothing waited.
UPDATE index_task
   SET state = 'CANCELLED', error_code = %(code)s, error_message = %(message)s, next_attempt_at = NULL,
       finished_at = clock_timestamp(), updated_at = clock_timestamp()
 WHERE id IN (SELECT id FROM index_task
               WHERE document_id = %(document)s AND state IN ('PENDING', 'RETRY_WAIT', 'DEAD')
               ORDER BY id FOR NO KEY UPDATE)
   AND state IN ('PENDING', 'RETRY_WAIT', 'DEAD')
RETURNING id;

-- name: cancel_task
-- A person cancels one task: at once if it waits, before its next step if it runs. No row: it has ended already.
UPDATE index_task
   SET state = CASE WHEN state = 'RUNNING' THEN state ELSE 'CANCELLED' END,
       cancel_requested = (state = 'RUNNING'),
       error_code = CASE WHEN state = 'RUNNING' THEN error_code ELSE 'CANCELLED_BY_USER' END,
       error_message = CASE WHEN state = 'RUNNING' THEN error_message ELSE %(message)s END,
       next_attempt_at = NULL, finished_at = CASE WHEN state = 'RUNNING' THEN finished_at ELSE clock_timestamp() END,
       updated_at = clock_timestamp()
 WHERE id = %(task)s AND state IN ('PENDING', 'RETRY_WAIT', 'RUNNING', 'DEAD')
RETURNING id;

-- name: claim
-- Take up to `limit` tasks for a worker. No row: nothing is due. Commit at once: no lock is held while a task is worked on.
-- Order: leases that ran out, then waits that are due, tenant by tenant, then new tasks by turn. Each part locks its own
-- candidates in a MATERIALIZED CTE with SKIP LOCKED: as `id IN (SELECT … LIMIT 1)` a nested loop could claim a thousand
-- rows. The conditions stand on the locked rows themselves, since only those are checked again after a wait. `spent` and
-- `expired` exclude each other by their predicates, because a data-modifying CTE that nothing reads runs last.
-- LIMIT 100 within, `limit` outside: rows are locked as they are fetched, so no more than `limit` of them, and a plan made
-- for a limit that is not known reads and sorts the whole backlog.
-- `leases`, `retries` and `past_…` say where to look (indexing/turns.py): a transaction that stays open keeps what was
-- claimed since then in the indexes, and a look past one's own last claim does not step over it.
-- `paused`: pipelines whose provider is out. Their tasks stay where they are, but for those that have waited too long, which
-- end as DEAD; a lease that ran out is taken over all the same, so that nothing stays RUNNING without a worker.
-- statement_timestamp(): a volatile clock is no index condition.
WITH spent AS MATERIALIZED (
    SELECT id FROM index_task
     WHERE %(leases)s AND state = 'RUNNING' AND pool = %(pool)s AND lease_until <= statement_timestamp()
       AND failures + 1 >= max_failures
     ORDER BY id FOR NO KEY UPDATE SKIP LOCKED LIMIT 20),
dead AS (
    UPDATE index_task t
       SET state = 'DEAD', failures = t.failures + 1, lease_owner = NULL, lease_until = NULL, stage = NULL,
           error_code = 'LEASE_ATTEMPTS_EXHAUSTED', error_message = %(exhausted)s,
           finished_at = clock_timestamp(), updated_at = clock_timestamp()
      FROM spent WHERE t.id = spent.id RETURNING t.id),
expired AS MATERIALIZED (
    SELECT id, 1 AS charge, 'expired' AS part FROM (
        SELECT id FROM index_task
         WHERE %(leases)s AND state = 'RUNNING' AND pool = %(pool)s AND lease_until <= statement_timestamp()
           AND failures + 1 < max_failures
         ORDER BY id FOR NO KEY UPDATE SKIP LOCKED LIMIT 100) found
     LIMIT %(limit)s),
retry AS MATERIALIZED (
    SELECT id, 0 AS charge, 'retry' AS part FROM (
        SELECT id FROM index_task
         WHERE %(retries)s AND state = 'RETRY_WAIT' AND pool = %(pool)s AND tenant_id > %(past_tenant)s
           AND next_attempt_at <= statement_timestamp()
           AND (pipeline_id <> ALL (%(paused)s)
                OR waiting_since <= statement_timestamp() - make_interval(secs => %(longest_wait)s))
         ORDER BY tenant_id, next_attempt_at, id FOR NO KEY UPDATE SKIP LOCKED LIMIT 100) found
     LIMIT %(limit)s - (SELECT count(*) FROM expired)),
retry_again AS MATERIALIZED (
    SELECT id, 0 AS charge, 'retry' AS part FROM (
        SELECT id FROM index_task
         WHERE %(retries)s AND state = 'RETRY_WAIT' AND pool = %(pool)s AND tenant_id <= %(past_tenant)s
           AND next_attempt_at <= statement_timestamp()
           AND (pipeline_id <> ALL (%(paused)s)
                OR waiting_since <= statement_timestamp() - make_interval(secs => %(longest_wait)s))
         ORDER BY tenant_id, next_attempt_at, id FOR NO KEY UPDATE SKIP LOCKED LIMIT 100) found
     LIMIT %(limit)s - (SELECT count(*) FROM expired) - (SELECT count(*) FROM retry)),
pending AS MATERIALIZED (
    SELECT id, 0 AS charge, 'pending' AS part FROM (
        SELECT id FROM index_task
         WHERE state = 'PENDING' AND pool = %(pool)s
           AND (priority, fair, id) > (%(past_priority)s, %(past_fair)s, %(past_id)s)
           AND (pipeline_id <> ALL (%(paused)s)
                OR waiting_since <= statement_timestamp() - make_interval(secs => %(longest_wait)s))
         ORDER BY priority, fair, id FOR NO KEY UPDATE SKIP LOCKED LIMIT 100) found
     LIMIT %(limit)s - (SELECT count(*) FROM expired) - (SELECT count(*) FROM retry) - (SELECT count(*) FROM retry_again)),
candidate AS (
    SELECT * FROM expired UNION ALL SELECT * FROM retry UNION ALL SELECT * FROM retry_again UNION ALL SELECT * FROM pending)
UPDATE index_task t
   SET state = 'RUNNING', attempts = t.attempts + 1, failures = t.failures + candidate.charge,
       lease_owner = %(worker)s, lease_until = clock_timestamp() + make_interval(secs => %(lease)s),
       next_attempt_at = NULL, started_at = clock_timestamp(), updated_at = clock_timestamp(),
       stage = NULL, progress_done = 0, progress_total = 0, fence_xact = NULL
  FROM candidate WHERE t.id = candidate.id
RETURNING t.id, t.tenant_id, t.document_id, t.version_number, t.pipeline_id, t.task_type, t.generation, t.attempts,
          t.failures, t.max_failures, t.readers_requested,
          extract(epoch FROM clock_timestamp() - t.waiting_since)::float8 AS waited,
          candidate.part, t.priority, t.fair;

-- name: renew
-- Prolong a lease. One row always: `renewed`, `busy` (our own finish holds the row: neither lost nor renewed), or `lost`.
-- SKIP LOCKED: a renewal that waited for our finish would see the ended task and report a false loss.
-- It leaves the holder's mark: after a clock was set back, or for a shorter lease, the new end may be the earlier one.
WITH held AS MATERIALIZED (
    SELECT id, state, lease_owner, attempts, lease_until FROM index_task WHERE id = %(task)s FOR NO KEY UPDATE SKIP LOCKED),
renewed AS (
    UPDATE index_task t
       SET lease_until = clock_timestamp() + make_interval(secs => %(lease)s), updated_at = clock_timestamp(),
           fence_xact = pg_current_xact_id()
      FROM held
     WHERE t.id = held.id AND held.state = 'RUNNING' AND held.lease_owner = %(worker)s AND held.attempts = %(attempts)s
       AND held.lease_until > clock_timestamp()
    RETURNING t.id)
SELECT CASE WHEN EXISTS (SELECT 1 FROM renewed) THEN 'renewed'
            WHEN EXISTS (SELECT 1 FROM held) THEN 'lost'
            WHEN EXISTS (SELECT 1 FROM index_task WHERE id = %(task)s) THEN 'busy'
            ELSE 'lost' END AS outcome;

-- name: fence
-- Mark this transaction as the holder of a live lease and keep the row locked. No row: the lease is lost.
-- Locks first and checks after: `UPDATE … WHERE lease_until > clock_timestamp()` alone accepted a dead lease after waiting
-- for a lock whose holder rolled back, since nothing is checked again then; and now() stands still in a transaction.
WITH held AS MATERIALIZED (
    SELECT id, state, lease_owner, attempts, lease_until FROM index_task WHERE id = %(task)s FOR NO KEY UPDATE)
UPDATE index_task t
   SET fence_xact = pg_current_xact_id()
  FROM held
 WHERE t.id = held.id AND held.state = 'RUNNING' AND held.lease_owner = %(worker)s AND held.attempts = %(attempts)s
   AND held.lease_until > clock_timestamp()
RETURNING t.id;

-- name: report
-- Say where a running task is, under its lease; tells what speaks against going on (read without a lock: the end of the
-- attempt reads it again under one). No row: the lease is lost.
WITH held AS MATERIALIZED (
    SELECT id, state, lease_owner, attempts, lease_until FROM index_task WHERE id = %(task)s FOR NO KEY UPDATE)
UPDATE index_task t
   SET stage = %(stage)s, progress_done = %(done)s, progress_total = %(total)s, updated_at = clock_timestamp()
  FROM held
 WHERE t.id = held.id AND held.state = 'RUNNING' AND held.lease_owner = %(worker)s AND held.attempts = %(attempts)s
   AND held.lease_until > clock_timestamp()
RETURNING t.cancel_requested,
          EXISTS (SELECT 1 FROM document d WHERE d.id = t.document_id AND d.deleted_at IS NOT NULL) AS deleted,
          EXISTS (SELECT 1 FROM document d WHERE d.id = t.document_id AND d.withdrawn_at IS NOT NULL) AS withdrawn,
          t.readers_requested AND NOT EXISTS (
              SELECT 1 FROM read_rule r WHERE r.document_id = t.document_id AND r.version_number = t.version_number)
              AS revoked;

-- name: release
-- Give a lease back uncharged (the worker is told to stop). No row: the lease is lost.
-- It keeps its turn, but for one in a pool that is no longer its tenant's: turns of two pools cannot be compared.
WITH held AS MATERIALIZED (
    SELECT id, state, lease_owner, attempts, lease_until FROM index_task WHERE id = %(task)s FOR NO KEY UPDATE)
UPDATE index_task t
   SET state = 'PENDING', pool = index_task_pool(t.tenant_id, t.pool), lease_owner = NULL, lease_until = NULL, stage = NULL,
       fair = CASE WHEN index_task_pool(t.tenant_id, t.pool) = t.pool THEN t.fair
                   ELSE index_task_turn(t.tenant_id, index_task_pool(t.tenant_id, t.pool), t.priority) END,
       progress_done = 0, progress_total = 0,
       fence_xact = pg_current_xact_id(), updated_at = clock_timestamp()
  FROM held
 WHERE t.id = held.id AND held.state = 'RUNNING' AND held.lease_owner = %(worker)s AND held.attempts = %(attempts)s
   AND held.lease_until > clock_timestamp()
RETURNING t.id;

-- name: fail
-- End an attempt as RETRY_WAIT, DEAD or CANCELLED. No row: the lease is lost, and with it the right to record a failure.
WITH held AS MATERIALIZED (
    SELECT id, state, lease_owner, attempts, lease_until FROM index_task WHERE id = %(task)s FOR NO KEY UPDATE)
UPDATE index_task t
   SET state = %(state)s::text, failures = least(t.failures + %(charge)s, t.max_failures), lease_owner = NULL, lease_until = NULL,
       pool = index_task_pool(t.tenant_id, t.pool),
       next_attempt_at = CASE WHEN %(state)s::text = 'RETRY_WAIT' THEN clock_timestamp() + make_interval(secs => %(delay)s) END,
       finished_at = CASE WHEN %(state)s::text = 'RETRY_WAIT' THEN NULL ELSE clock_timestamp() END,
       error_code = %(code)s, error_message = %(message)s, error_places = %(places)s::jsonb, cancel_requested = false,
       fence_xact = pg_current_xact_id(), updated_at = clock_timestamp()
  FROM held
 WHERE t.id = held.id AND held.state = 'RUNNING' AND held.lease_owner = %(worker)s AND held.attempts = %(attempts)s
   AND held.lease_until > clock_timestamp()
RETURNING t.id;

-- name: succeed
-- Mark the task done, in the transaction that fenced it and moved the pointer. No row: this transaction holds no fence.
UPDATE index_task
   SET state = 'SUCCEEDED', lease_owner = NULL, lease_until = NULL, stage = NULL, error_code = NULL, error_message = NULL,
       cancel_requested = false, finished_at = clock_timestamp(), updated_at = clock_timestamp(),
       progress_done = %(count)s, progress_total = %(count)s
 WHERE id = %(task)s AND attempts = %(attempts)s AND state = 'RUNNING' AND fence_xact = pg_current_xact_id()
RETURNING id;

-- name: outcome
-- How an attempt ended by its own word, for a worker that was cut off before it heard the answer. No row: it did not, so it
-- runs still, or its lease ran out (both codes are of moves by others).
SELECT to_state FROM task_event
 WHERE task_id = %(task)s AND kind = 'move' AND attempts = %(attempts)s AND worker = %(worker)s
   AND from_state = 'RUNNING' AND to_state <> 'RUNNING'
   AND NOT (to_state = 'DEAD' AND code IN ('LEASE_ATTEMPTS_EXHAUSTED', 'DOCUMENT_DELETED'));

-- name: times_ended
-- How often an error ended an attempt of this task since it was last opened. One row always.
SELECT count(*) AS count FROM task_event
 WHERE task_id = %(task)s AND kind = 'move' AND from_state = 'RUNNING' AND code = %(code)s
   AND id > (SELECT max(id) FROM task_event
              WHERE task_id = %(task)s AND kind = 'move' AND to_state = 'PENDING'
                AND (from_state IS NULL OR from_state IN ('DEAD', 'CANCELLED')));

-- name: record_refusal
-- Remember that a late write was refused, with its token and what the row says now; the write itself was rolled back.
-- `detail` is the attempt that took over, or the state that the task is in. No row: it is on record, or there is no such task.
INSERT INTO task_event (task_id, tenant_id, kind, attempts, worker, action, code, detail)
SELECT t.id, t.tenant_id, 'refused', %(attempts)s, %(worker)s, %(action)s::text,
       CASE WHEN d.deleted_at IS NOT NULL THEN 'DOCUMENT_DELETED'
            WHEN t.attempts > %(attempts)s THEN 'TAKEN_OVER'
            WHEN t.state = 'CANCELLED' THEN 'CANCELLED'
            WHEN t.state <> 'RUNNING' THEN 'ENDED'
            ELSE 'LEASE_EXPIRED' END,
       CASE WHEN t.attempts > %(attempts)s THEN t.attempts::text ELSE t.state END
  FROM index_task t JOIN document d ON d.id = t.document_id
 WHERE t.id = %(task)s
   AND NOT EXISTS (SELECT 1 FROM task_event e
                    WHERE e.task_id = t.id AND e.kind = 'refused' AND e.attempts = %(attempts)s AND e.action = %(action)s::text)
RETURNING id;

-- name: next_due
-- Seconds until something in the pool becomes due by the clock (0 or less: now). No row or null: nothing waits for time.
-- What is due but paused does not count: a worker that woke for it would find nothing, at once and again.
SELECT extract(epoch FROM least(
           (SELECT min(next_attempt_at) FROM index_task
             WHERE state = 'RETRY_WAIT' AND pool = %(pool)s AND pipeline_id <> ALL (%(paused)s)),
           (SELECT min(lease_until) FROM index_task WHERE state = 'RUNNING' AND pool = %(pool)s))
       - clock_timestamp())::float8 AS seconds;

-- name: prioritise
-- Give a waiting task another priority; within it, it takes its tenant's next turn. No row: it does not wait.
UPDATE index_task
   SET priority = %(priority)s, fair = index_task_turn(tenant_id, pool, %(priority)s), updated_at = clock_timestamp()
 WHERE id = %(task)s AND state IN ('PENDING', 'RETRY_WAIT', 'DEAD')
RETURNING id;

-- name: move_waiting
-- Move waiting tasks of a tenant into the pool where they belong now, up to `limit` at a time, in their order; what runs moves
-- when it comes back. No row: nothing is left to move.
UPDATE index_task t
   SET pool = waiting.target, fair = index_task_turn(t.tenant_id, waiting.target, t.priority) + waiting.number,
       updated_at = clock_timestamp()
  FROM (SELECT id, target, row_number() OVER (PARTITION BY priority ORDER BY fair, id) - 1 AS number
          FROM (SELECT id, priority, fair, index_task_pool(tenant_id, 'online') AS target FROM index_task
                 WHERE tenant_id = %(tenant)s AND pool NOT IN ('bulk', index_task_pool(%(tenant)s, 'online'))
                   AND (state = 'PENDING' OR state = 'RETRY_WAIT')
                 ORDER BY priority, fair, id LIMIT %(limit)s FOR NO KEY UPDATE SKIP LOCKED) locked) waiting
 WHERE t.id = waiting.id
RETURNING t.id;

-- name: unattended_pools
-- Pools where a task has waited for `seconds` and nothing runs. No row: every pool with waiting tasks has a worker.
SELECT p.pool, (SELECT count(*) FROM (SELECT 1 FROM index_task w WHERE w.state = 'PENDING' AND w.pool = p.pool LIMIT 1000) c) AS waiting
  FROM unnest(%(pools)s::text[]) AS p(pool)
 WHERE NOT EXISTS (SELECT 1 FROM index_task r WHERE r.state = 'RUNNING' AND r.pool = p.pool AND r.lease_until > statement_timestamp())
   AND (SELECT w.updated_at FROM index_task w WHERE w.state = 'PENDING' AND w.pool = p.pool ORDER BY w.priority, w.fair, w.id LIMIT 1)
       < statement_timestamp() - make_interval(secs => %(seconds)s);
