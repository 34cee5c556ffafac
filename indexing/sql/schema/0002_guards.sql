-- What no code path, and nobody in psql as the application's role, can do: write chunks or move pointers without a live
-- lease, take a running lease away, make an illegal move, lower `attempts`, lower a pointer.
--
-- The mark of a live lease is index_task.fence_xact = the current transaction. Only the trigger below lets it be set, and
-- only while the lease lives; a transaction-local setting could be forged by any statement. Once set, the row's lock keeps
-- every other worker out until commit, so a lease that lapses between fence and commit does no harm.
--
-- Functions that read tables fix their search_path: by default a session's temporary tables come first, and a temporary
-- `index_task` would forge any fence.
ALTER TABLE index_task ADD COLUMN fence_xact xid8;
ALTER TABLE index_task SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500);
ALTER TABLE search_pointer SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE chunk SET (autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE chunk_vector SET (autovacuum_vacuum_scale_factor = 0.02);

-- A vector fits its pipeline and can be found: a zero vector would be stored but never returned by a cosine index.
ALTER TABLE chunk_vector
    ADD CONSTRAINT chunk_vector_dimensions CHECK (vector_dims(embedding) = dimensions),
    ADD CONSTRAINT chunk_vector_findable CHECK (vector_norm(embedding) > 0),
    ADD CONSTRAINT chunk_vector_pipeline FOREIGN KEY (pipeline_id, dimensions) REFERENCES pipeline (id, dimensions);
-- The vector goes with its chunk in one statement (Django's own cascade would fetch every row first).

ALTER TABLE chunk_vector ADD CONSTRAINT chunk_vector_chunk FOREIGN KEY (chunk_id) REFERENCES chunk (id) ON DELETE CASCADE;

CREATE FUNCTION index_task_insert_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF NEW.state <> 'PENDING' OR NEW.attempts <> 0 OR NEW.failures <> 0 OR NEW.fence_xact IS NOT NULL THEN
        RAISE EXCEPTION 'a task begins PENDING, with no attempt made' USING ERRCODE = 'KB010';
    END IF;
    IF NOT EXISTS (SELECT 1 FROM document_version v
                    WHERE v.document_id = NEW.document_id AND v.number = NEW.version_number
                      AND v.tenant_id = NEW.tenant_id) THEN
        RAISE EXCEPTION 'a task is for a version of a document of its own tenant' USING ERRCODE = 'KB010';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER index_task_insert_guard BEFORE INSERT ON index_task
    FOR EACH ROW EXECUTE FUNCTION index_task_insert_guard();

CREATE FUNCTION index_task_move_is_legal(source text, target text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE source
        WHEN 'PENDING' THEN target IN ('RUNNING', 'CANCELLED')
        WHEN 'RUNNING' THEN target IN ('PENDING', 'RUNNING', 'RETRY_WAIT', 'SUCCEEDED', 'DEAD', 'CANCELLED')
        WHEN 'RETRY_WAIT' THEN target IN ('RUNNING', 'CANCELLED', 'PENDING')
        WHEN 'DEAD' THEN target IN ('PENDING', 'CANCELLED')
        WHEN 'CANCELLED' THEN target IN ('PENDING')
        ELSE false END
$$;

CREATE FUNCTION index_task_guard() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    claimed boolean := NEW.attempts <> OLD.attempts;
    moved boolean := NEW.state <> OLD.state OR claimed;
    lease_lives boolean := OLD.state = 'RUNNING' AND OLD.lease_until > clock_timestamp();
    fenced boolean := coalesce(NEW.fence_xact = pg_current_xact_id_if_assigned(), false);
BEGIN
    IF (NEW.id, NEW.tenant_id, NEW.document_id, NEW.version_number, NEW.pipeline_id, NEW.task_type, NEW.generation)
       IS DISTINCT FROM
       (OLD.id, OLD.tenant_id, OLD.document_id, OLD.version_number, OLD.pipeline_id, OLD.task_type, OLD.generation) THEN
        RAISE EXCEPTION 'task %: what it is for cannot change', OLD.id USING ERRCODE = 'KB011';
    END IF;
    IF NEW.attempts NOT IN (OLD.attempts, OLD.attempts + 1) OR (claimed AND NEW.state <> 'RUNNING') THEN
        RAISE EXCEPTION 'task %: attempts only grow, by one, with a claim', OLD.id USING ERRCODE = 'KB012';
    END IF;
    IF NEW.fence_xact IS NOT NULL AND NEW.fence_xact IS DISTINCT FROM OLD.fence_xact
       AND NOT (lease_lives AND NOT claimed AND NEW.fence_xact = pg_current_xact_id()) THEN
        RAISE EXCEPTION 'task %: no live lease to fence with', OLD.id USING ERRCODE = 'KB013';
    END IF;
    -- The budget is charged by a failure or a lease that ran out, and given anew only to a task that had ended.
    IF NEW.failures < OLD.failures AND NOT (OLD.state IN ('DEAD', 'CANCELLED') AND NEW.state = 'PENDING') THEN
        RAISE EXCEPTION 'task %: failures are forgotten only when it is reopened', OLD.id USING ERRCODE = 'KB016';
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
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER index_task_guard BEFORE UPDATE ON index_task FOR EACH ROW EXECUTE FUNCTION index_task_guard();

-- SECURITY DEFINER: the application's role cannot write moves into the log by itself.
CREATE FUNCTION index_task_log() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO task_event (task_id, tenant_id, kind, from_state, to_state, attempts, worker, code)
    VALUES (NEW.id, NEW.tenant_id, 'move', CASE WHEN TG_OP = 'UPDATE' THEN OLD.state END, NEW.state, NEW.attempts,
            CASE WHEN TG_OP = 'UPDATE' THEN COALESCE(NEW.lease_owner, OLD.lease_owner) END,
            CASE WHEN NEW.state IN ('RETRY_WAIT', 'DEAD', 'CANCELLED') THEN NEW.error_code END);
    RETURN NULL;
END $$;
CREATE TRIGGER index_task_log_insert AFTER INSERT ON index_task FOR EACH ROW EXECUTE FUNCTION index_task_log();
CREATE TRIGGER index_task_log_move AFTER UPDATE ON index_task FOR EACH ROW
    WHEN (OLD.state <> NEW.state OR OLD.attempts <> NEW.attempts) EXECUTE FUNCTION index_task_log();

CREATE TRIGGER task_event_append_only BEFORE UPDATE OR DELETE ON task_event
    FOR EACH ROW EXECUTE FUNCTION append_only();

-- A worker may note that its late write was refused; what happened to a task only the trigger above tells.
CREATE FUNCTION task_event_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF NEW.kind <> 'refused'
       AND NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN
        RAISE EXCEPTION 'moves are logged by their trigger' USING ERRCODE = 'KB003';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER task_event_guard BEFORE INSERT ON task_event FOR EACH ROW EXECUTE FUNCTION task_event_guard();
CREATE TRIGGER pointer_log_append_only BEFORE UPDATE OR DELETE ON pointer_log
    FOR EACH ROW EXECUTE FUNCTION append_only();
CREATE TRIGGER pipeline_immutable BEFORE UPDATE OR DELETE ON pipeline
    FOR EACH ROW EXECUTE FUNCTION append_only();

-- Statement triggers with transition tables: for 5,000 rows a row trigger costs twice as much.
CREATE FUNCTION chunk_insert_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM (SELECT DISTINCT task_id, attempts, tenant_id, document_id, version_number, pipeline_id, generation
                         FROM written) w
         WHERE NOT EXISTS (
            SELECT 1 FROM index_task t
             WHERE t.id = w.task_id AND t.attempts = w.attempts AND t.tenant_id = w.tenant_id
               AND t.document_id = w.document_id AND t.version_number = w.version_number
               AND t.pipeline_id = w.pipeline_id AND t.generation = w.generation
               AND t.state = 'RUNNING' AND t.fence_xact = pg_current_xact_id_if_assigned())) THEN
        RAISE EXCEPTION 'chunks are written only under a live lease' USING ERRCODE = 'KB020';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER chunk_insert_guard AFTER INSERT ON chunk REFERENCING NEW TABLE AS written
    FOR EACH STATEMENT EXECUTE FUNCTION chunk_insert_guard();

CREATE FUNCTION chunk_vector_insert_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM written w
         WHERE NOT EXISTS (
            SELECT 1 FROM chunk c JOIN index_task t ON t.id = c.task_id
             WHERE c.id = w.chunk_id AND c.tenant_id = w.tenant_id AND c.document_id = w.document_id
               AND c.version_number = w.version_number AND c.pipeline_id = w.pipeline_id AND c.generation = w.generation
               AND t.state = 'RUNNING' AND t.fence_xact = pg_current_xact_id_if_assigned())) THEN
        RAISE EXCEPTION 'vectors are written only under a live lease' USING ERRCODE = 'KB020';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER chunk_vector_insert_guard AFTER INSERT ON chunk_vector REFERENCING NEW TABLE AS written
    FOR EACH STATEMENT EXECUTE FUNCTION chunk_vector_insert_guard();

CREATE FUNCTION chunk_update_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is written once and replaced, never changed', TG_TABLE_NAME USING ERRCODE = 'KB021';
END $$;
CREATE TRIGGER chunk_update_guard BEFORE UPDATE ON chunk FOR EACH STATEMENT EXECUTE FUNCTION chunk_update_guard();
CREATE TRIGGER chunk_vector_update_guard BEFORE UPDATE ON chunk_vector
    FOR EACH STATEMENT EXECUTE FUNCTION chunk_update_guard();

-- What readers can see cannot be removed. Every task that makes the same set is locked first (an INDEX and a RECOMPUTE may
-- share one): a finish that is about to include the rows either waits and counts what is left, or has committed and is seen.
CREATE FUNCTION chunk_delete_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
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
    RETURN NULL;
END $$;
CREATE TRIGGER chunk_delete_guard AFTER DELETE ON chunk REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION chunk_delete_guard();
-- A vector is removed by its chunk's cascade, never alone.
CREATE FUNCTION chunk_vector_delete_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM removed r JOIN chunk c ON c.id = r.chunk_id) THEN
        RAISE EXCEPTION 'a vector is removed with its chunk' USING ERRCODE = 'KB022';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER chunk_vector_delete_guard AFTER DELETE ON chunk_vector REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION chunk_vector_delete_guard();

CREATE FUNCTION search_pointer_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
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
    RETURN NEW;
END $$;
CREATE TRIGGER search_pointer_guard BEFORE INSERT OR UPDATE OR DELETE ON search_pointer
    FOR EACH ROW EXECUTE FUNCTION search_pointer_guard();

CREATE FUNCTION search_pointer_log() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO pointer_log (tenant_id, document_id, pipeline_id, from_version, from_generation, to_version, to_generation,
                             task_id, attempts)
    SELECT r.tenant_id, r.document_id, r.pipeline_id,
           CASE WHEN TG_OP <> 'INSERT' THEN OLD.version_number END, CASE WHEN TG_OP <> 'INSERT' THEN OLD.generation END,
           CASE WHEN TG_OP <> 'DELETE' THEN NEW.version_number END, CASE WHEN TG_OP <> 'DELETE' THEN NEW.generation END,
           r.task_id, r.attempts
      FROM (SELECT (CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END).*) r;
    RETURN NULL;
END $$;
CREATE TRIGGER search_pointer_log AFTER INSERT OR UPDATE OR DELETE ON search_pointer
    FOR EACH ROW EXECUTE FUNCTION search_pointer_log();

-- Else anybody could hang these on a table of their own and write what they like into the logs, as the owner.
REVOKE EXECUTE ON FUNCTION index_task_log(), search_pointer_log() FROM PUBLIC;

-- What each member is served under each pipeline of their tenant: the only definition the search knows. A document must be
-- alive, not withdrawn, and at a version that may be served; the member must be among the readers of that version *and* of
-- the version requested last. Everything is joined live, so a revoked reader finds nothing with the next statement.
CREATE VIEW served_version AS
SELECT m.user_id, p.tenant_id, p.pipeline_id, p.document_id, p.version_number, p.generation, p.chunk_count
  FROM membership m
  JOIN search_pointer p ON p.tenant_id = m.tenant_id
  JOIN document d ON d.id = p.document_id AND d.tenant_id = p.tenant_id
 WHERE d.deleted_at IS NULL AND d.withdrawn_at IS NULL AND p.version_number >= d.serve_from_version
   AND EXISTS (SELECT 1 FROM document_reader r
                WHERE r.document_id = p.document_id AND r.version_number = p.version_number AND r.user_id = m.user_id)
   AND EXISTS (SELECT 1 FROM document_reader r
                WHERE r.document_id = p.document_id AND r.version_number = d.requested_version AND r.user_id = m.user_id);
