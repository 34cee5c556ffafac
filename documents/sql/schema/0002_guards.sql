-- Who may read which version: one row per (document, version, user). The only definition of READ in the product; the ORM
-- reaches it as documents.models.DocumentReader, the search as a join.
CREATE VIEW document_reader AS
SELECT rule.id * 1000003 + member.id AS id, rule.document_id, rule.version_number, member.user_id
  FROM read_rule rule
  JOIN document ON document.id = rule.document_id
  JOIN membership member ON member.tenant_id = document.tenant_id
 WHERE rule.kind = 'everyone'
    OR (rule.kind = 'user' AND member.id = rule.membership_id)
    OR (rule.kind = 'group' AND EXISTS (
            SELECT 1 FROM reader_group_member gm
             WHERE gm.readergroup_id = rule.group_id AND gm.membership_id = member.id));

-- A rule is of the version that it names three times over, and is given and taken, never moved (see grants.sql).
ALTER TABLE document_version ADD CONSTRAINT document_version_identity UNIQUE (id, document_id, number);
ALTER TABLE read_rule ADD CONSTRAINT read_rule_of_its_version
    FOREIGN KEY (version_id, document_id, version_number) REFERENCES document_version (id, document_id, number);

-- A version never changes, and goes only when its document was deleted.
CREATE FUNCTION document_version_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        RAISE EXCEPTION 'a version is immutable: document %, version %', OLD.document_id, OLD.number USING ERRCODE = 'KB001';
    END IF;
    IF NOT EXISTS (SELECT 1 FROM document WHERE id = OLD.document_id AND deleted_at IS NOT NULL) THEN
        RAISE EXCEPTION 'a version of a living document cannot be removed: document %, version %', OLD.document_id, OLD.number
            USING ERRCODE = 'KB001';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER document_version_guard BEFORE UPDATE OR DELETE ON document_version
    FOR EACH ROW EXECUTE FUNCTION document_version_guard();

-- A deleted document stays deleted, its revision and its versions' numbers only grow, and it never changes its tenant.
CREATE FUNCTION document_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS DISTINCT FROM OLD.deleted_at THEN
        RAISE EXCEPTION 'document % was deleted and stays so', OLD.id USING ERRCODE = 'KB002';
    END IF;
    IF NEW.revision < OLD.revision OR NEW.latest_version < OLD.latest_version
       OR NEW.requested_version < OLD.requested_version OR (NEW.requested_version IS NULL AND OLD.requested_version IS NOT NULL)
       OR NEW.serve_from_version < OLD.serve_from_version
       OR NEW.tenant_id <> OLD.tenant_id OR NEW.id <> OLD.id THEN
        RAISE EXCEPTION 'document %: a counter went back or an identity changed', OLD.id USING ERRCODE = 'KB002';
    END IF;
    IF OLD.withdrawn_at IS NOT NULL AND NEW.withdrawn_at IS NULL AND NEW.serve_from_version < NEW.requested_version THEN
        RAISE EXCEPTION 'document %: what was withdrawn does not come back by itself', OLD.id USING ERRCODE = 'KB002';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER document_guard BEFORE UPDATE ON document FOR EACH ROW EXECUTE FUNCTION document_guard();

-- The audit trail is only ever added to.
CREATE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'KB003';
END $$;
CREATE TRIGGER audit_event_append_only BEFORE UPDATE OR DELETE ON audit_event
    FOR EACH ROW EXECUTE FUNCTION append_only();
