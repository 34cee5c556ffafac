"""What a run will do, from one seed. Pure: the same request gives the same plan.

Only the plan is repeatable, not the run: which worker holds which lease when a blow falls is up to the machine.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from tests.chaos.oracle import FORMATS, TITLES, Content, is_latin

KNOWN_SECTIONS = 160  # sections that many documents, of every tenant, have in common
WEIGHTS = {"md": 70, "html": 15, "docx": 10, "pdf": 5}  # of 100 new files
LONG = 0.04  # share of new files with more sections than a few batches hold


class Deed(StrEnum):
    """What the nemesis does."""

    KILL = "kill"  # SIGKILL to a worker that holds a lease
    PAUSE = "pause"  # SIGSTOP to a worker that holds a lease, beyond its end, then SIGCONT
    TERMINATE = "terminate"  # SIGTERM to a worker
    BACKEND = "backend"  # pg_terminate_backend, in the middle of a transaction if there is one
    RESTART = "restart"  # PostgreSQL stops at once and starts again
    NETWORK = "network"  # the proxy drops, freezes, refuses or cuts after COMMIT
    LOCK = "lock"  # somebody holds the lock of a document or task
    SNAPSHOT = "snapshot"  # somebody holds an old snapshot
    OTHER_MODEL = "other_model"  # the provider serves another model under the same name for a while


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for. Seconds are seconds; `fault_rate` is the share of the provider's answers that are faulty."""

    tasks: int = 300
    kills: int = 30
    seconds: float = 120.0
    seed: str = "1"
    pauses: int | None = None
    backend_kills: int | None = None
    restarts: int | None = None
    fault_rate: float = 0.2
    workers: int = 6
    publishers: int = 2
    searchers: int = 1
    lease: float = 2.0
    poll: float = 0.2
    batch: int = 4
    max_failures: int = 8
    mutant: str | None = None

    def counts(self) -> dict[Deed, int]:
        """How often each deed is done: what is not named follows from `kills` as in the longest run of the issue (500 kills,
        200 pauses, 300 backend kills, 5 restarts)."""
        return {
            Deed.KILL: self.kills,
            Deed.PAUSE: self.pauses if self.pauses is not None else round(self.kills * 0.4),
            Deed.BACKEND: self.backend_kills if self.backend_kills is not None else round(self.kills * 0.6),
            Deed.RESTART: self.restarts if self.restarts is not None else max(1, round(self.kills / 100)),
            Deed.TERMINATE: round(self.kills * 0.2),
            Deed.NETWORK: round(self.kills * 0.4),
            Deed.LOCK: round(self.kills * 0.3),
            Deed.SNAPSHOT: max(1, round(self.kills / 20)),
            Deed.OTHER_MODEL: round(self.kills / 15),
        }

    def deeds(self) -> list[tuple[float, Deed]]:
        """When each deed is due, as a share of the tasks that have ended; in order."""
        rng = random.Random(f"{self.seed} deeds")
        due = []
        for deed, count in self.counts().items():
            for number in range(count):
                # Evenly, a little shaken: neither all at once nor in step.
                due.append((0.02 + 0.9 * (number + rng.random()) / count, deed))
        return sorted(due)


@dataclass(frozen=True, slots=True)
class Reader:
    type: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One publish: of a new version of `document` (a number of the publisher's own), with these readers (None: as before)."""

    document: int
    tenant: str
    content: Content
    readers: tuple[Reader, ...] | None
    staleness: str | None  # set before the publish
    at_once: bool  # as soon as somebody works on the version before: this one may overtake it


TENANTS = ("north", "south", "west")
GROUP = "staff"


def members(tenant: str) -> dict[str, str]:
    """Users of a tenant and their roles. `everywhere` is a reader of each."""
    return {
        f"{tenant}-editor": "editor",
        f"{tenant}-operator": "operator",
        f"{tenant}-anna": "reader",
        f"{tenant}-bo": "reader",
        f"{tenant}-chen": "reader",
        "everywhere": "reader",
    }


def grouped(tenant: str) -> tuple[str, ...]:
    """Members of the group `staff`."""
    return (f"{tenant}-anna", "everywhere")


def audience(rng: random.Random, tenant: str) -> tuple[Reader, ...]:
    """Readers of a version: mostly somebody."""
    return rng.choice(
        (
            (Reader("everyone"),),
            (Reader("everyone"),),
            (Reader("group", GROUP),),
            (Reader("user", f"{tenant}-bo"),),
            (Reader("group", GROUP), Reader("user", f"{tenant}-chen")),
        )
    )


def named(readers: tuple[Reader, ...], tenant: str) -> frozenset[str]:
    """The user names that these readers mean."""
    found: set[str] = set()
    for reader in readers:
        found.update({"everyone": members(tenant), "group": grouped(tenant)}.get(reader.type, (reader.name,)))
    return frozenset(found)


@dataclass
class _Known:
    tenant: str
    contents: list[Content] = field(default_factory=list)


def steps(request: Request, publisher: int) -> Iterator[Step]:
    """What one publisher does, without end: its documents are nobody else's to publish."""
    rng = random.Random(f"{request.seed} publisher {publisher}")
    fresh = iter(range(1_000 + publisher * 1_000_000, (publisher + 1) * 1_000_000))
    documents: list[_Known] = []
    library: list[Content] = []
    while True:
        if documents and rng.random() < 0.4:
            number = max(0, len(documents) - 1 - int(rng.expovariate(1 / 25)))  # mostly one of the latest
        else:
            number = len(documents)
            documents.append(_Known(rng.choice(TENANTS)))
        known = documents[number]
        first = not known.contents
        overtaken = bool(library) and rng.random() < 0.1
        content = _new(rng, fresh, at_least=10) if overtaken else _next_content(rng, known, library, fresh)
        readers = audience(rng, known.tenant) if first or rng.random() < 0.5 else None
        if first and rng.random() < 0.05:
            readers = ()
        staleness = (
            rng.choice(("withhold", "publish_when_ready", "serve_previous")) if first and rng.random() < 0.3 else None
        )
        yield Step(number, known.tenant, content, readers, staleness, at_once=False)
        known.contents.append(content)
        if overtaken:
            # Known to its tenant's caches: its task may well end before the one of the long file.
            same = [kept for other in documents if other.tenant == known.tenant for kept in other.contents[:-1]]
            quick = min(rng.sample(same, min(3, len(same))) or [content], key=lambda kept: len(kept.sections))
            known.contents.append(quick)
            yield Step(number, known.tenant, quick, None, None, at_once=True)


def _next_content(rng: random.Random, known: _Known, library: list[Content], fresh: Iterator[int]) -> Content:
    """A file seen before (so parsed and embedded already in its tenant), a little change of the last one, or a new one."""
    chance = rng.random()
    if library and chance < 0.55:
        return rng.choice(library[-40:])
    if known.contents and chance < 0.8:
        last = known.contents[-1]
        place = rng.randrange(len(last.sections))
        sections = (*last.sections[:place], _fresh(fresh, last.format), *last.sections[place + 1 :])
        content = Content(last.title, last.format, sections)
    else:
        content = _new(rng, fresh)
    library.append(content)
    return content


def _new(rng: random.Random, fresh: Iterator[int], *, at_least: int = 3) -> Content:
    format_ = rng.choices(FORMATS, [WEIGHTS[name] for name in FORMATS])[0]
    count = rng.randint(20, 30) if rng.random() < LONG else rng.randint(at_least, at_least + 7)
    shared = [number for number in rng.sample(range(KNOWN_SECTIONS), count) if format_ != "pdf" or is_latin(number)]
    sections = tuple(number if rng.random() < 0.6 else _fresh(fresh, format_) for number in shared)
    return Content(rng.choice(TITLES), format_, sections or (_fresh(fresh, format_),))


def _fresh(numbers: Iterator[int], format_: str) -> int:
    return next(number for number in numbers if format_ != "pdf" or is_latin(number))
