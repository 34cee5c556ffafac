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

-- name: overlapping_chunks
-- The chunks of a set that lie in a span of the extracted text, in their order. No row: none does.
SELECT text, heading_path, locator FROM chunk
 WHERE document_id = %(document)s AND pipeline_id = %(pipeline)s AND version_number = %(version)s
   AND generation = %(generation)s
   AND (locator -> 'span' ->> 0)::int < %(end)s AND (locator -> 'span' ->> 1)::int > %(start)s
 ORDER BY ordinal LIMIT 20;
