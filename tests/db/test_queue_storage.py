"""What a worker changes again and again while a task runs stands in no index: those updates stay HOT and leave no entries."""

from __future__ import annotations

import pytest
from django.db import connection

from indexing import queue
from indexing.states import Stage
from tests.db.staging import leased
from tests.factories import World

pytestmark = pytest.mark.django_db

CHANGES_WHILE_RUNNING = {"lease_until", "updated_at", "stage", "progress_done", "progress_total", "fence_xact"}


def test_no_index_holds_what_changes_while_a_task_runs() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'index_task'")
        wrong = {name for name, text in cursor.fetchall() if any(column in text for column in CHANGES_WHILE_RUNNING)}
    assert not wrong


def test_renewals_reports_and_fences_are_hot(world: World) -> None:
    lease = leased(world)
    with connection.cursor() as cursor:

        def updates() -> tuple[int, int]:
            cursor.execute(
                "SELECT pg_stat_get_xact_tuples_updated(t), pg_stat_get_xact_tuples_hot_updated(t) "
                "FROM (SELECT 'index_task'::regclass::oid AS t) r"
            )
            found: tuple[int, int] = cursor.fetchone()
            return found

        before = updates()
        for number in range(3):  # a page has room for so many versions that one transaction keeps
            queue.renew(lease, lease_seconds=60)
            queue.report(lease, stage=Stage.EMBED, done=number, total=3)
            queue.fence(lease)
        after = updates()
    changed, hot = (late - early for late, early in zip(after, before, strict=True))
    assert (changed, hot) == (9, 9)
