"""Versions, documents and logs hold, and the application cannot get more rights, whatever it types in psql."""

from __future__ import annotations

import pytest
from django.db import connection, connections

from documents import publishing
from documents.models import AuditEvent
from indexing.models import PointerLog, TaskEvent
from tests.db.refusals import DENIED, FOREIGN_KEY, sqlstate
from tests.db.staging import finished, leased
from tests.factories import World

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


# Documents and versions


def test_versions_never_change(world: World) -> None:
    world.upload()
    assert sqlstate("UPDATE document_version SET title = 'x'") == DENIED
    assert sqlstate("UPDATE document_version SET title = 'x'", using="owner") == "KB001"
    assert sqlstate("DELETE FROM document_version") == "KB001"


def test_a_rule_stays_with_its_version(world: World) -> None:
    """Moved to another version, it would let its reader see that one."""
    document = world.upload()
    world.new_version(document, "second")
    world.publish(document)
    move = "UPDATE read_rule SET version_number = 1"
    assert sqlstate(move) == DENIED
    assert sqlstate(move, using="owner") == FOREIGN_KEY
    forged = """INSERT INTO read_rule (version_id, document_id, version_number, kind)
                SELECT id, document_id, 2, 'everyone' FROM document_version WHERE number = 1"""
    assert sqlstate(forged) == FOREIGN_KEY


def test_deleted_is_deleted(world: World) -> None:
    document = world.upload()
    publishing.delete_document(actor=world.editor, document_id=document.pk)
    for value in ("NULL", "now() + interval '1 day'"):
        assert sqlstate(f"UPDATE document SET deleted_at = {value}") == "KB002"
    assert sqlstate("DELETE FROM document") == DENIED, "a removed tombstone could be made again"


@pytest.mark.parametrize(
    "change",
    [
        "revision = revision - 1",
        "latest_version = latest_version - 1",
        "requested_version = 1",
        "requested_version = NULL, published_version = NULL",
        "serve_from_version = 1",
        "id = gen_random_uuid()",
        "tenant_id = tenant_id + 1",
    ],
)
def test_counters_and_identity_of_a_document_hold(world: World, change: str) -> None:
    document = world.upload()
    world.new_version(document, "second")
    world.publish(document)
    publishing.withdraw_document(actor=world.editor, document_id=document.pk, revision=None)
    world.publish(document)
    assert sqlstate(f"UPDATE document SET {change}") == "KB002"


def test_what_was_withdrawn_does_not_come_back_by_itself(world: World) -> None:
    document = world.upload()
    world.publish(document)
    publishing.withdraw_document(actor=world.editor, document_id=document.pk, revision=None)
    assert sqlstate("UPDATE document SET withdrawn_at = NULL") == "KB002"


# Logs


@pytest.mark.parametrize("table", ["task_event", "pointer_log", "audit_event"])
def test_logs_are_only_added_to(world: World, table: str) -> None:
    finished(leased(world))
    column = "attempts" if table != "audit_event" else "revision"
    for statement in (f"UPDATE {table} SET {column} = 9", f"DELETE FROM {table}"):
        assert sqlstate(statement) == DENIED
        assert sqlstate(statement, using="owner") == "KB003"


def test_moves_are_written_by_the_trigger_alone(world: World) -> None:
    lease = leased(world)
    noted = f"INSERT INTO task_event (task_id, tenant_id, kind, attempts) SELECT id, {world.tenant.pk}, %s, %s FROM index_task"
    assert sqlstate(noted, ["refused", 1]) is None, "a worker notes its own refusal"
    assert sqlstate(noted, ["move", 1]) == "KB003"
    assert sqlstate(noted, ["refused", 2]) == "KB003", "no such attempt was made"
    dated = "INSERT INTO task_event (task_id, tenant_id, kind, attempts, {0}) SELECT 1, 1, 'refused', 1, {1}"
    for column, value in (("at", "now()"), ("to_state", "'DEAD'"), ("stage", "'EMBED'")):
        assert sqlstate(dated.format(column, value)) == DENIED
    pointer = (
        "INSERT INTO pointer_log (tenant_id, document_id, pipeline_id, to_version, to_generation, task_id, attempts) "
        "VALUES (1, gen_random_uuid(), 1, 1, 1, 1, 1)"
    )
    assert sqlstate(pointer) == DENIED
    for function in ("index_task_log", "search_pointer_log"):
        trigger = f"CREATE TRIGGER t AFTER INSERT ON decoy FOR EACH ROW EXECUTE FUNCTION {function}()"
        decoy = f"CREATE TEMP TABLE decoy (id int); {trigger}"
        assert sqlstate(decoy) == DENIED, "the functions write as the owner, so nobody else may hang them on a table"
    finished(lease)
    moves = TaskEvent.objects.filter(task_id=lease.task_id, kind="move").values_list("from_state", "to_state")
    assert list(moves) == [(None, "PENDING"), ("PENDING", "RUNNING"), ("RUNNING", "SUCCEEDED")]
    assert list(PointerLog.objects.values_list("from_version", "to_version")) == [(None, 1)]
    assert list(AuditEvent.objects.order_by("id").values_list("action", flat=True)) == ["create", "publish"]


# Privileges


TABLES = (
    "chunk chunk_vector search_pointer index_task document document_version task_event pointer_log audit_event pipeline"
)


@pytest.mark.parametrize("table", TABLES.split())
def test_the_application_owns_nothing(table: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, pg_get_userbyid(relowner) FROM pg_class WHERE oid = %s::regclass", [table])
        user, owner = cursor.fetchone()
    assert (user, owner) == ("kb_app", "kb_owner")
    for statement in (
        f"TRUNCATE {table} CASCADE",
        f"ALTER TABLE {table} DISABLE TRIGGER ALL",
        f"DROP TABLE {table} CASCADE",
        f"ALTER TABLE {table} OWNER TO kb_app",
        f"CREATE TRIGGER t BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION append_only()",
    ):
        assert sqlstate(statement) == DENIED, statement


@pytest.mark.parametrize(
    "statement",
    [
        "SET ROLE kb_owner",
        "SET session_replication_role = replica",
        "CREATE TABLE public.mine (id int)",
        "CREATE SCHEMA mine",
        "CREATE OR REPLACE FUNCTION index_task_move_is_legal(source text, target text) RETURNS boolean "
        "LANGUAGE sql AS 'SELECT true'",
        "CREATE ROLE other",
        "SELECT rolpassword FROM pg_authid",
        "COPY chunk TO PROGRAM 'cat'",
        "INSERT INTO django_migrations (app, name, applied) VALUES ('indexing', '9', now())",
        "UPDATE pipeline SET dimensions = 3",
        "SELECT setval('chunk_id_seq', 1)",
    ],
)
def test_the_application_cannot_get_more(statement: str) -> None:
    assert sqlstate(statement) == DENIED


def test_a_grant_by_the_application_gives_nothing() -> None:
    """PostgreSQL only warns about such a grant; what counts is that nothing was given."""
    with connection.cursor() as cursor:
        cursor.execute("GRANT SELECT ON chunk TO PUBLIC")
        cursor.execute(
            "SELECT count(*) FROM pg_class, aclexplode(relacl) a WHERE pg_class.oid = 'chunk'::regclass AND a.grantee = 0"
        )
        assert cursor.fetchone() == (0,)


def test_neither_role_is_a_superuser() -> None:
    """The guards would mean nothing to one; and the embedded server must not be easier than production."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rolname, rolsuper OR rolcreaterole OR rolbypassrls FROM pg_roles WHERE rolname IN (%s, %s)",
            [connections["default"].settings_dict["USER"], connections["owner"].settings_dict["USER"]],
        )
        roles = dict(cursor.fetchall())
        cursor.execute(
            "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public' AND tablename IN ('chunk', 'index_task')"
        )
        owners = {owner for (owner,) in cursor.fetchall()}
    assert len(roles) == 2
    assert not any(roles.values())
    assert owners == {connections["owner"].settings_dict["USER"]}
