-- What of the index may be shown at all, and what is held back until a new version is searchable.

-- Whatever readers may be served of a pipeline: not of a document that was deleted or withdrawn, nothing older than it serves
-- from, and nothing that has been out of force for longer than it allows, by this server's clock.
CREATE VIEW served_pointer AS
SELECT p.id, p.tenant_id, p.pipeline_id, p.document_id, p.version_number, p.generation, p.chunk_count, d.requested_version
  FROM search_pointer p
  JOIN document d ON d.id = p.document_id AND d.tenant_id = p.tenant_id
 WHERE d.deleted_at IS NULL AND d.withdrawn_at IS NULL AND p.version_number >= d.serve_from_version
   AND (d.past_maximum <> 'withhold' OR p.version_number >= d.published_version OR d.published_version IS NULL
        OR statement_timestamp() < (SELECT min(pu.published_at) FROM publication pu
                                     WHERE pu.document_id = d.id AND pu.version_number > p.version_number
                                       AND pu.withdrawn_at IS NULL)
                                   + d.max_staleness_seconds * interval '1 second');

-- As in 0002: among the readers of that version and of the one asked for last.
CREATE OR REPLACE VIEW served_version AS
SELECT m.user_id, p.tenant_id, p.pipeline_id, p.document_id, p.version_number, p.generation, p.chunk_count
  FROM membership m
  JOIN served_pointer p ON p.tenant_id = m.tenant_id
 WHERE EXISTS (SELECT 1 FROM document_reader r
                WHERE r.document_id = p.document_id AND r.version_number = p.version_number AND r.user_id = m.user_id)
   AND EXISTS (SELECT 1 FROM document_reader r
                WHERE r.document_id = p.document_id AND r.version_number = p.requested_version AND r.user_id = m.user_id);

-- What was served and is held back until a newer version is searchable: its readers are told so. What was withdrawn is none.
CREATE VIEW withheld_pointer AS
SELECT p.id, p.tenant_id, p.pipeline_id, p.document_id, p.version_number, p.generation, d.requested_version
  FROM document d
  JOIN search_pointer p ON p.document_id = d.id AND p.tenant_id = d.tenant_id
 WHERE d.is_behind AND d.deleted_at IS NULL AND d.withdrawn_at IS NULL AND p.version_number < d.requested_version
   AND (d.serve_from_version > 0 OR d.past_maximum = 'withhold')  -- of many that are behind, few hold anything back
   AND EXISTS (SELECT 1 FROM publication pu
                WHERE pu.document_id = d.id AND pu.version_number = p.version_number AND pu.withdrawn_at IS NULL)
   AND NOT EXISTS (SELECT 1 FROM served_pointer s WHERE s.id = p.id);

-- Who may be told, and by which title: that of the version asked for last, if it is in force, else of the one they knew.
CREATE VIEW withheld_version AS
SELECT m.user_id, p.tenant_id, p.pipeline_id, p.document_id, p.version_number, p.generation, v.title
  FROM membership m
  JOIN withheld_pointer p ON p.tenant_id = m.tenant_id
  JOIN document d ON d.id = p.document_id
  JOIN document_version v ON v.document_id = p.document_id
   AND v.number = CASE WHEN d.published_version = p.requested_version THEN p.requested_version ELSE p.version_number END
 WHERE EXISTS (SELECT 1 FROM document_reader r
                WHERE r.document_id = p.document_id AND r.version_number = p.version_number AND r.user_id = m.user_id)
   AND EXISTS (SELECT 1 FROM document_reader r
                WHERE r.document_id = p.document_id AND r.version_number = p.requested_version AND r.user_id = m.user_id);

-- Where to look for what is late: versions that are on their way now.
UPDATE document d SET is_behind = true
 WHERE d.deleted_at IS NULL AND d.withdrawn_at IS NULL AND d.requested_version IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM search_pointer p
                     JOIN tenant_pipeline tp ON tp.tenant_id = p.tenant_id AND tp.pipeline_id = p.pipeline_id AND tp.role = 'SERVING'
                    WHERE p.document_id = d.id AND p.version_number >= d.requested_version
                      AND d.published_version = d.requested_version);
