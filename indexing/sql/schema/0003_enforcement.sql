-- What the application's role may not change by hand.
-- A file of a migration never changes after it has landed: what replaces a function of it stands in a later one.
-- What holds by a trigger, what only by the services, and why: docs/decisions/0005-what-the-database-enforces.md.

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

-- As in 0002, and: the budget is charged one by one, by the end of an attempt or by a lease that ran out; its size holds;
-- waiting is counted from a moment that only moves on; how a task ended does not change afterwards; a lease if and only if it
-- runs, a date if and only if it waits for one, an end if and only if it has ended, a reason for whatever is not well.
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

-- Pointer moved ⇔ task SUCCEEDED, from both sides: no success without the pointer it is about …
CREATE FUNCTION index_task_success_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM search_pointer p
                    WHERE p.document_id = NEW.document_id AND p.pipeline_id = NEW.pipeline_id
                      AND p.task_id = NEW.id AND p.attempts = NEW.attempts) THEN
        RAISE EXCEPTION 'task %: it succeeds only with its pointer', NEW.id USING ERRCODE = 'KB018';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER index_task_success_guard BEFORE UPDATE ON index_task FOR EACH ROW
    WHEN (NEW.state = 'SUCCEEDED' AND OLD.state <> 'SUCCEEDED') EXECUTE FUNCTION index_task_success_guard();

-- … and at the end of the transaction no moved pointer whose task goes on.
CREATE FUNCTION search_pointer_success_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM index_task t WHERE t.id = NEW.task_id AND t.state = 'SUCCEEDED') THEN
        RAISE EXCEPTION 'a pointer is moved by a task that succeeds with it: task %', NEW.task_id USING ERRCODE = 'KB034';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER search_pointer_success_guard AFTER INSERT OR UPDATE ON search_pointer
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION search_pointer_success_guard();

-- The lock of a set of chunks: many may add to it, but nobody while a finish counts it. (Not the locks of the tasks' rows:
-- two tasks that make one set, an INDEX and a RECOMPUTE, would wait for each other in a circle.)
CREATE FUNCTION chunk_set_key(document_id uuid, pipeline_id int, version_number int, generation int) RETURNS bigint
    LANGUAGE sql IMMUTABLE AS $$
    SELECT hashtextextended(document_id || ' ' || pipeline_id || ' ' || version_number || ' ' || generation, 0)
$$;

-- As in 0002, and: the set is complete, each chunk with its vector, and the document lives.
CREATE OR REPLACE FUNCTION search_pointer_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    chunks bigint;
    vectors bigint;
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF NOT EXISTS (SELECT 1 FROM document WHERE id = OLD.document_id AND deleted_at IS NOT NULL) THEN
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

-- As in 0002, and: nothing is added to what readers are served already.
CREATE OR REPLACE FUNCTION chunk_insert_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    batch record;
BEGIN
    FOR batch IN SELECT DISTINCT task_id, attempts, tenant_id, document_id, version_number, pipeline_id, generation
                   FROM written LOOP
        IF NOT EXISTS (
            SELECT 1 FROM index_task t
             WHERE t.id = batch.task_id AND t.attempts = batch.attempts AND t.tenant_id = batch.tenant_id
               AND t.document_id = batch.document_id AND t.version_number = batch.version_number
               AND t.pipeline_id = batch.pipeline_id AND t.generation = batch.generation
               AND t.state = 'RUNNING' AND t.fence_xact = pg_current_xact_id_if_assigned()) THEN
            RAISE EXCEPTION 'chunks are written only under a live lease' USING ERRCODE = 'KB020';
        END IF;
        PERFORM pg_advisory_xact_lock_shared(
            chunk_set_key(batch.document_id, batch.pipeline_id, batch.version_number, batch.generation));
        IF EXISTS (
            SELECT 1 FROM search_pointer p
             WHERE p.document_id = batch.document_id AND p.pipeline_id = batch.pipeline_id
               AND p.version_number = batch.version_number AND p.generation = batch.generation) THEN
            RAISE EXCEPTION 'nothing is added to chunks that readers are served' USING ERRCODE = 'KB023';
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

-- The caches decide what the next attempt stages, so what stands in them is written under a lease too: of a task of the same
-- tenant, for the document, or for the bytes of the version, that the lease is about. A false entry could only be written by
-- the attempt that has the true one to write.
CREATE FUNCTION embedding_cache_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM (SELECT DISTINCT tenant_id FROM written) w
         WHERE NOT EXISTS (
            SELECT 1 FROM index_task t
             WHERE t.state = 'RUNNING' AND t.tenant_id = w.tenant_id
               AND t.fence_xact = pg_current_xact_id_if_assigned())) THEN
        RAISE EXCEPTION 'vectors are kept only under a live lease of their tenant' USING ERRCODE = 'KB040';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER embedding_cache_guard AFTER INSERT ON embedding_cache REFERENCING NEW TABLE AS written
    FOR EACH STATEMENT EXECUTE FUNCTION embedding_cache_guard();

CREATE FUNCTION embedded_text_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM (SELECT DISTINCT tenant_id, document_id FROM written) w
         WHERE NOT EXISTS (
            SELECT 1 FROM index_task t
             WHERE t.state = 'RUNNING' AND t.tenant_id = w.tenant_id AND t.document_id = w.document_id
               AND t.fence_xact = pg_current_xact_id_if_assigned())) THEN
        RAISE EXCEPTION 'texts are noted only under a live lease of their document' USING ERRCODE = 'KB040';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER embedded_text_guard AFTER INSERT ON embedded_text REFERENCING NEW TABLE AS written
    FOR EACH STATEMENT EXECUTE FUNCTION embedded_text_guard();

-- Its purge finds a document's cached vectors by these rows.
CREATE FUNCTION embedded_text_delete_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM (SELECT DISTINCT document_id FROM removed) r
                WHERE EXISTS (SELECT 1 FROM document d WHERE d.id = r.document_id AND d.deleted_at IS NULL)) THEN
        RAISE EXCEPTION 'which texts a living document has is not forgotten' USING ERRCODE = 'KB041';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER embedded_text_delete_guard AFTER DELETE ON embedded_text REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION embedded_text_delete_guard();

CREATE FUNCTION parse_cache_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM index_task t
          JOIN document_version v ON v.document_id = t.document_id AND v.number = t.version_number
          JOIN stored_content s ON s.id = v.content_id
         WHERE t.state = 'RUNNING' AND t.tenant_id = NEW.tenant_id AND t.fence_xact = pg_current_xact_id_if_assigned()
           AND s.sha256 = NEW.content_digest) THEN
        RAISE EXCEPTION 'a parse result is kept only under a live lease on its bytes' USING ERRCODE = 'KB040';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER parse_cache_guard BEFORE INSERT ON parse_cache FOR EACH ROW EXECUTE FUNCTION parse_cache_guard();

-- Only the columns that say what an entry is: when it was used last may well be written.
CREATE TRIGGER embedding_cache_update_guard BEFORE UPDATE OF tenant_id, fingerprint, text_digest, embedding ON embedding_cache
    FOR EACH STATEMENT EXECUTE FUNCTION chunk_update_guard();
CREATE TRIGGER embedded_text_update_guard BEFORE UPDATE OF tenant_id, document_id, text_digest ON embedded_text
    FOR EACH STATEMENT EXECUTE FUNCTION chunk_update_guard();
CREATE TRIGGER parse_cache_update_guard
    BEFORE UPDATE OF tenant_id, content_digest, media_type, parser_revision, parsed ON parse_cache
    FOR EACH STATEMENT EXECUTE FUNCTION chunk_update_guard();

-- Under `publish_when_ready` a version comes into force when readers can find it, whoever says otherwise.
CREATE FUNCTION document_ready_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM search_pointer p
          JOIN tenant_pipeline tp ON tp.tenant_id = p.tenant_id AND tp.pipeline_id = p.pipeline_id AND tp.role = 'SERVING'
         WHERE p.document_id = NEW.id AND p.version_number = NEW.published_version) THEN
        RAISE EXCEPTION 'document %: version % is not searchable, so it does not come into force', NEW.id,
            NEW.published_version USING ERRCODE = 'KB007';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER document_ready_guard BEFORE UPDATE OF published_version ON document FOR EACH ROW
    WHEN (NEW.staleness = 'publish_when_ready' AND OLD.staleness = 'publish_when_ready'
          AND NEW.published_version IS DISTINCT FROM OLD.published_version)
    EXECUTE FUNCTION document_ready_guard();

-- The log tells the code of every move, the stage that an attempt had come to, and wishes that a running one has yet to see.
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
    END IF;
    RETURN NULL;
END $$;
-- One condition for both kinds: each is read from its stored form again by every statement.
DROP TRIGGER index_task_log_move ON index_task;
CREATE TRIGGER index_task_log_move AFTER UPDATE ON index_task FOR EACH ROW
    WHEN (OLD.state <> NEW.state OR OLD.attempts <> NEW.attempts
          OR (NEW.state = 'RUNNING' AND OLD.cancel_requested <> NEW.cancel_requested))
    EXECUTE FUNCTION index_task_log();

-- A worker notes that its own late write was refused, of an attempt that there was; the rest only the trigger above tells. (Who
-- may hang triggers on the log is its owner, or could be: asked this way, it takes no query and, with its table named in full,
-- no search_path of its own, for every move.)
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
