"""What a caller was told, in a file that no crash of the database can change: each line is on the disk before the next step.

An intent is written before a command is sent, and what became of it after. Between the two, and only there, nobody can know
whether the command took place.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SETTLED = ("acknowledged", "refused")


@dataclass(frozen=True, slots=True)
class Entry:
    """A command and its end. `began` and `ended` are seconds of the machine's monotonic clock, which all processes share."""

    actor: str
    action: str  # publish, set_readers, withdraw, delete, …
    outcome: str  # acknowledged, refused (it did not take place), unknown
    began: float
    ended: float | None  # None: it may still take place
    document: str = ""
    version: int | None = None
    readers: tuple[str, ...] | None = None  # user names that may read from now on; None: as before
    task: int | None = None
    tenant: str = ""
    sections: tuple[int, ...] = ()  # of the version that is published


class Ledger:
    """One actor's file."""

    def __init__(self, path: Path, *, actor: str) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._actor = actor
        self._number = 0

    def intend(self, action: str, **what: Any) -> int:
        """Write that a command is about to be sent; return its number."""
        self._number += 1
        self._write({"number": self._number, "action": action, **what})
        return self._number

    def settle(self, number: int, outcome: str, **what: Any) -> None:
        """Write what became of it: `acknowledged`, `refused` or `unknown`."""
        self._write({"number": number, "outcome": outcome, **what})

    def close(self) -> None:
        self._file.close()

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps({"at": time.monotonic(), "actor": self._actor, **line}) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def read(paths: Iterable[Path]) -> list[Entry]:
    """All entries in the order in which they began. An intent without an end is unknown, and so is a torn last line."""
    entries = [entry for path in paths for entry in _entries(path)]
    return sorted(entries, key=lambda entry: entry.began)


def _entries(path: Path) -> Iterator[Entry]:
    begun: dict[int, dict[str, Any]] = {}
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue  # the process was killed while it wrote
        if "action" in line:
            begun[line["number"]] = line
            continue
        intent = begun.pop(line["number"])
        yield _entry({**intent, **line, "at": intent["at"]}, line["outcome"], line["at"])
    for intent in begun.values():
        yield _entry(intent, "unknown", None)


def _entry(line: dict[str, Any], outcome: str, ended: float | None) -> Entry:
    readers = line.get("readers")
    return Entry(
        actor=line["actor"],
        action=line["action"],
        outcome=outcome,
        began=line["at"],
        ended=ended if outcome in SETTLED else None,
        document=line.get("document", ""),
        version=line.get("version"),
        readers=None if readers is None else tuple(readers),
        task=line.get("task"),
        tenant=line.get("tenant", ""),
        sections=tuple(line.get("sections", ())),
    )


def load(connection: Any, entries: Iterable[Entry]) -> None:
    """Put what was acknowledged where the invariants look for it."""
    with connection.cursor() as cursor:
        for entry in entries:
            if entry.outcome != "acknowledged":
                continue
            if entry.action == "publish":
                cursor.execute(
                    "INSERT INTO chaos.acknowledged VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
                    [entry.document, entry.version, entry.task],
                )
            elif entry.action == "delete":
                cursor.execute(
                    "INSERT INTO chaos.acknowledged_delete VALUES (%s) ON CONFLICT DO NOTHING", [entry.document]
                )
