-- What a citation shows. `-- name:` begins a statement; the sentence under it says what no row means.

-- name: served
-- The version that the caller is served of a document, with what is needed to show its text.
-- No row: they are served none, whether or not the document exists.
SELECT s.version_number, s.pipeline_id, s.generation, s.tenant_id, v.title, v.media_type, c.sha256 AS content_digest
  FROM served_version s
  JOIN tenant_pipeline tp ON tp.tenant_id = s.tenant_id AND tp.pipeline_id = s.pipeline_id AND tp.role = 'SERVING'
  JOIN document_version v ON v.document_id = s.document_id AND v.number = s.version_number
  JOIN stored_content c ON c.id = v.content_id
 WHERE s.document_id = %(document)s AND s.user_id = %(user)s;

-- name: withheld
-- What the caller is told of a document whose text is held back until a newer version is searchable. No row: it is not, or
-- they may not read both.
SELECT w.title, w.version_number, d.requested_version
  FROM withheld_version w
  JOIN document d ON d.id = w.document_id
  JOIN tenant_pipeline tp ON tp.tenant_id = w.tenant_id AND tp.pipeline_id = w.pipeline_id AND tp.role = 'SERVING'
 WHERE w.document_id = %(document)s AND w.user_id = %(user)s;

-- name: note_citation
-- Note that somebody followed a citation of this version, once a day. No row: it was noted today, or there is no such version.
INSERT INTO citation AS c (document_id, version_number, tenant_id)
SELECT v.document_id, v.number, v.tenant_id FROM document_version v
 WHERE v.document_id = %(document)s AND v.number = %(version)s
ON CONFLICT (document_id, version_number) DO UPDATE SET last_at = statement_timestamp()
 WHERE c.last_at < statement_timestamp() - interval '1 day'
RETURNING c.version_number;

-- name: overlapping_chunks
-- The chunks of a set that lie in a span of the extracted text, in their order. No row: none does.
SELECT text, heading_path, locator FROM chunk
 WHERE document_id = %(document)s AND pipeline_id = %(pipeline)s AND version_number = %(version)s
   AND generation = %(generation)s
   AND (locator -> 'span' ->> 0)::int < %(end)s AND (locator -> 'span' ->> 1)::int > %(start)s
 ORDER BY ordinal LIMIT 20;
