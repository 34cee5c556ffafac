-- The application reads and writes rows; it owns nothing, so it can neither disable a trigger nor TRUNCATE.
GRANT USAGE ON SCHEMA public TO :application;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO :application;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO :application;
-- Immutable or append-only by privilege too, not only by trigger.
REVOKE UPDATE ON document_version, read_rule FROM :application;
-- A deleted document stays as a tombstone: removed, it could be made again under its old id.
REVOKE DELETE ON document FROM :application;
REVOKE UPDATE, DELETE ON audit_event FROM :application;
REVOKE INSERT, UPDATE, DELETE ON django_migrations FROM :application;
-- When a version was asked for and came into force is told once (and the account that asked may be removed).
REVOKE UPDATE ON publication FROM :application;
GRANT UPDATE (published_at, withdrawn_at, requested_by_id) ON publication TO :application;
REVOKE INSERT, UPDATE, DELETE ON document_reader FROM :application;
