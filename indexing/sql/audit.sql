-- What is published compared with what is searchable. Each statement looks at some rows at a time and holds no lock.
-- `-- name:` begins a statement; the sentence under it says what no row means.

-- name: unserved
-- Versions asked for that readers are not served and that nobody works on or was told of: no order, or one that says it
-- succeeded. No row: there are none after this document.
SELECT d.id AS document_id, d.tenant_id, d.requested_version AS version_number, tp.pipeline_id,
       sp.version_number AS served_version, t.id AS task_id
  FROM document d
  JOIN tenant_pipeline tp ON tp.tenant_id = d.tenant_id AND tp.role = 'SERVING'
  LEFT JOIN search_pointer sp ON sp.document_id = d.id AND sp.pipeline_id = tp.pipeline_id
  LEFT JOIN LATERAL (
       SELECT id, state FROM index_task
        WHERE document_id = d.id AND version_number = d.requested_version AND pipeline_id = tp.pipeline_id
        ORDER BY id DESC LIMIT 1) t ON true
 WHERE d.id > %(after_document)s AND d.deleted_at IS NULL AND d.withdrawn_at IS NULL AND d.requested_version IS NOT NULL
   AND coalesce(sp.version_number, 0) < d.requested_version AND coalesce(t.state, 'SUCCEEDED') = 'SUCCEEDED'
 ORDER BY d.id LIMIT %(limit)s;

-- name: pointers
-- Search pointers with what is stored of the sets that they include: how many chunks, vectors, and the manifest's digest, as
-- `manifest` in sink.sql makes it. No row: there is no pointer after this one.
SELECT sp.id, sp.tenant_id, sp.document_id, sp.pipeline_id, sp.version_number, sp.generation, sp.chunk_count,
       sp.manifest_digest, tp.role, d.deleted_at IS NOT NULL AS deleted, d.requested_version, stored.*
  FROM (SELECT * FROM search_pointer WHERE id > %(after)s ORDER BY id LIMIT %(limit)s) sp
  JOIN document d ON d.id = sp.document_id
  LEFT JOIN tenant_pipeline tp ON tp.tenant_id = sp.tenant_id AND tp.pipeline_id = sp.pipeline_id
 CROSS JOIN LATERAL (
       SELECT count(*) AS chunks, count(v.chunk_id) AS vectors,
              encode(sha256(convert_to(coalesce(string_agg(
                  c.ordinal || ' ' || c.chunk_id || ' ' || encode(sha256(convert_to(c.text, 'UTF8')), 'hex'), E'\n'
                  ORDER BY c.ordinal), ''), 'UTF8')), 'hex') AS digest
         FROM chunk c LEFT JOIN chunk_vector v ON v.chunk_id = c.id
        WHERE c.document_id = sp.document_id AND c.pipeline_id = sp.pipeline_id
          AND c.version_number = sp.version_number AND c.generation = sp.generation) stored
 ORDER BY sp.id;

-- name: orphans
-- Chunks that no pointer includes and no task is at work on, by what became of their tasks: staged by one that ended
-- without them, or of a version that a newer one has replaced. No row: there are none.
SELECT CASE WHEN t.state = 'SUCCEEDED' THEN 'replaced' ELSE 'abandoned' END AS kind, count(*) AS chunks,
       count(DISTINCT (c.document_id, c.pipeline_id, c.version_number, c.generation)) AS sets
  FROM chunk c
  LEFT JOIN index_task t ON t.id = c.task_id
 WHERE coalesce(t.state, 'DEAD') IN ('SUCCEEDED', 'DEAD', 'CANCELLED')
   AND NOT EXISTS (
        SELECT 1 FROM search_pointer sp
         WHERE sp.document_id = c.document_id AND sp.pipeline_id = c.pipeline_id
           AND sp.version_number = c.version_number AND sp.generation = c.generation)
 GROUP BY 1 ORDER BY 1;

-- name: invalid_indexes
-- Indexes that a crash left half-built: they cost every write and serve no search. No row: all are whole.
SELECT c.relname AS name, t.relname AS "table"
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
 WHERE NOT (i.indisvalid AND i.indisready) AND t.relnamespace = 'public'::regnamespace
   AND NOT EXISTS (SELECT 1 FROM pg_stat_progress_create_index p WHERE p.index_relid = c.oid)
 ORDER BY 1;

-- name: vector_indexes
-- The vector indexes that there are, whole or not. No row: no pipeline has one.
SELECT relname AS name FROM pg_class
 WHERE relkind = 'i' AND relnamespace = 'public'::regnamespace AND relname LIKE 'chunk\_vector\_hnsw\_%%';
