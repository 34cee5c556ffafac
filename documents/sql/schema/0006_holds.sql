-- Audit holds: what is held stays, whoever wants it gone.

-- Whether a hold lasts on one version of a document, or, without a version, on any part of it.
CREATE FUNCTION document_is_held(of_document uuid, of_version int) RETURNS boolean LANGUAGE sql STABLE
SET search_path = public, pg_temp AS $$
    SELECT EXISTS (SELECT 1 FROM document_hold h
                    WHERE h.document_id = of_document AND h.lifted_at IS NULL
                      AND (h.version_number IS NULL OR of_version IS NULL OR h.version_number = of_version))
$$;

-- A hold is placed on what is there, tells why, and ends once. Its document is locked against whoever removes something of it
-- at this moment (they hold it FOR KEY SHARE, or for an update): what is there when the hold is placed stays.
CREATE FUNCTION document_hold_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'hold %: it is lifted, not removed', OLD.id USING ERRCODE = 'KB009';
    END IF;
    IF TG_OP = 'INSERT' THEN
        PERFORM 1 FROM document d
          WHERE d.id = NEW.document_id AND d.tenant_id = NEW.tenant_id AND d.purged_at IS NULL FOR UPDATE;
        IF NOT FOUND OR NEW.reason = '' OR NEW.lifted_at IS NOT NULL
           OR (NEW.version_number IS NOT NULL AND NOT EXISTS (
               SELECT 1 FROM document_version v
                WHERE v.document_id = NEW.document_id AND v.number = NEW.version_number)) THEN
            RAISE EXCEPTION 'a hold is placed with a reason on what is there' USING ERRCODE = 'KB009';
        END IF;
        RETURN NEW;
    END IF;
    IF (NEW.id, NEW.tenant_id, NEW.document_id, NEW.version_number, NEW.reason, NEW.placed_by_id, NEW.placed_by_name,
        NEW.placed_at)
       IS DISTINCT FROM (OLD.id, OLD.tenant_id, OLD.document_id, OLD.version_number, OLD.reason, OLD.placed_by_id,
        OLD.placed_by_name, OLD.placed_at)
       OR OLD.lifted_at IS NOT NULL THEN
        RAISE EXCEPTION 'hold %: it is told once, and lifted once', OLD.id USING ERRCODE = 'KB009';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER document_hold_guard BEFORE INSERT OR UPDATE OR DELETE ON document_hold
    FOR EACH ROW EXECUTE FUNCTION document_hold_guard();

-- Versions and publications go with their deleted document, unless somebody holds a part of it. (The bytes go after their
-- version: a foreign key and stored_content_guard.)
CREATE FUNCTION held_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF document_is_held(OLD.document_id, NULL) THEN
        RAISE EXCEPTION 'document %: it is under audit hold', OLD.document_id USING ERRCODE = 'KB060';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER document_version_held BEFORE DELETE ON document_version FOR EACH ROW EXECUTE FUNCTION held_guard();
CREATE TRIGGER publication_held BEFORE DELETE ON publication FOR EACH ROW EXECUTE FUNCTION held_guard();

-- As in 0002, and: a function of the owner, made for nothing else, takes out what is old. It names the table for as long as it
-- runs; the application's role may not delete here whatever it names.
CREATE OR REPLACE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('kb.retention', true) = TG_TABLE_NAME THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'KB003';
END $$;

-- Takes the oldest events of the trail out, of those with an id above `past` at most `batch` at a time; `last` is the last one
-- that was looked at, null once there is none that old. Nothing younger than a year, whatever is asked, and nothing held.
CREATE FUNCTION forget_audit_events(before timestamptz, past bigint, batch int, OUT last bigint, OUT removed bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    SELECT max(id) INTO last FROM (
        SELECT e.id, e.at FROM audit_event e WHERE e.id > past ORDER BY e.id LIMIT batch) looked
     WHERE looked.at < least(before, clock_timestamp() - interval '365 days');
    PERFORM set_config('kb.retention', 'audit_event', true);
    DELETE FROM audit_event e WHERE e.id > past AND e.id <= last
       AND e.at < least(before, clock_timestamp() - interval '365 days') AND NOT document_is_held(e.document_id, e.version_number);
    GET DIAGNOSTICS removed = ROW_COUNT;
    PERFORM set_config('kb.retention', '', true);
END $$;
REVOKE EXECUTE ON FUNCTION forget_audit_events(timestamptz, bigint, int) FROM PUBLIC;
