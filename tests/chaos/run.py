"""One run from its beginning to its report."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from indexing.shutdown import PARENT
from tests.chaos import mutants, plan
from tests.chaos.crew import Crew, Place, as_environment
from tests.chaos.database import Database
from tests.chaos.monitor import LATE, REFUSED, Eyes, Monitor, recoveries, texts_wasted
from tests.chaos.nemesis import Controlled, Nemesis
from tests.chaos.oracle import CHUNK_TOKENS, DIMENSIONS, MODEL
from tests.chaos.plan import Request
from tests.chaos.provider import TIMEOUT, faults, read_journal
from tests.chaos.report import Outcome
from tests.environment import ROOT

LOOK = 0.05  # seconds between two looks of the main loop
SETTLING = 120.0  # seconds that everything may take to settle once it is left in peace
PROXIED = ("worker-0", "worker-1", "publisher-1")  # who reaches the database through the bad network
TELL = 5.0  # seconds between two lines about how far it is


def run(request: Request, *, keep: bool, say: Callable[[str], None]) -> Outcome:
    """Everything, in a temporary folder, in a process that has not set Django up yet."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # through everything that is to be put away
    with ExitStack() as stack:
        database = stack.enter_context(Database())
        folder = database.folder / "run"
        folder.mkdir()
        if keep:
            stack.callback(_keep, folder, request)
        journal = folder / "provider.journal"
        command = ["-m", "tests.chaos.provider", "--journal", str(journal), "--seed", request.seed]
        provider, url = stack.enter_context(_controlled([*command, "--faults", str(request.fault_rate)]))
        environment = _environment(request, database, url=url, folder=folder)
        os.environ.update(environment)
        _prepare(request, database)
        proxy, port = stack.enter_context(_controlled(["-m", "tests.chaos.proxy", "--to", database.host]))
        crew = Crew(_places(request, environment, folder=folder, proxy_port=int(port)))
        stack.callback(crew.end)
        eyes = Eyes(database)
        stack.callback(eyes.close)
        nemesis = Nemesis(request, crew=crew, database=database, proxy=proxy, provider=provider)
        began = time.monotonic()
        with Monitor(database, folder=folder, crew=crew) as monitor:
            _storm(request, crew, nemesis, monitor, eyes, say)
            say("left in peace")
            nemesis.relent()
            provider.tell("faults 0")
            _calm(crew, monitor)
        eyes.close()  # it may be of a server that has crashed since
        while not monitor.check(at_the_end=True):
            time.sleep(LOOK)
        if keep:
            _write_events(eyes, folder / "events.tsv")
        return _outcome(request, nemesis, monitor, eyes, journal, seconds=time.monotonic() - began)


def _storm(
    request: Request, crew: Crew, nemesis: Nemesis, monitor: Monitor, eyes: Eyes, say: Callable[[str], None]
) -> None:
    """Until everything is published and done to it, or time is up."""
    deadline = time.monotonic() + request.seconds
    publishers = [name for name in crew.places if name.startswith("publisher")]
    progress, looked, told = 0.0, 0.0, time.monotonic()
    while time.monotonic() < deadline:
        crew.tend()
        if time.monotonic() - looked > 0.25:
            ended = eyes.ask("SELECT count(*) FROM index_task WHERE state IN ('SUCCEEDED', 'CANCELLED', 'DEAD')")
            progress = ended[0][0] / request.tasks if ended else progress
            looked = time.monotonic()
        nemesis.tick(progress)
        if time.monotonic() - told > TELL:
            told = time.monotonic()
            blows = ", ".join(f"{count} {deed}" for deed, count in nemesis.done.items())
            say(f"{progress:4.0%}  {blows or 'nothing yet'}; {len(monitor.violations)} violations")
        if nemesis.idle and not any(crew.places[name].wanted for name in publishers):
            return
        time.sleep(LOOK)


def _calm(crew: Crew, monitor: Monitor) -> None:
    """Nobody disturbs any more: everything must come to its end."""
    actors = [name for name in crew.places if not name.startswith(("worker", "searcher", "settler"))]
    crew.dismiss(*actors)
    settler = crew.places["settler"]
    settler.wanted = True
    deadline = time.monotonic() + SETTLING
    while settler.wanted and time.monotonic() < deadline:
        crew.tend()
        time.sleep(LOOK)
    crew.dismiss(*crew.places)
    for place in crew.places.values():
        if not place.name.startswith("worker") and any(status > 0 for status in place.statuses):
            monitor.tell(f"no_defect: {place.name} ended with status {max(place.statuses)}")


def _outcome(
    request: Request, nemesis: Nemesis, monitor: Monitor, eyes: Eyes, journal: Path, *, seconds: float
) -> Outcome:
    searches = monitor.judge_searches()
    monitor.look_for_defects()
    from_blow, from_lease = recoveries(eyes, nemesis.hits, nemesis.restarts)
    return Outcome(
        request=request,
        tasks=eyes.count("SELECT count(*) FROM index_task"),
        done=nemesis.done,
        kills_in_lease=sum(blow.deed is plan.Deed.KILL for blow in nemesis.hits),
        pauses_in_lease=sum(blow.deed is plan.Deed.PAUSE for blow in nemesis.hits),
        in_transaction=nemesis.in_transaction,
        provider_faults=faults(read_journal(journal)),
        stale_commits_refused=eyes.count(REFUSED),
        late_after_delete=eyes.count(LATE),
        searches=searches,
        checks=monitor.checks,
        longest_check=monitor.longest_check,
        recoveries=from_blow,
        claim_delays=from_lease,
        texts_wasted=texts_wasted(eyes, journal),
        seconds=seconds,
        violations=tuple(monitor.violations),
        states=dict(eyes.ask("SELECT state, count(*)::int FROM index_task GROUP BY state ORDER BY state") or ()),
    )


def _environment(request: Request, database: Database, *, url: str, folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KB_", "PYTEST_", "DATABASE_"))}
    mutant = mutants.MUTANTS[request.mutant].environment if request.mutant else {}
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
            KB_EMBEDDING_BATCH_SIZE=str(request.batch),
            KB_EMBEDDING_TIMEOUT=str(TIMEOUT),
            KB_EMBEDDING_CANARY_SECONDS="0",
            KB_SEARCH_EMBEDDING_TIMEOUT="0.5",
            KB_CHUNK_TOKENS=str(CHUNK_TOKENS),
            KB_MAX_FAILURES=str(request.max_failures),
            # In the proportion to the lease that the defaults have, or a little above.
            KB_IDLE_TRANSACTION_SECONDS="1",
            KB_LOCK_WAIT_SECONDS="4",
            KB_BACKOFF_BASE_SECONDS="0.2",
            KB_BACKOFF_CAP_SECONDS="2",
            KB_STOP_GRACE_SECONDS="2",
            KB_PARSE_TIMEOUT="20",
            OMP_NUM_THREADS="1",
            OPENBLAS_NUM_THREADS="1",
            PYTHONUNBUFFERED="1",
            **{PARENT: str(os.getpid())},  # nobody outlives the run
            CHAOS_OWNER=database.url("kb_owner"),
            CHAOS_FOLDER=str(folder),
            CHAOS_SEED=request.seed,
            CHAOS_REQUEST=asdict(request),
            CHAOS_MUTANT=request.mutant or "",
        ),
        **mutant,
    }


def _prepare(request: Request, database: Database) -> None:
    """Tables, people, observers; and, for a mutant, one net less."""
    subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity", "0"], cwd=ROOT, check=True)
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.db import connections

    from documents import tenants

    for slug in plan.TENANTS:
        tenant = tenants.create_tenant(slug=slug, name=slug.title())
        for name, role in plan.members(slug).items():
            user, _ = User.objects.get_or_create(username=name)
            membership = tenants.add_member(tenant=tenant, user=user, role=role)
            if name in plan.grouped(slug):
                tenants.add_to_group(membership=membership, name=plan.GROUP)
    connections.close_all()
    database.observe()
    if request.mutant:
        with database.connected(name="chaos-setup") as owner:
            for statement in mutants.MUTANTS[request.mutant].owner_sql:
                owner.execute(statement)


def _places(request: Request, environment: Mapping[str, str], *, folder: Path, proxy_port: int) -> list[Place]:
    proxied = f"postgresql://kb_app@127.0.0.1:{proxy_port}/kb"

    def place(name: str, arguments: list[str], *, for_ever: bool = True, wanted: bool = True) -> Place:
        own = {**environment, "KB_APPLICATION_NAME": name, "CHAOS_NAME": name}
        if name in PROXIED:
            own["DATABASE_URL"] = proxied
        return Place(name, arguments, own, folder / f"{name}.log", for_ever=for_ever, wanted=wanted)

    lease = ["--lease", str(request.lease), "--poll", str(request.poll), "--name", "{title}"]
    worker = ["-m", "tests.chaos.worker", *lease]
    return [
        *(place(f"worker-{number}", worker) for number in range(request.workers)),
        *(
            place(f"publisher-{number}", ["-m", "tests.chaos.actors.publisher"], for_ever=False)
            for number in range(request.publishers)
        ),
        *(place(f"searcher-{number}", ["-m", "tests.chaos.actors.searcher"]) for number in range(request.searchers)),
        *(place(name, ["-m", f"tests.chaos.actors.{name}"]) for name in ("deleter", "flipper", "administrator")),
        place("settler", ["-m", "tests.chaos.actors.settler"], for_ever=False, wanted=False),
    ]


@contextmanager
def _controlled(arguments: list[str]) -> Iterator[tuple[Controlled, str]]:
    """A process that takes commands, and the first line that it prints."""
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield Controlled(process), process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def _write_events(eyes: Eyes, path: Path) -> None:
    """What happened to each task, for whoever has to find out why."""
    text = """SELECT e.at, e.task_id, t.document_id, t.version_number, e.kind, e.from_state, e.to_state, e.attempts, e.worker,
                     e.code
                FROM task_event e JOIN index_task t ON t.id = e.task_id ORDER BY e.id"""
    with eyes.open().cursor().copy(f"COPY ({text}) TO STDOUT") as copy, path.open("wb") as file:
        for part in copy:
            file.write(part)


def _keep(folder: Path, request: Request) -> None:
    kept = ROOT / ".data" / "chaos" / f"{request.seed}-{request.mutant or 'whole'}-{os.getpid()}"
    shutil.copytree(folder, kept)
    print(f"logs and ledgers: {kept.relative_to(ROOT)}", file=sys.stderr)
