-- Turns among tenants, and room for the queue's rows to change in place.

-- The turn of a tenant's next waiting task: behind the tenant's own last one, but not behind everybody else's.
-- Two publishers of one tenant at once may give two tasks the same turn; the next one stands behind both.
CREATE FUNCTION index_task_turn(of_tenant bigint, of_pool text, of_priority int) RETURNS bigint LANGUAGE sql STABLE
SET search_path = public, pg_temp AS $$
    SELECT greatest(
        coalesce((SELECT max(fair) + 1 FROM index_task
                   WHERE state = 'PENDING' AND tenant_id = of_tenant AND pool = of_pool AND priority = of_priority), 0),
        coalesce((SELECT min(fair) FROM index_task
                   WHERE state = 'PENDING' AND pool = of_pool AND priority = of_priority), 0))
$$;

-- The pool of a tenant's task: what somebody waits for goes into the tenant's own pool, a bulk run stays one.
CREATE FUNCTION index_task_pool(of_tenant bigint, asked text) RETURNS text LANGUAGE sql STABLE
SET search_path = public, pg_temp AS $$
    SELECT CASE WHEN asked = 'bulk' THEN asked
                ELSE coalesce((SELECT pool FROM tenant_pool WHERE tenant_id = of_tenant), 'online') END
$$;

ALTER TABLE tenant_pool ADD CONSTRAINT tenant_pool_name CHECK (pool ~ '^[a-z][a-z0-9-]{0,19}$');

-- In the place of foreign keys, which an UPDATE checks again after another one in its transaction: a task's pipeline exists,
-- and pipelines are never removed. (Tenant, document and version: index_task_insert_guard.)
CREATE FUNCTION index_task_pipeline_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pipeline p WHERE p.id = NEW.pipeline_id) THEN
        RAISE EXCEPTION 'a task is for a pipeline that exists' USING ERRCODE = 'KB010';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER index_task_pipeline_guard BEFORE INSERT ON index_task
    FOR EACH ROW EXECUTE FUNCTION index_task_pipeline_guard();

-- The states' CHECKs of 0001 in the guards' words. A CHECK and a trigger's WHEN are read from their stored form again by every
-- statement; a function's expressions stay with the session. (docs/queue.md, “What keeps a claim cheap”.)
CREATE OR REPLACE FUNCTION index_task_insert_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF NEW.state <> 'PENDING' OR NEW.attempts <> 0 OR NEW.failures <> 0 OR NEW.fence_xact IS NOT NULL THEN
        RAISE EXCEPTION 'a task begins PENDING, with no attempt made' USING ERRCODE = 'KB010';
    END IF;
    IF num_nonnulls(NEW.lease_owner, NEW.lease_until, NEW.next_attempt_at, NEW.finished_at) > 0
       OR least(NEW.generation, NEW.max_failures, NEW.progress_done, NEW.progress_total) < 0 THEN
        RAISE EXCEPTION 'a task begins without a lease, a date or a debt' USING ERRCODE = 'KB019';
    END IF;
    IF NOT EXISTS (SELECT 1 FROM document_version v
                    WHERE v.document_id = NEW.document_id AND v.number = NEW.version_number
                      AND v.tenant_id = NEW.tenant_id) THEN
        RAISE EXCEPTION 'a task is for a version of a document of its own tenant' USING ERRCODE = 'KB010';
    END IF;
    RETURN NEW;
END $$;

-- As in 0003, and: a lease if and only if it runs, a date if and only if it waits for one, an end if and only if it has ended,
-- a reason for whatever is not well.
CREATE OR REPLACE FUNCTION index_task_guard() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    claimed boolean := NEW.attempts <> OLD.attempts;
    moved boolean := NEW.state <> OLD.state OR claimed;
    lease_lives boolean := OLD.state = 'RUNNING' AND OLD.lease_until > clock_timestamp();
    fenced boolean := coalesce(NEW.fence_xact = pg_current_xact_id_if_assigned(), false);
BEGIN
    IF (NEW.id, NEW.tenant_id, NEW.document_id, NEW.version_number, NEW.pipeline_id, NEW.task_type, NEW.generation,
        NEW.max_failures)
       IS DISTINCT FROM
       (OLD.id, OLD.tenant_id, OLD.document_id, OLD.version_number, OLD.pipeline_id, OLD.task_type, OLD.generation,
        OLD.max_failures) THEN
        RAISE EXCEPTION 'task %: what it is for cannot change', OLD.id USING ERRCODE = 'KB011';
    END IF;
    IF NEW.attempts NOT IN (OLD.attempts, OLD.attempts + 1) OR (claimed AND NEW.state <> 'RUNNING') THEN
        RAISE EXCEPTION 'task %: attempts only grow, by one, with a claim', OLD.id USING ERRCODE = 'KB012';
    END IF;
    IF NEW.fence_xact IS NOT NULL AND NEW.fence_xact IS DISTINCT FROM OLD.fence_xact
       AND NOT (lease_lives AND NOT claimed AND NEW.fence_xact = pg_current_xact_id()) THEN
        RAISE EXCEPTION 'task %: no live lease to fence with', OLD.id USING ERRCODE = 'KB013';
    END IF;
    IF NEW.failures <> OLD.failures
       AND NOT (NEW.failures = 0 AND OLD.state IN ('DEAD', 'CANCELLED') AND NEW.state = 'PENDING')
       AND NOT (NEW.failures = OLD.failures + 1 AND NEW.failures <= NEW.max_failures AND OLD.state = 'RUNNING' AND moved) THEN
        RAISE EXCEPTION 'task %: the budget is charged by the end of an attempt, and forgotten when a task is reopened', OLD.id
            USING ERRCODE = 'KB016';
    END IF;
    -- (A minute of grace: a clock that was set back must keep nobody from a retry.)
    IF NEW.waiting_since <> OLD.waiting_since
       AND NEW.waiting_since NOT BETWEEN least(OLD.waiting_since, clock_timestamp() - interval '1 minute') AND clock_timestamp()
    THEN
        RAISE EXCEPTION 'task %: its waiting began neither earlier nor in the future', OLD.id USING ERRCODE = 'KB016';
    END IF;
    -- Renewals take no fence, so a lease reaches only so far: nobody keeps a task by one UPDATE.
    IF NEW.lease_until IS DISTINCT FROM OLD.lease_until AND NEW.lease_until > clock_timestamp() + interval '10 minutes' THEN
        RAISE EXCEPTION 'task %: a lease is at most ten minutes', OLD.id USING ERRCODE = 'KB015';
    END IF;
    IF moved THEN
        IF NOT index_task_move_is_legal(OLD.state, NEW.state) OR (NEW.state = 'RUNNING' AND NOT claimed) THEN
            RAISE EXCEPTION 'task %: % to % is not a legal move', OLD.id, OLD.state, NEW.state USING ERRCODE = 'KB014';
        END IF;
        IF OLD.state = 'RUNNING' AND NOT fenced AND NOT (NOT lease_lives AND NEW.state IN ('RUNNING', 'DEAD')) THEN
            RAISE EXCEPTION 'task %: a running attempt is ended by its own lease, or taken over after it', OLD.id
                USING ERRCODE = 'KB015';
        END IF;
        IF OLD.state = 'RETRY_WAIT' AND NEW.state = 'RUNNING' AND OLD.next_attempt_at > clock_timestamp() THEN
            RAISE EXCEPTION 'task %: not due yet', OLD.id USING ERRCODE = 'KB014';
        END IF;
    ELSIF OLD.state = 'RUNNING' THEN
        IF NEW.lease_owner IS DISTINCT FROM OLD.lease_owner THEN
            RAISE EXCEPTION 'task %: a lease changes hands only by a claim', OLD.id USING ERRCODE = 'KB015';
        END IF;
        -- Cutting a lease short would take it away from its holder.
        IF NEW.lease_until < OLD.lease_until AND lease_lives AND NOT fenced THEN
            RAISE EXCEPTION 'task %: a live lease is not cut short', OLD.id USING ERRCODE = 'KB015';
        END IF;
        -- Renewing a dead lease would steal it back from whoever is about to take over.
        IF NEW.lease_until > OLD.lease_until AND NOT lease_lives THEN
            RAISE EXCEPTION 'task %: an expired lease cannot be renewed', OLD.id USING ERRCODE = 'KB015';
        END IF;
    ELSIF OLD.state IN ('SUCCEEDED', 'DEAD', 'CANCELLED')
          AND (NEW.error_code, NEW.error_message, NEW.finished_at)
              IS DISTINCT FROM (OLD.error_code, OLD.error_message, OLD.finished_at) THEN
        RAISE EXCEPTION 'task %: how it ended does not change', OLD.id USING ERRCODE = 'KB017';
    END IF;
    IF (NEW.lease_owner IS NOT NULL) <> (NEW.state = 'RUNNING') OR (NEW.lease_until IS NOT NULL) <> (NEW.state = 'RUNNING')
       OR (NEW.next_attempt_at IS NOT NULL) <> (NEW.state = 'RETRY_WAIT')
       OR (NEW.finished_at IS NOT NULL) <> (NEW.state IN ('SUCCEEDED', 'DEAD', 'CANCELLED'))
       OR (NEW.error_code IS NULL AND NEW.state IN ('RETRY_WAIT', 'DEAD', 'CANCELLED'))
       OR NEW.progress_done < 0 OR NEW.progress_total < 0 THEN
        RAISE EXCEPTION 'task %: what it says does not go with %', OLD.id, NEW.state USING ERRCODE = 'KB019';
    END IF;
    RETURN NEW;
END $$;

-- One condition in the place of two.
DROP TRIGGER index_task_log_wish ON index_task;
DROP TRIGGER index_task_log_move ON index_task;
CREATE TRIGGER index_task_log_move AFTER UPDATE ON index_task FOR EACH ROW
    WHEN (OLD.state <> NEW.state OR OLD.attempts <> NEW.attempts
          OR (NEW.state = 'RUNNING' AND OLD.cancel_requested <> NEW.cancel_requested))
    EXECUTE FUNCTION index_task_log();

-- As in 0003. Who may hang triggers on the log is its owner, or could be: asked this way, it takes no query and, with its table
-- named in full, no search_path of its own, for every move.
CREATE OR REPLACE FUNCTION task_event_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF has_table_privilege(TG_RELID, 'TRIGGER') THEN
        RETURN NEW;
    END IF;
    IF NEW.kind <> 'refused'
       OR NOT EXISTS (SELECT 1 FROM public.index_task t WHERE t.id = NEW.task_id AND t.tenant_id = NEW.tenant_id
                         AND NEW.attempts BETWEEN 1 AND t.attempts) THEN
        RAISE EXCEPTION 'what happened to a task is logged by its trigger' USING ERRCODE = 'KB003';
    END IF;
    RETURN NEW;
END $$;
