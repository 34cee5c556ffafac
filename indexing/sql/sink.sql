-- Everything between a claim and the moment readers see the result. `-- name:` begins a statement; the sentence under it
-- says what no row means.

-- name: facts
-- What decides whether a task is still wanted, and where its content is. No row: the version does not exist.
SELECT d.deleted_at IS NOT NULL AS deleted, d.withdrawn_at IS NOT NULL AS withdrawn, d.requested_version,
       v.title, v.file_name, v.media_type, s.sha256 AS content_digest, s.id AS content_id,
       p.digest AS pipeline_digest, p.config AS pipeline_config, p.dimensions, coalesce(tp.role, 'RETIRED') AS role,
       sp.version_number AS pointer_version
  FROM document d
  JOIN document_version v ON v.document_id = d.id AND v.number = %(version)s
  JOIN stored_content s ON s.id = v.content_id
  JOIN pipeline p ON p.id = %(pipeline)s
  LEFT JOIN tenant_pipeline tp ON tp.tenant_id = d.tenant_id AND tp.pipeline_id = p.id
  LEFT JOIN search_pointer sp ON sp.document_id = d.id AND sp.pipeline_id = p.id
 WHERE d.id = %(document)s AND d.tenant_id = %(tenant)s;

-- name: served_set
-- Whether the pointer includes this set. No row: it does not.
SELECT 1 AS served FROM search_pointer
 WHERE document_id = %(document)s AND pipeline_id = %(pipeline)s AND version_number = %(version)s
   AND generation = %(generation)s AND tenant_id = %(tenant)s;

-- name: discard_strangers
-- Remove rows that earlier attempts staged for this set and that are not in the manifest. No row: there were none.
DELETE FROM chunk
 WHERE document_id = %(document)s AND pipeline_id = %(pipeline)s AND version_number = %(version)s
   AND generation = %(generation)s AND NOT (chunk_id = ANY(%(keep)s::uuid[]))
RETURNING id;

-- name: staged
-- Which chunks of this set are stored already, by an earlier attempt too. No row: none.
SELECT c.chunk_id FROM chunk c JOIN chunk_vector v ON v.chunk_id = c.id
 WHERE c.document_id = %(document)s AND c.pipeline_id = %(pipeline)s AND c.version_number = %(version)s
   AND c.generation = %(generation)s;

-- name: stage
-- Store chunks with their vectors, invisible until a pointer includes their set. No row: all were stored already.
-- One JSON parameter for the batch: one statement, so the guard's trigger fires once.
WITH input AS (
    SELECT * FROM jsonb_to_recordset(%(rows)s::jsonb) AS r(
        chunk_id uuid, ordinal int, text text, heading_path jsonb, locator jsonb, tokens int, embedded_digest text,
        terms text, embedding text)),
written AS (
    INSERT INTO chunk (chunk_id, tenant_id, document_id, version_number, pipeline_id, generation, ordinal, text,
                       heading_path, locator, tokens, embedded_digest, terms, task_id, attempts)
    SELECT chunk_id, %(tenant)s, %(document)s, %(version)s, %(pipeline)s, %(generation)s, ordinal, text, heading_path,
           locator, tokens, embedded_digest, terms::tsvector, %(task)s, %(attempts)s
      FROM input ORDER BY chunk_id
    ON CONFLICT (chunk_id, generation) DO NOTHING
    RETURNING id, chunk_id)
INSERT INTO chunk_vector (chunk_id, tenant_id, document_id, version_number, generation, pipeline_id, dimensions, embedding)
SELECT w.id, %(tenant)s, %(document)s, %(version)s, %(generation)s, %(pipeline)s, %(dimensions)s, i.embedding::vector
  FROM written w JOIN input i USING (chunk_id)
RETURNING chunk_id;

-- name: manifest
-- What is stored for this set: how many chunks with vectors, and a digest over their order, identity and text.
-- One row always. The digest is made the same way in indexing.identity.
SELECT count(*) AS count, count(v.chunk_id) AS vectors,
       encode(sha256(convert_to(coalesce(string_agg(
           c.ordinal || ' ' || c.chunk_id || ' ' || encode(sha256(convert_to(c.text, 'UTF8')), 'hex'), E'\n'
           ORDER BY c.ordinal), ''), 'UTF8')), 'hex') AS digest
  FROM chunk c LEFT JOIN chunk_vector v ON v.chunk_id = c.id
 WHERE c.document_id = %(document)s AND c.pipeline_id = %(pipeline)s AND c.version_number = %(version)s
   AND c.generation = %(generation)s;

-- name: lock_document
-- Lock the document for the finish and read what may have changed since the claim. No row: it does not exist.
SELECT d.deleted_at IS NOT NULL AS deleted, d.withdrawn_at IS NOT NULL AS withdrawn, d.requested_version,
       coalesce(d.published_version, 0) AS published_version, d.is_behind
  FROM document d WHERE d.id = %(document)s AND d.tenant_id = %(tenant)s FOR NO KEY UPDATE;

-- name: still_wanted
-- The rest of what finish checks, read after the locks. One row always.
SELECT coalesce((SELECT role FROM tenant_pipeline WHERE tenant_id = %(tenant)s AND pipeline_id = %(pipeline)s), 'RETIRED')
           AS role,
       EXISTS (SELECT 1 FROM read_rule WHERE document_id = %(document)s AND version_number = %(version)s) AS has_readers,
       t.cancel_requested, t.readers_requested
  FROM index_task t WHERE t.id = %(task)s;

-- name: switch
-- Move the search pointer to this set, with what is not in it. No row: it stands at this version or a newer one already.
INSERT INTO search_pointer (tenant_id, document_id, pipeline_id, version_number, generation, chunk_count, manifest_digest,
                            gaps, verification, task_id, attempts)
VALUES (%(tenant)s, %(document)s, %(pipeline)s, %(version)s, %(generation)s, %(count)s, %(digest)s, %(gaps)s::jsonb,
        %(verification)s::jsonb, %(task)s, %(attempts)s)
ON CONFLICT (document_id, pipeline_id) DO UPDATE
   SET version_number = excluded.version_number, generation = excluded.generation, chunk_count = excluded.chunk_count,
       manifest_digest = excluded.manifest_digest, gaps = excluded.gaps, verification = excluded.verification,
       task_id = excluded.task_id, attempts = excluded.attempts,
       switched_at = clock_timestamp()
 WHERE (search_pointer.version_number, search_pointer.generation) < (excluded.version_number, excluded.generation)
RETURNING version_number;

-- name: cached_vectors
-- Vectors of texts that this tenant embedded before under this model. No row: none of them.
SELECT text_digest, embedding FROM embedding_cache
 WHERE tenant_id = %(tenant)s AND fingerprint = %(fingerprint)s AND text_digest = ANY(%(digests)s::text[]);

-- name: cache_vectors
-- Keep the vectors of one batch; sorted, so that two workers never wait for each other in a circle. No row: all were known.
INSERT INTO embedding_cache (tenant_id, fingerprint, text_digest, embedding)
SELECT %(tenant)s, %(fingerprint)s, digest, vector::vector
  FROM unnest(%(digests)s::text[], %(vectors)s::text[]) AS r(digest, vector) ORDER BY digest
ON CONFLICT (tenant_id, text_digest, fingerprint) DO NOTHING
RETURNING id;

-- name: note_texts
-- Remember which document has which embedded texts; sorted, likewise. No row: all were known.
INSERT INTO embedded_text (document_id, text_digest, tenant_id)
SELECT %(document)s, digest, %(tenant)s FROM unnest(%(digests)s::text[]) AS digest ORDER BY digest
ON CONFLICT (document_id, text_digest) DO NOTHING
RETURNING text_digest;

-- name: cached_sentences
-- Sentences that a language model wrote before for chunks of this document; that they were used is noted once a day. No row:
-- none of them.
WITH found AS MATERIALIZED (
    SELECT id, question_digest, sentence, used_at FROM situation_cache
     WHERE document_id = %(document)s AND tenant_id = %(tenant)s AND fingerprint = %(fingerprint)s
       AND question_digest = ANY(%(digests)s::text[])),
noted AS MATERIALIZED (
    SELECT id FROM situation_cache
     WHERE id IN (SELECT id FROM found WHERE used_at < statement_timestamp() - interval '1 day')
     ORDER BY id FOR NO KEY UPDATE SKIP LOCKED),
used AS (UPDATE situation_cache SET used_at = statement_timestamp() WHERE id IN (SELECT id FROM noted))
SELECT question_digest, sentence FROM found;

-- name: cache_sentence
-- Keep the sentence for one chunk. No row: it was known.
INSERT INTO situation_cache (document_id, tenant_id, fingerprint, question_digest, sentence)
VALUES (%(document)s, %(tenant)s, %(fingerprint)s, %(digest)s, %(sentence)s)
ON CONFLICT (document_id, question_digest, fingerprint) DO NOTHING
RETURNING id;

-- name: cached_parse
-- The parse result of these bytes, compressed. No row: not parsed yet by this revision.
SELECT parsed FROM parse_cache
 WHERE tenant_id = %(tenant)s AND content_digest = %(digest)s AND media_type = %(media_type)s
   AND parser_revision = %(revision)s;

-- name: cached_scans
-- What was read from scanned pages of these bytes, one row a page, compressed. No row: none was read yet by this revision.
SELECT parsed FROM parse_cache
 WHERE tenant_id = %(tenant)s AND content_digest = %(digest)s AND starts_with(media_type, %(media_type)s)
   AND parser_revision = %(revision)s
 ORDER BY id;

-- name: cache_parse
-- Keep a parse result, of a whole document or of one page. No row: another worker was first.
INSERT INTO parse_cache (tenant_id, content_digest, media_type, parser_revision, parsed)
VALUES (%(tenant)s, %(digest)s, %(media_type)s, %(revision)s, %(parsed)s)
ON CONFLICT (tenant_id, content_digest, media_type, parser_revision) DO NOTHING
RETURNING id;

-- name: running_tasks
-- Tasks of a document that a worker still holds. No row: nobody does.
SELECT id FROM index_task WHERE document_id = %(document)s AND state = 'RUNNING';

-- name: end_abandoned
-- Cancel tasks of a deleted document whose worker is gone: their lease is over, so a purge may end them.
-- (RUNNING ends as DEAD here, the only move open to somebody without the lease.) No row: there were none.
UPDATE index_task
   SET state = 'DEAD', lease_owner = NULL, lease_until = NULL, stage = NULL, error_code = 'DOCUMENT_DELETED',
       error_message = %(message)s, finished_at = clock_timestamp(), updated_at = clock_timestamp()
 WHERE document_id = %(document)s AND state = 'RUNNING' AND lease_until <= statement_timestamp()
RETURNING id;

-- name: forget_places
-- Forget where the texts at fault of a deleted document stood: headings are its text, too. No row: nothing was named.
UPDATE index_task SET error_places = NULL WHERE document_id = %(document)s AND error_places IS NOT NULL RETURNING id;

-- name: purge_pointers
-- Remove the pointers of a deleted document. No row: it had none.
DELETE FROM search_pointer WHERE document_id = %(document)s RETURNING id;

-- name: purge_vectors_cache
-- Forget which texts a deleted document had, and remove the cached vectors of those that no living document has; locked in
-- order, for two purges at once. No row: none.
WITH texts AS (DELETE FROM embedded_text WHERE document_id = %(document)s RETURNING text_digest),
unused AS MATERIALIZED (
    SELECT e.id FROM embedding_cache e
     WHERE e.tenant_id = %(tenant)s AND e.text_digest IN (SELECT text_digest FROM texts)
       AND NOT EXISTS (SELECT 1 FROM embedded_text t JOIN document d ON d.id = t.document_id AND d.deleted_at IS NULL
                        WHERE t.tenant_id = e.tenant_id AND t.text_digest = e.text_digest)
     ORDER BY e.text_digest, e.id FOR UPDATE)
DELETE FROM embedding_cache WHERE id IN (SELECT id FROM unused)
RETURNING id;

-- name: purge_sentences
-- Remove the sentences that were written for chunks of a deleted document. No row: none.
DELETE FROM situation_cache WHERE document_id = %(document)s RETURNING id;

-- name: purge_parse_cache
-- Remove parse results of bytes that only deleted documents have. No row: none.
DELETE FROM parse_cache pc
 USING document_version v JOIN stored_content s ON s.id = v.content_id
 WHERE v.document_id = %(document)s AND pc.tenant_id = v.tenant_id AND pc.content_digest = s.sha256
   AND NOT EXISTS (
        SELECT 1 FROM stored_content s2 JOIN document_version v2 ON v2.content_id = s2.id JOIN document d2 ON d2.id = v2.document_id
         WHERE s2.tenant_id = pc.tenant_id AND s2.sha256 = pc.content_digest AND d2.deleted_at IS NULL)
RETURNING pc.id;

-- name: purge_chunks
-- Remove every chunk of a deleted document, the vectors by cascade; and forget which of them no search reached, and that its
-- versions were cited. No row: it had none.
WITH orphans AS (DELETE FROM orphan_set WHERE document_id = %(document)s),
cited AS (DELETE FROM citation WHERE document_id = %(document)s)
DELETE FROM chunk WHERE document_id = %(document)s RETURNING id;
