"""The invariants of a chaos run: each a query that must return no row (invariants.sql)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

FILE = Path(__file__).parent / "invariants.sql"
MOST = 5  # breaches of one invariant that are told

# Codes of failures that use up a task's budget.
CHARGED = (
    "EMBEDDING_TIMEOUT", "EMBEDDING_BAD_RESPONSE", "PARSE_CRASHED", "PARSE_TIMEOUT", "STORAGE_UNAVAILABLE",
    "VERIFICATION_FAILED",
)  # fmt: skip
# Why a version that was asked for may not be searchable when all has settled. A budget that is spent is a good reason only
# in a run whose nemesis spends budgets: the caller says so.
GOOD_REASONS = ("CANCELLED_BY_USER", "ACCESS_REVOKED")
SPENT = ("LEASE_ATTEMPTS_EXHAUSTED", *CHARGED)


@dataclass(frozen=True, slots=True)
class Invariant:
    name: str
    query: str
    at_the_end: bool


@dataclass(frozen=True, slots=True)
class Violation:
    invariant: str
    what: str


@cache
def invariants() -> tuple[Invariant, ...]:
    parts = re.split(r"^-- name: (\w+)\n", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return tuple(
        Invariant(name, query.strip().rstrip(";"), "-- at the end:" in query)
        for name, query in zip(parts[1::2], parts[2::2], strict=True)
    )


def check(
    connection: psycopg.Connection[Any],
    *,
    grace_seconds: float,
    longest_idle: float = 2.0,
    excused: Sequence[str] = (),
    good_reasons: Sequence[str] = GOOD_REASONS,
    at_the_end: bool = False,
) -> list[Violation]:
    """Every breach that can be seen now, through a connection of the owner in autocommit mode.

    `grace_seconds`: how long after the end of a lease the next attempt may begin. `longest_idle`: seconds a transaction may
    do nothing. `excused`: `application_name`s of processes that are stopped on purpose.
    """
    parameters = {
        "grace": grace_seconds,
        "longest_idle": longest_idle,
        "excused": list(excused),
        "charged_codes": list(CHARGED),
        "good_reasons": list(good_reasons),
    }
    found = []
    for invariant in invariants():
        if at_the_end or not invariant.at_the_end:
            rows = connection.execute(f"SELECT what FROM ({invariant.query}) AS breaches LIMIT {MOST}", parameters)
            found += [Violation(invariant.name, what) for (what,) in rows.fetchall()]
    return found
