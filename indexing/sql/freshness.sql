-- Documents that are too stale. `-- name:` begins a statement; the sentence under it says what no row means.

-- name: check
-- Raise an alert for each document that has become too stale, once, and end those whose staleness is over; told are both, with
-- why it ended. Only where readers had an older version, of a first one nothing is stale, and where somebody may read the new one.
-- No row: nothing has changed.
WITH late AS MATERIALIZED (
    SELECT d.id AS document_id, d.requested_version AS version_number, since.at AS behind_since, allowed.seconds AS max_seconds
      FROM document d
      JOIN tenant_pipeline tp ON tp.tenant_id = d.tenant_id AND tp.role = 'SERVING'
      JOIN search_pointer p ON p.document_id = d.id AND p.pipeline_id = tp.pipeline_id AND p.version_number < d.requested_version
     CROSS JOIN LATERAL (SELECT coalesce(d.max_staleness_seconds, nullif(%(default)s::int, 0)) AS seconds) allowed
     CROSS JOIN LATERAL (SELECT min(pu.requested_at) AS at FROM publication pu
                          WHERE pu.document_id = d.id AND pu.version_number > p.version_number AND pu.withdrawn_at IS NULL) since
     WHERE d.is_behind AND d.deleted_at IS NULL AND d.withdrawn_at IS NULL
       AND EXISTS (SELECT 1 FROM read_rule r WHERE r.document_id = d.id AND r.version_number = d.requested_version)
       AND since.at < statement_timestamp() - allowed.seconds * interval '1 second'),
over AS MATERIALIZED (
    SELECT a.document_id FROM staleness_alert a
     WHERE NOT EXISTS (SELECT 1 FROM late WHERE late.document_id = a.document_id AND late.behind_since = a.behind_since)
     ORDER BY a.document_id FOR UPDATE),
ended AS (
    DELETE FROM staleness_alert a USING over WHERE a.document_id = over.document_id RETURNING a.*),
raised AS (
    INSERT INTO staleness_alert (document_id, version_number, behind_since, max_seconds)
    SELECT document_id, version_number, behind_since, max_seconds FROM late ORDER BY document_id
    ON CONFLICT (document_id) DO NOTHING
    RETURNING *)
SELECT document_id, version_number, behind_since, max_seconds, '' AS ended_by FROM raised
UNION ALL
SELECT e.document_id, e.version_number, e.behind_since, e.max_seconds,
       CASE WHEN d.deleted_at IS NOT NULL THEN 'deleted' WHEN d.withdrawn_at IS NOT NULL THEN 'withdrawn'
            WHEN EXISTS (SELECT 1 FROM search_pointer p JOIN tenant_pipeline tp ON tp.tenant_id = p.tenant_id
                            AND tp.pipeline_id = p.pipeline_id AND tp.role = 'SERVING'
                          WHERE p.document_id = d.id AND p.version_number >= e.version_number) THEN 'searchable'
            ELSE 'changed' END
  FROM ended e JOIN document d ON d.id = e.document_id
 ORDER BY document_id;
