-- Sentences for chunks are text about a document: written under a live lease of their document, like its vectors, and not
-- changed afterwards.
CREATE FUNCTION situation_cache_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM (SELECT DISTINCT tenant_id, document_id FROM written) w
         WHERE NOT EXISTS (
            SELECT 1 FROM index_task t
             WHERE t.state = 'RUNNING' AND t.tenant_id = w.tenant_id AND t.document_id = w.document_id
               AND t.fence_xact = pg_current_xact_id_if_assigned())) THEN
        RAISE EXCEPTION 'sentences are kept only under a live lease of their document' USING ERRCODE = 'KB040';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER situation_cache_guard AFTER INSERT ON situation_cache REFERENCING NEW TABLE AS written
    FOR EACH STATEMENT EXECUTE FUNCTION situation_cache_guard();
CREATE TRIGGER situation_cache_update_guard
    BEFORE UPDATE OF tenant_id, document_id, fingerprint, question_digest, sentence ON situation_cache
    FOR EACH STATEMENT EXECUTE FUNCTION chunk_update_guard();
