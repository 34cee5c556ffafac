-- What all workers know together about an embedding provider.
-- A file of a migration never changes after it has landed: what replaces a function of it stands in a later one.

-- The first vector of the canary stands for its model for good: changed, it would vouch for another one.
CREATE TRIGGER embedding_canary_append_only BEFORE UPDATE OR DELETE ON embedding_canary
    FOR EACH ROW EXECUTE FUNCTION append_only();

-- One row that every request writes where a budget is set: room in its page keeps the updates HOT.
ALTER TABLE embedding_provider SET (fillfactor = 20);

CREATE TRIGGER provider_event_append_only BEFORE UPDATE OR DELETE ON provider_event
    FOR EACH ROW EXECUTE FUNCTION append_only();
