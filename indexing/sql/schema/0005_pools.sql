-- Turns among tenants, and room for the queue's rows to change in place.

-- The turn of a tenant's next waiting task: behind the tenant's own last one, but not behind everybody else's.
-- Two publishers of one tenant at once may give two tasks the same turn; the next one stands behind both.
CREATE FUNCTION index_task_turn(of_tenant bigint, of_pool text, of_priority int) RETURNS bigint LANGUAGE sql STABLE
SET search_path = public, pg_temp AS $$
    SELECT greatest(
        coalesce((SELECT max(fair) + 1 FROM index_task
                   WHERE state = 'PENDING' AND tenant_id = of_tenant AND pool = of_pool AND priority = of_priority), 0),
        coalesce((SELECT min(fair) FROM index_task
                   WHERE state = 'PENDING' AND pool = of_pool AND priority = of_priority), 0))
$$;

-- The pool of a tenant's task: what somebody waits for goes into the tenant's own pool, a bulk run stays one.
CREATE FUNCTION index_task_pool(of_tenant bigint, asked text) RETURNS text LANGUAGE sql STABLE
SET search_path = public, pg_temp AS $$
    SELECT CASE WHEN asked = 'bulk' THEN asked
                ELSE coalesce((SELECT pool FROM tenant_pool WHERE tenant_id = of_tenant), 'online') END
$$;

ALTER TABLE tenant_pool ADD CONSTRAINT tenant_pool_name CHECK (pool ~ '^[a-z][a-z0-9-]{0,19}$');

-- In the place of foreign keys, which an UPDATE checks again after another one in its transaction: a task's pipeline exists,
-- and pipelines are never removed. (Tenant, document and version: index_task_insert_guard.)
CREATE FUNCTION index_task_pipeline_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pipeline p WHERE p.id = NEW.pipeline_id) THEN
        RAISE EXCEPTION 'a task is for a pipeline that exists' USING ERRCODE = 'KB010';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER index_task_pipeline_guard BEFORE INSERT ON index_task
    FOR EACH ROW EXECUTE FUNCTION index_task_pipeline_guard();
