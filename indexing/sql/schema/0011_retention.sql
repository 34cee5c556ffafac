-- What leaves by itself, and what the database keeps whatever is asked (docs/retention.md).
-- A file of a migration never changes after it has landed: what replaces a function of it stands in a later one.

-- As in 0002, and: the set that a pointer leaves is entered as an orphan; one of a deleted document is purged instead.
CREATE OR REPLACE FUNCTION search_pointer_log() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO pointer_log (tenant_id, document_id, pipeline_id, from_version, from_generation, to_version, to_generation,
                             task_id, attempts)
    SELECT r.tenant_id, r.document_id, r.pipeline_id,
           CASE WHEN TG_OP <> 'INSERT' THEN OLD.version_number END, CASE WHEN TG_OP <> 'INSERT' THEN OLD.generation END,
           CASE WHEN TG_OP <> 'DELETE' THEN NEW.version_number END, CASE WHEN TG_OP <> 'DELETE' THEN NEW.generation END,
           r.task_id, r.attempts
      FROM (SELECT (CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END).*) r;
    IF TG_OP = 'UPDATE' OR (TG_OP = 'DELETE' AND NOT EXISTS (
           SELECT 1 FROM document d WHERE d.id = OLD.document_id AND d.deleted_at IS NOT NULL)) THEN
        INSERT INTO orphan_set (tenant_id, document_id, pipeline_id, version_number, generation, kind)
        VALUES (OLD.tenant_id, OLD.document_id, OLD.pipeline_id, OLD.version_number, OLD.generation,
                CASE WHEN TG_OP = 'UPDATE' THEN 'replaced' ELSE 'retired' END)
        ON CONFLICT (document_id, pipeline_id, version_number, generation)
        DO UPDATE SET kind = excluded.kind, counted_from = excluded.counted_from;
    END IF;
    RETURN NULL;
END $$;

-- As in 0003, and: what a task has staged that ends without it is entered as an orphan. (A condition of a trigger of its own
-- would be read from its stored form again by every statement.)
CREATE OR REPLACE FUNCTION index_task_log() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO task_event (task_id, tenant_id, kind, to_state, attempts)
        VALUES (NEW.id, NEW.tenant_id, 'move', NEW.state, NEW.attempts);
    ELSIF OLD.state = NEW.state AND OLD.attempts = NEW.attempts THEN
        INSERT INTO task_event (task_id, tenant_id, kind, attempts, worker, code)
        VALUES (NEW.id, NEW.tenant_id, 'wish', NEW.attempts, NEW.lease_owner,
                CASE WHEN NEW.cancel_requested THEN 'CANCEL_REQUESTED' ELSE 'WANTED_AGAIN' END);
    ELSE
        INSERT INTO task_event (task_id, tenant_id, kind, from_state, to_state, attempts, worker, code, stage)
        VALUES (NEW.id, NEW.tenant_id, 'move', OLD.state, NEW.state, NEW.attempts,
                COALESCE(NEW.lease_owner, OLD.lease_owner),
                CASE WHEN NEW.state IN ('RETRY_WAIT', 'DEAD', 'CANCELLED') THEN NEW.error_code
                     WHEN NEW.state = 'RUNNING' AND OLD.state = 'RUNNING' THEN 'LEASE_EXPIRED'
                     WHEN NEW.state = 'PENDING' AND OLD.state = 'RUNNING' THEN 'RELEASED'
                     WHEN NEW.state = 'PENDING' THEN 'REOPENED' END,
                CASE WHEN OLD.state = 'RUNNING' THEN OLD.stage END);
        IF NEW.state IN ('DEAD', 'CANCELLED') THEN
            PERFORM enter_abandoned(NEW);
        END IF;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION enter_abandoned(task index_task) RETURNS void LANGUAGE sql SET search_path = public, pg_temp AS $$
    INSERT INTO orphan_set (tenant_id, document_id, pipeline_id, version_number, generation, kind)
    SELECT task.tenant_id, task.document_id, task.pipeline_id, task.version_number, task.generation, 'abandoned'
     WHERE EXISTS (SELECT 1 FROM chunk c
                    WHERE c.document_id = task.document_id AND c.pipeline_id = task.pipeline_id
                      AND c.version_number = task.version_number AND c.generation = task.generation)
       AND NOT EXISTS (SELECT 1 FROM search_pointer p
                        WHERE p.document_id = task.document_id AND p.pipeline_id = task.pipeline_id
                          AND p.version_number = task.version_number AND p.generation = task.generation)
    ON CONFLICT (document_id, pipeline_id, version_number, generation)
    DO UPDATE SET counted_from = excluded.counted_from WHERE orphan_set.kind = 'abandoned'
$$;

-- What was left behind before there was a list of it.
INSERT INTO orphan_set (tenant_id, document_id, pipeline_id, version_number, generation, kind, counted_from)
SELECT DISTINCT ON (l.document_id, l.pipeline_id, l.from_version, l.from_generation)
       l.tenant_id, l.document_id, l.pipeline_id, l.from_version, l.from_generation, 'replaced', l.at
  FROM pointer_log l
 WHERE l.from_version IS NOT NULL
   AND EXISTS (SELECT 1 FROM chunk c WHERE c.document_id = l.document_id AND c.pipeline_id = l.pipeline_id
                                       AND c.version_number = l.from_version AND c.generation = l.from_generation)
   AND NOT EXISTS (SELECT 1 FROM search_pointer p WHERE p.document_id = l.document_id AND p.pipeline_id = l.pipeline_id
                                       AND p.version_number = l.from_version AND p.generation = l.from_generation)
 ORDER BY l.document_id, l.pipeline_id, l.from_version, l.from_generation, l.at DESC;
SELECT enter_abandoned(t) FROM index_task t WHERE t.state IN ('DEAD', 'CANCELLED');

-- As in 0002, and: nothing of a version that is held, but what the worker of that very set replaces under its lease.
CREATE OR REPLACE FUNCTION chunk_delete_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM 1 FROM index_task t
      WHERE (t.document_id, t.version_number, t.pipeline_id, t.generation)
            IN (SELECT document_id, version_number, pipeline_id, generation FROM removed)
      ORDER BY t.id FOR SHARE;
    IF EXISTS (
        SELECT 1 FROM (SELECT DISTINCT document_id, pipeline_id, version_number, generation FROM removed) r
          JOIN search_pointer p USING (document_id, pipeline_id, version_number, generation)
          JOIN document d ON d.id = r.document_id AND d.deleted_at IS NULL) THEN
        RAISE EXCEPTION 'chunks that readers are served cannot be removed' USING ERRCODE = 'KB022';
    END IF;
    IF EXISTS (
        SELECT 1 FROM (SELECT DISTINCT document_id, pipeline_id, version_number, generation FROM removed) r
         WHERE document_is_held(r.document_id, r.version_number)
           AND NOT EXISTS (
               SELECT 1 FROM index_task t
                WHERE t.document_id = r.document_id AND t.version_number = r.version_number
                  AND t.pipeline_id = r.pipeline_id AND t.generation = r.generation
                  AND t.state = 'RUNNING' AND t.fence_xact = pg_current_xact_id_if_assigned())) THEN
        RAISE EXCEPTION 'chunks of a version under audit hold cannot be removed' USING ERRCODE = 'KB060';
    END IF;
    RETURN NULL;
END $$;

-- As in 0003, and: a pointer of a retired pipeline goes too (the tenant's roles stand still meanwhile: 27490 is the first key of
-- its lock, documents/locks.py); one to a version that is held does not.
CREATE OR REPLACE FUNCTION search_pointer_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    chunks bigint;
    vectors bigint;
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF document_is_held(OLD.document_id, OLD.version_number) THEN
            RAISE EXCEPTION 'the pointer to a version under audit hold cannot be removed' USING ERRCODE = 'KB060';
        END IF;
        IF EXISTS (SELECT 1 FROM document WHERE id = OLD.document_id AND deleted_at IS NOT NULL) THEN
            RETURN OLD;
        END IF;
        PERFORM pg_advisory_xact_lock_shared(27490, OLD.tenant_id::int);
        IF EXISTS (SELECT 1 FROM tenant_pipeline tp
                    WHERE tp.tenant_id = OLD.tenant_id AND tp.pipeline_id = OLD.pipeline_id AND tp.role <> 'RETIRED') THEN
            RAISE EXCEPTION 'the pointer of a living document cannot be removed' USING ERRCODE = 'KB032';
        END IF;
        RETURN OLD;
    END IF;
    IF NOT EXISTS (
        SELECT 1 FROM index_task t
         WHERE t.id = NEW.task_id AND t.attempts = NEW.attempts AND t.tenant_id = NEW.tenant_id
           AND t.document_id = NEW.document_id AND t.version_number = NEW.version_number
           AND t.pipeline_id = NEW.pipeline_id AND t.generation = NEW.generation
           AND t.state = 'RUNNING' AND t.fence_xact = pg_current_xact_id_if_assigned()) THEN
        RAISE EXCEPTION 'a pointer is moved only under a live lease' USING ERRCODE = 'KB030';
    END IF;
    IF TG_OP = 'UPDATE' AND ((NEW.version_number, NEW.generation) <= (OLD.version_number, OLD.generation)
                             OR (NEW.document_id, NEW.pipeline_id, NEW.tenant_id)
                                <> (OLD.document_id, OLD.pipeline_id, OLD.tenant_id)) THEN
        RAISE EXCEPTION 'a pointer never goes back: document %, % to %', OLD.document_id, OLD.version_number,
            NEW.version_number USING ERRCODE = 'KB031';
    END IF;
    IF EXISTS (SELECT 1 FROM document WHERE id = NEW.document_id AND deleted_at IS NOT NULL) THEN
        RAISE EXCEPTION 'a deleted document has no pointer' USING ERRCODE = 'KB033';
    END IF;
    PERFORM pg_advisory_xact_lock(chunk_set_key(NEW.document_id, NEW.pipeline_id, NEW.version_number, NEW.generation));
    SELECT count(*), count(v.chunk_id) INTO chunks, vectors
      FROM chunk c LEFT JOIN chunk_vector v ON v.chunk_id = c.id
     WHERE c.document_id = NEW.document_id AND c.pipeline_id = NEW.pipeline_id
       AND c.version_number = NEW.version_number AND c.generation = NEW.generation;
    IF (chunks, vectors) <> (NEW.chunk_count, NEW.chunk_count) THEN
        RAISE EXCEPTION 'a pointer includes complete sets only: % of % chunks, % vectors', chunks, NEW.chunk_count, vectors
            USING ERRCODE = 'KB033';
    END IF;
    RETURN NEW;
END $$;

-- A task that nothing depends on any more: it ended, a newer version was asked for (or its document was purged), its chunks have
-- left, no pointer names it, no bulk run waits for it, and nobody holds its version.
CREATE FUNCTION index_task_is_spent(task index_task) RETURNS boolean LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT task.state IN ('SUCCEEDED', 'DEAD', 'CANCELLED')
       AND EXISTS (SELECT 1 FROM document d
                    WHERE d.id = task.document_id AND (d.purged_at IS NOT NULL OR task.version_number < d.requested_version))
       AND NOT EXISTS (SELECT 1 FROM chunk c
                        WHERE c.document_id = task.document_id AND c.pipeline_id = task.pipeline_id
                          AND c.version_number = task.version_number AND c.generation = task.generation)
       AND NOT EXISTS (SELECT 1 FROM search_pointer p
                        WHERE p.document_id = task.document_id AND p.pipeline_id = task.pipeline_id AND p.task_id = task.id)
       AND NOT EXISTS (SELECT 1 FROM recompute_run r JOIN recompute_item i ON i.run_id = r.id
                        WHERE r.ended_at IS NULL AND r.stopped_at IS NULL AND i.document_id = task.document_id
                          AND i.task_id = task.id)
       AND NOT document_is_held(task.document_id, task.version_number)
$$;

-- An event that no running or waiting task may ask for, and of no version that is held.
CREATE FUNCTION task_event_is_spent(event task_event) RETURNS boolean LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT NOT EXISTS (SELECT 1 FROM index_task t
                        WHERE t.id = event.task_id
                          AND (t.state NOT IN ('SUCCEEDED', 'DEAD', 'CANCELLED')
                               OR document_is_held(t.document_id, t.version_number)))
$$;

-- Each takes the oldest rows out, looking at `batch` of those with an id above `past`; `last` is the last one that was looked at,
-- null once there is none (that old). None takes anything younger than a week, whatever is asked.
CREATE FUNCTION forget_index_tasks(before timestamptz, past bigint, batch int, OUT last bigint, OUT removed bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    SELECT max(id) INTO last FROM (SELECT t.id FROM index_task t WHERE t.id > past ORDER BY t.id LIMIT batch) looked;
    DELETE FROM index_task WHERE id IN (
        SELECT t.id FROM index_task t
         WHERE t.id > past AND t.id <= last AND t.finished_at < least(before, clock_timestamp() - interval '7 days')
           AND index_task_is_spent(t)
         ORDER BY t.id FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS removed = ROW_COUNT;
END $$;

CREATE FUNCTION forget_task_events(before timestamptz, past bigint, batch int, OUT last bigint, OUT removed bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    before := least(before, clock_timestamp() - interval '7 days');
    SELECT max(id) INTO last FROM (SELECT e.id, e.at FROM task_event e WHERE e.id > past ORDER BY e.id LIMIT batch) looked
     WHERE looked.at < before;
    PERFORM set_config('kb.retention', 'task_event', true);
    DELETE FROM task_event e WHERE e.id > past AND e.id <= last AND e.at < before AND task_event_is_spent(e);
    GET DIAGNOSTICS removed = ROW_COUNT;
    PERFORM set_config('kb.retention', '', true);
END $$;

CREATE FUNCTION forget_pointer_moves(before timestamptz, past bigint, batch int, OUT last bigint, OUT removed bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    before := least(before, clock_timestamp() - interval '7 days');
    SELECT max(id) INTO last FROM (SELECT l.id, l.at FROM pointer_log l WHERE l.id > past ORDER BY l.id LIMIT batch) looked
     WHERE looked.at < before;
    PERFORM set_config('kb.retention', 'pointer_log', true);
    DELETE FROM pointer_log l WHERE l.id > past AND l.id <= last AND l.at < before AND NOT document_is_held(l.document_id, NULL);
    GET DIAGNOSTICS removed = ROW_COUNT;
    PERFORM set_config('kb.retention', '', true);
END $$;

CREATE FUNCTION forget_provider_events(before timestamptz, past bigint, batch int, OUT last bigint, OUT removed bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    before := least(before, clock_timestamp() - interval '7 days');
    SELECT max(id) INTO last FROM (SELECT e.id, e.at FROM provider_event e WHERE e.id > past ORDER BY e.id LIMIT batch) looked
     WHERE looked.at < before;
    PERFORM set_config('kb.retention', 'provider_event', true);
    DELETE FROM provider_event e WHERE e.id > past AND e.id <= last AND e.at < before;
    GET DIAGNOSTICS removed = ROW_COUNT;
    PERFORM set_config('kb.retention', '', true);
END $$;

-- A run goes after the last document of its list.
CREATE FUNCTION forget_recompute_items(before timestamptz, past bigint, batch int, OUT last bigint, OUT removed bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    before := least(before, clock_timestamp() - interval '7 days');
    SELECT max(id) INTO last FROM (SELECT i.id FROM recompute_item i WHERE i.id > past ORDER BY i.id LIMIT batch) looked;
    DELETE FROM recompute_item i USING recompute_run r
     WHERE i.id > past AND i.id <= last AND r.id = i.run_id AND coalesce(r.ended_at, r.stopped_at) < before;
    GET DIAGNOSTICS removed = ROW_COUNT;
    IF last IS NULL THEN
        DELETE FROM recompute_run r
         WHERE coalesce(r.ended_at, r.stopped_at) < before AND NOT EXISTS (SELECT 1 FROM recompute_item i WHERE i.run_id = r.id);
    END IF;
END $$;

REVOKE EXECUTE ON FUNCTION enter_abandoned(index_task), forget_index_tasks(timestamptz, bigint, int),
    forget_task_events(timestamptz, bigint, int), forget_pointer_moves(timestamptz, bigint, int),
    forget_provider_events(timestamptz, bigint, int), forget_recompute_items(timestamptz, bigint, int) FROM PUBLIC;
