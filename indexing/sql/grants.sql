-- Queue, chunks and pointers on top of the triggers: what the application never needs, it may not do.
REVOKE DELETE ON index_task FROM :application;
REVOKE UPDATE, DELETE ON task_event, pointer_log FROM :application;
REVOKE INSERT ON pointer_log FROM :application;
REVOKE UPDATE ON chunk, chunk_vector FROM :application;
REVOKE UPDATE, DELETE ON pipeline FROM :application;
REVOKE INSERT, UPDATE, DELETE ON pipeline_event FROM :application;
REVOKE UPDATE, DELETE ON pipeline_gate FROM :application;
REVOKE UPDATE ON pipeline_exclusion, shadow_query FROM :application;
REVOKE UPDATE, DELETE ON embedding_canary FROM :application;
-- A refused write is noted with its token and reason; when it was, the database says.
REVOKE INSERT ON task_event FROM :application;
GRANT INSERT (task_id, tenant_id, kind, attempts, worker, action, code, detail) ON task_event TO :application;
REVOKE INSERT, UPDATE, DELETE ON served_version FROM :application;
REVOKE DELETE ON embedding_provider FROM :application;
REVOKE UPDATE, DELETE ON provider_event FROM :application;
-- The manifest of bulk runs: what it is about is written once, outcomes are entered.
REVOKE UPDATE, DELETE ON recompute_run, recompute_item FROM :application;
GRANT UPDATE (listed_to, listed_at, stopped_at, ended_at) ON recompute_run TO :application;
GRANT UPDATE (outcome, reason, settled_at) ON recompute_item TO :application;
-- Retention takes out what is old through these functions of the owner alone.
GRANT EXECUTE ON FUNCTION forget_audit_events(timestamptz, bigint, int), forget_index_tasks(timestamptz, bigint, int),
    forget_task_events(timestamptz, bigint, int), forget_pointer_moves(timestamptz, bigint, int),
    forget_provider_events(timestamptz, bigint, int), forget_recompute_items(timestamptz, bigint, int) TO :application;
REVOKE INSERT ON orphan_set FROM :application;
