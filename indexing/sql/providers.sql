-- Every statement on what all workers know together about an embedding provider. None is held across a request: each commits
-- at once, touches one row, and holds no other lock. Times go out and come in as seconds from now: the database owns the clock.

-- name: look
-- What a request must know before it is sent. No row: nothing is known about this provider, so the request may go.
-- `settled`: a success would tell nothing new, so that nothing needs to be written after it.
SELECT code, detail, since, extract(epoch FROM open_until - clock_timestamp())::float8 AS open_for,
       extract(epoch FROM probe_until - clock_timestamp())::float8 AS probe_for,
       coalesce(extract(epoch FROM cooldown_until - clock_timestamp()), 0)::float8 AS cooldown,
       outages = 0 AND cardinality(timed_out) = 0 AND throttles = 0 AND openings = 0
           AND coalesce(last_success_at > clock_timestamp() - interval '1 minute', false) AS settled
  FROM embedding_provider WHERE name = %(provider)s;

-- name: spend
-- Take a request and its texts from the budget of a provider, into debt if there is not enough; tell after how many seconds
-- the debt is paid and the request may go. One row always. Who comes next waits for the debts of all before it.
INSERT INTO embedding_provider AS p (name, requests_left, texts_left, refilled_at)
VALUES (%(provider)s, %(request_capacity)s - %(requests)s, %(text_capacity)s - %(texts)s, clock_timestamp())
ON CONFLICT (name) DO UPDATE
   SET requests_left = least(%(request_capacity)s, coalesce(p.requests_left + %(requests_per_second)s
           * greatest(0, extract(epoch FROM clock_timestamp() - p.refilled_at)), %(request_capacity)s)) - %(requests)s,
       texts_left = least(%(text_capacity)s, coalesce(p.texts_left + %(texts_per_second)s
           * greatest(0, extract(epoch FROM clock_timestamp() - p.refilled_at)), %(text_capacity)s)) - %(texts)s,
       refilled_at = clock_timestamp()
RETURNING greatest(0, -requests_left / %(requests_per_second)s, -texts_left / %(texts_per_second)s)::float8 AS seconds;

-- name: spend_spare
-- Take a request and its texts from the budget only if so much of it is left for others then; tell after how many seconds to
-- look again (0: taken). No row: nothing is known about this provider yet, and nothing was taken.
WITH held AS MATERIALIZED (
    SELECT name, least(%(request_capacity)s, coalesce(requests_left + %(requests_per_second)s
               * greatest(0, extract(epoch FROM clock_timestamp() - refilled_at)), %(request_capacity)s)) AS requests_left,
           least(%(text_capacity)s, coalesce(texts_left + %(texts_per_second)s
               * greatest(0, extract(epoch FROM clock_timestamp() - refilled_at)), %(text_capacity)s)) AS texts_left
      FROM embedding_provider WHERE name = %(provider)s FOR NO KEY UPDATE),
look AS (
    SELECT *, greatest(0, (%(requests)s + %(requests_kept)s - requests_left) / %(requests_per_second)s,
                       (%(texts)s + %(texts_kept)s - texts_left) / %(texts_per_second)s)::float8 AS seconds
      FROM held),
taken AS (
    UPDATE embedding_provider p
       SET requests_left = look.requests_left - %(requests)s, texts_left = look.texts_left - %(texts)s,
           refilled_at = clock_timestamp()
      FROM look WHERE p.name = look.name AND look.seconds = 0)
SELECT seconds FROM look;

-- name: meet
-- Make the row of a provider. No row: it is there.
INSERT INTO embedding_provider (name) VALUES (%(provider)s) ON CONFLICT (name) DO NOTHING RETURNING name;

-- name: lock
-- A provider's health, locked until the answer of a request is entered into it. No row: `meet` was not called.
SELECT outages, timed_out, throttles, openings, code, detail, probe_token,
       extract(epoch FROM open_until - clock_timestamp())::float8 AS open_for,
       coalesce(extract(epoch FROM cooldown_until - clock_timestamp()), 0)::float8 AS cooldown
  FROM embedding_provider WHERE name = %(provider)s FOR NO KEY UPDATE;

-- name: store
-- Enter what an answer changed, in the transaction that locked the row. No row: there is none.
UPDATE embedding_provider
   SET outages = %(outages)s, timed_out = %(timed_out)s, throttles = %(throttles)s, openings = %(openings)s,
       code = %(code)s, detail = %(detail)s,
       open_until = clock_timestamp() + make_interval(secs => %(open_for)s),
       since = CASE WHEN %(open_for)s IS NOT NULL THEN coalesce(since, clock_timestamp()) END,
       cooldown_until = CASE WHEN %(cooldown)s > 0 THEN clock_timestamp() + make_interval(secs => %(cooldown)s) END,
       probe_token = CASE WHEN %(probe_over)s THEN NULL ELSE probe_token END,
       probe_until = CASE WHEN %(probe_over)s THEN NULL ELSE probe_until END,
       last_success_at = CASE WHEN %(succeeded)s THEN clock_timestamp() ELSE last_success_at END
 WHERE name = %(provider)s
RETURNING name;

-- name: take_probe
-- The right to send the one probe of a half-open breaker, for so many seconds: a prober that is killed blocks nobody for
-- longer. No row: the breaker is closed, or open for a while yet, or somebody else is probing.
UPDATE embedding_provider
   SET probe_token = %(token)s, probe_until = clock_timestamp() + make_interval(secs => %(lease)s)
 WHERE name = %(provider)s AND open_until <= clock_timestamp() - make_interval(secs => %(overdue)s)
   AND (probe_until IS NULL OR probe_until <= clock_timestamp())
RETURNING name;

-- name: try_now
-- End a provider's pause at the wish of a person: its cooldown is over, and a probe is due. No row: it does not pause.
UPDATE embedding_provider
   SET cooldown_until = NULL, open_until = CASE WHEN open_until IS NOT NULL THEN least(open_until, clock_timestamp()) END
 WHERE name = %(provider)s AND (open_until IS NOT NULL OR cooldown_until > clock_timestamp())
RETURNING name;
