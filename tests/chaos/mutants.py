"""Guards that can be taken away, one at a time, to show that a chaos run would notice: `python -m tests.chaos --mutant NAME`.

The product has no such switch. Each process of a run calls `apply`, which patches texts of statements and functions in that
process alone; `owner_sql` is run once on the run's own database, and takes the database's own net away where it would hold
what the patched code lets through.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

TOKEN = " AND held.lease_owner = %(worker)s AND held.attempts = %(attempts)s"
LIVES = "AND held.lease_until > clock_timestamp()"
FENCED = ("renew", "fence", "report", "release", "fail")  # statements of queue.sql that check a lease
# The database's own net: every guard of the tables that an attempt writes to. What observes stays.
NO_NET = """
DO $$ DECLARE guard record; BEGIN
    FOR guard IN SELECT t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
                  WHERE t.tgname ~ '_guard$' AND c.relname IN ('index_task', 'chunk', 'chunk_vector', 'search_pointer',
                        'embedding_cache', 'embedded_text', 'situation_cache', 'parse_cache', 'document') LOOP
        EXECUTE format('ALTER TABLE %I DISABLE TRIGGER %I', guard.relname, guard.tgname);
    END LOOP;
END $$"""


@dataclass(frozen=True, slots=True)
class Edit:
    """A piece of a named statement, and what stands in its place."""

    file: str
    statement: str
    old: str
    new: str = ""


@dataclass(frozen=True, slots=True)
class Mutant:
    """`guard`: what is missing. `patch`: replaces functions in the process that calls it."""

    guard: str
    edits: tuple[Edit, ...] = ()
    patch: Callable[[], None] | None = None
    owner_sql: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


def everywhere(old: str, new: str = "") -> tuple[Edit, ...]:
    """The same edit in every statement that checks a lease."""
    return tuple(Edit("queue", name, old, new) for name in FENCED)


def _local_clock_never_ends() -> None:
    from indexing.lease import LeaseClock

    LeaseClock.is_over = property(lambda self: False)  # type: ignore[assignment,method-assign]


def _deletion_is_not_asked() -> None:
    from indexing import queue, sink, statements

    def forgetful(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            found = function(*arguments, **options)
            return {**found, "deleted": False} if found and "deleted" in found else found

        return call

    queue.row = sink.row = forgetful(statements.row)


def _older_is_as_good() -> None:
    from indexing import sink

    refuse = sink.refuse_unwanted

    def whatever_stands(found: dict[str, Any], *, version_number: int) -> None:
        refuse(
            {name: value for name, value in found.items() if name != "pointer_version"}, version_number=version_number
        )

    sink.refuse_unwanted = whatever_stands


def _success_in_a_second_transaction() -> None:
    from django.db import transaction

    from indexing import queue, sink

    finish, succeed = sink.finish, queue.succeed

    def apart(lease: Any, manifest: Any) -> None:
        queue.succeed = lambda lease, *, chunks: None
        try:
            finish(lease, manifest)
        finally:
            queue.succeed = succeed
        with transaction.atomic():
            queue.fence(lease)
            succeed(lease, chunks=len(manifest.chunks))

    sink.finish = apart


def _rows_as_they_come() -> None:
    from indexing.embedders import answers

    answers._in_order = lambda data, texts: [item["embedding"] for item in data]


def _task_before_document() -> None:
    from indexing import queue, sink

    hold = sink._hold

    def task_first(lease: Any, *, action: str) -> dict[str, Any]:
        queue.fence(lease, action=action)
        time.sleep(0.3)  # makes the circle likelier, not possible
        return hold(lease, action=action)

    sink._hold = task_first


EVERYBODY_READS_THE_REQUESTED_VERSION = """
CREATE OR REPLACE VIEW served_version AS
SELECT m.user_id, p.tenant_id, p.pipeline_id, p.document_id, p.version_number, p.generation, p.chunk_count
  FROM membership m
  JOIN search_pointer p ON p.tenant_id = m.tenant_id
  JOIN document d ON d.id = p.document_id AND d.tenant_id = p.tenant_id
 WHERE d.deleted_at IS NULL AND d.withdrawn_at IS NULL AND p.version_number >= d.serve_from_version
"""

MUTANTS: dict[str, Mutant] = {
    "attempt": Mutant(
        "the token: a write need not be the holder's",
        edits=(*everywhere(TOKEN), Edit("queue", "succeed", " AND attempts = %(attempts)s")),
        patch=_local_clock_never_ends,
        owner_sql=(NO_NET,),
    ),
    "state": Mutant(
        "the state: a task that has ended can be written to",
        edits=(
            *everywhere("held.state = 'RUNNING' AND held.lease_owner = %(worker)s AND "),
            *everywhere(LIVES, "AND coalesce(held.lease_until > clock_timestamp(), true)"),
            Edit("queue", "succeed", " AND state = 'RUNNING'"),
        ),
        patch=_local_clock_never_ends,
        owner_sql=(NO_NET,),
        environment={"KB_MAX_FAILURES": "2"},
    ),
    "lease-time": Mutant(
        "the lease's end: a write is taken as long as nobody else has claimed",
        edits=everywhere(LIVES),
        patch=_local_clock_never_ends,
        owner_sql=(NO_NET,),
    ),
    "delete-check": Mutant(
        "the question whether the document was deleted meanwhile", patch=_deletion_is_not_asked, owner_sql=(NO_NET,)
    ),
    "epoch": Mutant(
        "the order of versions: a late finish of an older version moves the pointer",
        edits=(
            Edit(
                "sink",
                "switch",
                " WHERE (search_pointer.version_number, search_pointer.generation)"
                " < (excluded.version_number, excluded.generation)",
            ),
        ),
        patch=_older_is_as_good,
        owner_sql=(NO_NET,),
    ),
    "atomicity": Mutant(
        "one transaction: pointer and success are committed apart",
        patch=_success_in_a_second_transaction,
        owner_sql=(NO_NET,),
    ),
    "failure-cap": Mutant(
        "the budget: a task is taken over for ever",
        edits=(
            Edit("queue", "claim", "AND failures + 1 >= max_failures", "AND false"),
            Edit("queue", "claim", " AND failures + 1 < max_failures"),
            Edit("queue", "claim", "failures = t.failures + candidate.charge", "failures = t.failures"),
        ),
        environment={"KB_MAX_FAILURES": "2"},
    ),
    "monotone-attempts": Mutant(
        "the memory: reopening a task counts its attempts from the beginning",
        edits=(Edit("queue", "reopen", "SET state = CASE", "SET attempts = 0, state = CASE"),),
        owner_sql=(NO_NET,),
    ),
    "tenant-key": Mutant(
        "the tenant in the cache's key",
        edits=(Edit("sink", "cached_vectors", "tenant_id = %(tenant)s AND "),),
    ),
    "acl-join": Mutant("the readers in the search", owner_sql=(EVERYBODY_READS_THE_REQUESTED_VERSION,)),
    "response-indices": Mutant(
        "the indices of the provider's answer",
        patch=_rows_as_they_come,
        environment={"KB_EMBEDDING_CANARY_SECONDS": "86400"},  # a permuted answer moves the canary, too
    ),
    "lock-order": Mutant(
        "the order of locks: the finish takes its task before its document", patch=_task_before_document
    ),
}


def apply(name: str) -> None:
    """Take the guard away in this process. Raises `LookupError` if the code has it no more in this form."""
    from indexing import statements

    mutant = MUTANTS[name]
    original = statements.statements
    edited: dict[str, dict[str, str]] = {}
    for edit in mutant.edits:
        texts = edited.setdefault(edit.file, dict(original(edit.file)))
        if edit.old not in texts[edit.statement]:
            raise LookupError(f"{edit.statement} has no such guard any more: {edit.old}")
        texts[edit.statement] = texts[edit.statement].replace(edit.old, edit.new)
    statements.statements = lambda file: edited.get(file) or original(file)  # type: ignore[assignment]
    if mutant.patch is not None:
        mutant.patch()
