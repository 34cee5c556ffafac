-- What leaves by itself, some rows at a time. `-- name:` begins a statement; the sentence under it says what no row means.
-- Locks in the order document, task, pointer, list of orphans, chunks, cache.

-- name: due_sets
-- Orphans of one kind whose time has come, the oldest first. No row: none.
SELECT o.id, o.document_id FROM orphan_set o
 WHERE o.kind = %(kind)s AND o.counted_from <= statement_timestamp() - make_interval(secs => %(seconds)s)
 ORDER BY o.counted_from, o.id LIMIT %(limit)s;

-- name: due_sets_of_pipeline
-- Orphans of one tenant's pipeline, whatever their kind, that were not found to be kept lately. No row: none.
SELECT o.id, o.document_id FROM orphan_set o
 WHERE o.tenant_id = %(tenant)s AND o.pipeline_id = %(pipeline)s AND o.counted_from <= statement_timestamp()
 ORDER BY o.id LIMIT %(limit)s;

-- name: lock_documents
-- Lock documents so that nobody places a hold meanwhile; publishes and finishes go on. No row: somebody is placing holds on all.
SELECT id FROM document WHERE id = ANY(%(documents)s::uuid[]) ORDER BY id FOR KEY SHARE SKIP LOCKED;

-- name: lock_tasks
-- Lock the tasks of orphans, so that none is tried again meanwhile, and no worker ends one. No row: they have left already.
SELECT t.id FROM orphan_set o JOIN index_task t USING (document_id, pipeline_id, version_number, generation)
 WHERE o.id = ANY(%(sets)s::bigint[]) AND o.document_id = ANY(%(documents)s::uuid[]) ORDER BY t.id FOR SHARE OF t;

-- name: judge_sets
-- What is to become of orphans of documents that are locked: `gone` from the list (served after all, or a task is at it, or its
-- document is deleted and purged by itself), `kept` for a while (held, or cited and only replaced), or `left`. No row: another
-- sweep has them.
SELECT o.id, CASE
       WHEN d.deleted_at IS NOT NULL
            OR EXISTS (SELECT 1 FROM search_pointer p
                        WHERE p.document_id = o.document_id AND p.pipeline_id = o.pipeline_id
                          AND p.version_number = o.version_number AND p.generation = o.generation)
            OR EXISTS (SELECT 1 FROM index_task t
                        WHERE t.document_id = o.document_id AND t.pipeline_id = o.pipeline_id
                          AND t.version_number = o.version_number AND t.generation = o.generation
                          AND t.state NOT IN ('SUCCEEDED', 'DEAD', 'CANCELLED')) THEN 'gone'
       WHEN document_is_held(o.document_id, o.version_number)
            OR (o.kind = 'replaced' AND NOT %(retired)s
                AND EXISTS (SELECT 1 FROM citation c
                             WHERE c.document_id = o.document_id AND c.version_number = o.version_number
                               AND (%(cited)s::float8 = 0
                                    OR c.last_at > statement_timestamp() - make_interval(secs => %(cited)s)))) THEN 'kept'
       ELSE 'left' END AS verdict
  FROM orphan_set o JOIN document d ON d.id = o.document_id
 WHERE o.id = ANY(%(sets)s::bigint[]) AND o.document_id = ANY(%(documents)s::uuid[])
 ORDER BY o.id FOR UPDATE OF o SKIP LOCKED;

-- name: remove_chunks
-- Remove up to `limit` chunks of orphans, the vectors by cascade; the cached vectors of their texts are counted as used until
-- now. One row always: how many chunks.
WITH doomed AS MATERIALIZED (
    SELECT c.id FROM orphan_set o JOIN chunk c USING (document_id, pipeline_id, version_number, generation)
     WHERE o.id = ANY(%(sets)s::bigint[]) ORDER BY c.id LIMIT %(limit)s),
removed AS (DELETE FROM chunk WHERE id IN (SELECT id FROM doomed) RETURNING tenant_id, embedded_digest),
texts AS MATERIALIZED (
    SELECT e.id FROM embedding_cache e
     WHERE (e.tenant_id, e.text_digest) IN (SELECT tenant_id, embedded_digest FROM removed)
       AND e.used_at < statement_timestamp() - interval '1 day'
     ORDER BY e.text_digest, e.id FOR NO KEY UPDATE),
used AS (UPDATE embedding_cache SET used_at = statement_timestamp() WHERE id IN (SELECT id FROM texts))
SELECT count(*) AS removed FROM removed;

-- name: settle_sets
-- Take orphans off the list that are `gone` or have no chunk any more, and look at those that are `kept` again after a day.
-- No row: all have chunks left.
WITH kept AS (
    UPDATE orphan_set SET counted_from = statement_timestamp() - make_interval(secs => %(seconds)s) + interval '1 day'
     WHERE id = ANY(%(kept)s::bigint[]))
DELETE FROM orphan_set o
 WHERE o.id = ANY(%(gone)s::bigint[])
    OR (o.id = ANY(%(sets)s::bigint[])
        AND NOT EXISTS (SELECT 1 FROM chunk c
                         WHERE c.document_id = o.document_id AND c.pipeline_id = o.pipeline_id
                           AND c.version_number = o.version_number AND c.generation = o.generation))
RETURNING o.id;

-- name: count_chunks
-- How many chunks of orphans of one kind would leave now. One row always.
SELECT count(*) AS count
  FROM orphan_set o JOIN document d ON d.id = o.document_id AND d.deleted_at IS NULL
  JOIN chunk c USING (document_id, pipeline_id, version_number, generation)
 WHERE o.kind = %(kind)s AND o.counted_from <= statement_timestamp() - make_interval(secs => %(seconds)s)
   AND NOT document_is_held(o.document_id, o.version_number)
   AND NOT EXISTS (SELECT 1 FROM search_pointer p
                    WHERE p.document_id = o.document_id AND p.pipeline_id = o.pipeline_id
                      AND p.version_number = o.version_number AND p.generation = o.generation)
   AND NOT EXISTS (SELECT 1 FROM index_task t
                    WHERE t.document_id = o.document_id AND t.pipeline_id = o.pipeline_id
                      AND t.version_number = o.version_number AND t.generation = o.generation
                      AND t.state NOT IN ('SUCCEEDED', 'DEAD', 'CANCELLED'))
   AND NOT (o.kind = 'replaced' AND EXISTS (
            SELECT 1 FROM citation k
             WHERE k.document_id = o.document_id AND k.version_number = o.version_number
               AND (%(cited)s::float8 = 0 OR k.last_at > statement_timestamp() - make_interval(secs => %(cited)s))));

-- name: retired_pipelines
-- Pipelines retired in a tenant that have something left there. No row: none.
SELECT tp.tenant_id, tp.pipeline_id FROM tenant_pipeline tp
 WHERE tp.role = 'RETIRED'
   AND (EXISTS (SELECT 1 FROM search_pointer p WHERE p.tenant_id = tp.tenant_id AND p.pipeline_id = tp.pipeline_id)
        OR EXISTS (SELECT 1 FROM orphan_set o WHERE o.tenant_id = tp.tenant_id AND o.pipeline_id = tp.pipeline_id))
 ORDER BY tp.tenant_id, tp.pipeline_id;

-- name: pointers_of_retired
-- Documents with a pointer under a pipeline that is retired in their tenant, and that nobody holds. No row: none is left.
SELECT p.document_id FROM search_pointer p JOIN document d ON d.id = p.document_id AND d.deleted_at IS NULL
 WHERE p.tenant_id = %(tenant)s AND p.pipeline_id = %(pipeline)s AND NOT document_is_held(p.document_id, p.version_number)
   AND EXISTS (SELECT 1 FROM tenant_pipeline tp
                WHERE tp.tenant_id = p.tenant_id AND tp.pipeline_id = p.pipeline_id AND tp.role = 'RETIRED')
 ORDER BY p.document_id LIMIT %(limit)s;

-- name: remove_pointers
-- Remove the pointers of documents that are locked under such a pipeline; their sets become orphans. No row: they are held now.
DELETE FROM search_pointer p
 WHERE p.tenant_id = %(tenant)s AND p.pipeline_id = %(pipeline)s AND p.document_id = ANY(%(documents)s::uuid[])
   AND NOT document_is_held(p.document_id, p.version_number)
RETURNING p.id;

-- name: count_retired
-- How many chunks are stored under pipelines that are retired in their tenant, those of versions that are held apart. One row always.
SELECT count(*) AS count FROM tenant_pipeline tp
  JOIN (SELECT tenant_id, document_id, pipeline_id, version_number, generation FROM search_pointer
         UNION SELECT tenant_id, document_id, pipeline_id, version_number, generation FROM orphan_set) s
    ON s.tenant_id = tp.tenant_id AND s.pipeline_id = tp.pipeline_id
  JOIN chunk c ON c.document_id = s.document_id AND c.pipeline_id = s.pipeline_id
   AND c.version_number = s.version_number AND c.generation = s.generation
 WHERE tp.role = 'RETIRED' AND NOT document_is_held(s.document_id, s.version_number);

-- name: remove_vectors
-- Look at up to `limit` cached vectors that were not used for long, and remove those whose text stands in no stored chunk, or that
-- are of a model that no pipeline in use has (`fingerprints`; null: not known), those of held documents apart. The rest count as
-- used now. One row always: how many were removed, and how many looked at.
WITH old AS MATERIALIZED (
    SELECT e.id, e.tenant_id, e.fingerprint, e.text_digest FROM embedding_cache e
     WHERE e.used_at < statement_timestamp() - make_interval(secs => %(seconds)s)
     ORDER BY e.used_at, e.id LIMIT %(limit)s FOR UPDATE SKIP LOCKED),
needed AS MATERIALIZED (
    SELECT old.id FROM old
     WHERE EXISTS (
        SELECT 1 FROM embedded_text t
         WHERE t.tenant_id = old.tenant_id AND t.text_digest = old.text_digest
           AND (document_is_held(t.document_id, NULL)
                OR ((%(fingerprints)s::text[] IS NULL OR old.fingerprint = ANY(%(fingerprints)s::text[]))
                    AND EXISTS (SELECT 1 FROM chunk c
                                 WHERE c.document_id = t.document_id AND c.embedded_digest = t.text_digest))))),
used AS (UPDATE embedding_cache SET used_at = statement_timestamp() WHERE id IN (SELECT id FROM needed)),
removed AS (DELETE FROM embedding_cache WHERE id IN (SELECT id FROM old EXCEPT SELECT id FROM needed) RETURNING id)
SELECT (SELECT count(*) FROM removed) AS removed, (SELECT count(*) FROM old) AS looked;

-- name: count_vectors
-- How many cached vectors would leave now. One row always.
SELECT count(*) AS count FROM embedding_cache e
 WHERE e.used_at < statement_timestamp() - make_interval(secs => %(seconds)s)
   AND NOT EXISTS (
        SELECT 1 FROM embedded_text t
         WHERE t.tenant_id = e.tenant_id AND t.text_digest = e.text_digest
           AND (document_is_held(t.document_id, NULL)
                OR ((%(fingerprints)s::text[] IS NULL OR e.fingerprint = ANY(%(fingerprints)s::text[]))
                    AND EXISTS (SELECT 1 FROM chunk c
                                 WHERE c.document_id = t.document_id AND c.embedded_digest = t.text_digest))));

-- name: remove_parses
-- Look at up to `limit` parse results that were not used for long, and remove those of another parser revision, and those of bytes
-- that no living document has in a version that was the newest asked for within that time (or newer), those of held versions
-- apart. The rest count as used now. One row always: how many were removed, and how many looked at.
WITH old AS MATERIALIZED (
    SELECT pc.id, pc.tenant_id, pc.content_digest, pc.parser_revision FROM parse_cache pc
     WHERE pc.used_at < statement_timestamp() - make_interval(secs => %(seconds)s)
     ORDER BY pc.used_at, pc.id LIMIT %(limit)s FOR UPDATE SKIP LOCKED),
needed AS MATERIALIZED (
    SELECT old.id FROM old
     WHERE EXISTS (
        SELECT 1 FROM stored_content s JOIN document_version v ON v.content_id = s.id JOIN document d ON d.id = v.document_id
         WHERE s.tenant_id = old.tenant_id AND s.sha256 = old.content_digest
           AND (document_is_held(v.document_id, v.number)
                OR (d.deleted_at IS NULL AND old.parser_revision = %(revision)s
                    AND NOT EXISTS (SELECT 1 FROM publication p
                                     WHERE p.document_id = v.document_id AND p.version_number > v.number
                                       AND p.requested_at < statement_timestamp() - make_interval(secs => %(seconds)s)))))),
used AS (UPDATE parse_cache SET used_at = statement_timestamp() WHERE id IN (SELECT id FROM needed)),
removed AS (DELETE FROM parse_cache WHERE id IN (SELECT id FROM old EXCEPT SELECT id FROM needed) RETURNING id)
SELECT (SELECT count(*) FROM removed) AS removed, (SELECT count(*) FROM old) AS looked;

-- name: count_parses
-- How many parse results would leave now. One row always.
SELECT count(*) AS count FROM parse_cache pc
 WHERE pc.used_at < statement_timestamp() - make_interval(secs => %(seconds)s)
   AND NOT EXISTS (
        SELECT 1 FROM stored_content s JOIN document_version v ON v.content_id = s.id JOIN document d ON d.id = v.document_id
         WHERE s.tenant_id = pc.tenant_id AND s.sha256 = pc.content_digest
           AND (document_is_held(v.document_id, v.number)
                OR (d.deleted_at IS NULL AND pc.parser_revision = %(revision)s
                    AND NOT EXISTS (SELECT 1 FROM publication p
                                     WHERE p.document_id = v.document_id AND p.version_number > v.number
                                       AND p.requested_at < statement_timestamp() - make_interval(secs => %(seconds)s)))));

-- name: remove_sentences
-- Look at up to `limit` sentences that were not used for long, and remove those that the document's last indexing did not use, those
-- of held documents apart. (A use is noted once a day, so one of the two days before counts.) The rest count as used now. One row
-- always: how many were removed, and how many looked at.
WITH old AS MATERIALIZED (
    SELECT sc.id, sc.document_id, sc.used_at FROM situation_cache sc
     WHERE sc.used_at < statement_timestamp() - make_interval(secs => %(seconds)s)
     ORDER BY sc.used_at, sc.id LIMIT %(limit)s FOR UPDATE SKIP LOCKED),
needed AS MATERIALIZED (
    SELECT old.id FROM old
     WHERE document_is_held(old.document_id, NULL)
        OR old.used_at >= (SELECT max(p.switched_at) - interval '2 days' FROM search_pointer p
                            WHERE p.document_id = old.document_id)),
used AS (UPDATE situation_cache SET used_at = statement_timestamp() WHERE id IN (SELECT id FROM needed)),
removed AS (DELETE FROM situation_cache WHERE id IN (SELECT id FROM old EXCEPT SELECT id FROM needed) RETURNING id)
SELECT (SELECT count(*) FROM removed) AS removed, (SELECT count(*) FROM old) AS looked;

-- name: count_sentences
-- How many sentences would leave now. One row always.
SELECT count(*) AS count FROM situation_cache sc
 WHERE sc.used_at < statement_timestamp() - make_interval(secs => %(seconds)s)
   AND NOT document_is_held(sc.document_id, NULL)
   AND NOT coalesce(sc.used_at >= (SELECT max(p.switched_at) - interval '2 days' FROM search_pointer p
                                    WHERE p.document_id = sc.document_id), false);

-- name: forget_tasks
-- Remove spent tasks among the `limit` next ones. One row always; `last` is null once none is left to look at.
SELECT last, removed FROM forget_index_tasks(statement_timestamp() - make_interval(secs => %(seconds)s), %(past)s, %(limit)s);

-- name: count_tasks
-- How many tasks would leave now. One row always.
SELECT count(*) AS count FROM index_task t
 WHERE t.finished_at < statement_timestamp() - make_interval(secs => %(seconds)s) AND index_task_is_spent(t);

-- name: forget_events
-- Remove old events of tasks among the `limit` next ones. One row always; `last` is null once none is left to look at.
SELECT last, removed FROM forget_task_events(statement_timestamp() - make_interval(secs => %(seconds)s), %(past)s, %(limit)s);

-- name: count_events
-- How many events of tasks would leave now. One row always.
SELECT count(*) AS count FROM task_event e
 WHERE e.at < statement_timestamp() - make_interval(secs => %(seconds)s) AND task_event_is_spent(e);

-- name: forget_moves
-- Remove old moves of pointers among the `limit` next ones. One row always; `last` is null once none is left to look at.
SELECT last, removed FROM forget_pointer_moves(statement_timestamp() - make_interval(secs => %(seconds)s), %(past)s, %(limit)s);

-- name: count_moves
-- How many moves of pointers would leave now. One row always.
SELECT count(*) AS count FROM pointer_log l
 WHERE l.at < statement_timestamp() - make_interval(secs => %(seconds)s) AND NOT document_is_held(l.document_id, NULL);

-- name: forget_outages
-- Remove old events of providers among the `limit` next ones. One row always; `last` is null once none is left to look at.
SELECT last, removed FROM forget_provider_events(statement_timestamp() - make_interval(secs => %(seconds)s), %(past)s, %(limit)s);

-- name: count_outages
-- How many events of providers would leave now. One row always.
SELECT count(*) AS count FROM provider_event e WHERE e.at < statement_timestamp() - make_interval(secs => %(seconds)s);

-- name: forget_runs
-- Remove documents of old bulk runs among the `limit` next ones, and runs whose list is gone. One row always; `last` is null once
-- none is left to look at.
SELECT last, removed FROM forget_recompute_items(statement_timestamp() - make_interval(secs => %(seconds)s), %(past)s, %(limit)s);

-- name: count_runs
-- How many documents of bulk runs would leave now. One row always.
SELECT count(*) AS count FROM recompute_item i JOIN recompute_run r ON r.id = i.run_id
 WHERE coalesce(r.ended_at, r.stopped_at) < statement_timestamp() - make_interval(secs => %(seconds)s);

-- name: forget_trail
-- Remove old events of the audit trail among the `limit` next ones. One row always; `last` is null once none is left to look at.
SELECT last, removed FROM forget_audit_events(statement_timestamp() - make_interval(secs => %(seconds)s), %(past)s, %(limit)s);

-- name: count_trail
-- How many events of the audit trail would leave now. One row always.
SELECT count(*) AS count FROM audit_event e
 WHERE e.at < statement_timestamp() - make_interval(secs => %(seconds)s) AND NOT document_is_held(e.document_id, e.version_number);
