-- What a chaos run knows apart from the product, in a schema of its own, made by the owner of the tables. The observers below are
-- no guards: they refuse nothing, and see what happened in the order in which it happened.
CREATE SCHEMA chaos;

-- The oracle: what a file of these bytes must be cut into, and the vector of each text that may be embedded.
CREATE TABLE chaos.expected_chunk (
    content_digest text, ordinal int, text_digest text NOT NULL, PRIMARY KEY (content_digest, ordinal));
CREATE TABLE chaos.expected_vector (embedded_digest text PRIMARY KEY, embedding vector NOT NULL);

-- What callers were told: loaded from the ledger files, which outlive the database.
CREATE TABLE chaos.acknowledged (
    document_id uuid, version_number int, task_id bigint, PRIMARY KEY (document_id, version_number, task_id));
CREATE TABLE chaos.acknowledged_delete (document_id uuid PRIMARY KEY);

-- What a searcher saw and must not have seen.
CREATE TABLE chaos.wrong_result (id bigserial PRIMARY KEY, at timestamptz DEFAULT clock_timestamp(), what text NOT NULL);

-- Moments in the life of a document. Each is written under the lock of the document's row, so `id` is their true order.
CREATE TABLE chaos.moment (
    id bigserial PRIMARY KEY, kind text NOT NULL, document_id uuid NOT NULL, version_number int, task_id bigint,
    attempts int, xact xid8 DEFAULT pg_current_xact_id(), at timestamptz DEFAULT clock_timestamp());
CREATE INDEX ON chaos.moment (document_id, id);

-- Every check of a lease that the product let pass: what it was good for, and when that was.
CREATE TABLE chaos.passed_check (
    id bigserial PRIMARY KEY, task_id bigint, attempts int, xact xid8, lease_until timestamptz, checked_at timestamptz);
CREATE INDEX ON chaos.passed_check (task_id, attempts);
CREATE TABLE chaos.success (id bigserial PRIMARY KEY, task_id bigint, attempts int, xact xid8, at timestamptz);
CREATE INDEX ON chaos.success (task_id, attempts);

-- Cached vectors that were removed again: who notes such a text need not have its vector any more.
CREATE TABLE chaos.forgotten_vector (tenant_id bigint, text_digest text);

CREATE FUNCTION chaos.see_document() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO chaos.moment (kind, document_id, version_number)
    SELECT kind, NEW.id, NEW.requested_version
      FROM (VALUES ('deleted', NEW.deleted_at IS NOT NULL AND OLD.deleted_at IS NULL),
                   ('withdrawn', NEW.withdrawn_at IS NOT NULL AND OLD.withdrawn_at IS NULL),
                   ('returned', NEW.withdrawn_at IS NULL AND OLD.withdrawn_at IS NOT NULL),
                   ('requested', NEW.requested_version IS DISTINCT FROM OLD.requested_version)) AS seen (kind, happened)
     WHERE happened;
    RETURN NULL;
END $$;
CREATE TRIGGER zz_chaos_sees AFTER UPDATE ON document FOR EACH ROW EXECUTE FUNCTION chaos.see_document();

CREATE FUNCTION chaos.see_pointer() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO chaos.moment (kind, document_id, version_number, task_id, attempts)
    VALUES ('switched', NEW.document_id, NEW.version_number, NEW.task_id, NEW.attempts);
    RETURN NULL;
END $$;
CREATE TRIGGER zz_chaos_sees AFTER INSERT OR UPDATE ON search_pointer FOR EACH ROW EXECUTE FUNCTION chaos.see_pointer();

-- Before the product's own guard (triggers fire by name): what is past the lease here is past it there, too. Seen after it, a
-- check that was in time by a millisecond would look late.
CREATE FUNCTION chaos.see_check() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO chaos.passed_check (task_id, attempts, xact, lease_until, checked_at)
    VALUES (NEW.id, NEW.attempts, NEW.fence_xact, OLD.lease_until, clock_timestamp());
    RETURN NEW;
END $$;
CREATE TRIGGER aa_chaos_sees BEFORE UPDATE ON index_task FOR EACH ROW
    WHEN (NEW.fence_xact IS NOT NULL AND NEW.fence_xact IS DISTINCT FROM OLD.fence_xact)
    EXECUTE FUNCTION chaos.see_check();

CREATE FUNCTION chaos.see_success() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO chaos.success (task_id, attempts, xact, at)
    VALUES (NEW.id, NEW.attempts, pg_current_xact_id(), clock_timestamp());
    RETURN NULL;
END $$;
CREATE TRIGGER zz_chaos_sees AFTER UPDATE ON index_task FOR EACH ROW
    WHEN (NEW.state = 'SUCCEEDED' AND OLD.state <> 'SUCCEEDED')
    EXECUTE FUNCTION chaos.see_success();

CREATE FUNCTION chaos.see_forgotten_vector() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO chaos.forgotten_vector VALUES (OLD.tenant_id, OLD.text_digest);
    RETURN NULL;
END $$;
CREATE TRIGGER zz_chaos_sees AFTER DELETE ON embedding_cache FOR EACH ROW EXECUTE FUNCTION chaos.see_forgotten_vector();
