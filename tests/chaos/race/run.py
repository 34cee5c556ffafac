"""One race from its beginning to its figures."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from indexing.shutdown import PARENT
from tests.chaos import judge, ledger, mutants
from tests.chaos.crew import Crew, Place, as_environment
from tests.chaos.database import Database
from tests.chaos.oracle import CHUNK_TOKENS, DIMENSIONS, MODEL, section
from tests.chaos.plan import Request
from tests.chaos.provider import read_journal
from tests.chaos.run import _controlled
from tests.processes import children_of

LOOK = 0.1  # seconds between two looks of the main loop
DELAY = 0.25  # seconds that the provider takes for a request
MOST = 50  # violations that are told
ONLINE = ("worker-0", "worker-1")
ENGINES = ("engine", "filler")


@dataclass(frozen=True, slots=True)
class Race:
    """What was asked for. `seconds`: at most, for the part in which everything goes on at once."""

    documents: int
    updates: int
    engine: str
    processes: int
    kills: int
    seconds: float
    seed: str
    mutant: str | None


def run(race: Race, *, say: Callable[[str], None]) -> dict[str, Any]:
    """Everything, in a temporary folder, in a process that has not set Django up yet."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    with ExitStack() as stack:
        database = stack.enter_context(Database())
        folder = database.folder / "run"
        folder.mkdir()
        journal = folder / "provider.journal"
        provider = ["-m", "tests.chaos.provider", "--journal", str(journal), "--delay", str(DELAY)]
        _provider, url = stack.enter_context(_controlled(provider))
        environment = _environment(race, database, url=url, folder=folder)
        os.environ.update(environment)
        began = time.monotonic()
        from tests.chaos.race import stages

        pipeline = stages.prepare(race.documents, folder=folder, say=say)
        _take_guards_away(race, database)
        run_id = stages.start(pipeline)
        crew = Crew(_places(race, environment, folder=folder, run_id=run_id))
        stack.callback(crew.end)
        killed = _storm(race, crew, folder=folder, run_id=run_id, say=say)
        stages.settle(crew, folder=folder, say=say)
        figures = _figures(race, folder)
        wrong = figures["violations"]
        wrong += stages.logged(folder)
        wrong += [
            f"{place.name} ended with status {max(place.statuses)}: {_last_line(place.log)}"
            for place in crew.places.values()
            if place.name not in (*ONLINE, *ENGINES) and any(status > 0 for status in place.statuses)
        ]
        if race.mutant is None:
            figures |= stages.again(pipeline, journal=lambda: _texts(journal), violations=wrong, say=say)
        return {
            **asdict(race),
            **figures,
            "kills": dict(killed),
            "textsSent": _texts(journal),
            "seconds": round(time.monotonic() - began, 1),
            "violations": wrong[:MOST],
        }


def _storm(race: Race, crew: Crew, *, folder: Path, run_id: int, say: Callable[[str], None]) -> Counter[str]:
    """Until both runs have ended, everything is published and every blow has fallen, or time is up."""
    from tests.chaos.race import stages

    rng = random.Random(f"{race.seed} kills")
    killed: Counter[str] = Counter()
    deadline = time.monotonic() + race.seconds
    next_blow = time.monotonic() + 1.0
    looked = 0.0
    while time.monotonic() < deadline:
        _hire_filler(crew, folder)
        crew.tend()
        if sum(killed.values()) < race.kills and time.monotonic() > next_blow:
            next_blow = time.monotonic() + rng.uniform(0.5, 2.0)
            if blow := _kill(crew, rng):
                killed[blow] += 1
        if time.monotonic() - looked > 2.0:
            looked = time.monotonic()
            pending = stages.pending()
            say(f"{sum(pending.values())} documents pending, {sum(killed.values())} killed")
            for name, run_of in stages.runs(folder, run_id).items():
                if not pending.get(run_of, 0) and crew.places[name].wanted and stages.has_ended(run_of):
                    crew.dismiss(name)
            hired = "{run}" not in crew.places["filler"].arguments
            if hired and not any(crew.places[name].wanted for name in (*ENGINES, "updater")):
                return killed
        time.sleep(LOOK)
    return killed


def _hire_filler(crew: Crew, folder: Path) -> None:
    """The back-fill of the other pipeline has a run of its own, whose number the migrator tells."""
    place = crew.places["filler"]
    told = folder / "back-fill"
    if "{run}" in place.arguments and told.exists() and (number := told.read_text()):
        place.arguments = [number if argument == "{run}" else argument for argument in place.arguments]
        place.wanted = True


def _kill(crew: Crew, rng: random.Random) -> str | None:
    """SIGKILL to an online worker, to a whole engine, or to one of an engine's workers."""
    kind = rng.choice(("online worker", "engine", "engine's worker", "engine's worker"))
    if kind == "online worker":
        return kind if crew.places[rng.choice(ONLINE)].kill() else None
    running = [crew.places[name] for name in ENGINES if crew.places[name].running]
    if not running:
        return None
    place = rng.choice(running)
    if kind == "engine":
        return kind if place.kill() else None
    assert place.process is not None
    workers = [pid for pid in children_of(place.process.pid) if _is_worker(pid)]
    if not workers:
        return None
    with suppress(ProcessLookupError):
        os.kill(rng.choice(workers), signal.SIGKILL)
        return kind
    return None


def _is_worker(pid: int) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"tests.chaos.worker" in command or command.startswith(b"ray::ChaosActor")


def _figures(race: Race, folder: Path) -> dict[str, Any]:
    from tests.chaos.race import stages, truth

    entries = ledger.read(sorted(folder.glob("*.ledger")))
    searches = judge.read(sorted(folder.glob("*.searches")))
    markers = {
        (entry.document, entry.version): frozenset(section(number).marker for number in entry.sections)
        for entry in entries
        if entry.action == "publish" and entry.version is not None
    }
    wrong = judge.wrong_results(searches, entries, markers=markers)
    back = truth.pointers_moved_back()
    found = [*wrong, *truth.violations(), *([f"{back} pointers moved back"] if back else [])]
    done = Counter(entry.action for entry in entries if entry.outcome == "acknowledged" and entry.actor == "updater")
    switches = folder / "switches"
    return {
        "searches": len(searches),
        "hits": sum(len(search.hits) for search in searches),
        "olderTextsSeen": sum("after version" in line for line in wrong),
        "pointersMovedBack": back,
        "updatesDone": dict(done),
        "switches": len(switches.read_text().splitlines()) if switches.exists() else 0,
        "outcomes": stages.outcomes(),
        "violations": found,
    }


def _last_line(log: Path) -> str:
    return (log.read_text(errors="replace").splitlines() or [""])[-1]


def _texts(journal: Path) -> int:
    return sum(len(asked.texts) for asked in read_journal(journal))


def _take_guards_away(race: Race, database: Database) -> None:
    if race.mutant:
        with database.connected(name="chaos-setup") as owner:
            for statement in mutants.MUTANTS[race.mutant].owner_sql:
                owner.execute(statement)


def _environment(race: Race, database: Database, *, url: str, folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KB_", "PYTEST_", "DATABASE_"))}
    return {
        **kept,
        **as_environment(
            DJANGO_SETTINGS_MODULE="kbsite.settings",
            DATABASE_URL=database.url("kb_app"),
            DATABASE_OWNER_URL=database.url("kb_owner"),
            KB_DATA_DIR=str(database.folder),
            KB_SECRET_KEY="only-for-chaos-0123456789-0123456789-0123456789-0123456789",
            KB_LOG_LEVEL="WARNING",
            KB_EMBEDDING_URL=url,
            KB_EMBEDDING_MODEL=MODEL,
            KB_EMBEDDING_DIMENSIONS=str(DIMENSIONS),
            KB_EMBEDDING_BATCH_SIZE="4",
            KB_EMBEDDING_CANARY_SECONDS="3600",
            KB_CHUNK_TOKENS=str(CHUNK_TOKENS),
            KB_BULK_BATCH="16",
            KB_MAX_FAILURES="20",  # what is killed again and again is no failure of its own
            KB_LEASE_SECONDS="3",
            KB_POLL_SECONDS="0.2",
            KB_BACKOFF_BASE_SECONDS="0.2",
            KB_BACKOFF_CAP_SECONDS="2",
            KB_STOP_GRACE_SECONDS="2",
            OMP_NUM_THREADS="1",
            OPENBLAS_NUM_THREADS="1",
            PYTHONUNBUFFERED="1",
            **{PARENT: str(os.getpid())},  # nobody outlives the run
            CHAOS_OWNER=database.url("kb_owner"),
            CHAOS_FOLDER=str(folder),
            CHAOS_SEED=race.seed,
            CHAOS_REQUEST=asdict(Request(seed=race.seed, mutant=race.mutant)),
            CHAOS_MUTANT=race.mutant or "",
            CHAOS_UPDATES=str(race.updates),
            CHAOS_PAUSE=str(min(1.0, 0.1 * race.documents / race.updates)),
        ),
    }


def _places(race: Race, environment: Mapping[str, str], *, folder: Path, run_id: int) -> list[Place]:
    def place(name: str, *arguments: str, for_ever: bool = True) -> Place:
        own = {**environment, "KB_APPLICATION_NAME": name, "CHAOS_NAME": name}
        return Place(name, ["-m", *arguments], own, folder / f"{name}.log", for_ever=for_ever)

    worker = ("tests.chaos.worker", "--name", "{title}")
    crew = ("--engine", race.engine, "--processes", str(race.processes))
    return [
        *(place(name, *worker) for name in ONLINE),
        place("engine", "tests.chaos.race.engine", "--resume", str(run_id), *crew),
        Place(
            "filler",
            ["-m", "tests.chaos.race.engine", "--resume", "{run}", "--engine", "local"],
            {**environment, "KB_APPLICATION_NAME": "filler", "CHAOS_NAME": "filler"},
            folder / "filler.log",
            wanted=False,
        ),
        *(place(f"searcher-{number}", "tests.chaos.actors.searcher") for number in range(2)),
        place("updater", "tests.chaos.race.updater", for_ever=False),
        place("migrator", "tests.chaos.race.migrator"),
    ]
