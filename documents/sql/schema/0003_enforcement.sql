-- What the application's role may not change by hand.
-- A file of a migration never changes after it has landed: what replaces a function of it stands in a later one.
-- What holds by a trigger, what only by the services, and why: docs/decisions/0005-what-the-database-enforces.md.

-- The name of a version's bytes never changes, nor do they go back to the sweep while a version has them: else a version
-- would be immutable in name only.
CREATE FUNCTION stored_content_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF (NEW.id, NEW.tenant_id, NEW.key, NEW.sha256, NEW.size, NEW.media_type)
       IS DISTINCT FROM (OLD.id, OLD.tenant_id, OLD.key, OLD.sha256, OLD.size, OLD.media_type) THEN
        RAISE EXCEPTION 'stored content %: what it is never changes', OLD.id USING ERRCODE = 'KB004';
    END IF;
    IF NEW.state <> 'confirmed' AND OLD.state = 'confirmed'
       AND EXISTS (SELECT 1 FROM document_version WHERE content_id = OLD.id) THEN
        RAISE EXCEPTION 'stored content %: a version has it', OLD.id USING ERRCODE = 'KB004';
    END IF;
    IF OLD.state = 'deleting' AND NEW.state <> 'deleting' THEN
        RAISE EXCEPTION 'stored content %: its file may be gone already', OLD.id USING ERRCODE = 'KB004';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER stored_content_guard BEFORE UPDATE ON stored_content FOR EACH ROW EXECUTE FUNCTION stored_content_guard();

-- A version is the next one of a living document, with bytes of its own tenant.
CREATE FUNCTION document_version_insert_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM document d JOIN stored_content s ON s.id = NEW.content_id AND s.tenant_id = d.tenant_id AND s.state = 'confirmed'
                    WHERE d.id = NEW.document_id AND d.tenant_id = NEW.tenant_id AND d.latest_version = NEW.number
                      AND d.deleted_at IS NULL) THEN
        RAISE EXCEPTION 'version % is not the next one of a living document of its tenant', NEW.number
            USING ERRCODE = 'KB001';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER document_version_insert_guard BEFORE INSERT ON document_version
    FOR EACH ROW EXECUTE FUNCTION document_version_insert_guard();

-- As in 0002, and: a document begins with nothing, numbers its versions one by one, asks for versions that exist, and what
-- came into force or was purged stays so.
CREATE OR REPLACE FUNCTION document_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF (NEW.latest_version, NEW.serve_from_version) <> (0, 0) OR NEW.deleted_at IS NOT NULL THEN
            RAISE EXCEPTION 'a document begins without versions' USING ERRCODE = 'KB002';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS DISTINCT FROM OLD.deleted_at THEN
        RAISE EXCEPTION 'document % was deleted and stays so', OLD.id USING ERRCODE = 'KB002';
    END IF;
    IF NEW.revision < OLD.revision OR NEW.latest_version NOT IN (OLD.latest_version, OLD.latest_version + 1)
       OR NEW.requested_version < OLD.requested_version OR (NEW.requested_version IS NULL AND OLD.requested_version IS NOT NULL)
       OR NEW.published_version < OLD.published_version OR (NEW.published_version IS NULL AND OLD.published_version IS NOT NULL)
       OR NEW.serve_from_version < OLD.serve_from_version
       OR NEW.tenant_id <> OLD.tenant_id OR NEW.id <> OLD.id THEN
        RAISE EXCEPTION 'document %: a counter went back or an identity changed', OLD.id USING ERRCODE = 'KB002';
    END IF;
    IF NEW.requested_version IS DISTINCT FROM OLD.requested_version
       AND NOT EXISTS (SELECT 1 FROM document_version WHERE document_id = NEW.id AND number = NEW.requested_version) THEN
        RAISE EXCEPTION 'document %: there is no version %', OLD.id, NEW.requested_version USING ERRCODE = 'KB002';
    END IF;
    -- Raised above the version asked for, no publish could make the document searchable again.
    IF NEW.serve_from_version <> OLD.serve_from_version
       AND NEW.serve_from_version IS DISTINCT FROM NEW.requested_version THEN
        RAISE EXCEPTION 'document %: only a publish hides what is older, and nothing else', OLD.id USING ERRCODE = 'KB002';
    END IF;
    IF OLD.withdrawn_at IS NOT NULL AND NEW.withdrawn_at IS NULL AND NEW.serve_from_version < NEW.requested_version THEN
        RAISE EXCEPTION 'document %: what was withdrawn does not come back by itself', OLD.id USING ERRCODE = 'KB002';
    END IF;
    -- The sweep passes over what is marked: marked too early, a deleted document's text would stay for good.
    IF NEW.purged_at IS DISTINCT FROM OLD.purged_at
       AND (NEW.purged_at IS NULL OR NEW.deleted_at IS NULL
            OR EXISTS (SELECT 1 FROM document_version WHERE document_id = NEW.id)) THEN
        RAISE EXCEPTION 'document %: it is not purged', OLD.id USING ERRCODE = 'KB002';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER document_insert_guard BEFORE INSERT ON document FOR EACH ROW EXECUTE FUNCTION document_guard();

-- Readers are served an older version while a newer one is indexed: whoever is added meanwhile gets the new text, not this.
CREATE FUNCTION read_rule_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM document WHERE id = NEW.document_id AND requested_version > NEW.version_number) THEN
        RAISE EXCEPTION 'version %: a newer one was asked for, and this one gets no more readers', NEW.version_number
            USING ERRCODE = 'KB005';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER read_rule_guard BEFORE INSERT ON read_rule FOR EACH ROW EXECUTE FUNCTION read_rule_guard();

-- When a version was asked for, came into force and was withdrawn is told once. (An account that is removed leaves no name.)
CREATE FUNCTION publication_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF NOT EXISTS (SELECT 1 FROM document WHERE id = OLD.document_id AND deleted_at IS NOT NULL) THEN
            RAISE EXCEPTION 'a publication of a living document stays' USING ERRCODE = 'KB006';
        END IF;
        RETURN OLD;
    END IF;
    IF (NEW.id, NEW.document_id, NEW.version_number, NEW.requested_at)
       IS DISTINCT FROM (OLD.id, OLD.document_id, OLD.version_number, OLD.requested_at)
       OR NEW.requested_by_id <> OLD.requested_by_id OR (NEW.requested_by_id IS NOT NULL AND OLD.requested_by_id IS NULL)
       OR (OLD.published_at IS NOT NULL AND NEW.published_at IS DISTINCT FROM OLD.published_at)
       OR (OLD.withdrawn_at IS NOT NULL AND NEW.withdrawn_at IS DISTINCT FROM OLD.withdrawn_at) THEN
        RAISE EXCEPTION 'a publication is told once' USING ERRCODE = 'KB006';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER publication_guard BEFORE UPDATE OR DELETE ON publication FOR EACH ROW EXECUTE FUNCTION publication_guard();
