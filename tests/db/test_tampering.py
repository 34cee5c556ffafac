"""What somebody in psql as the application's role could try against versions, readers, tasks, pointers and caches.

Each attempt is refused, and passes once the one guard that it names is taken away: so it is that guard that holds.
"""

from __future__ import annotations

import pytest
from django.db import connection

from tests.db.refusals import DENIED, FENCE, sqlstate, taken_away
from tests.db.scene import tampering_scene
from tests.factories import World

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

VERSION = (
    "INSERT INTO document_version (document_id, tenant_id, number, title, file_name, media_type, content_id, created_at) "
    "VALUES ({0}, {1}, {2}, 't', 'f', 'text/plain', {3}, now())"
)
NEXT = "UPDATE document SET latest_version = latest_version + 1 WHERE id = {0}; "
DOCUMENT = (
    "INSERT INTO document (id, tenant_id, title, revision, staleness, latest_version, serve_from_version, deleted_at, "
    "created_at, updated_at) VALUES (gen_random_uuid(), {{tenant}}, 't', 1, 'serve_previous', {0}, {1}, {2}, now(), now())"
)
RULE = (
    "INSERT INTO read_rule (version_id, document_id, version_number, kind, membership_id) "
    "VALUES ({first_version}, {served}, 1, 'user', {member})"
)
HOLD = (
    "INSERT INTO document_hold (document_id, tenant_id, version_number, reason, placed_by_name, placed_at, lifted_by_name) "
    "VALUES ({0}, {1}, {2}, {3}, '', now(), '')"
)
VECTOR = (
    "INSERT INTO embedding_cache (tenant_id, fingerprint, text_digest, embedding) "
    "VALUES ({0}, 'f', 'x', array_fill(1, ARRAY[3])::vector)"
)
TEXT = "INSERT INTO embedded_text (document_id, text_digest, tenant_id) VALUES ({0}, 'x', {{tenant}})"
SENTENCE = (
    "INSERT INTO situation_cache (document_id, tenant_id, fingerprint, question_digest, sentence) "
    "VALUES ({0}, {{tenant}}, 'f', 'q', 's')"
)
PARSED = (
    "INSERT INTO parse_cache (tenant_id, content_digest, media_type, parser_revision, parsed) "
    "VALUES ({0}, '{1}', 'text/plain', '9', '')"
)
POINTER = (
    "INSERT INTO search_pointer (tenant_id, document_id, pipeline_id, version_number, generation, chunk_count, "
    "manifest_digest, task_id, attempts) SELECT tenant_id, document_id, pipeline_id, version_number, generation, {0}, '', id, "
    "attempts FROM index_task WHERE id = {{task}} ON CONFLICT (document_id, pipeline_id) DO UPDATE SET version_number = "
    "excluded.version_number, generation = excluded.generation, chunk_count = excluded.chunk_count, "
    "task_id = excluded.task_id, attempts = excluded.attempts"
)
CHUNK = (
    "INSERT INTO chunk (chunk_id, tenant_id, document_id, version_number, pipeline_id, generation, ordinal, text, "
    "heading_path, locator, tokens, embedded_digest, terms, task_id, attempts) SELECT gen_random_uuid(), tenant_id, "
    "document_id, version_number, pipeline_id, generation, 99, 'x', '[]', '[]', 1, '', '', id, attempts "
    "FROM index_task WHERE id = {task}"
)
MARK = FENCE.replace("%s", "{task}")
SUCCEED = (
    "UPDATE index_task SET state = 'SUCCEEDED', lease_owner = NULL, lease_until = NULL, finished_at = now() "
    "WHERE id = {task}"
)
NOW = "; SET CONSTRAINTS ALL IMMEDIATE"

# (what is tried, the guard as table.trigger, what it is refused with)
TRIGGERED = [
    # Bytes and versions
    ("UPDATE stored_content SET state = 'staged' WHERE id = {content}", "stored_content.stored_content_guard", "KB004"),
    *(
        (f"UPDATE stored_content SET {change} WHERE id = {{content}}", "stored_content.stored_content_guard", "KB004")
        for change in ("sha256 = 'x'", "size = 9", "key = 'k'", "media_type = 'x'", "tenant_id = {foreign_tenant}")
    ),
    # A version that is no next one, has another tenant's bytes, says another tenant, or is of a deleted document.
    *(
        (statement, "document_version.document_version_insert_guard", "KB001")
        for statement in (
            VERSION.format("{served}", "{tenant}", 7, "{content}"),
            NEXT.format("{draft}") + VERSION.format("{draft}", "{tenant}", 2, "{foreign_content}"),
            NEXT.format("{draft}") + VERSION.format("{draft}", "{foreign_tenant}", 2, "{content}"),
            NEXT.format("{deleted}") + VERSION.format("{deleted}", "{tenant}", 2, "{content}"),
        )
    ),
    # Documents
    ("UPDATE document SET published_version = 1 WHERE id = {served}", "document.document_guard", "KB002"),
    ("UPDATE document SET published_version = NULL WHERE id = {served}", "document.document_guard", "KB002"),
    ("UPDATE document SET latest_version = 9 WHERE id = {served}", "document.document_guard", "KB002"),
    (
        "UPDATE document SET latest_version = 2, requested_version = 2 WHERE id = {draft}",
        "document.document_guard",
        "KB002",
    ),
    ("UPDATE document SET serve_from_version = 9 WHERE id = {served}", "document.document_guard", "KB002"),
    ("UPDATE document SET serve_from_version = 1 WHERE id = {served}", "document.document_guard", "KB002"),
    ("UPDATE document SET withdrawn_at = NULL WHERE id = {withdrawn}", "document.document_guard", "KB002"),
    ("UPDATE document SET deleted_at = NULL WHERE id = {deleted}", "document.document_guard", "KB002"),
    ("UPDATE document SET purged_at = now() WHERE id = {served}", "document.document_guard", "KB002"),
    ("UPDATE document SET purged_at = now() WHERE id = {deleted}", "document.document_guard", "KB002"),
    ("UPDATE document SET published_version = 1 WHERE id = {ready}", "document.document_ready_guard", "KB007"),
    (DOCUMENT.format(9, 0, "NULL"), "document.document_insert_guard", "KB002"),
    (DOCUMENT.format(0, 9, "NULL"), "document.document_insert_guard", "KB002"),
    (DOCUMENT.format(0, 0, "now()"), "document.document_insert_guard", "KB002"),
    # Readers and publications
    (RULE, "read_rule.read_rule_guard", "KB005"),
    ("DELETE FROM publication WHERE id = {publication}", "publication.publication_guard", "KB006"),
    ("UPDATE publication SET published_at = now() WHERE id = {publication}", "publication.publication_guard", "KB006"),
    ("UPDATE publication SET published_at = NULL WHERE id = {publication}", "publication.publication_guard", "KB006"),
    # Holds
    ("DELETE FROM document_version WHERE document_id = {held}", "document_version.document_version_held", "KB060"),
    ("DELETE FROM publication WHERE document_id = {held}", "publication.publication_held", "KB060"),
    ("DELETE FROM document_hold WHERE id = {hold}", "document_hold.document_hold_guard", "KB009"),
    ("UPDATE document_hold SET version_number = 7 WHERE id = {hold}", "document_hold.document_hold_guard", "KB009"),
    ("UPDATE document_hold SET reason = 'x' WHERE id = {hold}", "document_hold.document_hold_guard", "KB009"),
    *(
        (HOLD.format(*held), "document_hold.document_hold_guard", "KB009")
        for held in (
            ("{served}", "{tenant}", "NULL", "''"),
            ("{served}", "{tenant}", "7", "'r'"),
            ("{served}", "{foreign_tenant}", "NULL", "'r'"),
        )
    ),
    # Tasks
    ("UPDATE index_task SET max_failures = 99", "index_task.index_task_guard", "KB011"),
    ("UPDATE index_task SET failures = failures + 1 WHERE id = {task}", "index_task.index_task_guard", "KB016"),
    ("UPDATE index_task SET failures = failures + 1 WHERE id = {waiting}", "index_task.index_task_guard", "KB016"),
    ("UPDATE index_task SET failures = 0 WHERE id = {dead}", "index_task.index_task_guard", "KB016"),
    (
        "UPDATE index_task SET waiting_since = now() - interval '2 days' WHERE id = {waiting}",
        "index_task.index_task_guard",
        "KB016",
    ),
    (
        "UPDATE index_task SET waiting_since = now() + interval '2 days' WHERE id = {waiting}",
        "index_task.index_task_guard",
        "KB016",
    ),
    ("UPDATE index_task SET error_code = 'NO_TEXT' WHERE id = {dead}", "index_task.index_task_guard", "KB017"),
    ("UPDATE index_task SET finished_at = now() WHERE id = {dead}", "index_task.index_task_guard", "KB017"),
    (
        "UPDATE index_task SET lease_owner = 'x', lease_until = now() WHERE id = {waiting}",
        "index_task.index_task_guard",
        "KB019",
    ),
    ("UPDATE index_task SET lease_until = NULL WHERE id = {task}", "index_task.index_task_guard", "KB019"),
    ("UPDATE index_task SET next_attempt_at = now() WHERE id = {task}", "index_task.index_task_guard", "KB019"),
    ("UPDATE index_task SET finished_at = now() WHERE id = {waiting}", "index_task.index_task_guard", "KB019"),
    (
        "UPDATE index_task SET state = 'CANCELLED', finished_at = now() WHERE id = {waiting}",
        "index_task.index_task_guard",
        "KB019",
    ),
    ("UPDATE index_task SET progress_done = -1 WHERE id = {task}", "index_task.index_task_guard", "KB019"),
    (MARK + SUCCEED, "index_task.index_task_success_guard", "KB018"),
    # Pointers and chunks, under a live lease
    (MARK + POINTER.format(0), "search_pointer.search_pointer_guard", "KB033"),
    (MARK + POINTER.format(2), "search_pointer.search_pointer_guard", "KB033"),
    (MARK + POINTER.format(1) + NOW, "search_pointer.search_pointer_success_guard", "KB034"),
    (CHUNK, "chunk.chunk_insert_guard", "KB020"),
    # Caches
    (VECTOR.format("{tenant}"), "embedding_cache.embedding_cache_guard", "KB040"),
    (MARK + VECTOR.format("{foreign_tenant}"), "embedding_cache.embedding_cache_guard", "KB040"),
    (
        "UPDATE embedding_cache SET embedding = array_fill(1, ARRAY[3])::vector",
        "embedding_cache.embedding_cache_update_guard",
        "KB021",
    ),
    (
        MARK
        + VECTOR.format("{tenant}").replace("'x'", f"'{'d' * 64}'")
        + " ON CONFLICT (tenant_id, text_digest, fingerprint) DO UPDATE SET embedding = excluded.embedding",
        "embedding_cache.embedding_cache_update_guard",
        "KB021",
    ),
    (
        "MERGE INTO embedding_cache c USING (SELECT 1) s ON true WHEN MATCHED THEN UPDATE SET fingerprint = 'other'",
        "embedding_cache.embedding_cache_update_guard",
        "KB021",
    ),
    (TEXT.format("{served}"), "embedded_text.embedded_text_guard", "KB040"),
    (MARK + TEXT.format("{ready}"), "embedded_text.embedded_text_guard", "KB040"),
    ("DELETE FROM embedded_text", "embedded_text.embedded_text_delete_guard", "KB041"),
    (SENTENCE.format("{served}"), "situation_cache.situation_cache_guard", "KB040"),
    (MARK + SENTENCE.format("{ready}"), "situation_cache.situation_cache_guard", "KB040"),
    ("UPDATE situation_cache SET sentence = 'x'", "situation_cache.situation_cache_update_guard", "KB021"),
    ("UPDATE embedded_text SET text_digest = 'x'", "embedded_text.embedded_text_update_guard", "KB021"),
    (PARSED.format("{tenant}", "{sha256}"), "parse_cache.parse_cache_guard", "KB040"),
    (MARK + PARSED.format("{tenant}", "of other bytes"), "parse_cache.parse_cache_guard", "KB040"),
    (MARK + PARSED.format("{foreign_tenant}", "{sha256}"), "parse_cache.parse_cache_guard", "KB040"),
    ("UPDATE parse_cache SET parsed = ''", "parse_cache.parse_cache_update_guard", "KB021"),
    # Logs
    (
        "INSERT INTO task_event (task_id, tenant_id, kind, attempts) VALUES ({task}, {tenant}, 'move', 1)",
        "task_event.task_event_guard",
        "KB003",
    ),
    (
        "INSERT INTO task_event (task_id, tenant_id, kind, attempts) VALUES ({task}, {tenant}, 'refused', 7)",
        "task_event.task_event_guard",
        "KB003",
    ),
]

# (what is tried, what a mistake in a migration is refused with; None where only the grant stands in the way)
UNGRANTED = [
    ("UPDATE publication SET version_number = 1", "KB006"),
    ("UPDATE publication SET document_id = {draft}", "KB006"),
    ("UPDATE document_version SET content_id = {foreign_content}", "KB001"),
    ("UPDATE read_rule SET kind = 'everyone', membership_id = NULL, group_id = NULL", None),
    ("DELETE FROM document WHERE id = {deleted}; SET CONSTRAINTS ALL IMMEDIATE", "23503"),
    ("DELETE FROM index_task WHERE id = {waiting}", None),
    ("UPDATE task_event SET code = 'X'", "KB003"),
    ("DELETE FROM pointer_log", "KB003"),
    ("UPDATE chunk SET text = 'x'", "KB021"),
    ("UPDATE chunk_vector SET version_number = 9", "KB021"),
    ("UPDATE pipeline SET name = 'x'", "KB003"),
]


@pytest.mark.parametrize(("statement", "guard", "code"), TRIGGERED)
def test_a_trigger_refuses(world: World, statement: str, guard: str, code: str) -> None:
    _, names = tampering_scene(world)
    statement = statement.format_map(names)
    assert sqlstate(statement) == code
    with taken_away(guard):
        assert sqlstate(statement) is None, "refused by something else: the test shows nothing about this guard"


@pytest.mark.parametrize(("statement", "behind"), UNGRANTED)
def test_a_missing_grant_refuses(world: World, statement: str, behind: str | None) -> None:
    _, names = tampering_scene(world)
    statement = statement.format_map(names)
    assert sqlstate(statement) == DENIED
    assert sqlstate(statement, using="owner") == behind


def test_nothing_is_added_to_what_readers_are_served(world: World) -> None:
    """A rebuild of the same set (a RECOMPUTE) holds a live lease, but its chunks would be visible without any finish."""
    lease, names = tampering_scene(world)
    rebuild = (
        "INSERT INTO index_task (tenant_id, document_id, version_number, pipeline_id, task_type, generation, pool, priority, "
        "fair, state, attempts, failures, max_failures, readers_requested, cancel_requested, progress_done, progress_total) "
        f"VALUES ({{tenant}}, {{served}}, 1, {lease.pipeline_id}, 'RECOMPUTE', 1, 'online', -9, 0, 'PENDING', 0, 0, 5, true, "
        "false, 0, 0) RETURNING id"
    ).format_map(names)
    with connection.cursor() as cursor:
        cursor.execute(rebuild)
        task = cursor.fetchone()[0]
        cursor.execute(
            "UPDATE index_task SET state = 'RUNNING', attempts = 1, lease_owner = 'w', "
            "lease_until = clock_timestamp() + interval '1 min' WHERE id = %s",
            [task],
        )
    statement = (MARK + CHUNK).format(task=task)
    assert sqlstate(statement) == "KB023"
    with taken_away("chunk.chunk_insert_guard"):
        assert sqlstate(statement) is None


@pytest.mark.parametrize(
    ("trick", "code"),
    [
        ("SAVEPOINT a; " + MARK + "ROLLBACK TO a; ", "KB020"),
        ("DO $$ BEGIN UPDATE index_task SET fence_xact = pg_current_xact_id() WHERE id = {task}; RAISE 'x'; "
         "EXCEPTION WHEN raise_exception THEN NULL; END $$; ", "KB020"),
        ("UPDATE index_task SET fence_xact = '99999'::xid8 WHERE id = {task}; ", "KB013"),
        ("UPDATE index_task SET fence_xact = pg_current_xact_id() WHERE id = {waiting}; ", "KB013"),
        ("SET search_path = pg_temp, public; CREATE TEMP TABLE index_task AS SELECT * FROM public.index_task; "
         "UPDATE pg_temp.index_task SET fence_xact = pg_current_xact_id(); ", "KB020"),
        ("CREATE FUNCTION pg_temp.pg_current_xact_id_if_assigned() RETURNS xid8 LANGUAGE sql AS "
         "'SELECT fence_xact FROM public.index_task WHERE id = {task}'; SET search_path = pg_temp, public; ", "KB020"),
        ("SET session_replication_role = replica; ", DENIED),
        ("ALTER TABLE chunk DISABLE TRIGGER USER; ", DENIED),
        ("CREATE OR REPLACE FUNCTION chunk_insert_guard() RETURNS trigger LANGUAGE plpgsql AS "
         "'BEGIN RETURN NULL; END'; ", DENIED),
        ("ALTER ROLE kb_app SUPERUSER; ", DENIED),
        ("SET ROLE kb_owner; ", DENIED),
    ],
)  # fmt: skip
def test_no_trick_stands_in_for_a_fence(world: World, trick: str, code: str) -> None:
    """The insert that passes after an honest mark is refused after each of these."""
    _, names = tampering_scene(world)
    insert = CHUNK.replace("INTO chunk ", "INTO public.chunk ").replace("FROM index_task", "FROM public.index_task")
    assert sqlstate((MARK + insert).format_map(names)) is None
    assert sqlstate((trick + insert).format_map(names)) == code


def test_copy_passes_the_guards_too(world: World) -> None:
    """COPY fires the same triggers; and a fence cannot be laid by for a later transaction by preparing this one."""
    _, names = tampering_scene(world)
    into = "COPY embedded_text (document_id, text_digest, tenant_id) FROM STDIN"
    refused = pytest.raises(Exception, match="texts are noted only under a live lease")
    with refused, connection.cursor() as cursor, cursor.copy(into) as copy:
        copy.write_row((names["served"].split("'")[1], "x", world.tenant.pk))
    with connection.cursor() as cursor, pytest.raises(Exception, match="prepared transactions are disabled"):
        cursor.execute(f"BEGIN; {MARK.format_map(names)} PREPARE TRANSACTION 'later'")


def test_views_are_read_only() -> None:
    for view in ("served_version", "document_reader"):
        assert sqlstate(f"DELETE FROM {view}") in (DENIED, "55000")
        assert sqlstate(f"UPDATE {view} SET version_number = 1") in (DENIED, "55000")
