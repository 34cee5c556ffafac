-- The life of a pipeline in a tenant: which moves there are, and that no move shows readers anything older.

ALTER TABLE tenant_pipeline ADD COLUMN changed_xact xid8;

-- Documents of which readers would find something older, or nothing, if the tenant's searches went from `serving` to
-- `candidate`. What readers do not find now is none. Nor is what is excluded; for the switch itself (`at_once`) only if nothing older
-- than now can be shown of it, whatever is there already or is being indexed there still.
CREATE FUNCTION pipeline_behind(of_tenant bigint, serving int, candidate int, at_once boolean)
RETURNS TABLE (document_id uuid, serving_version int, candidate_version int) LANGUAGE sql STABLE
SET search_path = public, pg_temp AS $$
    SELECT s.document_id, s.version_number, c.version_number
      FROM search_pointer s
      JOIN document d ON d.id = s.document_id AND d.deleted_at IS NULL AND d.withdrawn_at IS NULL
      LEFT JOIN search_pointer c ON c.document_id = s.document_id AND c.pipeline_id = candidate
     WHERE s.tenant_id = of_tenant AND s.pipeline_id = serving
       AND coalesce(c.version_number, 0) < s.version_number AND s.version_number >= d.serve_from_version
       AND NOT ((NOT at_once OR d.serve_from_version >= s.version_number)
                AND EXISTS (SELECT 1 FROM pipeline_exclusion x
                             WHERE x.tenant_id = of_tenant AND x.pipeline_id = candidate AND x.document_id = s.document_id))
$$;

-- A role changes alone: no publish and no finish is under way (27490 is the first key of a tenant's lock, documents/locks.py).
CREATE FUNCTION tenant_pipeline_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    before int;
    behind bigint;
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.role NOT IN ('BUILDING', 'SERVING') THEN
            RAISE EXCEPTION 'a pipeline begins by being built' USING ERRCODE = 'KB070';
        END IF;
        IF NEW.role = 'SERVING' AND EXISTS (SELECT 1 FROM document d WHERE d.tenant_id = NEW.tenant_id) THEN
            RAISE EXCEPTION 'a tenant with documents is served by a pipeline that was built for it' USING ERRCODE = 'KB070';
        END IF;
        PERFORM pg_advisory_xact_lock(27490, NEW.tenant_id::int);
    ELSE
        IF (NEW.tenant_id, NEW.pipeline_id) <> (OLD.tenant_id, OLD.pipeline_id) THEN
            RAISE EXCEPTION 'the role of one pipeline in one tenant is not that of another' USING ERRCODE = 'KB070';
        END IF;
        IF NEW.role = OLD.role THEN
            RETURN NEW;
        END IF;
        IF (OLD.role, NEW.role) NOT IN (('BUILDING', 'SERVING'), ('BUILDING', 'RETIRED'), ('SERVING', 'STANDBY'),
                                        ('STANDBY', 'SERVING'), ('STANDBY', 'RETIRED'), ('RETIRED', 'BUILDING')) THEN
            RAISE EXCEPTION 'pipeline % of tenant %: % to % is not a legal move', OLD.pipeline_id, OLD.tenant_id, OLD.role,
                NEW.role USING ERRCODE = 'KB070';
        END IF;
        PERFORM pg_advisory_xact_lock(27490, NEW.tenant_id::int);
        IF NEW.role = 'SERVING' THEN
            SELECT tp.pipeline_id INTO before FROM tenant_pipeline tp
             WHERE tp.tenant_id = NEW.tenant_id AND tp.role = 'STANDBY' AND tp.changed_xact = pg_current_xact_id();
            IF before IS NULL THEN
                RAISE EXCEPTION 'a pipeline takes over from the one that serves, in one transaction' USING ERRCODE = 'KB071';
            END IF;
            SELECT count(*) INTO behind FROM pipeline_behind(NEW.tenant_id, before, NEW.pipeline_id, true);
            IF behind > 0 THEN
                RAISE EXCEPTION 'pipeline % of tenant % is behind for % documents', NEW.pipeline_id, NEW.tenant_id, behind
                    USING ERRCODE = 'KB071';
            END IF;
        END IF;
    END IF;
    NEW.changed_xact := pg_current_xact_id();
    NEW.changed_at := clock_timestamp();
    RETURN NEW;
END $$;
CREATE TRIGGER tenant_pipeline_guard BEFORE INSERT OR UPDATE ON tenant_pipeline
    FOR EACH ROW EXECUTE FUNCTION tenant_pipeline_guard();

-- (The unique index refuses a second one at once.)
CREATE FUNCTION tenant_pipeline_one_serves() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM tenant_pipeline t WHERE t.tenant_id = NEW.tenant_id AND t.role = 'SERVING') THEN
        RAISE EXCEPTION 'tenant % has no pipeline that serves it', NEW.tenant_id USING ERRCODE = 'KB072';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER tenant_pipeline_one_serves AFTER INSERT OR UPDATE ON tenant_pipeline
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION tenant_pipeline_one_serves();

-- SECURITY DEFINER: the application's role cannot write moves into the log by itself.
CREATE FUNCTION tenant_pipeline_log() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO pipeline_event (tenant_id, pipeline_id, from_role, to_role, actor_id, actor_name)
    VALUES (NEW.tenant_id, NEW.pipeline_id, CASE WHEN TG_OP = 'UPDATE' THEN OLD.role END, NEW.role, NEW.changed_by_id,
            NEW.changed_by_name);
    RETURN NULL;
END $$;
CREATE TRIGGER tenant_pipeline_log_insert AFTER INSERT ON tenant_pipeline FOR EACH ROW EXECUTE FUNCTION tenant_pipeline_log();
CREATE TRIGGER tenant_pipeline_log_move AFTER UPDATE ON tenant_pipeline FOR EACH ROW
    WHEN (OLD.role <> NEW.role) EXECUTE FUNCTION tenant_pipeline_log();
REVOKE EXECUTE ON FUNCTION tenant_pipeline_log() FROM PUBLIC;

CREATE TRIGGER pipeline_event_append_only BEFORE UPDATE OR DELETE ON pipeline_event
    FOR EACH ROW EXECUTE FUNCTION append_only();
CREATE TRIGGER pipeline_gate_append_only BEFORE UPDATE OR DELETE ON pipeline_gate
    FOR EACH ROW EXECUTE FUNCTION append_only();

-- A new revision is written by whoever may; it means nothing until a tenant builds it, and never changes.
CREATE FUNCTION pipeline_insert_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF NEW.dimensions IS DISTINCT FROM (NEW.config #>> '{embedder,dimensions}')::int THEN
        RAISE EXCEPTION 'a pipeline has the dimensions of its model' USING ERRCODE = 'KB073';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER pipeline_insert_guard BEFORE INSERT ON pipeline FOR EACH ROW EXECUTE FUNCTION pipeline_insert_guard();
