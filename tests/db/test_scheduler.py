"""What runs by the clock: the schedules, the process that runs them, and the command that cleans up."""

from __future__ import annotations

import json
import re
import signal
from io import StringIO

import pytest
from django.contrib import admin
from django.core.management import call_command
from django_q.models import Schedule, Success

from documents import publishing
from indexing import schedules
from tests.factories import make_world
from tests.processes import children_of, end, running, spawn, wait_until


@pytest.mark.django_db
def test_schedules_are_what_the_code_says() -> None:
    Schedule.objects.create(name=f"{schedules.PREFIX}of an older release", func="os.getcwd")
    theirs = Schedule.objects.create(name="theirs", func="os.getcwd")
    schedules.register()
    due = dict(Schedule.objects.values_list("name", "next_run"))
    schedules.register()
    found = dict(Schedule.objects.values_list("name", "next_run"))
    assert found == due, "registering again moves no run"
    assert set(found) == {theirs.name, *(schedules.PREFIX + periodic.command for periodic in schedules.SCHEDULES)}


def test_schedules_are_not_edited_in_the_admin() -> None:
    """`func` is any dotted path: whoever may edit a schedule runs any code."""
    assert not [model for model in admin.site._registry if model._meta.app_label == "django_q"]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_scheduler_runs_what_is_due_until_told_to_stop() -> None:
    process = spawn("run_scheduler")
    try:
        # django-q2 looks at its schedules every half minute.
        wait_until(
            lambda: Success.objects.count() == len(schedules.SCHEDULES), seconds=60, what="a run of each command"
        )
        started = children_of(process.pid)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert not running(started)
    finally:
        end(process)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
@pytest.mark.parametrize("processes", [2, 3, 5])
def test_a_killed_scheduler_leaves_no_process(processes: int) -> None:
    """Also while its cluster starts: the cluster itself, its guard, worker, monitor and pusher."""
    process = spawn("run_scheduler")
    try:
        wait_until(lambda: len(children_of(process.pid)) >= processes, what="django-q2's processes")
        started = children_of(process.pid)
        process.kill()
        wait_until(lambda: not running(started), what="the end of its processes")
    finally:
        end(process)


@pytest.mark.django_db
def test_sweep_counts_first_and_removes_then() -> None:
    world = make_world()
    document = world.upload()
    publishing.delete_document(actor=world.editor, document_id=document.pk)

    planned, done, again = sweep("--dry-run"), sweep(), sweep()

    assert (planned["dryRun"], planned["deletedDocuments"]) == (True, 1)
    assert (done["dryRun"], done["deletedDocuments"]) == (False, 1)
    assert again["deletedDocuments"] == 0


@pytest.mark.django_db
@pytest.mark.parametrize("command", ["sweep", "refresh_term_statistics"])
def test_what_is_done_by_the_clock_says_when_and_what(command: str) -> None:
    out = StringIO()
    call_command(command, stdout=out)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (Swept|Counted) [^\n]+\.\n", out.getvalue())


def sweep(*arguments: str) -> dict[str, int]:
    out = StringIO()
    call_command("sweep", *arguments, "--format", "json", stdout=out)
    counts: dict[str, int] = json.loads(out.getvalue())
    return counts
