-- What is known about an embedding model. `-- name:` begins a statement; the sentence under it says what no row means.

-- name: keep_canary
-- Keep the canary's vector if it is the first under this fingerprint. No row: one was kept before.
INSERT INTO embedding_canary (fingerprint, embedding) VALUES (%(fingerprint)s, %(vector)s::vector)
ON CONFLICT (fingerprint) DO NOTHING
RETURNING fingerprint;

-- name: canary
-- The canary's vector under this fingerprint. No row: nobody has embedded under it yet.
SELECT embedding FROM embedding_canary WHERE fingerprint = %(fingerprint)s;

-- name: forget_vectors
-- Take vectors of a model that was not the one it was said to be out of the cache; locked in order, as purges do. No row: none.
WITH doubtful AS MATERIALIZED (
    SELECT id FROM embedding_cache
     WHERE tenant_id = %(tenant)s AND fingerprint = %(fingerprint)s AND text_digest = ANY(%(digests)s::text[])
     ORDER BY text_digest, id FOR UPDATE)
DELETE FROM embedding_cache WHERE id IN (SELECT id FROM doubtful)
RETURNING id;
