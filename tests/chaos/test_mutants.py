"""Each mutant still finds the guard that it takes away. That a run notices is shown by `--mutant all`, which takes minutes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from django.db import connections

from tests.chaos.mutants import MUTANTS
from tests.environment import ROOT

GUARDS = {
    "attempt", "state", "lease-time", "delete-check", "epoch", "atomicity", "failure-cap", "monotone-attempts", "tenant-key",
    "acl-join", "response-indices", "lock-order",
}  # fmt: skip


def test_every_guard_has_one() -> None:
    assert set(MUTANTS) == GUARDS


@pytest.mark.parametrize("name", MUTANTS)
def test_it_takes_its_guard_away(name: str) -> None:
    program = f"import django; django.setup()\nfrom tests.chaos import mutants; mutants.apply({name!r})"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={
            "DJANGO_SETTINGS_MODULE": "kbsite.settings",
            "DATABASE_URL": "postgresql://nobody@/nothing",
            "KB_DEBUG": "true",
        },
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.django_db(databases=["default", "owner"])
@pytest.mark.parametrize("name", [name for name, mutant in MUTANTS.items() if mutant.owner_sql])
def test_the_owner_can_take_the_net_away(name: str) -> None:
    with connections["owner"].cursor() as cursor:
        for statement in MUTANTS[name].owner_sql:
            cursor.execute(statement)
