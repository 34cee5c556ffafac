-- The search. `find_*` are legs and frame of one statement that `indexing.search` puts together: one statement is one
-- snapshot, so an answer never mixes two versions of a document. {pipeline} and {vector} are replaced by the pipeline's
-- number and its indexed expression, both made from integers: with a parameter in their place the partial index is not used.

-- name: readable_chunks
-- How many chunks the caller is served, counted up to a cap of documents (each has at least one chunk). One row always.
SELECT coalesce(sum(chunk_count), 0) AS chunks
  FROM (SELECT chunk_count FROM served_version
         WHERE user_id = %(user)s AND tenant_id = %(tenant)s AND pipeline_id = %(pipeline)s LIMIT %(cap)s) counted;

-- name: term_weights
-- In how many chunks each term of the query stands; the empty term stands for all chunks. No row: not counted yet.
SELECT term, chunks FROM term_statistic
 WHERE tenant_id = %(tenant)s AND pipeline_id = %(pipeline)s AND term = ANY(%(terms)s::text[]);

-- name: sample_terms
-- The same over a few chunks that the caller is served, for a tenant whose terms were not counted yet. One row at least.
WITH sample AS MATERIALIZED (
    SELECT c.terms
      FROM served_version s
      JOIN chunk c ON c.document_id = s.document_id AND c.pipeline_id = s.pipeline_id
                  AND c.version_number = s.version_number AND c.generation = s.generation
     WHERE s.user_id = %(user)s AND s.tenant_id = %(tenant)s AND s.pipeline_id = %(pipeline)s LIMIT %(size)s)
SELECT '' AS term, count(*) AS chunks FROM sample
UNION ALL
SELECT word.lexeme, count(*) FROM sample, unnest(sample.terms) AS word
 WHERE word.lexeme = ANY(%(terms)s::text[]) GROUP BY word.lexeme;

-- name: find_exact_leg
-- Every served chunk by its true distance. The bare column is no indexed expression, so this never becomes an HNSW scan.
SELECT v.chunk_id, v.embedding <=> %(vector)s::vector AS distance
  FROM served s
  JOIN chunk_vector v ON v.document_id = s.document_id AND v.pipeline_id = {pipeline}
                     AND v.version_number = s.version_number AND v.generation = s.generation
 ORDER BY distance, v.chunk_id LIMIT %(depth)s;

-- name: find_approximate_leg
-- Nearest chunks by HNSW, each checked against what the caller is served while the index is walked (iterative scan).
-- A scalar sub-query, not EXISTS or a join: those could be turned into a join that sorts everything first.
SELECT v.chunk_id, {vector} <=> %(vector)s::{type} AS distance
  FROM chunk_vector v
 WHERE v.pipeline_id = {pipeline}
   AND (SELECT true FROM served_version s
         WHERE s.user_id = %(user)s AND s.tenant_id = %(tenant)s AND s.pipeline_id = {pipeline}
           AND s.document_id = v.document_id AND s.version_number = v.version_number AND s.generation = v.generation)
 ORDER BY {vector} <=> %(vector)s::{type} LIMIT %(depth)s;

-- name: find_no_leg
-- No vector for the query: the provider cannot be reached, and the lexical leg answers alone.
SELECT 0::bigint AS chunk_id, 0::float8 AS distance WHERE false;

-- name: find_words_by_document
-- Every served chunk is looked at: for a caller who is served fewer chunks than the words stand in.
-- `IS TRUE` keeps the planner from asking the index of words once for each document.
SELECT c.id AS chunk_id,
       (SELECT sum(w.weight * ts_rank(c.terms, w.term::tsquery, 1))
          FROM unnest(%(terms)s::text[], %(weights)s::float8[]) AS w(term, weight)) AS weight
  FROM served s
  JOIN chunk c ON c.document_id = s.document_id AND c.pipeline_id = {pipeline}
              AND c.version_number = s.version_number AND c.generation = s.generation
 WHERE (c.terms @@ %(any_term)s::tsquery) IS TRUE
 ORDER BY weight DESC, c.id LIMIT %(depth)s;

-- name: find_words_by_index
-- The index of words first; then, best first, whether the caller is served the chunk, until enough are.
SELECT m.chunk_id, m.weight
  FROM (SELECT c.id AS chunk_id, c.document_id, c.version_number, c.generation,
               (SELECT sum(w.weight * ts_rank(c.terms, w.term::tsquery, 1))
                  FROM unnest(%(terms)s::text[], %(weights)s::float8[]) AS w(term, weight)) AS weight
          FROM chunk c
         WHERE c.terms @@ %(any_term)s::tsquery AND c.tenant_id = %(tenant)s AND c.pipeline_id = {pipeline}
         ORDER BY weight DESC, c.id OFFSET 0) m
 WHERE (SELECT true FROM served_version s
         WHERE s.user_id = %(user)s AND s.tenant_id = %(tenant)s AND s.pipeline_id = {pipeline}
           AND s.document_id = m.document_id AND s.version_number = m.version_number AND s.generation = m.generation)
 LIMIT %(depth)s;

-- name: find
-- The frame: both legs, fused by weighted reciprocal rank (1 / (60 + rank), Cormack, Clarke and Büttcher, SIGIR 2009), and
-- what a citation needs; gaps are those of the pointer that includes the chunk. `served` costs nothing where no leg names it. No row: nothing that the caller is served matches.
WITH served AS MATERIALIZED (
    SELECT document_id, version_number, generation FROM served_version
     WHERE user_id = %(user)s AND tenant_id = %(tenant)s AND pipeline_id = %(pipeline)s),
near AS MATERIALIZED ({near}),
words AS MATERIALIZED ({words}),
fused AS (
    SELECT chunk_id,
           coalesce(%(vector_weight)s::float8 / (60 + n.place), 0)
         + coalesce(%(lexical_weight)s::float8 / (60 + w.place), 0) AS score
      FROM (SELECT chunk_id, row_number() OVER (ORDER BY distance, chunk_id) AS place FROM near) n
      FULL JOIN (SELECT chunk_id, row_number() OVER (ORDER BY weight DESC, chunk_id) AS place FROM words) w USING (chunk_id))
SELECT c.chunk_id, c.document_id, c.version_number, c.ordinal, v.title, c.heading_path, c.locator, c.text, f.score,
       (SELECT count(*) FROM near) AS near_count, d.published_version, p.gaps,
       CASE WHEN d.published_version > c.version_number
            THEN (SELECT extract(epoch FROM clock_timestamp() - min(pu.published_at))::float8 FROM publication pu
                   WHERE pu.document_id = d.id AND pu.version_number > c.version_number AND pu.withdrawn_at IS NULL)
            ELSE 0 END AS seconds_behind
  FROM fused f
  JOIN chunk c ON c.id = f.chunk_id
  JOIN search_pointer p ON p.document_id = c.document_id AND p.pipeline_id = {pipeline}
  JOIN document d ON d.id = c.document_id
  JOIN document_version v ON v.document_id = c.document_id AND v.number = c.version_number
 ORDER BY f.score DESC, c.document_id, c.ordinal LIMIT %(limit)s;

-- name: withheld
-- Documents whose text is held back until a newer version is searchable, of which the caller may read both: those whose words
-- match, and those that lie nearer to the query than the farthest of the hits (`nearer_than`: hits' chunks; none if fewer hits
-- were found than asked for, so that anything would have been one). Found by words first, then the nearest. No row: none.
-- Neither text nor place of what is held back leaves this statement.
SELECT w.document_id, w.title
  FROM withheld_version w
 CROSS JOIN LATERAL (
       SELECT coalesce(bool_or(c.terms @@ %(any_term)s::tsquery), false) AS has_words,
              min(v.embedding <=> %(vector)s::vector) AS distance
         FROM chunk c JOIN chunk_vector v ON v.chunk_id = c.id
        WHERE c.document_id = w.document_id AND c.pipeline_id = w.pipeline_id AND c.version_number = w.version_number
          AND c.generation = w.generation) m
 WHERE w.user_id = %(user)s AND w.tenant_id = %(tenant)s AND w.pipeline_id = %(pipeline)s
   AND (m.has_words
        OR m.distance < (SELECT coalesce(max(v.embedding <=> %(vector)s::vector), 'infinity')
                           FROM chunk c JOIN chunk_vector v ON v.chunk_id = c.id WHERE c.chunk_id = ANY(%(nearer_than)s::uuid[])))
 ORDER BY m.has_words DESC, m.distance, w.document_id LIMIT 5;

-- name: count_terms
-- Count again in how many served chunks of a tenant each term stands. No row: the tenant has no chunks.
-- ts_stat runs the text it is given as a query: it is built from integers only.
WITH counted AS (
    SELECT word AS term, ndoc AS chunks FROM ts_stat(format(
        'SELECT c.terms FROM served_pointer p JOIN chunk c ON c.document_id = p.document_id AND c.pipeline_id = p.pipeline_id '
        'AND c.version_number = p.version_number AND c.generation = p.generation '
        'WHERE p.tenant_id = %%s AND p.pipeline_id = %%s', %(tenant)s::bigint, %(pipeline)s::int))
    UNION ALL
    SELECT '', coalesce(sum(p.chunk_count), 0)
      FROM served_pointer p WHERE p.tenant_id = %(tenant)s AND p.pipeline_id = %(pipeline)s),
gone AS (
    DELETE FROM term_statistic t
     WHERE t.tenant_id = %(tenant)s AND t.pipeline_id = %(pipeline)s
       AND NOT EXISTS (SELECT 1 FROM counted WHERE counted.term = t.term))
INSERT INTO term_statistic (tenant_id, pipeline_id, term, chunks)
SELECT %(tenant)s, %(pipeline)s, term, chunks FROM counted ORDER BY term
ON CONFLICT (tenant_id, pipeline_id, term) DO UPDATE SET chunks = excluded.chunks
 WHERE term_statistic.chunks <> excluded.chunks
RETURNING id;
