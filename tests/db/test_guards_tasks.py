"""Nobody steals, skips or forges an attempt, whatever they type in psql."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from indexing import queue
from indexing.lease import LONGEST_LEASE
from indexing.states import MOVES, TaskState
from tests.concurrency.leases import expire
from tests.db.refusals import DENIED, sqlstate
from tests.db.staging import claim, leased
from tests.factories import World, make_world

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


# Tasks


def test_attempts_are_never_lowered_nor_skipped(world: World) -> None:
    lease = leased(world)
    expire(lease.task_id)
    for change in ("attempts - 1", "attempts + 2", "0"):
        assert sqlstate(f"UPDATE index_task SET attempts = {change}") == "KB012"
    assert sqlstate("UPDATE index_task SET attempts = attempts + 1, state = 'DEAD'") == "KB012"


def test_a_running_attempt_is_ended_by_its_lease_alone(world: World) -> None:
    """No finish, failure, release or cancellation in psql, and no takeover while the lease lives."""
    leased(world)
    end = "lease_owner = NULL, lease_until = NULL, finished_at = now(), error_code = 'X'"
    for state in ("SUCCEEDED", "DEAD", "CANCELLED"):
        assert sqlstate(f"UPDATE index_task SET state = '{state}', {end}") == "KB015"
    wait = "lease_owner = NULL, lease_until = NULL, error_code = 'X', next_attempt_at = now()"
    assert sqlstate(f"UPDATE index_task SET state = 'RETRY_WAIT', {wait}") == "KB015"
    assert sqlstate("UPDATE index_task SET state = 'PENDING', lease_owner = NULL, lease_until = NULL") == "KB015"
    assert sqlstate("UPDATE index_task SET attempts = attempts + 1, lease_owner = 'thief'") == "KB015"
    assert sqlstate("UPDATE index_task SET lease_owner = 'thief'") == "KB015"


def test_a_live_lease_is_not_cut_short(world: World) -> None:
    """Else the theft above takes two statements: end the lease, then take over."""
    lease = leased(world)
    assert sqlstate("UPDATE index_task SET lease_until = now() - interval '1 s'") == "KB015"
    assert queue.renew(lease, lease_seconds=60) == "renewed"


def test_a_dead_lease_is_not_renewed(world: World) -> None:
    lease = leased(world)
    expire(lease.task_id)
    assert sqlstate("UPDATE index_task SET lease_until = now() + interval '1 min'") == "KB015"


def test_a_lease_reaches_ten_minutes_at_most(world: World) -> None:
    """Renewals take no fence: without a bound, one UPDATE would keep a task for good."""
    lease = leased(world)
    assert sqlstate("UPDATE index_task SET lease_until = now() + interval '1 day'") == "KB015"
    expire(lease.task_id)
    takeover = "UPDATE index_task SET attempts = attempts + 1, lease_until = now() + interval '1 day'"
    assert sqlstate(takeover) == "KB015"
    longest = queue.claim(worker="next", pool="online", lease_seconds=LONGEST_LEASE)
    assert longest is not None
    assert queue.renew(longest, lease_seconds=LONGEST_LEASE) == "renewed"


def test_a_lease_that_ran_out_may_be_taken_over_or_buried_and_nothing_else(world: World) -> None:
    lease = leased(world)
    expire(lease.task_id)
    end = "lease_owner = NULL, lease_until = NULL, finished_at = now(), error_code = 'X'"
    assert sqlstate(f"UPDATE index_task SET state = 'SUCCEEDED', {end}") == "KB015"
    assert sqlstate(f"UPDATE index_task SET state = 'CANCELLED', {end}") == "KB015"
    assert sqlstate(f"UPDATE index_task SET state = 'DEAD', {end}") is None
    takeover = "attempts = attempts + 1, lease_owner = 'next', lease_until = now() + interval '1 min'"
    assert sqlstate(f"UPDATE index_task SET {takeover}") is None


def test_waiting_tasks_skip_no_state(world: World) -> None:
    world.publish(world.upload())
    for change in (
        "state = 'SUCCEEDED', finished_at = now()",
        "state = 'DEAD', finished_at = now(), error_code = 'X'",
        "state = 'RETRY_WAIT', next_attempt_at = now(), error_code = 'X'",
        "state = 'RUNNING', lease_owner = 'w', lease_until = now() + interval '1 min'",
    ):
        assert sqlstate(f"UPDATE index_task SET {change}") == "KB014", change


def test_a_retry_is_not_claimed_before_it_is_due(world: World) -> None:
    lease = leased(world)
    with transaction.atomic(), connection.cursor() as cursor:
        queue.fence(lease)
        cursor.execute(
            "UPDATE index_task SET state = 'RETRY_WAIT', lease_owner = NULL, lease_until = NULL, error_code = 'X', "
            "next_attempt_at = now() + interval '1 h'"
        )
    take = "attempts = attempts + 1, state = 'RUNNING', next_attempt_at = NULL, lease_owner = 'w', lease_until = now()"
    assert sqlstate(f"UPDATE index_task SET {take}") == "KB014"


def test_what_a_task_is_for_never_changes(world: World) -> None:
    leased(world)
    for change in ("version_number = 9", "generation = 9", "task_type = 'REINDEX'", "document_id = gen_random_uuid()"):
        assert sqlstate(f"UPDATE index_task SET {change}") == "KB011"


def test_a_task_is_for_a_version_of_its_own_tenant(world: World) -> None:
    """Else its chunks would carry one tenant and belong to another's document."""
    world.publish(world.upload())
    other = make_world()
    columns = "document_id, version_number, pipeline_id, task_type, max_failures"
    rest = "generation, state, attempts, failures, pool, priority, fair, progress_done, progress_total"
    rest += ", readers_requested, cancel_requested"
    copy = (
        f"INSERT INTO index_task (tenant_id, {columns}, {rest}) "
        f"SELECT %s, {columns}, 1, 'PENDING', 0, 0, 'online', 0, 0, 0, 0, true, false FROM index_task"
    )
    assert sqlstate(copy, [other.tenant.pk]) == "KB010"
    assert (
        sqlstate(
            copy.replace(
                "version_number, pipeline_id, task_type, max_failures, 1,",
                "7, pipeline_id, task_type, max_failures, 1,",
            ),
            [world.tenant.pk],
        )
        == "KB010"
    )


def test_the_budget_is_not_refilled_by_hand(world: World) -> None:
    lease = leased(world)
    expire(lease.task_id)
    assert claim().failures == 1
    assert sqlstate("UPDATE index_task SET failures = 0") == "KB016"


def test_tasks_are_not_removed(world: World) -> None:
    world.publish(world.upload())
    assert sqlstate("DELETE FROM index_task") == DENIED


def test_every_move_is_as_the_worker_knows_it() -> None:
    """The moves in Python and in the trigger are the same."""
    with connection.cursor() as cursor:
        for source in TaskState:
            for target in TaskState:
                cursor.execute("SELECT index_task_move_is_legal(%s, %s)", [source, target])
                assert cursor.fetchone()[0] == (target in MOVES[source]), f"{source} to {target}"
        cursor.execute(
            "SELECT index_task_move_is_legal('PENDING', 'NOWHERE'), index_task_move_is_legal('NOWHERE', 'PENDING')"
        )
        assert cursor.fetchone() == (False, False)
