-- Queue, chunks and pointers on top of the triggers: what the application never needs, it may not do.
REVOKE DELETE ON index_task FROM :application;
REVOKE UPDATE, DELETE ON task_event, pointer_log FROM :application;
REVOKE INSERT ON pointer_log FROM :application;
REVOKE UPDATE ON chunk, chunk_vector FROM :application;
REVOKE INSERT, UPDATE, DELETE ON pipeline FROM :application;
