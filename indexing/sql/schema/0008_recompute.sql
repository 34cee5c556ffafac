-- The manifest of bulk runs: what a document's outcome was is told once, but for a failure, which may be mended.
ALTER TABLE recompute_item SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

CREATE FUNCTION recompute_item_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF OLD.outcome NOT IN ('pending', 'failed') OR NEW.outcome = 'pending' THEN
        RAISE EXCEPTION 'run %, document %: % is final', OLD.run_id, OLD.document_id, OLD.outcome USING ERRCODE = 'KB050';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER recompute_item_guard BEFORE UPDATE OF outcome ON recompute_item
    FOR EACH ROW WHEN (OLD.outcome <> NEW.outcome) EXECUTE FUNCTION recompute_item_guard();

-- `applied` is what readers can be given: the task has succeeded, or the pointer stands at the version or beyond.
CREATE FUNCTION recompute_applied_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM index_task t
                    WHERE t.id = NEW.task_id AND t.document_id = NEW.document_id AND t.state = 'SUCCEEDED')
       AND NOT EXISTS (SELECT 1 FROM search_pointer p JOIN recompute_run r ON r.id = NEW.run_id
                        WHERE p.document_id = NEW.document_id AND p.pipeline_id = r.pipeline_id
                          AND p.version_number >= NEW.version_number) THEN
        RAISE EXCEPTION 'run %, document %: nothing was applied', NEW.run_id, NEW.document_id USING ERRCODE = 'KB050';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER recompute_applied_guard BEFORE INSERT OR UPDATE OF outcome ON recompute_item
    FOR EACH ROW WHEN (NEW.outcome = 'applied') EXECUTE FUNCTION recompute_applied_guard();
