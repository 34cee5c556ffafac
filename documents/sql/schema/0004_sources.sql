-- The newest write of a source counts for good: no clock goes back, equal clocks say the same thing, and what it deleted stays as
-- a tombstone: removed, an older write would bring the document back.
CREATE FUNCTION source_entry_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'entry % of a source: it stays', OLD.id USING ERRCODE = 'KB008';
    END IF;
    IF (NEW.id, NEW.source_id, NEW.key) IS DISTINCT FROM (OLD.id, OLD.source_id, OLD.key) THEN
        RAISE EXCEPTION 'entry % of a source: its identity does not change', OLD.id USING ERRCODE = 'KB008';
    END IF;
    IF NEW.clock < OLD.clock
       OR (NEW.clock = OLD.clock AND (NEW.digest, NEW.document_id) IS DISTINCT FROM (OLD.digest, OLD.document_id)) THEN
        RAISE EXCEPTION 'entry % of a source: only a newer write changes it', OLD.id USING ERRCODE = 'KB008';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER source_entry_guard BEFORE UPDATE OR DELETE ON source_entry FOR EACH ROW EXECUTE FUNCTION source_entry_guard();

-- A document of a source belongs to the source's tenant.
CREATE FUNCTION source_entry_tenant() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF NEW.document_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM document d JOIN source s ON s.tenant_id = d.tenant_id
         WHERE d.id = NEW.document_id AND s.id = NEW.source_id) THEN
        RAISE EXCEPTION 'entry % of a source: the document is of another tenant', NEW.id USING ERRCODE = 'KB008';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER source_entry_tenant BEFORE INSERT OR UPDATE OF document_id ON source_entry
    FOR EACH ROW EXECUTE FUNCTION source_entry_tenant();
