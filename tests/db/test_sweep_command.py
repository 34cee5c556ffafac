"""`manage.py sweep`: all rules or some, counted first, once a day where whole tables are looked at, stopped by a signal."""

from __future__ import annotations

import json
import os
import re
import signal
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command

from documents.retention import Rule, Stop
from indexing import retention
from indexing.management.commands import sweep
from indexing.models import Chunk
from tests.db.aging import days_pass
from tests.db.test_retention import served_twice
from tests.factories import World

pytestmark = [
    pytest.mark.django_db(transaction=True, databases=["default", "owner"]),
    pytest.mark.usefixtures("by_words_alone"),
]


def run(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command("sweep", "--format", "json", *arguments, stdout=out)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def old(world: World) -> None:
    served_twice(world)
    days_pass(400)


def test_a_dry_run_counts_what_a_run_removes(world: World) -> None:
    old(world)
    planned = run("--dry-run")
    assert Chunk.objects.count() == 4
    done = run()
    assert (planned.pop("dryRun"), done.pop("dryRun")) == (True, False)
    # Whose chunks leave in this run is spent only then.
    assert planned.pop("indexTasks") == 0
    assert done.pop("indexTasks") == 1
    assert planned == done
    assert done["replacedChunks"] == 2
    assert done["taskEvents"] > 0
    assert {**run(), "dryRun": False} == {"dryRun": False, **dict.fromkeys([*done, "indexTasks"], 0)}


def test_one_rule_alone(world: World) -> None:
    old(world)
    assert run("--rule", "replacedChunks", "--rule", "indexTasks") == {
        "dryRun": False,
        "replacedChunks": 2,
        "indexTasks": 1,
    }
    with pytest.raises(CommandError, match="invalid choice"):
        run("--rule", "everything")


def test_rules_over_whole_tables_run_once_a_day_unless_they_are_named(world: World) -> None:
    run()
    old(world)
    retention.note_run(next(rule for rule in sweep.RULES if rule.name == "taskEvents"))
    assert run()["taskEvents"] == 0
    assert run("--rule", "taskEvents")["taskEvents"] > 0


def test_the_text_names_what_was_removed_and_a_dry_run_every_rule(world: World) -> None:
    old(world)
    out = StringIO()
    call_command("sweep", "--dry-run", stdout=out)
    lines = out.getvalue().splitlines()
    assert len(lines) == len(sweep.RULES)
    assert (
        "2 chunks of replaced versions: readers are served newer ones; what was cited stays longer." in out.getvalue()
    )
    out = StringIO()
    call_command("sweep", "--rule", "replacedChunks", stdout=out)
    assert re.fullmatch(
        r"[\d: -]+ Swept what nobody needs any more: 2 chunks of replaced versions\.\n", out.getvalue()
    ), out.getvalue()


def test_a_signal_ends_it_after_the_transaction_that_is_under_way(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status 0, what was done is told, and the next run goes on."""
    old(world)
    told: list[str] = []

    def signalled(batch: int, stop: Stop) -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        while not stop():  # the signal is heard in a thread of its own
            pass
        told.append("stopped")
        return 7

    def never(batch: int, stop: Stop) -> int:
        raise AssertionError("a rule was begun after the signal")

    def patched(rule: Rule) -> Rule:
        return replace(rule, remove=signalled if rule.name == "stagedUploads" else never)

    rules = sweep.RULES[1:]
    assert rules[0].name == "stagedUploads"
    with monkeypatch.context() as patch:
        patch.setattr(sweep, "RULES", tuple(map(patched, rules)))
        command, out = sweep.Command(stdout=(out := StringIO())), out
        patch.setattr(command, "_called_from_command_line", True, raising=False)
        call_command(command)
    assert told == ["stopped"]
    assert "7 uploads without a version; told to stop." in out.getvalue()
    assert run()["replacedChunks"] == 2


def test_every_rule_stands_in_the_documentation_with_its_setting() -> None:
    page = (Path(django_settings.BASE_DIR) / "docs" / "retention.md").read_text()
    rows = {match[1]: match[0] for match in re.finditer(r"^\| `(\w+)` \|.*$", page, flags=re.MULTILINE)}
    assert set(rows) == {rule.name for rule in sweep.RULES}
    for rule in sweep.RULES:
        assert not rule.setting or f"`{rule.setting}`" in rows[rule.name], rule.name
        assert not rule.setting or hasattr(django_settings, rule.setting)
